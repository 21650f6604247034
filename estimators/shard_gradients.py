"""Gradients that are computed on the device of the operation that they belong to.

TensorFlow computes a gradient on the device of the caller, unless the optimizer is told to colocate
gradients; inside `gradients_stay` it does not depend on the optimizer.
"""

import contextlib
from collections.abc import Iterator

import tensorflow as tf

_PREFIX = "GeneverShard"
_KINDS = ("MatMul", "Reshape", "ResourceGather")


@contextlib.contextmanager
def gradients_stay() -> Iterator[None]:
    """The gradients of matrix products and lookups made in this scope stay on their device."""
    graph = tf.compat.v1.get_default_graph()
    with graph.gradient_override_map({kind: _PREFIX + kind for kind in _KINDS}):
        yield


def is_product_or_lookup(op: tf.Operation) -> bool:
    """Says whether an operation was made in the scope of `gradients_stay`."""
    if op.type not in _KINDS:
        return False
    try:
        return op.get_attr("_gradient_op_type") == (_PREFIX + op.type).encode()
    except ValueError:
        return False


@tf.RegisterGradient(_PREFIX + "MatMul")
def _matmul(op: tf.Operation, gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    inputs, weights = op.inputs
    with tf.device(op.device):
        return (
            tf.matmul(gradient, weights, transpose_b=True),
            tf.matmul(inputs, gradient, transpose_a=True),
        )


@tf.RegisterGradient(_PREFIX + "Reshape")
def _reshape(op: tf.Operation, gradient: tf.Tensor) -> tuple[tf.Tensor, None]:
    with tf.device(op.device):
        return tf.reshape(gradient, tf.shape(op.inputs[0])), None


@tf.RegisterGradient(_PREFIX + "ResourceGather")
def _gather(op: tf.Operation, gradient: tf.Tensor) -> tuple[tf.IndexedSlices, None]:
    table, rows = op.inputs
    with tf.device(op.device):
        shape = tf.raw_ops.VariableShape(input=table)
        rows = tf.reshape(rows, [-1])
        values = tf.reshape(gradient, tf.concat([tf.shape(rows), shape[1:]], axis=0))
        return tf.IndexedSlices(values, rows, shape), None
