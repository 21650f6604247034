import os
import re

import gin
import numpy as np
import pytest
from genever.estimators import (
    BestExporter,
    Estimator,
    EvalSpec,
    FinalExporter,
    LatestExporter,
    RunConfig,
    TrainSpec,
    wide_deep,
)

pytestmark = pytest.mark.core

CONFIG = """
wide_deep.schema = @Schema()
wide_deep.hidden_units = [4]
Schema.features = {
    'city': {'vocabulary': ['Ghent', 'Leiden']},
    'age': {'mean': 40.0, 'std': 10.0, 'default': 40.0},
    'weight': {},
    'y': {},
}
Schema.label = 'y'
Schema.weight = 'weight'
serving_input_receiver_fn.schema = @Schema()
FinalExporter.name = 'final'
FinalExporter.serving_input_receiver_fn = @serving_input_receiver_fn()
LatestExporter.name = 'latest'
LatestExporter.serving_input_receiver_fn = @serving_input_receiver_fn()
BestExporter.name = 'best'
BestExporter.serving_input_receiver_fn = @serving_input_receiver_fn()
BestExporter.metric = 'auc'
BestExporter.higher_is_better = True
EvalSpec.exporters = [@FinalExporter(), @LatestExporter(), @BestExporter()]
TrainSpec.max_steps = 40
"""

CITIES = ["Ghent", "Leiden", "Ghent", "elsewhere"]
AGES = [30.0, 55.0, 40.0, 20.0]


def input_fn(mode):
    import tensorflow as tf

    features = {"city": CITIES, "age": AGES, "weight": [1.0, 2.0, 1.0, 1.0]}
    data = tf.data.Dataset.from_tensor_slices((features, [1.0, 0.0, 1.0, 0.0]))
    return data.repeat(None if mode == "train" else 1).batch(4)


def test_exports_predict_what_the_estimator_predicts(tmp_path):
    import tensorflow as tf

    gin.parse_config(CONFIG)
    estimator = Estimator(wide_deep, config=RunConfig(model_dir=str(tmp_path)))
    _, exported = tf.estimator.train_and_evaluate(
        estimator, TrainSpec(input_fn), EvalSpec(input_fn)
    )
    assert [path is not None for path in exported] == [True, True, True]
    expected = list(estimator.predict(input_fn))

    def example(city, age):
        features = {"city": tf.train.Feature(bytes_list=tf.train.BytesList(value=[city.encode()]))}
        if age != 40.0:  # the schema's default stands in
            features["age"] = tf.train.Feature(float_list=tf.train.FloatList(value=[age]))
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    records = tf.constant([example(*row) for row in zip(CITIES, AGES, strict=True)])
    for name in ("final", "latest", "best"):
        (folder,) = (tmp_path / "export" / name).iterdir()
        loaded = tf.saved_model.load(str(folder))
        served = loaded.signatures["serving_default"](records)
        for key in ("logits", "probabilities", "class_ids"):
            assert served[key].numpy() == pytest.approx(
                np.array([row[key] for row in expected]), abs=1e-6
            )
        classified = loaded.signatures["classification"](records)
        assert classified["classes"].numpy().tolist() == [[b"0", b"1"]] * 4
        assert classified["scores"].numpy()[:, 1] == pytest.approx(served["probabilities"].numpy())
        regressed = loaded.signatures["regression"](records)
        assert regressed["outputs"].numpy().ravel() == pytest.approx(
            served["probabilities"].numpy()
        )


class Recorder:
    """Counts exports: an exporter asks an Estimator for nothing else."""

    def __init__(self, model_dir):
        self.model_dir = str(model_dir)
        self.exports = 0

    def export_saved_model(self, export_dir_base, *args, **kwargs):
        self.exports += 1
        folder = f"{export_dir_base}/{self.exports}"
        os.makedirs(folder)
        return folder.encode()


@pytest.mark.parametrize(
    ("arguments", "results", "exports"),
    [
        (
            {"metric": "auc", "higher_is_better": True},
            [{"auc": float("nan")}, {"auc": 0.5}],
            [1, 2],
        ),
        ({}, [{"loss": 2.0}, {"loss": 1.0}, {"loss": 1.5}, {"loss": 0.5}], [1, 2, 2, 3]),
        (
            {"metric": "auc", "higher_is_better": True},
            [{"auc": 0.6}, {"auc": 0.5}, {"auc": float("nan")}, {"auc": 0.7}],
            [1, 1, 1, 2],
        ),
        (
            {"metric": "mean_absolute_error"},
            [{"mean_absolute_error": 3.0}, {"mean_absolute_error": 2.0}],
            [1, 2],
        ),
        (
            {"compare_fn": lambda best_eval_result, current_eval_result: False},
            [{"loss": 2.0}, {"loss": 1.0}],
            [1, 1],
        ),
    ],
)
def test_the_best_one_is_exported(tmp_path, arguments, results, exports):
    exporter = BestExporter("best", lambda: None, **arguments)
    estimator = Recorder(tmp_path)
    counts = []
    for result in results:
        exporter.export(estimator, str(tmp_path / "export"), "ckpt", result, False)
        counts.append(estimator.exports)
    assert counts == exports


def test_a_metric_that_is_not_evaluated(tmp_path):
    exporter = BestExporter("best", lambda: None, metric="acc_loss")
    with pytest.raises(ValueError, match="no metric 'acc_loss' was evaluated; did you mean 'loss'"):
        exporter.export(Recorder(tmp_path), str(tmp_path), "ckpt", {"loss": 1.0}, False)


@pytest.mark.parametrize("make", [FinalExporter, LatestExporter, BestExporter])
@pytest.mark.parametrize("name", ["a/../../b", "a/b", "/a", "..", ".", "", " ", "a\\b", 3])
def test_a_name_that_leads_elsewhere(make, name):
    message = rf"^{make.__name__}.name = {re.escape(repr(name))} must be the name of one folder"
    with pytest.raises(ValueError, match=message):
        make(name, lambda: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "auc"}, "higher_is_better is missing for the metric 'auc'; write True"),
        ({"metric": "loss", "compare_fn": max}, "compare_fn excludes metric"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(ValueError, match=message):
        BestExporter("best", lambda: None, **arguments)


def test_they_are_the_exporters_of_tensorflow():
    import tensorflow as tf

    gin.parse_config(CONFIG)
    assert isinstance(FinalExporter(), tf.estimator.FinalExporter)
    assert isinstance(LatestExporter(), tf.estimator.LatestExporter)
    assert isinstance(BestExporter(), tf.estimator.BestExporter)
    assert BestExporter().name == "best"
