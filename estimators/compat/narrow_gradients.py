"""An optimizer that takes gradients of another dtype than its variables.

`tf.compat.v1.train.Optimizer.apply_gradients` adds up over replicas, sends to parameter servers and
then applies, in one call. To send fewer bits, the cast back must come between the two. Missing
public API: a way to apply gradients that have been added up already, or a hook between the steps;
so this calls the methods that Optimizer has for its subclasses, on all supported TensorFlows.
Nor does a strategy say how it adds up.

Imports TensorFlow, so it is imported only by functions that have it.
"""

from typing import Any

import tensorflow as tf


def refuse_nccl(strategy: Any) -> None:
    """Raises an error where a strategy adds up by NCCL alone, which knows no bfloat16.

    Raises:
        ValueError: says what to write instead.
    """
    ways = getattr(strategy.extended, "_cross_device_ops", None)
    if isinstance(ways, tf.distribute.NcclAllReduce):
        raise ValueError(
            "create_train_op.gradient_dtype = 'bfloat16' does not work with NcclAllReduce, which "
            "adds up no bfloat16 numbers; write MirroredStrategy.cross_device_ops = "
            "@HierarchicalCopyAllReduce(), or leave it out."
        )


class WideningOptimizer(tf.compat.v1.train.Optimizer):
    """Casts each gradient to the dtype of its variable, where the variable is, and applies it.

    Args:
        optimizer: the `tf.compat.v1.train.Optimizer` that applies; it keeps its slots and names.
    Raises:
        ValueError: the optimizer applies gradients in a way of its own, which would be left out.
    """

    def __init__(self, optimizer: Any):
        if type(optimizer).apply_gradients is not tf.compat.v1.train.Optimizer.apply_gradients:
            raise ValueError(
                f"create_train_op.gradient_dtype = 'bfloat16' does not work with "
                f"{type(optimizer).__name__}, which has an apply_gradients of its own; remove it, "
                "or use a plain optimizer."
            )
        super().__init__(False, optimizer.get_name())
        self._optimizer = optimizer

    def _create_slots(self, var_list):
        self._optimizer._create_slots(var_list)

    def _prepare(self):
        self._optimizer._prepare()

    def _apply_dense(self, grad, var):
        return self._optimizer._apply_dense(tf.cast(grad, var.dtype.base_dtype), var)

    def _resource_apply_dense(self, grad, handle):
        return self._optimizer._resource_apply_dense(tf.cast(grad, handle.dtype.base_dtype), handle)

    def _apply_sparse_duplicate_indices(self, grad, var):
        wide = tf.IndexedSlices(
            tf.cast(grad.values, var.dtype.base_dtype), grad.indices, grad.dense_shape
        )
        return self._optimizer._apply_sparse_duplicate_indices(wide, var)

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        return self._optimizer._resource_apply_sparse_duplicate_indices(
            tf.cast(grad, handle.dtype.base_dtype), handle, indices
        )

    def _finish(self, update_ops, name_scope):
        return self._optimizer._finish(update_ops, name_scope)
