"""Evaluates a checkpoint so that each example counts once, whatever the strategy."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from .compat.estimator_parts import warm_start_settings
from .eval_summaries import write_metrics
from .examples import CountHook
from .gin_scope import carry_gin_scope
from .rounds import in_rounds
from .run_config import session_config_for
from .strategy_kinds import kind_of

_COLLECTIVE = ("Collective", "Nccl")
_EVAL = tf.estimator.ModeKeys.EVAL


class Evaluation(NamedTuple):
    """What an evaluation found.

    Attributes:
      metrics: by name, with "loss" and "global_step", as `Estimator.evaluate` returns them.
      batches: how many batches were evaluated.
      examples: how many examples they held; None where the input does not tell.
    """

    metrics: dict[str, Any]
    batches: int
    examples: int | None


def evaluate(
    estimator: Any,
    input_fn: Callable,
    steps: int | None = None,
    hooks: Sequence[Any] | None = None,
    checkpoint_path: str | None = None,
    name: str | None = None,
) -> Evaluation:
    """Evaluates a checkpoint and writes the metrics as summaries, as `Estimator.evaluate` does.

    With several replicas (`RunConfig.eval_distribute`) each takes a whole batch by turns, so that
    every metric is that of one device; also `loss`, which is a mean over batches. In the last round
    only the replicas that have a batch take part. TensorFlow's own evaluation counts that round or
    loses it, as it happens. `CentralStorageStrategy` evaluates with a copy of the variables on each
    of its compute devices, because its metrics cannot be updated by some replicas alone; so does
    `MultiWorkerMirroredStrategy` in one process. On a TPU it is TensorFlow's own evaluation.

    Args:
      estimator: the Estimator.
      input_fn: input function; one that takes `input_context` reads all data, in whole batches.
      steps: how many batches to evaluate, over all replicas; None for all.
      hooks: session hooks.
      checkpoint_path: the checkpoint; by default the latest.
      name: of the data, for the folder of the summaries.

    Returns:
      The metrics, and what they are of.

    Raises:
      ValueError: there are several replicas, and the input_fn returns no Dataset, or a metric is
        updated by all replicas together while some of them have no batch.

    Source: https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate
    """
    strategy = estimator.config.eval_distribute
    if strategy is None or strategy.num_replicas_in_sync == 1 or kind_of(strategy) == "TPUStrategy":
        count = CountHook()
        metrics = estimator.evaluate(
            input_fn,
            steps=steps,
            hooks=[count, *(hooks or [])],
            checkpoint_path=checkpoint_path,
            name=name,
        )
        return Evaluation(metrics, count.batches, count.examples)
    if steps is not None and steps <= 0:
        raise ValueError(f"steps is {steps}; it must be 1 or more, or None for all data")
    carry_gin_scope()
    if kind_of(strategy) in ("CentralStorageStrategy", "MultiWorkerMirroredStrategy"):
        strategy = tf.distribute.MirroredStrategy(
            strategy.extended.worker_devices, tf.distribute.ReductionToOneDevice()
        )
    checkpoint_path = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
    with tf.Graph().as_default():
        graph = _Graph(estimator, strategy, input_fn, checkpoint_path)
        done = graph.run(steps, list(hooks or []), checkpoint_path)
    write_metrics(estimator.eval_dir(name), done.metrics, checkpoint_path)
    return done


class _Graph:
    """The evaluation graph of several replicas."""

    def __init__(self, estimator: Any, strategy: Any, input_fn: Callable, checkpoint: str | None):
        self._config = config = estimator.config
        self._strategy = strategy
        self._specs: dict[int, Any] = {}
        replicas = strategy.num_replicas_in_sync

        def dataset(context):
            del context  # of replicas that would divide a batch
            whole = tf.distribute.InputContext(1, 0, 1)
            made = call_input_fn(estimator, input_fn, _EVAL, whole)
            rounds = None
            if isinstance(made, tf.data.Dataset | tf.compat.v1.data.Dataset):
                rounds = in_rounds(made, replicas)
            if rounds is None:
                raise ValueError(
                    "RunConfig.eval_distribute needs an evaluation input_fn that returns a Dataset "
                    "of tensors; leave eval_distribute out, or return one"
                )
            return rounds

        @tf.autograph.experimental.do_not_convert
        def replica(batch, following):
            features, labels = features_and_labels(batch)
            spec = estimator.model_fn(features, labels, _EVAL, config)
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            self._specs[int(tf.get_static_value(number))] = spec
            metrics = dict(spec.eval_metric_ops or {})
            if "loss" in metrics:
                raise ValueError(
                    "eval_metric_ops has a metric 'loss', which is the name of the mean loss that "
                    "every evaluation reports; give it another name"
                )
            metrics["loss"] = tf.compat.v1.metrics.mean(spec.loss)
            values = {key: value for key, (value, _) in metrics.items()}
            # Not every update is a tensor, and only those can be handed out of a replica.
            updates = {key: tf.group(update) for key, (_, update) in metrics.items()}
            return values, updates, following

        tf.compat.v1.random.set_random_seed(config.tf_random_seed)
        self._session_config = session_config_for([strategy], config.session_config)
        with strategy.scope():
            iterator = strategy.make_input_fn_iterator(dataset)
            self._step = tf.compat.v1.train.get_or_create_global_step()
            values, updates, following = strategy.extended.call_for_each_replica(
                replica, args=iterator.get_next()
            )
            self._gather = gather_in_first_replica(strategy)
            self._values = {
                key: strategy.experimental_local_results(values[key])[0] for key in sorted(values)
            }
        self._updates = [
            {key: strategy.experimental_local_results(updates[key])[replica] for key in updates}
            for replica in range(replicas)
        ]
        real, examples = map(strategy.experimental_local_results, following)
        self._following = list(zip(real, examples, strict=True))
        self._initializer = iterator.initializer
        warm_start = warm_start_settings(estimator)
        if checkpoint is None and warm_start is not None:
            with strategy.scope():
                tf.compat.v1.train.warm_start(*warm_start)

    def run(self, steps: int | None, hooks: list[Any], checkpoint: str | None) -> Evaluation:
        """Runs rounds until the input has ended or `steps` batches were evaluated."""
        first = self._specs[0]
        final = _FinalHook(self._gather, [self._values, self._step])
        every = [*hooks, *(first.evaluation_hooks or ()), _InitializeHook(self._initializer), final]
        creator = tf.compat.v1.train.ChiefSessionCreator(
            scaffold=self._scaffold(),
            master=self._config.evaluation_master,
            config=self._session_config,
            checkpoint_filename_with_path=checkpoint,
        )
        batches = examples = 0
        with tf.compat.v1.train.MonitoredSession(session_creator=creator, hooks=every) as session:
            # The header round is none of the user's hooks' business.
            upcoming = session.run_step_fn(
                lambda step_context: step_context.session.run(self._following)
            )
            while not session.should_stop():
                held = [int(size) for real, size in upcoming if real]
                if steps is not None:
                    held = held[: steps - batches]
                if not held:
                    break
                taking = len(held)
                if taking < len(self._updates):
                    self._require_own_updates(taking)
                _, upcoming = session.run([self._updates[:taking], self._following[:taking]])
                batches += len(held)
                examples += sum(held)
        values, step = final.values
        return Evaluation({**values, "global_step": step}, batches, examples)

    def _require_own_updates(self, taking: int) -> None:
        """Refuses metrics for which the replicas without a batch would have to take part."""
        inputs = [real.op for real, _ in self._following]
        for replica in range(taking):
            others = {op for op in inputs if op is not inputs[replica]}
            for key, update in self._updates[replica].items():
                needed = _needed(update)
                # A collective operation waits for those of the others, and no edge shows it.
                if others & needed or any(op.type.startswith(_COLLECTIVE) for op in needed):
                    raise ValueError(
                        f"the metric '{key}' is updated by all {len(inputs)} replicas together, "
                        f"and the last round has {taking} batch{'es' * (taking > 1)}: leave "
                        "RunConfig.eval_distribute out, or let the batches fill the rounds"
                    )

    def _scaffold(self) -> Any:
        """Joins what the replicas' scaffolds initialize; the rest is the first one's."""
        scaffolds = [self._specs[replica].scaffold for replica in sorted(self._specs)]
        local = [s.local_init_op for s in scaffolds if s and s.local_init_op is not None]
        if not local:
            return scaffolds[0]
        return tf.compat.v1.train.Scaffold(
            local_init_op=tf.group(*local), copy_from_scaffold=scaffolds[0]
        )


class _FinalHook(tf.compat.v1.train.SessionRunHook):
    """Reads the metrics at the end.

    Attributes:
      values: what was read.
    """

    def __init__(self, gather: Any, wanted: Any):
        self._gather = gather
        self._wanted = wanted

    def end(self, session):
        session.run(self._gather)
        self.values = session.run(self._wanted)


class _InitializeHook(tf.compat.v1.train.SessionRunHook):
    """Starts the input."""

    def __init__(self, initializer: Any):
        self._initializer = initializer

    def after_create_session(self, session, coord):
        session.run(self._initializer)


def call_input_fn(estimator: Any, input_fn: Callable, mode: str, input_context: Any) -> Any:
    """Calls an input_fn with those of mode, params, config and input_context that it takes."""
    known = inspect.signature(input_fn).parameters
    given = {
        "mode": mode,
        "params": estimator.params,
        "config": estimator.config,
        "input_context": input_context,
    }
    return input_fn(**{key: value for key, value in given.items() if key in known})


def features_and_labels(batch: Any) -> tuple[Any, Any]:
    """Splits what a Dataset of an input_fn gives; labels are None where there are none.

    Raises:
      ValueError: it is a tuple of other than two.
    """
    if not isinstance(batch, list | tuple):
        return batch, None
    if len(batch) != 2:
        raise ValueError(
            f"the input_fn gives tuples of {len(batch)}; give (features, labels), or features alone"
        )
    return batch[0], batch[1]


def gather_in_first_replica(strategy: Any) -> Any:
    """Returns an operation that adds what all replicas counted to what the first one did.

    A metric that a replica computes from its own counts, without asking the others, would else be
    that of its share of the data: such as the `accuracy_baseline` of the canned classifiers.
    """
    moves = []
    for variable in {id(v): v for v in _variables()}.values():
        if (
            getattr(variable, "synchronization", None) != tf.VariableSynchronization.ON_READ
            or variable.aggregation != tf.VariableAggregation.SUM
        ):
            continue
        first, *others = strategy.experimental_local_results(variable)
        parts = [part.read_value() for part in (first, *others)]
        with tf.control_dependencies(parts):
            moves.append(first.assign(tf.add_n(parts)))
            moves += [other.assign(tf.zeros_like(other)) for other in others]
    return tf.group(*moves)


def _variables() -> list[Any]:
    return [
        *tf.compat.v1.local_variables(),
        *tf.compat.v1.global_variables(),
        *tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.METRIC_VARIABLES),
    ]


def _needed(op: Any) -> set[Any]:
    """Returns the operations that have to run before one can."""
    found, left = set(), [op]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [tensor.op for tensor in op.inputs]
            left += op.control_inputs
    return found
