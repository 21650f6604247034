"""Accumulated gradients and variables in parts, in clusters of real processes."""

import json
import os
import socket
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

TASK = """
import json

import genever
import numpy as np
from genever.estimators import *
import tensorflow as tf

v1 = tf.compat.v1
random = np.random.RandomState(0)
ids = random.randint(0, 9, (240, 2))
x = random.uniform(-1, 1, (240, 3)).astype("float32")
y = (x.sum(axis=1) + ids.sum(axis=1) / 9).astype("float32")
steps = STEPS
strategy = STRATEGY


def model_fn(features, labels, mode):
    table = v1.get_variable("table", [9, 4], initializer=v1.constant_initializer(0.1))
    kernel = v1.get_variable("kernel", [3], initializer=v1.zeros_initializer())
    rows = tf.nn.embedding_lookup(table, features["ids"])
    predicted = tf.reduce_sum(rows * [1.0, -1.0, 2.0, 0.5], [1, 2])
    predicted += tf.linalg.matvec(features["x"], tf.convert_to_tensor(kernel))
    loss = tf.reduce_mean(tf.math.squared_difference(predicted, labels))
    if mode == "eval":
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    print("DEVICES", sorted(v.device[-9:] for v in v1.trainable_variables()), flush=True)
    train_op = create_train_op(loss, v1.train.AdamOptimizer(0.05), ARGUMENTS)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn(mode, input_context=None):
    data = tf.data.Dataset.from_tensor_slices(({"ids": ids, "x": x}, y))
    if mode == "eval":
        return data.batch(24)
    if input_context is None:
        return data.repeat().batch(24)
    # Each worker takes its part of each update of 24 examples.
    pipelines = input_context.num_input_pipelines
    data = data.repeat().shard(pipelines, input_context.input_pipeline_id)
    return data.batch(24 // BATCHES // pipelines)


config = RunConfig(
    "model", tf_random_seed=1, train_distribute=strategy, save_checkpoints_steps=steps)
estimator = Estimator(model_fn, config=config, partitioner=PARTITIONER)
genever.train_and_evaluate(
    estimator, TrainSpec(input_fn, max_steps=steps), EvalSpec(input_fn))
print("VALUES", json.dumps({name: np.asarray(estimator.get_variable_value(name)).tolist()
                            for name in ("table", "kernel", "global_step")}))
"""


@pytest.fixture
def run_cluster(tmp_path):
    def run(roles, **settings):
        source = TASK
        for name, value in settings.items():
            source = source.replace(name.upper(), str(value))
        folder = tmp_path / "-".join(roles or ["alone"])
        folder.mkdir()
        (folder / "task.py").write_text(source)
        sockets = [socket.socket() for _ in roles]
        for one in sockets:
            one.bind(("localhost", 0))
        cluster, tasks = {}, []
        for role, one in zip(roles, sockets, strict=True):
            tasks.append((role, len(cluster.setdefault(role, []))))
            cluster[role].append(f"localhost:{one.getsockname()[1]}")
        for one in sockets:
            one.close()
        processes = {}
        for role, index in tasks or [("alone", 0)]:
            config = {"cluster": cluster, "task": {"type": role, "index": index}}
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            if cluster:
                environment["TF_CONFIG"] = json.dumps(config)
            processes[role, index] = subprocess.Popen(
                [sys.executable, "task.py"],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        printed = {}
        try:
            for task, process in processes.items():
                out, err = process.communicate(timeout=150)
                assert process.returncode == 0, (task, err[-3000:])
                printed[task] = out.splitlines()
        finally:
            for process in processes.values():
                process.kill()
        chief = next(iter(printed.values()))
        found = {word: line for word, _, line in (line.partition(" ") for line in chief)}
        return json.loads(found["VALUES"]), found["DEVICES"]

    return run


def test_workers_accumulate_before_they_exchange(run_cluster):
    same = {"steps": 10, "partitioner": None}
    alone, _ = run_cluster([], strategy=None, batches=1, arguments="", **same)
    together, _ = run_cluster(
        ["chief", "worker"],
        strategy="MultiWorkerMirroredStrategy()",
        batches=3,
        arguments="accumulate_steps=3",
        **same,
    )
    assert together["global_step"] == alone["global_step"] == 10
    for name in ("table", "kernel"):
        for one, other in zip(alone[name], together[name], strict=True):
            assert one == pytest.approx(other, abs=1e-6)


def test_parts_lie_on_several_parameter_servers(run_cluster):
    values, devices = run_cluster(
        ["chief", "worker", "ps", "ps"],
        strategy="ParameterServerStrategy()",
        batches=2,
        steps=200,
        partitioner="fixed_size_partitioner(2)",
        arguments="accumulate_steps=2, gradient_dtype='bfloat16', clip_gradient_norm=1.0",
    )
    assert devices == "['ps/task:0', 'ps/task:0', 'ps/task:1', 'ps/task:1']"
    assert values["kernel"] == pytest.approx([1, 1, 1], abs=0.1)
    assert len(values["table"]) == 9
