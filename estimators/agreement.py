"""Training in rounds: the replicas agree when to stop, and nobody waits for one that has no batch.

TensorFlow learns in the middle of a step that the input of a replica has ended. On one machine it
then drops what the other replicas have read; in a cluster the other workers wait for ever for the
gradients of the one that stopped. Here each replica knows in advance whether it has a batch in the
next round, and the workers tell each other with every step, so that all stop after the same one.

Imports TensorFlow, so it is imported only by functions that have it.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from . import first_batch
from .compat.cluster_task import replace_model_fn
from .evaluation import call_input_fn, features_and_labels
from .gin_scope import carry_gin_scope
from .rounds import in_rounds
from .signatures import MODEL_FN_ARGUMENTS, expose_arguments

_train = tf.compat.v1.train
_TRAIN = tf.estimator.ModeKeys.TRAIN
_DRAIN_SECS = 10.0
_COUNT_WAIT_SECS = 300.0
_FAILED = -1


class Rounds(NamedTuple):
    """An Estimator and an input_fn to train in rounds, and what follows the training.

    Attributes:
      estimator: a copy of the user's Estimator that takes the batches of `input_fn`.
      input_fn: the user's input_fn, in rounds.
      hook: ends the training, and knows afterwards how the input ended: see `AgreementHook`.
    """

    estimator: Any
    input_fn: Callable
    hook: "AgreementHook | InputEndHook"

    def hooks(self, others: Sequence[Any]) -> list[Any]:
        """Returns the hooks to train with.

        In a cluster a stop that one of the others requests on one worker becomes a wish, which all
        workers obey together after the step that follows. So does one that a listener of
        checkpoints or a hook of the model_fn requests; `max_steps` stops all at once anyway.

        Args:
          others: the hooks of the user and of the caller.
        """
        return self.hook.around(others)


def train_in_rounds(
    estimator: Any, input_fn: Callable, warn: Callable[[str], None] = logging.warning
) -> Rounds:
    """Makes a training that neither hangs nor silently drops what its input holds.

    Write `rounds.estimator.train(rounds.input_fn, hooks=rounds.hooks(hooks), max_steps=...)`.
    With one replica Estimator and input_fn stay what they are.

    Args:
      estimator: the Estimator of this task; its strategy knows the cluster already.
      input_fn: the training input.
      warn: is told, on the first worker, of workers that read the same first batch, and of input
        that could not be counted.
    Returns:
      What to train, on what, with which hooks.
    """
    strategy = estimator.config.train_distribute
    tpu = "TPU" in type(strategy).__name__
    if strategy is None or strategy.num_replicas_in_sync == 1 or tpu:
        return Rounds(estimator, input_fn, InputEndHook())
    carry_gin_scope()
    hook = AgreementHook(warn, float(estimator.config.session_creation_timeout_secs))

    def rounds_input_fn(mode, input_context=None):
        strategy = tf.distribute.get_strategy()
        replicas = len(strategy.extended.worker_devices)
        here = _Replicas(replicas, max(1, strategy.num_replicas_in_sync // replicas))
        hook.replicas = here
        made = call_input_fn(estimator, input_fn, mode, input_context)
        rounds = None
        if isinstance(made, tf.data.Dataset | tf.compat.v1.data.Dataset):
            here.endless = tf.equal(made.cardinality(), tf.data.INFINITE_CARDINALITY)
            rounds = in_rounds(made, replicas)
        if rounds is None:
            raise ValueError(
                "RunConfig.train_distribute needs a training input_fn that returns a Dataset of "
                "tensors; leave train_distribute out, or return one"
            )
        return rounds

    def model_fn(features, labels, mode, config):
        if mode != _TRAIN:
            return estimator.model_fn(features, labels, mode, config)
        batch, (real, examples) = features, labels
        hook.replicas.add(batch, real, examples, config)
        spec = estimator.model_fn(*features_and_labels(batch), mode, config)
        if hook.replicas.workers > 1:
            spec = spec._replace(**hook.around_own(spec))
        return spec

    shown = expose_arguments(model_fn, MODEL_FN_ARGUMENTS)
    return Rounds(replace_model_fn(estimator, shown), rounds_input_fn, hook)


class _Replicas:
    """What the training graph holds of the replicas of this process.

    Attributes:
      count: number of replicas of this process.
      workers: number of processes that train in step.
      worker: which of them this one is.
      names: of the workers.
      endless: whether the input is known to have no end, bool.
      batch: the batch of the first replica.
      following: of each replica: whether it has a batch in the next round, and its examples.
      rows: of each replica: its part in what this worker tells the others, int64 [3].
      said: what the hook adds to that, int64 [2].
      size: the only size of batch that counts as one, int64; -1 where any does.
      agreed: what all workers tell each other, int64 [workers, 3].
    """

    def __init__(self, count: int, workers: int):
        self.count = count
        self.workers = workers
        self.worker = 0
        self.names = []
        self.endless = self.batch = None
        self.following = [None] * count
        self.rows = [None] * count
        self.said = self.size = self.agreed = None

    def add(self, batch: Any, real: Any, examples: Any, config: Any) -> None:
        """Adds the replica in whose context this is called."""
        context = tf.distribute.get_replica_context()
        number = int(tf.get_static_value(context.replica_id_in_sync_group))
        worker, replica = divmod(number, self.count)
        self.following[replica] = (real, examples)
        if replica == 0:
            self.batch = batch
        if self.workers == 1:
            return
        said = tf.zeros([2], tf.int64)
        if replica == 0:
            said = self.said = tf.compat.v1.placeholder_with_default(said, [2])
            self.size = tf.compat.v1.placeholder_with_default(tf.constant(-1, tf.int64), [])
            self.worker, self.names = worker, _names(config, self.workers)
        fits = (self.size < 0) | tf.equal(examples, self.size)
        real = real * tf.cast(fits, tf.int64)
        row = self.rows[replica] = tf.concat([tf.reshape(real, [1]), said], 0)
        mine = tf.one_hot(worker, self.workers, dtype=tf.int64)
        table = tf.reshape(mine[:, None] * row[None, :], [-1])
        # ReplicaContext.all_reduce would make a gradient for it.
        table = context.merge_call(_sum_over_workers, (table,))
        if replica == 0:
            self.agreed = tf.reshape(table, [self.workers, 3])


def _sum_over_workers(strategy: Any, table: Any) -> Any:
    return strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, table, table)


def _names(config: Any, workers: int) -> list[str]:
    """Returns the names of the workers, in the order of their replicas."""
    tasks = config.cluster_spec.as_dict() if config.cluster_spec else {}
    names = ["chief"] * bool(tasks.get("chief"))
    names += [f"worker {index}" for index in range(len(tasks.get("worker", ())))]
    return names if len(names) == workers else [f"worker {index}" for index in range(workers)]


class InputEndHook(_train.SessionRunHook):
    """Finds out whether the input of a single replica ended.

    Attributes:
      input_ended: whether the training ended because the input did.
      left_out_batches: 0; a single replica takes every batch.
      left_out_examples: 0.
      asked_by: empty; there are no other workers.
      only_size: None; batches may be of any size.
      cut_short: False.
    """

    left_out_batches, left_out_examples, asked_by = 0, 0, ()
    only_size, cut_short = None, False

    def around(self, others: Sequence[Any]) -> list[Any]:
        return [self, *others]

    def begin(self):
        self._in_run = self.input_ended = False

    def before_run(self, run_context):
        self._in_run = True

    def after_run(self, run_context, run_values):
        self._in_run = False

    def end(self, session):
        # A step that began and did not come back met the end of the input.
        self.input_ended = self._in_run


class AgreementHook(_train.SessionRunHook):
    """Ends a training of several replicas before a round that is not full.

    Attributes:
      input_ended: whether the training ended because a replica had no batch for the next round.
      left_out_batches: how many batches of all workers were not trained on for that reason; at
        least so many where `left_out_examples` is None.
      left_out_examples: how many examples they held; None where not all could be counted.
      asked_by: names of the workers where a hook asked to stop, if that ended the training.
      only_size: examples of a batch, where only batches of one size can be trained on; else None.
        TensorFlow gathers the rows of sparse gradients (of embeddings) from several workers only
        where each has as many as in the first step.
      cut_short: whether a batch of another size ended a training whose input would go on for ever.
    """

    def __init__(self, warn: Callable[[str], None], patience_secs: float):
        self._warn = warn
        self._patience_secs = patience_secs
        self._makes_wishes = False
        self.replicas = None
        self._reset()

    def _reset(self) -> None:
        self.input_ended = False
        self.left_out_batches = self.left_out_examples = 0
        self.asked_by = []
        self.only_size = None
        self.cut_short = False

    def around(self, others: Sequence[Any]) -> list[Any]:
        self._makes_wishes = True
        # The next one is that of max_steps, which all workers reach at the same step.
        return [self, *others, _AfterRunHook(self.release)]

    def around_own(self, spec: Any) -> dict[str, list[Any]]:
        """Puts the hooks of the model_fn, and those of the chief, under the same rule.

        The chief's hooks, with the listeners of its checkpoints, come after all others or before.
        """
        hooks, chief_hooks = list(spec.training_hooks), list(spec.training_chief_hooks)
        if self._makes_wishes:
            hooks.insert(0, _AfterRunHook(self.intercept))
        # Before it waits for the others a worker does what the chief's last checkpoint needs of it.
        (hooks if self.replicas.worker else chief_hooks).append(_EndHook(self._count_what_is_left))
        return {"training_hooks": hooks, "training_chief_hooks": chief_hooks}

    def begin(self):
        if self.replicas is None or None in self.replicas.following:
            raise RuntimeError("this hook belongs to the Estimator and the input_fn of its Rounds")
        self._reset()
        operations = tf.compat.v1.get_default_graph().get_operations()
        self._gathers = self.replicas.workers > 1 and any(
            op.type.startswith("CollectiveGather") for op in operations
        )

    def after_create_session(self, session, coord):
        self._wish = 0
        self._digest = self._told = None
        self._read_ahead(session)

    def _read_ahead(self, session) -> None:
        """Reads the header round, and finds out whether all workers can make the first step."""
        here = self.replicas
        failure = None
        try:
            self._upcoming = session.run(here.following)
        except tf.errors.OutOfRangeError:
            self._upcoming = [(0, 0)] * here.count
        except tf.errors.OpError as error:
            if here.workers == 1:
                raise
            failure = error
        if here.workers == 1:
            batches = [self._real(self._upcoming)]
        else:
            mine = _FAILED if failure else self._real(self._upcoming)
            size = 0 if failure else int(self._upcoming[0][1])
            rows = self._tell(session, [mine, size, 0], self._patience_secs, "its first batch")
            batches = rows[:, 0].tolist()
            if self._gathers and min(batches) >= here.count:
                self._agree_on_size(rows[:, 1].tolist())
        if failure:
            raise failure
        for worker, held in enumerate(batches):
            if held < here.count:
                raise ValueError(self._too_little(worker, held))

    def _agree_on_size(self, sizes: Sequence[int]) -> None:
        if min(sizes) < max(sizes):
            held = ", ".join(
                f"{size} in {name}" for name, size in zip(self.replicas.names, sizes, strict=True)
            )
            raise ValueError(
                f"the first batches have {held} examples, and gradients of embeddings can only be "
                "exchanged between batches of one size; write dataset.batch(n, drop_remainder=True)"
                " (reader_input_fn.drop_remainder) and give each worker the same n"
            )
        self.only_size = sizes[0]

    def _too_little(self, worker: int, held: int) -> str:
        here = self.replicas
        of = f" of {here.names[worker]}" if here.workers > 1 else ""
        if held == _FAILED:
            return f"the training input{of} failed; its own log says why"
        if held == 0:
            shards = ", the filters and the shards" if of else " and the filters"
            return (
                f"the training input{of} gave no batch; check the files{shards} of the input_fn of "
                "the TrainSpec (train_and_evaluate.train_input_fn)"
            )
        return (
            f"the training input{of} has {held} of the {here.count} batches that its replicas take "
            "in one step; give more data or smaller batches"
        )

    def before_run(self, run_context):
        here = self.replicas
        if here.workers == 1:
            return _train.SessionRunArgs({"following": here.following})
        if self._makes_wishes:
            self.intercept(run_context)
        wanted = {"following": here.following, "agreed": here.agreed}
        if self._digest is None:
            wanted["batch"] = _fetchable(here.batch)
        digest, self._told = (0 if self._told else self._digest or 0), self._digest
        size = -1 if self.only_size is None else self.only_size
        feed = {here.said: [self._wish, digest], here.size: size}
        return _train.SessionRunArgs(wanted, feed_dict=feed)

    def after_run(self, run_context, run_values):
        here, values = self.replicas, run_values.results
        self._upcoming = values["following"]
        if here.workers == 1:
            if self._real(self._upcoming) < here.count:
                self.input_ended = True
                self._stop(run_context)
            return
        if "batch" in values:
            self._digest = first_batch.digest(values["batch"])
        batches, wishes, digests = values["agreed"].T.tolist()
        if any(digests) and here.worker == 0:
            self._compare(digests)
        if min(batches) < here.count:
            self.input_ended = True
            self._stop(run_context)
        elif any(wishes):
            self.asked_by = [n for n, wish in zip(here.names, wishes, strict=True) if wish]
            self._stop(run_context)

    def end(self, session):
        if self.replicas.workers == 1:
            self._count_what_is_left(session)

    def _count_what_is_left(self, session) -> None:
        """Counts what the rounds that were not trained on hold, over all workers."""
        if not self.input_ended:
            return
        here = self.replicas
        batches = examples = 0
        ended = session.run(here.endless)  # of an endless input nothing is left out
        self.cut_short = bool(ended) and self.only_size is not None
        if not ended:
            batches, examples, ended = self._drain(session)
        unknown = not ended
        if here.workers > 1:
            try:
                rows = self._tell(
                    session, [batches, examples, int(unknown)], _COUNT_WAIT_SECS, "what it has left"
                )
                batches, examples, unknown = rows.sum(axis=0).tolist()
            except TimeoutError as error:
                self._warn(f"{error}; what the other workers left out is not counted")
                unknown = True
        self.left_out_batches = batches
        self.left_out_examples = None if unknown else examples

    def _drain(self, session) -> tuple[int, int, bool]:
        """Reads on for a while; returns batches, examples and whether it came to the end."""
        batches = examples = 0
        deadline = time.monotonic() + _DRAIN_SECS
        while True:
            have = [i for i, (real, _) in enumerate(self._upcoming) if real]
            batches += len(have)
            examples += sum(int(self._upcoming[i][1]) for i in have)
            if not have or len(have) < self.replicas.count:
                return batches, examples, True
            if time.monotonic() > deadline:
                return batches, examples, False
            self._upcoming = session.run([self.replicas.following[i] for i in have])

    def intercept(self, run_context) -> None:
        """Turns a stop that is requested of this run into a wish."""

        def wish():
            self._wish = 1

        run_context.request_stop = wish

    def release(self, run_context) -> None:
        run_context.__dict__.pop("request_stop", None)

    def _stop(self, run_context) -> None:
        type(run_context).request_stop(run_context)

    @staticmethod
    def _real(following: Sequence[Any]) -> int:
        return sum(int(real) for real, _ in following)

    def _tell(self, session, row: Sequence[int], wait_secs: float, what: str) -> np.ndarray:
        """Tells the other workers three numbers, outside of a step, and returns those of all."""
        here = self.replicas
        # What is fed does not read the input.
        feed = {here.rows[replica]: [0, 0, 0] for replica in range(1, here.count)}
        feed[here.rows[0]] = list(row)
        options = tf.compat.v1.RunOptions(timeout_in_ms=int(wait_secs * 1000))
        try:
            return session.run(here.agreed, feed, options=options)
        except tf.errors.DeadlineExceededError as error:
            raise TimeoutError(
                f"not every worker has told {what} for {wait_secs:.0f} s; look for one that is gone"
            ) from error

    def _compare(self, digests: Sequence[int]) -> None:
        names = self.replicas.names
        for first in range(len(digests)):
            for second in range(first + 1, len(digests)):
                if digests[first] and digests[first] == digests[second]:
                    self._warn(first_batch.overlap(names[first], names[second]))


class _AfterRunHook(_train.SessionRunHook):
    """Does something after each step."""

    def __init__(self, do: Callable[[Any], None]):
        self._do = do

    def after_run(self, run_context, run_values):
        self._do(run_context)


class _EndHook(_train.SessionRunHook):
    """Does something when the training has ended."""

    def __init__(self, do: Callable[[Any], None]):
        self._do = do

    def end(self, session):
        self._do(session)


def _fetchable(batch: Any) -> list[Any]:
    parts = tf.nest.flatten(batch, expand_composites=True)
    return [part for part in parts if part.dtype not in (tf.variant, tf.resource)]
