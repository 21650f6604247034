"""What a checkpoint holds: names, shapes, bytes, and whose slots the optimizer's values are."""

import numpy as np
import pytest
import tensorflow as tf
from genever.launch.inspect_checkpoint import entries

pytestmark = pytest.mark.core

v1 = tf.compat.v1


def save(folder, optimizer):
    """Trains one step of a small model in a session and saves everything."""
    with tf.Graph().as_default(), v1.Session() as session:
        kernel = v1.get_variable("layer/kernel", [3, 2])
        table = v1.get_variable("table", [5], tf.float64)
        loss = tf.reduce_sum(kernel) + tf.cast(tf.reduce_sum(table), tf.float32)
        train_op = optimizer.minimize(loss, v1.train.get_or_create_global_step())
        session.run(v1.global_variables_initializer())
        session.run(train_op)
        return v1.train.Saver().save(session, str(folder / "model.ckpt"), 1)


def owners(found):
    return {entry.name: (entry.slot_of, entry.slot) for entry in found}


def test_shapes_and_bytes(tmp_path):
    prefix = save(tmp_path, v1.train.GradientDescentOptimizer(0.1))
    found_prefix, found = entries(prefix)
    assert found_prefix == prefix
    assert [(e.name, e.shape, e.dtype, e.size) for e in found] == [
        ("global_step", (), "int64", 8),
        ("layer/kernel", (3, 2), "float32", 24),
        ("table", (5,), "float64", 40),
    ]
    assert set(owners(found).values()) == {("", "")}


def test_slots_of_a_tf1_optimizer(tmp_path):
    _, found = entries(save(tmp_path, v1.train.AdamOptimizer(0.1)))
    assert owners(found) == {
        "beta1_power": ("optimizer", "beta1_power"),
        "beta2_power": ("optimizer", "beta2_power"),
        "global_step": ("", ""),
        "layer/kernel": ("", ""),
        "layer/kernel/Adam": ("layer/kernel", "Adam"),
        "layer/kernel/Adam_1": ("layer/kernel", "Adam_1"),
        "table": ("", ""),
        "table/Adam": ("table", "Adam"),
        "table/Adam_1": ("table", "Adam_1"),
    }


def test_slots_of_a_canned_estimator(tmp_path):
    column = tf.feature_column.numeric_column("x")
    estimator = tf.estimator.LinearRegressor(
        [column], model_dir=str(tmp_path), optimizer=tf.keras.optimizers.legacy.Adagrad(0.1)
    )
    data = {"x": np.ones([8, 1], np.float32)}, np.ones([8, 1], np.float32)
    estimator.train(lambda: tf.data.Dataset.from_tensors(data), steps=1)
    _, found = entries(str(tmp_path))
    own = owners(found)
    kernel = "linear/linear_model/x/weights"
    slot = [name for name, (owner, _) in own.items() if owner == kernel]
    assert own[kernel] == ("", "") and len(slot) == 1
    assert own[slot[0]] == (kernel, "accumulator")


def test_slots_of_an_object_checkpoint(tmp_path):
    model = tf.Module()
    model.w = tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.legacy.SGD(0.1, momentum=0.9)
    optimizer.apply_gradients([(tf.ones([2]), model.w)])
    prefix = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "object"))
    _, found = entries(prefix)
    w = "model/w/.ATTRIBUTES/VARIABLE_VALUE"
    slots = [entry for entry in found if entry.slot_of == w]
    assert [(entry.slot, entry.shape) for entry in slots] == [("momentum", (2,))]


def test_a_name_that_is_no_checkpoint_is_told_with_those_that_are(tmp_path):
    save(tmp_path, v1.train.GradientDescentOptimizer(0.1))
    with pytest.raises(ValueError, match=r"model.ckpt-2'; there are model.ckpt-1"):
        entries(str(tmp_path / "model.ckpt-2"))
    with pytest.raises(ValueError, match="holds no checkpoint"):
        entries(str(tmp_path.parent / ".."))


def test_a_damaged_checkpoint_is_told(tmp_path):
    prefix = save(tmp_path, v1.train.GradientDescentOptimizer(0.1))
    with open(f"{prefix}.index", "r+b") as file:
        file.truncate(10)
    with pytest.raises(ValueError, match="model.ckpt-1' cannot be read"):
        entries(prefix)
