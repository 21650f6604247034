"""A model_fn of the TF1 kind lives its whole life: train, evaluate, predict, export, reload."""

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.core

X = np.random.RandomState(0).uniform(-1, 1, (200, 2)).astype(np.float32)
Y = X @ np.array([1.0, 2.0], np.float32) + 3.0


def input_fn(epochs=1):
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat(epochs).batch(20)


def model_fn(features, labels, mode, params):
    v1 = tf.compat.v1
    weights = v1.get_variable("W", [2], initializer=v1.zeros_initializer())
    bias = v1.get_variable("b", [], initializer=v1.zeros_initializer())
    prediction = tf.linalg.matvec(features["x"], weights) + bias
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"y": prediction}
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=outputs,
            export_outputs={"serving_default": tf.estimator.export.PredictOutput(outputs)},
        )
    loss = v1.losses.mean_squared_error(labels, prediction)
    if mode == tf.estimator.ModeKeys.EVAL:
        error = v1.metrics.mean_absolute_error(labels, prediction)
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"mae": error})
    optimizer = v1.train.GradientDescentOptimizer(params["learning_rate"])
    step = optimizer.minimize(loss, v1.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def serving_input_receiver_fn():
    x = tf.compat.v1.placeholder(tf.float32, [None, 2], "x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def linear_estimator(model_dir):
    config = tf.estimator.RunConfig(str(model_dir), tf_random_seed=1, save_checkpoints_steps=100)
    return tf.estimator.Estimator(model_fn, config=config, params={"learning_rate": 0.3})


def test_train_evaluate_predict_export_and_reload(tmp_path):
    estimator = linear_estimator(tmp_path)
    estimator.train(lambda: input_fn(30), steps=300)
    np.testing.assert_allclose(estimator.get_variable_value("W"), [1, 2], atol=1e-4)
    np.testing.assert_allclose(estimator.get_variable_value("b"), 3, atol=1e-4)

    metrics = estimator.evaluate(input_fn)
    assert metrics["global_step"] == 300
    assert metrics["mae"] < 1e-4

    predicted = [row["y"] for row in estimator.predict(input_fn)]
    np.testing.assert_allclose(predicted, Y, atol=1e-3)

    folder = estimator.export_saved_model(str(tmp_path / "export"), serving_input_receiver_fn)
    serve = tf.saved_model.load(folder.decode()).signatures["serving_default"]
    served = serve(x=tf.constant(X))["y"].numpy()
    np.testing.assert_allclose(served, predicted, atol=1e-6)


def test_training_goes_on_from_its_checkpoint(tmp_path):
    linear_estimator(tmp_path).train(lambda: input_fn(30), max_steps=100)
    again = linear_estimator(tmp_path)
    again.train(lambda: input_fn(30), max_steps=150)
    assert again.get_variable_value("global_step") == 150
    assert (tmp_path / "graph.pbtxt").exists()


def test_train_and_evaluate_returns_metrics_and_exports(tmp_path):
    exporter = tf.estimator.FinalExporter("final", serving_input_receiver_fn)
    metrics, exports = tf.estimator.train_and_evaluate(
        linear_estimator(tmp_path),
        tf.estimator.TrainSpec(lambda: input_fn(30), max_steps=200),
        tf.estimator.EvalSpec(input_fn, steps=None, exporters=[exporter], throttle_secs=0),
    )
    assert metrics["global_step"] == 200
    assert len(exports) == 1
    assert tf.saved_model.contains_saved_model(exports[0].decode())
