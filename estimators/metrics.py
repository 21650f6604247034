"""Evaluation metrics by name, exact over all examples."""

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import gin

BINARY_METRICS = (
    "accuracy",
    "auc",
    "precision",
    "recall",
    "average_loss",
    "prediction_mean",
    "label_mean",
    "calibration",
)
REGRESSION_METRICS = (
    "average_loss",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "prediction_mean",
    "label_mean",
)


@gin.configurable(module="genever", allowlist=["threshold", "auc_bins"])
def binary_classification_metrics(
    names: Sequence[str],
    labels: Any,
    probabilities: Any,
    losses: Any,
    weights: Any = None,
    threshold: float = 0.5,
    auc_bins: int = 100000,
) -> dict[str, Any]:
    """Makes the eval_metric_ops of a binary classifier.

    Args:
        names: which of accuracy, auc, precision, recall, average_loss (mean loss of an example,
            where the Estimator's own `loss` is a mean of batches), prediction_mean, label_mean,
            calibration (prediction_mean / label_mean).
        labels: 0 or 1, [batch].
        probabilities: float32 probability of 1, [batch].
        losses: float32 loss of each example, [batch].
        weights: float32 weight of each example, [batch], or None.
        threshold: probability from which an example is classified as 1.
        auc_bins: bins of equal width into which the probabilities are sorted for the AUC; two
            examples in one bin count as equal. The AUC is 0 where all labels are equal.
    Returns:
        A dict of name to (value, update operation), for `EstimatorSpec.eval_metric_ops`.
    Raises:
        ValueError: an unknown name.
    """
    import tensorflow as tf

    v1 = tf.compat.v1.metrics
    labels = tf.cast(labels, tf.float32)
    classes = tf.cast(probabilities >= threshold, tf.float32)
    make = {
        "accuracy": lambda: v1.accuracy(labels, classes, weights),
        "auc": lambda: _auc(labels, probabilities, weights, auc_bins),
        "precision": lambda: v1.precision(labels, classes, weights),
        "recall": lambda: v1.recall(labels, classes, weights),
        "average_loss": lambda: v1.mean(losses, weights),
        "prediction_mean": lambda: v1.mean(probabilities, weights),
        "label_mean": lambda: v1.mean(labels, weights),
        "calibration": lambda: _ratio(probabilities, labels, weights),
    }
    return _chosen("binary_classification_metrics", names, make)


def regression_metrics(
    names: Sequence[str], labels: Any, predictions: Any, weights: Any = None
) -> dict[str, Any]:
    """Makes the eval_metric_ops of a regression.

    Args:
        names: which of average_loss (equal to mean_squared_error), mean_squared_error,
            root_mean_squared_error, mean_absolute_error, prediction_mean, label_mean.
        labels: float32, [batch].
        predictions: float32, [batch].
        weights: float32 weight of each example, [batch], or None.
    Returns:
        A dict of name to (value, update operation), for `EstimatorSpec.eval_metric_ops`.
    Raises:
        ValueError: an unknown name.
    """
    import tensorflow as tf

    v1 = tf.compat.v1.metrics
    labels = tf.cast(labels, tf.float32)
    make = {
        "average_loss": lambda: v1.mean_squared_error(labels, predictions, weights),
        "mean_squared_error": lambda: v1.mean_squared_error(labels, predictions, weights),
        "root_mean_squared_error": lambda: v1.root_mean_squared_error(labels, predictions, weights),
        "mean_absolute_error": lambda: v1.mean_absolute_error(labels, predictions, weights),
        "prediction_mean": lambda: v1.mean(predictions, weights),
        "label_mean": lambda: v1.mean(labels, weights),
    }
    return _chosen("regression_metrics", names, make)


def _chosen(
    configurable: str, names: Sequence[str], make: dict[str, Callable[[], Any]]
) -> dict[str, Any]:
    if isinstance(names, str):
        raise ValueError(f"metrics = {names!r} must be a list of names; write [{names!r}].")
    for name in names:
        if name not in make:
            close = difflib.get_close_matches(str(name), make, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(make)}."
            raise ValueError(f"{configurable}: there is no metric {name!r}; {hint}")
    return {name: make[name]() for name in names}


def _auc(labels: Any, probabilities: Any, weights: Any, bins: int) -> tuple[Any, Any]:
    """Area under the ROC curve from one histogram of the probabilities for each class."""
    import tensorflow as tf

    weights = tf.ones_like(labels) if weights is None else tf.cast(weights, tf.float32)
    index = tf.clip_by_value(tf.cast(probabilities * bins, tf.int32), 0, bins - 1)
    histogram = tf.stack(
        [
            tf.math.unsorted_segment_sum(weights * labels, index, bins),
            tf.math.unsorted_segment_sum(weights * (1.0 - labels), index, bins),
        ]
    )
    # A mean over batches: the area does not change when both histograms are divided by one number.
    mean, update = tf.compat.v1.metrics.mean_tensor(histogram)

    def area(histogram):
        positive, negative = tf.unstack(tf.cast(histogram, tf.float64))
        lower = tf.cumsum(negative, exclusive=True)
        wins = tf.reduce_sum(positive * (lower + negative / 2))
        pairs = tf.reduce_sum(positive) * tf.reduce_sum(negative)
        return tf.cast(tf.math.divide_no_nan(wins, pairs), tf.float32)

    return _computed_once(area, mean), update


def _ratio(numerators: Any, denominators: Any, weights: Any) -> tuple[Any, Any]:
    import tensorflow as tf

    upper, update_upper = tf.compat.v1.metrics.mean(numerators, weights)
    lower, update_lower = tf.compat.v1.metrics.mean(denominators, weights)
    value = _computed_once(tf.math.divide_no_nan, upper, lower)
    return value, tf.group(update_upper, update_lower)


def _computed_once(function: Callable[..., Any], *values: Any) -> Any:
    """Computes one value for all replicas: the Estimator refuses one value for each of them."""
    import tensorflow as tf

    return tf.distribute.get_replica_context().merge_call(
        lambda _, *merged: function(*merged), args=values
    )
