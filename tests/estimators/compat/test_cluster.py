"""tf.estimator's own train_and_evaluate in a TF_CONFIG cluster with a strategy."""

import json
import os
import socket
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TASK = """
import sys
import genever
import numpy as np
import tensorflow as tf

x = np.random.RandomState(0).uniform(-1, 1, (200, 2)).astype(np.float32)
y = x @ np.array([1, 2], np.float32) + 3
seen = []


def input_fn(epochs=None):
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat(epochs).batch(20)


def model_fn(features, labels, mode, config):
    v1 = tf.compat.v1
    seen.append([config.task_type, config.task_id, config.is_chief, config.num_worker_replicas,
                 config.num_ps_replicas, config.global_id_in_cluster])
    w = v1.get_variable("W", [2], initializer=v1.zeros_initializer())
    b = v1.get_variable("b", [], initializer=v1.zeros_initializer())
    loss = v1.losses.mean_squared_error(labels, tf.linalg.matvec(features, w) + b)
    step = v1.train.GradientDescentOptimizer(0.1).minimize(
        loss, v1.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


config = tf.estimator.RunConfig(
    "model", save_checkpoints_steps=100,
    train_distribute=tf.distribute.MultiWorkerMirroredStrategy())
estimator = tf.estimator.Estimator(model_fn, config=config)
tf.estimator.train_and_evaluate(
    estimator, tf.estimator.TrainSpec(input_fn, max_steps=300), tf.estimator.EvalSpec(input_fn))
weights = estimator.get_variable_value("W").tolist()
print(seen[0], [round(w, 3) for w in weights], estimator.get_variable_value("global_step"))
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_chief_and_worker_train_one_model(tmp_path):
    (tmp_path / "task.py").write_text(TASK)
    chief, worker = free_ports(2)
    cluster = {"chief": [f"localhost:{chief}"], "worker": [f"localhost:{worker}"]}
    tasks = {}
    for task_type in cluster:
        config = {"cluster": cluster, "task": {"type": task_type, "index": 0}}
        tasks[task_type] = subprocess.Popen(
            [sys.executable, "task.py"],
            cwd=tmp_path,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_CONFIG": json.dumps(config)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    ends = {}
    try:
        for task_type, process in tasks.items():
            out, err = process.communicate(timeout=150)
            ends[task_type] = out.splitlines()[-1] if process.returncode == 0 else err[-3000:]
    finally:
        for process in tasks.values():
            process.kill()
    assert ends == {
        "chief": "['chief', 0, True, 2, 0, 0] [1.0, 2.0] 300",
        "worker": "['worker', 0, False, 2, 0, 1] [1.0, 2.0] 300",
    }
