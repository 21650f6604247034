"""Gradient accumulation: k calls of a train_op add up their gradients, and the k-th applies them.

What is added up stays on the device of its replica, so replicas and machines exchange gradients
only once in k calls. It is no part of a checkpoint: see `accumulate`.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

_STEPS = "genever_accumulate_steps"


def batches_to_an_update(graph: Any) -> int:
    """Returns how many batches of each replica the global step of a graph stands for."""
    return max(graph.get_collection(_STEPS), default=1)


def accumulate(gradients: Sequence[Any], steps: int, update: Callable[[list[Any]], Any]) -> Any:
    """Makes an operation that adds up gradients and updates the variables every `steps` runs.

    An update sees the mean of the gradients of its `steps` runs, as one batch of that many examples
    would give it; gradients of looked-up tables stay sparse, row by row as they were looked up.

    The sums live as long as the session and are not saved: checkpoints by steps come right after an
    update, when the sums are empty, and a run may go on with another number of steps. What was
    added up for an update that never came, because the input ended or the run was stopped, is
    dropped, like the rest of an input that does not fill a batch.

    Args:
        gradients: tensors or `tf.IndexedSlices` of this replica, in a replica context.
        steps: runs to an update.
        update: called once with the mean gradients; returns the operation that applies them in
            this replica. It may add up over replicas.
    Returns:
        The operation, or what a replica gets for it.
    """
    tf.compat.v1.add_to_collection(_STEPS, steps)
    here = tf.no_op().device
    sums = [_sum_of(gradient, here) for gradient in gradients]
    with tf.device(here), tf.device("/cpu:0"):
        count = _Store(tf.int64, [], tf.zeros([], tf.int64))
    added = [one.add(gradient) for one, gradient in zip(sums, gradients, strict=True)]
    # The one before waits for all sums, so that the next call cannot overtake this one.
    with tf.control_dependencies(added), tf.device(count.device):
        number = count.read() + 1

    def apply() -> Any:
        means = [one.mean(steps) for one in sums]
        with tf.control_dependencies([update(means)]):
            return tf.group([one.clear() for one in sums])

    return tf.distribute.get_replica_context().merge_call(
        _every, args=(steps, number, count, apply)
    )


def _every(strategy: Any, steps: int, number: Any, count: Any, apply: Any) -> Any:
    """Calls `apply` in each replica where this is the last of `steps` runs; replicas count alike.

    The condition is around all replicas, because those exchange gradients inside of it.
    """
    numbers = strategy.experimental_local_results(number)
    counts = strategy.experimental_local_results(count)

    def apply_in_each_replica():
        # An operation in the branch of a condition counts only if its result depends on it.
        applied = strategy.extended.call_for_each_replica(lambda call: call(), args=(apply,))
        with tf.control_dependencies(strategy.experimental_local_results(applied)):
            return tf.constant(True)

    with tf.control_dependencies(numbers):
        last = tf.equal(numbers[0], steps)
        done = tf.cond(last, apply_in_each_replica, lambda: tf.constant(False))
    with tf.control_dependencies([done]):
        return tf.group(
            [
                one.write(tf.where(last, tf.zeros_like(reached), reached))
                for one, reached in zip(counts, numbers, strict=True)
            ]
        )


class _Store:
    """A value that lives on one device as long as a session, whatever the strategy.

    Not a `tf.Variable`: a strategy would mirror it, or put it on a parameter server.
    """

    def __init__(self, dtype: Any, shape: Any, initial: Any):
        # Tasks build the same graph; a name of its own keeps the store from being shared.
        self._handle = tf.raw_ops.VarHandleOp(
            dtype=dtype, shape=shape, shared_name=f"accumulated_{uuid.uuid4().hex}"
        )
        self._dtype = dtype
        self.device = self._handle.device
        # These run with the local_init_op, in every new session of every task.
        tf.compat.v1.add_to_collection(
            tf.compat.v1.GraphKeys.TABLE_INITIALIZERS, self.write(initial)
        )

    def read(self) -> Any:
        return tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)

    def write(self, value: Any) -> Any:
        return tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def add(self, value: Any) -> Any:
        return tf.raw_ops.AssignAddVariableOp(resource=self._handle, value=value)


class _DenseSum:
    """The sum of tensors of one shape."""

    def __init__(self, gradient: Any):
        self._shape, self._dtype = gradient.shape, gradient.dtype
        self._sum = _Store(self._dtype, self._shape, tf.zeros(self._shape, self._dtype))

    def add(self, gradient: Any) -> Any:
        return self._sum.add(gradient)

    def mean(self, steps: int) -> Any:
        return tf.ensure_shape(self._sum.read(), self._shape) / steps

    def clear(self) -> Any:
        return self._sum.write(tf.zeros(self._shape, self._dtype))


class _SparseSum:
    """Rows of `tf.IndexedSlices`, one after another: what one large batch would look up."""

    def __init__(self, gradient: Any):
        self._width = gradient.values.shape[1:]
        self._dense_shape = gradient.dense_shape
        dtype = gradient.values.dtype
        self._no_rows = tf.zeros([0, *self._width], dtype)
        self._values = _Store(dtype, None, self._no_rows)
        # int64, because a GPU keeps no int32 in a resource.
        self._no_indices = tf.zeros([0], tf.int64)
        self._indices = _Store(tf.int64, None, self._no_indices)

    def add(self, gradient: Any) -> Any:
        values = tf.concat([self._values.read(), gradient.values], axis=0)
        indices = tf.concat([self._indices.read(), tf.cast(gradient.indices, tf.int64)], axis=0)
        return tf.group(self._values.write(values), self._indices.write(indices))

    def mean(self, steps: int) -> Any:
        values = tf.ensure_shape(self._values.read(), [None, *self._width])
        indices = tf.ensure_shape(self._indices.read(), [None])
        return tf.IndexedSlices(values / steps, indices, self._dense_shape)

    def clear(self) -> Any:
        return tf.group(self._values.write(self._no_rows), self._indices.write(self._no_indices))


def _sum_of(gradient: Any, here: str) -> Any:
    sparse = isinstance(gradient, tf.IndexedSlices)
    # A model-parallel layer has its gradient elsewhere than its replica.
    with tf.device((gradient.values if sparse else gradient).device or here):
        return _SparseSum(gradient) if sparse else _DenseSum(gradient)
