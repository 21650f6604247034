"""The smallest model that is parallel itself: y = x · W + b, its W spread over devices."""

from collections.abc import Sequence
from typing import Any

import gin

from .linear_regression_model import gradient_descent, matrix_feature, squared_error_spec
from .metrics import REGRESSION_METRICS, RegressionMetric, check_metrics
from .model_parallel import shard_devices_hook, sharded_variable, sum_of_products
from .portable_scaffold import portable_scaffold


@gin.configurable(module="genever", denylist=["features", "labels", "mode"])
def sharded_linear(
    features: Any,
    labels: Any,
    mode: str,
    num_shards: int | None = None,
    devices: Sequence[str] | None = None,
    optimizer: Any = gradient_descent,
    metrics: Sequence[RegressionMetric] = ("average_loss", "root_mean_squared_error"),
) -> Any:
    """A model_fn of linear regression in N sub-models: y = x_1 · W_1 + ... + x_N · W_N + b.

    It is `linear_regression` with the rows of W, their gradients and the slots of the optimizer on
    N devices, as `sharded_dense` describes it; checkpoints of the two are interchangeable, and so
    are those with different numbers of shards.

    Args:
        features: dict with 'x': float32, [batch, d].
        labels: float32, [batch] or [batch, 1].
        mode: a `tf.estimator.ModeKeys`.
        num_shards: number of sub-models, on that many devices from the replica's own device on.
        devices: one device name per sub-model, instead of `num_shards`.
        optimizer: un-called reference such as `@AdamOptimizer`, or an instance; gradient descent
            with rate 0.1 by default.
        metrics: names of `regression_metrics`.
    Returns:
        The `tf.estimator.EstimatorSpec`; predictions: 'predictions', float32, [batch].
    Raises:
        ValueError: there is no feature 'x' of rank 2, it has fewer columns than there are shards,
            neither or both of `num_shards` and `devices` are given, a metric is unknown, or, when
            training starts, a device is missing.
    """
    import tensorflow as tf

    # Here and not at the first evaluation, which may be hours later.
    check_metrics("sharded_linear.metrics", metrics, REGRESSION_METRICS)
    x = matrix_feature("sharded_linear", features)
    zeros = tf.compat.v1.zeros_initializer()
    with tf.compat.v1.variable_scope("linear"):
        shards = sharded_variable(
            "sharded_linear", "weights", [x.shape[1]], num_shards, devices, tf.float32, zeros
        )
        bias = tf.compat.v1.get_variable("bias", [], tf.float32, zeros)
        predicted = sum_of_products(x, shards) + bias
    return squared_error_spec(
        mode,
        labels,
        predicted,
        optimizer,
        metrics,
        training_hooks=[shard_devices_hook()],
        scaffold=portable_scaffold() if mode == tf.estimator.ModeKeys.PREDICT else None,
    )
