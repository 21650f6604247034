"""The smallest model: y = x · W + b."""

from collections.abc import Sequence
from typing import Any

import gin

from .metrics import REGRESSION_METRICS, RegressionMetric, check_metrics, regression_metrics
from .training import create_train_op


def gradient_descent() -> Any:
    """Gradient descent with rate 0.1."""
    import tensorflow as tf

    return tf.compat.v1.train.GradientDescentOptimizer(0.1)


@gin.configurable(module="genever", denylist=["features", "labels", "mode"])
def linear_regression(
    features: Any,
    labels: Any,
    mode: str,
    optimizer: Any = gradient_descent,
    metrics: Sequence[RegressionMetric] = ("average_loss", "root_mean_squared_error"),
) -> Any:
    """A model_fn of linear regression; its variables are `linear/weights` and `linear/bias`.

    Args:
        features: dict with 'x': float32, [batch, d].
        labels: float32, [batch] or [batch, 1].
        mode: a `tf.estimator.ModeKeys`.
        optimizer: un-called reference such as `@AdamOptimizer`, or an instance; gradient descent
            with rate 0.1 by default.
        metrics: names of `regression_metrics`.
    Returns:
        The `tf.estimator.EstimatorSpec`; predictions: 'predictions', float32, [batch].
    Raises:
        ValueError: there is no feature 'x' of rank 2, or a metric is unknown.
    """
    import tensorflow as tf

    # Here and not at the first evaluation, which may be hours later.
    check_metrics("linear_regression.metrics", metrics, REGRESSION_METRICS)
    x = matrix_feature("linear_regression", features)
    with tf.compat.v1.variable_scope("linear"):
        weights = tf.compat.v1.get_variable(
            "weights", [x.shape[1]], tf.float32, tf.compat.v1.zeros_initializer()
        )
        bias = tf.compat.v1.get_variable("bias", [], tf.float32, tf.compat.v1.zeros_initializer())
        predicted = tf.linalg.matvec(x, weights) + bias
    return squared_error_spec(mode, labels, predicted, optimizer, metrics)


def matrix_feature(model: str, features: Any) -> Any:
    """Returns the feature 'x' as float32, [batch, d].

    Args:
        model: name of the model_fn, for messages.
        features: what the model_fn was given.
    Returns:
        A float32 tensor of rank 2 with a known number of columns.
    Raises:
        ValueError: there is no feature 'x' of rank 2.
    """
    import tensorflow as tf

    if not isinstance(features, dict) or "x" not in features:
        found = ", ".join(features) if isinstance(features, dict) else type(features).__name__
        raise ValueError(f"{model} needs a feature 'x' of shape [batch, d], not {found}.")
    x = tf.cast(features["x"], tf.float32)
    if x.shape.rank != 2 or x.shape[1] is None:
        raise ValueError(f"{model}: feature 'x' has shape {x.shape}, not [batch, d].")
    return x


def squared_error_spec(
    mode: str,
    labels: Any,
    predicted: Any,
    optimizer: Any,
    metrics: Sequence[RegressionMetric],
    **of_the_spec: Any,
) -> Any:
    """Makes the spec of a model that predicts one number and minimises its squared error.

    Args:
        mode: a `tf.estimator.ModeKeys`.
        labels: [batch] or [batch, 1]; not used in prediction.
        predicted: float32, [batch].
        optimizer: see `create_train_op`.
        metrics: names of `regression_metrics`.
        **of_the_spec: further arguments of the spec.
    Returns:
        The `tf.estimator.EstimatorSpec`.
    """
    import tensorflow as tf

    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"predictions": predicted}
        predict = tf.estimator.export.PredictOutput(outputs)
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=outputs,
            export_outputs={
                "serving_default": predict,
                "predict": predict,
                "regression": tf.estimator.export.RegressionOutput(predicted),
            },
            **of_the_spec,
        )
    labels = tf.reshape(tf.cast(labels, tf.float32), tf.shape(predicted))
    loss = tf.reduce_mean(tf.math.squared_difference(predicted, labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        eval_metrics = regression_metrics(metrics, labels, predicted)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, eval_metric_ops=eval_metrics, **of_the_spec
        )
    train_op = create_train_op(loss, optimizer)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, **of_the_spec)
