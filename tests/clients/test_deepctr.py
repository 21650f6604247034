"""deepctr from PyPI: Keras layers and TF1 optimizers inside the model_fn of an Estimator."""

import json

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

PROGRAM = """
import json

import genever
import numpy as np
import tensorflow as tf
from deepctr.estimator import {estimator}

random = np.random.RandomState(0)
color = random.choice([b"red", b"green", b"blue", b"grey"], 600)
size = random.uniform(0, 1, (600, 1)).astype(np.float32)
label = ((color == b"red") ^ (size[:, 0] > 0.5)).astype(np.float32)


def input_fn(epochs=1):
    rows = tf.data.Dataset.from_tensor_slices(({{"color": color, "size": size}}, label))
    return rows.repeat(epochs).batch(50)


color_id = tf.feature_column.categorical_column_with_vocabulary_list(
    "color", ["red", "green", "blue", "grey"])
number = tf.feature_column.numeric_column("size")
model = {estimator}(
    [color_id, number], [tf.feature_column.embedding_column(color_id, 4), number],
    dnn_hidden_units=(32, 16), dnn_optimizer="Adam",
    config=tf.estimator.RunConfig("model", tf_random_seed=1))
model.train(lambda: input_fn(None), max_steps=300)
metrics = model.evaluate(input_fn)
pred = np.array([row["pred"] for row in model.predict(input_fn)])
print(json.dumps({{
    "metrics": {{name: float(value) for name, value in metrics.items()}},
    "shape": pred.shape, "least": float(pred.min()), "most": float(pred.max()),
    "right": float(np.mean((pred[:, 0] > 0.5) == label)), "label": float(label.mean()),
}}))
"""


@pytest.mark.parametrize("estimator", ["DeepFMEstimator", "WDLEstimator"])
def test_a_click_model_trains_evaluates_and_predicts(output_of, estimator):
    # deepctr asks PyPI for its newest version when imported; nothing answers at this address.
    program = PROGRAM.format(estimator=estimator)
    found = json.loads(output_of(program, HTTPS_PROXY="http://127.0.0.1:9")[-1])
    metrics = found["metrics"]
    assert metrics["global_step"] == 300
    # Half of the labels are 1: without training the log loss is log(2) = 0.69.
    assert 0 < metrics["LogLoss"] < 0.2
    assert 0.98 < metrics["AUC"] <= 1
    assert metrics["label/mean"] == pytest.approx(found["label"], abs=1e-6)
    assert found["shape"] == [600, 1]
    assert 0 <= found["least"] < found["most"] <= 1
    assert found["right"] > 0.95
