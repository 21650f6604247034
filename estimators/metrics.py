"""Evaluation metrics by name, exact over all examples."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import gin

from .whole_numbers import check_whole

BinaryMetric = Literal[
    "accuracy",
    "auc",
    "precision",
    "recall",
    "average_loss",
    "prediction_mean",
    "label_mean",
    "calibration",
]
RegressionMetric = Literal[
    "average_loss",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "prediction_mean",
    "label_mean",
]
BINARY_METRICS: tuple[str, ...] = get_args(BinaryMetric)
REGRESSION_METRICS: tuple[str, ...] = get_args(RegressionMetric)


def check_metrics(parameter: str, names: Any, known: Sequence[str]) -> None:
    """Refuses names of metrics that the first evaluation could not make.

    Args:
        parameter: its name in a config, e.g. 'wide_deep.metrics'.
        names: what was given.
        known: the names there are.
    Raises:
        ValueError: `names` is not a list, or has an unknown name.
    """
    if isinstance(names, str):
        raise ValueError(f"{parameter} = {names!r} must be a list of names; write [{names!r}].")
    if not isinstance(names, Iterable):
        raise ValueError(
            f"{parameter} = {names!r} must be a list of names; choose from {', '.join(known)}."
        )
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(str(name).lower(), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}."
            raise ValueError(f"{parameter}: there is no metric {name!r}; {hint}")


@gin.configurable(module="genever", allowlist=["threshold", "auc_bins"])
def binary_classification_metrics(
    names: Sequence[BinaryMetric],
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
        ValueError: an unknown name, or `auc_bins` is not a whole number of at least 1.
    """
    import tensorflow as tf

    check_metrics("binary_classification_metrics.names", names, BINARY_METRICS)
    check_whole("binary_classification_metrics.auc_bins", auc_bins)
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
    return {name: make[name]() for name in names}


def regression_metrics(
    names: Sequence[RegressionMetric], labels: Any, predictions: Any, weights: Any = None
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

    check_metrics("regression_metrics.names", names, REGRESSION_METRICS)
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
