"""Where the time of a step goes."""

import re

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import pytest
import tensorflow as tf
from genever.estimators.step_shares import StepSharesHook, shares_of

pytestmark = pytest.mark.core

HERE = "/job:localhost/replica:0/task:0/device:CPU:0"
LINE = re.compile(
    r"time of a step: [\d.]+ ms; input (\d+)%, communication (\d+)%, compute (\d+)%, rest (\d+)%"
)


def traced(*nodes, device=HERE, stats=None):
    """Step stats of nodes (name, type, start, end), in microseconds."""
    stats = stats or tf.compat.v1.RunMetadata().step_stats
    added = stats.dev_stats.add(device=device)
    for name, kind, start, end in nodes:
        added.node_stats.add(
            node_name=name,
            timeline_label=f"[cpu 1MB] {name} = {kind}(x, y)",
            all_start_micros=start,
            op_end_rel_micros=end - start,
        )
    return stats


def test_what_goes_on_at_the_same_time_counts_once():
    stats = traced(
        ("next", "IteratorGetNext", 1000, 1040),
        ("matmul", "MatMul", 1030, 1060),
        ("other", "MatMul", 1050, 1070),
        ("sum", "CollectiveReduceV2", 1060, 1090),
        ("end", "NoOp", 1100, 1100),
    )
    # Input alone 30, compute 40, communication alone 20, nothing 10.
    assert shares_of(stats, 0.0) == pytest.approx((0.3, 0.2, 0.4, 0.1))


def test_a_sum_over_devices_is_communication():
    stats = traced(("next", "IteratorGetNext", 0, 50), ("AddN_3", "AddN", 50, 100))
    assert shares_of(stats, 0.0) == pytest.approx((0.5, 0, 0.5, 0))
    assert shares_of(stats, 0.0, {"AddN_3"}) == pytest.approx((0.5, 0.5, 0, 0))


def test_waiting_for_another_task_is_communication():
    worker, server = "/job:worker/replica:0/task:1", "/job:ps/replica:0/task:0"
    stats = traced(
        ("next", "IteratorGetNext", 0, 100),
        ("matmul", "MatMul", 100, 300),
        device=f"{worker}/device:CPU:0",
    )
    # The clock of the other task does not matter.
    traced(("apply", "ApplyAdam", 900000, 900500), device=f"{server}/device:CPU:0", stats=stats)
    assert shares_of(stats, 1000e-6) == pytest.approx((0.1, 0.7, 0.2, 0))


def test_nothing_traced():
    assert shares_of(tf.compat.v1.RunMetadata().step_stats, 1.0) is None


TRAIN = """
import time

import genever
import numpy as np
from genever.estimators import *
from genever.estimators.step_shares import StepSharesHook
import tensorflow as tf


def slow(x):
    time.sleep(SLEEP)
    return x


def input_fn():
    data = tf.data.Dataset.from_tensors((tf.ones([20, 2]), tf.ones([20]))).repeat()
    return data.map(lambda x, y: ({"x": tf.ensure_shape(
        tf.numpy_function(slow, [x], tf.float32), [20, 2])}, y))


lines = []
estimator = Estimator(
    linear_regression, config=RunConfig("model", train_distribute=STRATEGY))
hook = StepSharesHook(lines.append, first_step=5, every_steps=10, min_secs=0)
estimator.train(input_fn, max_steps=20, hooks=[hook])
print("\\n".join(lines))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "sleep"),
    [
        ("None", 0.05),
        ("MirroredStrategy(logical_cpus=2)", 0),
        ("CentralStorageStrategy(logical_cpus=2)", 0),
        ("MultiWorkerMirroredStrategy()", 0),
    ],
    ids=["none", "mirrored", "central", "multi_worker"],
)
def test_a_training_tells_where_its_time_goes(run_program, strategy, sleep):
    printed = run_program(TRAIN.replace("STRATEGY", strategy).replace("SLEEP", str(sleep)))
    found = [LINE.fullmatch(line) for line in printed.splitlines()[-2:]]
    assert all(found)
    for shares in ([int(part) for part in line.groups()] for line in found):
        assert sum(shares) == pytest.approx(100, abs=2)
        if sleep:
            assert max(shares) == shares[0]  # a slow input is what takes the time
        if "Mirrored" in strategy and "Multi" not in strategy:
            assert shares[1] > 0


def test_seconds_between_the_lines(tmp_path):
    from genever.estimators import Estimator, RunConfig, linear_regression

    def input_fn():
        return tf.data.Dataset.from_tensors(({"x": tf.ones([2, 2])}, tf.ones([2]))).repeat()

    lines = []
    estimator = Estimator(linear_regression, config=RunConfig(str(tmp_path)))
    hook = StepSharesHook(lines.append, first_step=3, every_steps=2, min_secs=3600)
    estimator.train(input_fn, steps=20, hooks=[hook])
    assert len(lines) == 1
