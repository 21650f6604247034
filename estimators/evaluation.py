"""Evaluates a checkpoint so that each example counts once, whatever the strategy."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from .examples import CountHook
from .gin_scope import carry_gin_scope
from .rounds import in_rounds

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
    of its compute devices, because its metrics cannot be updated by some replicas alone.

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
      ValueError: the input_fn returns no Dataset, and there are several replicas.

    Source: https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate
    """
    strategy = estimator.config.eval_distribute
    if strategy is None or strategy.num_replicas_in_sync == 1:
        count = CountHook()
        metrics = estimator.evaluate(
            input_fn,
            steps=steps,
            hooks=[count, *(hooks or [])],
            checkpoint_path=checkpoint_path,
            name=name,
        )
        return Evaluation(metrics, count.batches, count.examples)
    carry_gin_scope()
    if type(strategy).__name__.startswith("CentralStorage"):
        strategy = tf.distribute.MirroredStrategy(
            strategy.extended.worker_devices, tf.distribute.ReductionToOneDevice()
        )
    checkpoint_path = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
    with tf.Graph().as_default():
        graph = _Graph(estimator, strategy, input_fn)
        done = graph.run(steps, list(hooks or []), checkpoint_path)
    _write_summaries(estimator.eval_dir(name), done.metrics)
    return done


class _Graph:
    """The evaluation graph of several replicas."""

    def __init__(self, estimator: Any, strategy: Any, input_fn: Callable):
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
            metrics["loss"] = tf.compat.v1.metrics.mean(spec.loss)
            updates = tf.group(*(update for _, update in metrics.values()))
            return {key: value for key, (value, _) in metrics.items()}, updates, following

        tf.compat.v1.random.set_random_seed(config.tf_random_seed)
        with strategy.scope():
            iterator = strategy.make_input_fn_iterator(dataset)
            self._step = tf.compat.v1.train.get_or_create_global_step()
            values, updates, following = strategy.extended.call_for_each_replica(
                replica, args=iterator.get_next()
            )
            # What a replica computes from merged metrics is the same in each of them.
            self._values = {
                key: strategy.experimental_local_results(value)[0] for key, value in values.items()
            }
        self._updates = strategy.experimental_local_results(updates)
        real, examples = map(strategy.experimental_local_results, following)
        self._following = list(zip(real, examples, strict=True))
        self._initializer = iterator.initializer

    def run(self, steps: int | None, hooks: list[Any], checkpoint: str | None) -> Evaluation:
        """Runs rounds until the input has ended or `steps` batches were evaluated."""
        first = self._specs[0]
        final = tf.compat.v1.train.FinalOpsHook([self._values, self._step])
        every = [*hooks, *(first.evaluation_hooks or ()), _InitializeHook(self._initializer), final]
        creator = tf.compat.v1.train.ChiefSessionCreator(
            scaffold=self._scaffold(),
            master=self._config.evaluation_master,
            config=self._config.session_config,
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
                taking = range(len(held))
                _, upcoming = session.run(
                    [
                        [self._updates[replica] for replica in taking],
                        [self._following[replica] for replica in taking],
                    ]
                )
                batches += len(held)
                examples += sum(held)
        values, step = final.final_ops_values
        return Evaluation({**values, "global_step": step}, batches, examples)

    def _scaffold(self) -> Any:
        """Joins what the replicas' scaffolds initialize; the rest is the first one's."""
        scaffolds = [self._specs[replica].scaffold for replica in sorted(self._specs)]
        local = [s.local_init_op for s in scaffolds if s and s.local_init_op is not None]
        if not local:
            return scaffolds[0]
        return tf.compat.v1.train.Scaffold(
            local_init_op=tf.group(*local), copy_from_scaffold=scaffolds[0]
        )


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


def _write_summaries(folder: str, metrics: Mapping[str, Any]) -> None:
    writer = tf.compat.v1.summary.FileWriterCache.get(folder)
    summary = tf.compat.v1.Summary()
    for key, value in metrics.items():
        if key == "global_step":
            continue
        if np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
            summary.value.add(tag=key, simple_value=float(value))
        elif isinstance(value, np.ndarray) and value.dtype != object:
            summary.value.add(tag=key, tensor=tf.make_tensor_proto(value))
    writer.add_summary(summary, int(metrics["global_step"]))
    writer.flush()
