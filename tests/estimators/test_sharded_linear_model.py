import json
import os
import socket
import subprocess
import sys

import gin
import numpy as np
import pytest
from genever.estimators import Estimator, RunConfig, linear_regression, sharded_linear

pytestmark = pytest.mark.core

X = np.random.default_rng(0).normal(size=(500, 3)).astype("float32")
Y = X @ np.array([1.0, 2.0, -1.0], "float32") + 3


def read():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(50)


def test_it_goes_on_with_a_checkpoint_of_linear_regression_and_back(tmp_path):
    gin.parse_config("""
        RunConfig.session_config = @ConfigProto()
        ConfigProto.device_count = {'CPU': 2}
        linear_regression.optimizer = @AdamOptimizer
        sharded_linear.optimizer = @AdamOptimizer
        sharded_linear.num_shards = 2
        AdamOptimizer.learning_rate = 0.05
    """)

    def train(folder, *models):
        for steps, model in zip((50, 100, 200), models, strict=True):
            config = RunConfig(model_dir=str(tmp_path / folder))
            estimator = Estimator(model, config=config)
            estimator.train(read, max_steps=steps)
        names = sorted(estimator.get_variable_names())
        return names, [estimator.get_variable_value(name) for name in names]

    names, values = train("mixed", linear_regression, sharded_linear, linear_regression)
    expected_names, expected = train("one", *[linear_regression] * 3)
    assert names == expected_names
    assert "linear/weights/Adam" in names
    for value, other in zip(values, expected, strict=True):
        assert value == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize(
    ("features", "arguments", "message"),
    [
        (
            "z",
            {"num_shards": 2},
            r"sharded_linear needs a feature 'x' of shape \[batch, d\], not z",
        ),
        ("x", {"num_shards": 4}, r"sharded_linear: 4 shards of 2 row\(s\); use at most 2"),
        ("x", {}, "sharded_linear: give either num_shards, such as 2, or devices"),
        ("x", {"num_shards": 2, "metrics": ["average_los"]}, "sharded_linear.metrics: there is no"),
    ],
)
def test_mistakes(features, arguments, message):
    import tensorflow as tf

    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        sharded_linear({features: tf.zeros([3, 2])}, None, "infer", **arguments)


def genever(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "genever", "train", *arguments],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check_learned(model_dir):
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(model_dir))
    assert reader.get_tensor("linear/weights") == pytest.approx([1, 2], abs=1e-3)
    assert reader.get_tensor("linear/bias") == pytest.approx(3, abs=1e-3)


def test_the_shipped_config(tmp_path):
    shipped = ["--gin_file=sharded_linear.gin", f"--model_dir={tmp_path}"]
    done = genever(*shipped)
    output, _ = done.communicate(timeout=120)
    assert done.returncode == 0, output
    check_learned(tmp_path)


def test_one_cpu_too_few_is_a_mistake_of_the_user(tmp_path):
    lacking = genever(
        "--gin_file=sharded_linear.gin",
        f"--model_dir={tmp_path}",
        "--gin_param=ConfigProto.device_count = {}",
    )
    output, _ = lacking.communicate(timeout=120)
    assert lacking.returncode == 2
    assert "A shard of the model should be on the device /device:CPU:1, but" in output
    assert "Traceback" not in output


@pytest.mark.slow
def test_the_shipped_config_with_two_replicas_of_two_shards(run_program, tmp_path):
    run_program("""
import genever
import tensorflow as tf
from genever.launch.config import load

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
load(["sharded_linear.gin"], [
    "RunConfig.train_distribute = @MirroredStrategy()",
    "MirroredStrategy.devices = ['/cpu:0', '/cpu:2']",
    "ConfigProto.device_count = {'CPU': 4}",
], "model")
genever.train_and_evaluate()
""")
    check_learned(tmp_path / "model")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["None", "@ParameterServerStrategy()"])
def test_workers_share_shards_that_lie_on_parameter_servers(tmp_path, strategy):
    tasks = [("ps", 0), ("ps", 1), ("chief", 0), ("worker", 0)]
    cluster = {}
    sockets = [socket.socket() for _ in tasks]
    for (kind, _), bound in zip(tasks, sockets, strict=True):
        bound.bind(("localhost", 0))
        cluster.setdefault(kind, []).append(f"localhost:{bound.getsockname()[1]}")
    for bound in sockets:
        bound.close()
    arguments = [
        "--gin_file=sharded_linear.gin",
        f"--model_dir={tmp_path}",
        "--gin_param=sharded_linear.num_shards = None",
        "--gin_param=sharded_linear.devices = ['/job:ps/task:0', '/job:ps/task:1']",
        f"--gin_param=RunConfig.train_distribute = {strategy}",
    ]
    started = [
        genever(
            *arguments,
            TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}}),
        )
        for kind, index in tasks
    ]
    try:
        for process in started:
            output, _ = process.communicate(timeout=150)
            assert process.returncode == 0, output
    finally:
        for process in started:
            process.kill()
    check_learned(tmp_path)
