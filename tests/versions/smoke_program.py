"""Trains, evaluates, exports and reloads small Estimators; prints versions and numbers as JSON.

`make matrix` runs it on every supported TensorFlow, the tests on the one that is installed. It
needs nothing but Genever, writes below the working directory, and fails where a number is wrong.
"""

import json
import platform
from importlib.metadata import version

import genever
import numpy as np
import tensorflow as tf

TWO_CPUS = tf.compat.v1.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
X = np.random.RandomState(0).uniform(-1, 1, (400, 2)).astype(np.float32)
Y = X @ np.array([1, 2], np.float32) + 3


def rows():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(20)


def model_fn(features, labels, mode):
    v1 = tf.compat.v1
    weights = v1.get_variable("W", [2], initializer=v1.zeros_initializer())
    bias = v1.get_variable("b", [], initializer=v1.zeros_initializer())
    predicted = tf.linalg.matvec(features["x"], weights) + bias
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": predicted})
    loss = v1.losses.mean_squared_error(labels, predicted)
    train = v1.train.GradientDescentOptimizer(0.3).minimize(
        loss, v1.train.get_or_create_global_step()
    )
    metrics = {"mae": v1.metrics.mean_absolute_error(labels, predicted)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.compat.v1.placeholder(tf.float32, [None, 2], name="x")}
    )()


def train_evaluate_export_reload():
    config = tf.estimator.RunConfig("own", save_checkpoints_steps=100, tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    metrics, exports = genever.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: rows().repeat(), max_steps=200),
        tf.estimator.EvalSpec(
            rows, steps=None, exporters=tf.estimator.FinalExporter("final", receiver)
        ),
    )
    predicted = np.array([row["y"] for row in estimator.predict(rows)])
    served = tf.saved_model.load(tf.compat.as_str(exports[0])).signatures["serving_default"]
    same = np.abs(served(x=tf.constant(X))["y"].numpy() - predicted).max()
    return {
        "step": int(metrics["global_step"]),
        "mae": float(metrics["mae"]),
        "W": estimator.get_variable_value("W").tolist(),
        "served - predicted": float(same),
    }


def mirrored():
    config = tf.estimator.RunConfig(
        "mirrored",
        tf_random_seed=1,
        session_config=TWO_CPUS,
        train_distribute=tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    estimator.train(lambda: rows().repeat(), max_steps=100)
    return estimator.get_variable_value("W").tolist()


def canned():
    column = tf.feature_column.numeric_column("x", shape=(2,))
    estimator = tf.estimator.DNNLinearCombinedRegressor(
        model_dir="canned",
        linear_feature_columns=[column],
        dnn_feature_columns=[column],
        dnn_hidden_units=[8],
        linear_optimizer=tf.keras.optimizers.legacy.Ftrl(0.5),
        dnn_optimizer=tf.keras.optimizers.legacy.Adam(0.02),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    estimator.train(lambda: rows().repeat(), max_steps=200)
    return float(estimator.evaluate(rows)["average_loss"])


def keras():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="only")])
    model.compile(tf.keras.optimizers.legacy.SGD(0.3), "mse")
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir="keras")

    def pairs():
        return rows().map(lambda features, label: (features["x"], label[:, None]))

    estimator.train(lambda: pairs().repeat(), max_steps=100)
    return float(estimator.evaluate(pairs)["loss"])


def check(own, mirrored, canned, keras):
    assert own["step"] == 200, own
    # The data is y = x·[1, 2] + 3, without noise.
    assert own["mae"] < 1e-4, own
    for weights in (own["W"], mirrored):
        assert abs(weights[0] - 1) < 1e-3 and abs(weights[1] - 2) < 1e-3, weights
    assert own["served - predicted"] < 1e-6, own
    # A model that learned nothing has the mean of y², about 10.7.
    assert canned < 0.5, canned
    assert keras < 1e-3, keras


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    found = {
        "own": train_evaluate_export_reload(),
        "mirrored": mirrored(),
        "canned": canned(),
        "keras": keras(),
    }
    check(**found)
    packages = ("tensorflow", "numpy", "protobuf", "tf_keras")
    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    print(json.dumps({"versions": versions, **found}), flush=True)


if __name__ == "__main__":
    main()
