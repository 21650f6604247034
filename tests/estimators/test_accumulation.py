"""k accumulated batches of b examples train as one batch of k * b, under every strategy."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.core

# Trains the same 240 examples in updates of 24: cut into k calls, and those over the replicas.
PROGRAM = """
import json
import sys

import genever
import numpy as np
from genever.estimators import *
import tensorflow as tf

v1 = tf.compat.v1
strategy = %s
replicas = strategy.num_replicas_in_sync if strategy else 1
random = np.random.RandomState(0)
ids = random.randint(0, 9, (240, 2))
x = random.uniform(-1, 1, (240, 3)).astype("float32")
y = (x.sum(axis=1) + ids.sum(axis=1) / 9).astype("float32")

OPTIMIZERS = {
    "adam": lambda: v1.train.AdamOptimizer(0.05),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
}


def model_fn(features, labels, mode, params):
    table = v1.get_variable("table", [9, 4], initializer=v1.constant_initializer(0.1))
    kernel = v1.get_variable("kernel", [3], initializer=v1.zeros_initializer())
    bias = v1.get_variable("bias", [], initializer=v1.zeros_initializer())
    looked_up = tf.gather(table, features["ids"])
    scale = [1.0, -1.0, 2.0, 0.5]
    predicted = tf.reduce_sum(looked_up * scale, [1, 2]) + bias
    predicted += tf.linalg.matvec(features["x"], kernel)
    loss = tf.reduce_mean(tf.math.squared_difference(predicted, labels))
    train_op = create_train_op(
        loss, OPTIMIZERS[params["optimizer"]](), l2=params["l2"],
        clip_gradient_norm=params["clip"], accumulate_steps=params["k"],
        gradient_dtype=params["dtype"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def train(number, optimizer="adam", k=1, clip=None, l2=0.0, dtype="float32", steps=10):
    def input_fn(input_context=None):
        data = tf.data.Dataset.from_tensor_slices(({"ids": ids, "x": x}, y)).repeat()
        if input_context and input_context.num_input_pipelines > 1:
            data = data.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        return data.batch(24 // k // replicas, drop_remainder=True)

    params = {"optimizer": optimizer, "k": k, "clip": clip, "l2": l2, "dtype": dtype}
    config = RunConfig(
        f"model_{number}", tf_random_seed=1, train_distribute=strategy, save_summary_steps=None,
        log_step_count_steps=None, save_checkpoints_steps=steps)
    estimator = Estimator(model_fn, config=config, params=params)
    estimator.train(input_fn, max_steps=steps)
    return {
        name: np.asarray(estimator.get_variable_value(name)).tolist()
        for name in estimator.get_variable_names()
    }


print(json.dumps([train(i, **case) for i, case in enumerate(json.loads(sys.argv[1]))]))
"""
MIRRORED = "MirroredStrategy(logical_cpus=2)"


def trained(run_program, strategy, *cases):
    source = PROGRAM % strategy
    source = source.replace("json.loads(sys.argv[1])", f"json.loads({json.dumps(cases)!r})")
    return json.loads(run_program(source).splitlines()[-1])


def close(one, other, within=1e-6):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.asarray(value) == pytest.approx(np.asarray(other[name]), abs=within), name


def test_four_batches_are_one_of_four_times_the_size(run_program):
    pairs = [
        {"optimizer": "adam"},
        # These update only the rows of a table that a batch looks up.
        {"optimizer": "momentum", "l2": 0.01},
        {"optimizer": "ftrl", "clip": 0.5},
    ]
    cases = [{**pair, "k": k} for pair in pairs for k in (1, 4)]
    results = trained(run_program, "None", *cases)
    for whole, accumulated in zip(results[::2], results[1::2], strict=True):
        close(whole, accumulated)
        assert accumulated["global_step"] == 10
        assert not any("accumulated" in name for name in accumulated)


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [
        MIRRORED,
        "MirroredStrategy(logical_cpus=2, cross_device_ops=HierarchicalCopyAllReduce())",
        "MirroredStrategy(logical_cpus=2, cross_device_ops=ReductionToOneDevice())",
        "CentralStorageStrategy(logical_cpus=2)",
        "MultiWorkerMirroredStrategy()",
    ],
    ids=["mirrored", "hierarchical", "one_device", "central", "multi_worker"],
)
def test_replicas_accumulate_too(run_program, strategy):
    cases = [{}, {"k": 4}, {"clip": 0.5, "l2": 0.01}, {"clip": 0.5, "l2": 0.01, "k": 3}]
    plain, accumulated, clipped, clipped_accumulated = trained(run_program, strategy, *cases)
    close(plain, accumulated)
    close(clipped, clipped_accumulated)
    (alone,) = trained(run_program, "None", {})
    close(plain, alone)


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    ["None", MIRRORED, "CentralStorageStrategy(logical_cpus=2)", "MultiWorkerMirroredStrategy()"],
    ids=["none", "mirrored", "central", "multi_worker"],
)
def test_gradients_of_half_the_size_train_nearly_the_same(run_program, strategy):
    narrow = {"dtype": "bfloat16"}
    cases = [{}, narrow, {**narrow, "k": 4, "clip": 0.5}, {"k": 4, "clip": 0.5}]
    full, half, half_clipped, clipped = trained(run_program, strategy, *cases)
    close(full, half, within=0.02)
    close(clipped, half_clipped, within=0.02)
    assert np.abs(np.subtract(full["kernel"], half["kernel"])).max() > 0


def test_nothing_is_left_of_an_update_that_was_not_complete(tmp_path):
    import tensorflow as tf
    from genever.estimators import Estimator, RunConfig, create_train_op

    def model_fn(features, mode):
        w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.zeros_initializer())
        loss = w * tf.reduce_mean(features)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(1.0)
        train_op = create_train_op(loss, optimizer, accumulate_steps=3)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn():
        return tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0, 5.0]).batch(1)

    estimator = Estimator(model_fn, config=RunConfig(str(tmp_path)))
    estimator.train(input_fn)
    assert estimator.get_variable_value("w") == pytest.approx(-2)
    assert estimator.get_variable_value("global_step") == 1
    # A new session starts with 1, 2 and 3 again, and not with 4 and 5 of the one before.
    estimator.train(input_fn)
    assert estimator.get_variable_value("w") == pytest.approx(-4)
    assert estimator.get_variable_value("global_step") == 2


def test_a_graph_tells_how_many_batches_a_step_stands_for():
    import tensorflow as tf
    from genever.estimators import create_train_op
    from genever.estimators.accumulation import batches_to_an_update

    for steps in (1, 4):
        with tf.Graph().as_default() as graph:
            w = tf.compat.v1.get_variable("w", [])
            optimizer = tf.compat.v1.train.GradientDescentOptimizer(1.0)
            create_train_op(w * 2, optimizer, accumulate_steps=steps)
            assert batches_to_an_update(graph) == steps


def test_mistakes():
    import tensorflow as tf
    from genever.estimators import create_train_op

    def one(optimizer=None, **arguments):
        with tf.Graph().as_default():
            w = tf.compat.v1.get_variable("w", [])
            optimizer = optimizer or tf.compat.v1.train.GradientDescentOptimizer(1.0)
            create_train_op(w * 2, optimizer, **arguments)

    with pytest.raises(ValueError, match="accumulate_steps = 0 must be a whole number; give 1"):
        one(accumulate_steps=0)
    with pytest.raises(ValueError, match="gradient_dtype = 'half' must be 'float32' or 'bfloat16"):
        one(gradient_dtype="half")

    class Own(tf.compat.v1.train.GradientDescentOptimizer):
        def apply_gradients(self, grads_and_vars, global_step=None, name=None):
            return super().apply_gradients(grads_and_vars, global_step, name)

    with pytest.raises(ValueError, match="'bfloat16' does not work with Own, which has an apply"):
        one(optimizer=Own(1.0), gradient_dtype="bfloat16")


def test_nccl_adds_no_bfloat16_numbers(run_program):
    start = PROGRAM.split("print(json")[0] % "MirroredStrategy(logical_cpus=2)"
    # Genever's MirroredStrategy refuses NCCL on a CPU; a user's own may have it.
    start += (
        "nccl = tf.distribute.NcclAllReduce()\n"
        "strategy = tf.distribute.MirroredStrategy(['/cpu:0', '/cpu:1'], nccl)\n"
    )
    printed = run_program(
        start
        + "try:\n    train(0, dtype='bfloat16')\nexcept Exception as error:\n    print(error)\n"
    )
    assert (
        "create_train_op.gradient_dtype = 'bfloat16' does not work with NcclAllReduce, which adds "
        "up no bfloat16 numbers; write MirroredStrategy.cross_device_ops = "
        "@HierarchicalCopyAllReduce(), or leave it out."
    ) in printed
