"""MirroredStrategy on two logical CPU devices, in child processes: a mistake here would hang."""

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

LINEAR = """
    import contextlib, json, sys
    from genever.estimators import compat
    import gin
    import numpy as np

    scopes = []

    @contextlib.contextmanager
    def inside(names):
        with gin.config_scope(names):
            yield

    compat.carry_into_replica_threads(lambda: inside(gin.current_scope()))

    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()]
    tf.config.set_logical_device_configuration(cpu, two)

    x = np.random.RandomState(0).uniform(-1, 1, (400, 2)).astype(np.float32)
    y = x @ np.array([1, 2], np.float32) + 3

    @gin.configurable
    def learning_rate(value):
        return value

    gin.parse_config("learning_rate.value = 0\\ntrain/learning_rate.value = 0.3")

    def input_fn():
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat(40).batch(20)

    def model_fn(features, labels, mode):
        v1 = tf.compat.v1
        scopes.append("/".join(gin.current_scope()))
        w = v1.get_variable("W", [2], initializer=v1.zeros_initializer())
        b = v1.get_variable("b", [], initializer=v1.zeros_initializer())
        prediction = tf.linalg.matvec(features, w) + b
        loss = v1.losses.mean_squared_error(labels, prediction)
        metrics = {"mae": v1.metrics.mean_absolute_error(labels, prediction)}
        step = v1.train.GradientDescentOptimizer(learning_rate()).minimize(
            loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, eval_metric_ops=metrics)

    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    config = tf.estimator.RunConfig(
        model_dir="model", tf_random_seed=1,
        session_config=tf.compat.v1.ConfigProto(
            device_count={"CPU": 2}, allow_soft_placement=True),
        STRATEGIES)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    with gin.config_scope("train"):
        estimator.train(input_fn, steps=200)
    metrics = estimator.evaluate(input_fn, steps=4)
    print(json.dumps({
        "W": estimator.get_variable_value("W").tolist(),
        "b": float(estimator.get_variable_value("b")),
        "mae": float(metrics["mae"]), "scopes": scopes,
        "mode": repr(getattr(config, "_distribute_coordinator_mode", None)),
        "train": type(config.train_distribute).__name__,
        "eval": type(config.eval_distribute).__name__,
    }))
"""


@pytest.mark.parametrize(
    ("given", "evaluated_by", "scopes"),
    [
        ("train_distribute=strategy", "NoneType", ["train", "train", ""]),
        (
            "train_distribute=strategy, eval_distribute=strategy",
            "MirroredStrategy",
            ["train", "train", "", ""],
        ),
        (
            "experimental_distribute=__import__("
            "'tensorflow.python.distribute.distribute_config', fromlist=['x'])"
            ".DistributeConfig(strategy, strategy)",
            "MirroredStrategy",
            ["train", "train", "", ""],
        ),
    ],
)
def test_two_replicas_train_and_know_the_gin_scope(output_of, given, evaluated_by, scopes):
    import json

    result = json.loads(output_of(LINEAR.replace("STRATEGIES", given))[-1])
    assert result["W"] == pytest.approx([1, 2], abs=1e-3)
    assert result["b"] == pytest.approx(3, abs=1e-3)
    assert result["mae"] < 1e-3
    assert result["scopes"] == scopes
    assert (result["train"], result["eval"]) == ("MirroredStrategy", evaluated_by)
    assert result["mode"] == "None"


def test_an_error_of_a_capture_ends_the_training(run_python):
    program = LINEAR.replace("STRATEGIES", "train_distribute=strategy").replace(
        "            yield\n", "            raise ValueError('no scope here')\n            yield\n"
    )
    ended = run_python(program)
    assert ended.returncode == 1
    assert "ValueError: no scope here" in ended.stderr
