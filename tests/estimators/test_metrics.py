import inspect
from typing import get_type_hints

import numpy as np
import pytest
import typeguard
from genever.estimators import (
    binary_classification_metrics,
    linear_regression,
    regression_metrics,
    wide_deep,
)
from genever.estimators.metrics import BINARY_METRICS, REGRESSION_METRICS

pytestmark = pytest.mark.core


def evaluated(make, *columns, batch=64):
    """The metrics over all rows of `columns`, batch by batch; the last batch is smaller."""
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = [tf.compat.v1.placeholder(tf.float32, [None]) for _ in columns]
        operations = make(*inputs)
        session.run(tf.compat.v1.local_variables_initializer())
        for start in range(0, len(columns[0]), batch):
            rows = {i: c[start : start + batch] for i, c in zip(inputs, columns, strict=True)}
            session.run([update for _, update in operations.values()], rows)
        return session.run({name: value for name, (value, _) in operations.items()})


@pytest.fixture
def data():
    draw = np.random.default_rng(0)
    labels = (draw.random(1000) < 0.3).astype("float32")
    probabilities = np.clip(0.3 + 0.1 * labels + 0.1 * draw.normal(size=1000), 0.01, 0.99)
    weights = draw.integers(0, 4, 1000).astype("float32")
    return labels, probabilities.astype("float32"), weights


@pytest.mark.parametrize("weighted", [False, True])
def test_binary_metrics_are_those_of_scikit_learn(data, weighted):
    from sklearn import metrics

    labels, probabilities, weights = data
    losses = -np.log(np.where(labels == 1, probabilities, 1 - probabilities)).astype("float32")
    if weighted:
        found = evaluated(
            lambda *t: binary_classification_metrics(BINARY_METRICS, *t, threshold=0.4),
            labels,
            probabilities,
            losses,
            weights,
        )
    else:
        weights = None
        found = evaluated(
            lambda y, p, loss: binary_classification_metrics(
                BINARY_METRICS, y, p, loss, threshold=0.4
            ),
            labels,
            probabilities,
            losses,
        )
    classes = probabilities >= 0.4
    mean = np.average(probabilities, weights=weights)
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(labels, classes, sample_weight=weights),
            "auc": metrics.roc_auc_score(labels, probabilities, sample_weight=weights),
            "precision": metrics.precision_score(labels, classes, sample_weight=weights),
            "recall": metrics.recall_score(labels, classes, sample_weight=weights),
            "average_loss": metrics.log_loss(labels, probabilities, sample_weight=weights),
            "prediction_mean": mean,
            "label_mean": np.average(labels, weights=weights),
            "calibration": mean / np.average(labels, weights=weights),
        },
        abs=2e-5,
    )


def test_auc_of_close_probabilities():
    from sklearn.metrics import roc_auc_score

    draw = np.random.default_rng(1)
    labels = (draw.random(2000) < 0.2).astype("float32")
    close = (0.2 + 0.005 * labels + 0.005 * draw.normal(size=2000)).astype("float32")
    found = evaluated(
        lambda y, p: binary_classification_metrics(["auc"], y, p, losses=y), labels, close
    )
    assert found["auc"] == pytest.approx(roc_auc_score(labels, close), abs=1e-3)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_alone_gives_no_nan(label):
    labels = np.full(10, label, "float32")
    found = evaluated(
        lambda y, p: binary_classification_metrics(["auc", "calibration"], y, p, losses=y),
        labels,
        np.full(10, 0.5, "float32"),
    )
    assert found == {"auc": 0.0, "calibration": 0.5 if label else 0.0}


def test_regression_metrics_are_those_of_numpy(data):
    labels, predictions, weights = data
    found = evaluated(
        lambda y, p, w: regression_metrics(REGRESSION_METRICS, y, p, w),
        labels,
        predictions,
        weights,
    )
    error = labels - predictions
    square = np.average(error**2, weights=weights)
    assert found == pytest.approx(
        {
            "average_loss": square,
            "mean_squared_error": square,
            "root_mean_squared_error": np.sqrt(square),
            "mean_absolute_error": np.average(abs(error), weights=weights),
            "prediction_mean": np.average(predictions, weights=weights),
            "label_mean": np.average(labels, weights=weights),
        },
        rel=1e-5,
    )


def test_unknown_names():
    import tensorflow as tf

    with tf.Graph().as_default():
        y = tf.zeros([1])
        with pytest.raises(ValueError, match="no metric 'acuracy'; did you mean 'accuracy'?"):
            binary_classification_metrics(["acuracy"], y, y, y)
        with pytest.raises(ValueError, match="no metric 'auc'; choose from average_loss"):
            regression_metrics(["auc"], y, y)
        with pytest.raises(ValueError, match=r"'auc' must be a list of names; write \['auc'\]"):
            binary_classification_metrics("auc", y, y, y)
        with pytest.raises(ValueError, match="binary_classification_metrics.auc_bins = 0 must be"):
            binary_classification_metrics(["auc"], y, y, y, auc_bins=0)


@pytest.mark.parametrize(
    ("model_fn", "known"), [(linear_regression, REGRESSION_METRICS), (wide_deep, BINARY_METRICS)]
)
def test_the_annotations_of_the_model_fns_name_every_metric(model_fn, known):
    annotation = get_type_hints(inspect.unwrap(model_fn))["metrics"]
    typeguard.check_type(list(known), annotation)
    for wrong in (["acuracy"], known[0]):
        with pytest.raises(typeguard.TypeCheckError):
            typeguard.check_type(wrong, annotation)
