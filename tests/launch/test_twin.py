"""`genever check --twin` on models of a user: which agree with one device, and which do not."""

import subprocess
import sys

import pytest

MODEL = """
import tensorflow.compat.v1 as tf

def input_fn():
    x = [[float(i % 7), float(i % 3)] for i in range(240)]
    y = [a + 2 * b + 3 for a, b in x]
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(6).repeat()

def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    error = tf.linalg.matvec(features["x"], w) + b - labels
    reduce = tf.reduce_sum if params["sum"] else tf.reduce_mean
    loss = reduce(error ** 2)
    optimizer = tf.train.GradientDescentOptimizer(0.001)
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""

CONFIG = """
from __gin__ import dynamic_registration
import twin_model
from genever import estimators
from genever import launch

launch.train_and_evaluate.model_fn = @twin_model.model_fn
launch.train_and_evaluate.train_input_fn = @twin_model.input_fn
launch.train_and_evaluate.eval_input_fn = @twin_model.input_fn
estimators.EvalSpec.steps = 2
estimators.TrainSpec.max_steps = 1000
estimators.RunConfig.train_distribute = @estimators.MirroredStrategy()
estimators.MirroredStrategy.logical_cpus = 2
"""


def twin(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "genever", "check", "--twin", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "twin_model.py").write_text(MODEL)
    (tmp_path / "run.gin").write_text(CONFIG)
    return tmp_path


@pytest.mark.slow
def test_a_mean_agrees_with_one_device(folder):
    mean = "launch.train_and_evaluate.params = {'sum': False}"
    done = twin("--gin_file=run.gin", f"--gin_param={mean}", "--twin_steps=3", cwd=folder)
    assert done.returncode == 0, done.stderr
    first, losses, weights = done.stdout.strip().split("\n")
    assert first == "twin: 3 steps under MirroredStrategy (2 replicas) and on one device"
    assert losses.startswith("losses agree, the last is ")
    assert weights == "weights agree"
    assert not (folder / "checkpoint").exists()


@pytest.mark.slow
def test_a_sum_over_the_batch_does_not(folder):
    summed = "launch.train_and_evaluate.params = {'sum': True}"
    done = twin("--gin_file=run.gin", f"--gin_param={summed}", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "losses differ first at step 1" in done.stdout
    assert "w differs by " in done.stdout
    assert "weights agree" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["MultiWorkerMirroredStrategy", "ParameterServerStrategy"])
def test_a_strategy_of_a_cluster_is_tried_in_one(strategy, tmp_path):
    done = twin(
        "--gin_file=linear_regression.gin",
        f"--gin_param=RunConfig.train_distribute = @{strategy}()",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"5 steps under {strategy} (" in done.stdout
    assert "losses agree" in done.stdout
    assert "weights agree" in done.stdout


def test_without_a_strategy_there_is_nothing_to_compare(tmp_path):
    done = twin("--gin_file=linear_regression.gin", cwd=tmp_path)
    assert done.returncode == 2
    assert "this config has none; bind RunConfig.train_distribute" in done.stderr
