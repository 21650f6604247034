"""Variables in parts: the same model, the same names, the same checkpoints."""

import gin
import numpy as np
import pytest
from genever.estimators import (
    Estimator,
    RunConfig,
    fixed_size_partitioner,
    min_max_variable_partitioner,
)

pytestmark = pytest.mark.core

IDS = np.arange(60) % 7
LABELS = IDS.astype(np.float32)


def input_fn():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(20).repeat()


def model_fn(features, labels, mode, params):
    import tensorflow as tf
    from genever.estimators import create_train_op

    v1 = tf.compat.v1
    with v1.variable_scope("model"):
        table = v1.get_variable("table", [7, 3], initializer=v1.constant_initializer(0.5))
        weights = v1.get_variable("weights", [3], initializer=v1.ones_initializer())
        bias = v1.get_variable("bias", [], initializer=v1.zeros_initializer())
    params["names"].append([v.op.name for v in v1.trainable_variables()])
    rows = tf.nn.embedding_lookup(table, features)
    predicted = tf.linalg.matvec(rows, tf.convert_to_tensor(weights)) + bias
    loss = tf.reduce_mean(tf.math.squared_difference(predicted, labels))
    train_op = create_train_op(loss, v1.train.AdamOptimizer(0.1), l2=0.1)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class Names(list):
    def __deepcopy__(self, memo):
        return self  # an Estimator copies its params


def trained(folder, steps, partitioner=None):
    names = Names()
    estimator = Estimator(
        model_fn,
        config=RunConfig(str(folder)),
        params={"names": names},
        partitioner=partitioner,
    )
    estimator.train(input_fn, max_steps=steps)
    values = {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}
    return values, names[-1]


def close(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value == pytest.approx(other[name], abs=1e-6), name


def test_parts_train_as_the_whole_and_checkpoints_go_both_ways(tmp_path):
    whole, names = trained(tmp_path / "whole", 5)
    assert names == ["model/table", "model/weights", "model/bias"]
    parts, names = trained(tmp_path / "parts", 5, fixed_size_partitioner(2))
    assert names == [
        "model/table/part_0",
        "model/table/part_1",
        "model/weights/part_0",
        "model/weights/part_1",
        "model/bias",
    ]
    close(whole, parts)
    assert whole["model/table"].shape == (7, 3)
    assert "model/table/Adam" in whole
    # Each goes on from the other's way of storing, and in another number of parts.
    from_whole, _ = trained(tmp_path / "whole", 10, fixed_size_partitioner(3))
    from_parts, _ = trained(tmp_path / "parts", 10)
    close(from_whole, from_parts)


def test_the_size_decides():
    from tensorflow import TensorShape, float32

    parts = min_max_variable_partitioner(max_partitions=4, min_slice_size=100)
    assert parts(shape=TensorShape([100, 1]), dtype=float32) == [4, 1]
    assert parts(shape=TensorShape([60, 1]), dtype=float32) == [3, 1]
    assert parts(shape=TensorShape([20, 1]), dtype=float32) == [1, 1]
    assert fixed_size_partitioner(3)(shape=TensorShape([2, 9]), dtype=float32) == [2, 1]
    by_column = fixed_size_partitioner(3, axis=1)
    assert by_column(shape=TensorShape([2, 9]), dtype=float32) == [1, 3]
    assert by_column(shape=TensorShape([9]), dtype=float32) == [1]


def test_by_gin(tmp_path):
    gin.parse_config("""
        Estimator.partitioner = @min_max_variable_partitioner()
        min_max_variable_partitioner.max_partitions = 3
        min_max_variable_partitioner.min_slice_size = 12
    """)
    names = Names()
    estimator = Estimator(model_fn, config=RunConfig(str(tmp_path)), params={"names": names})
    estimator.train(input_fn, steps=1)
    assert [name for name in names[-1] if "part" in name] == [
        "model/table/part_0",
        "model/table/part_1",
        "model/table/part_2",
        "model/weights/part_0",
    ]


def test_mistakes():
    with pytest.raises(ValueError, match="Estimator.partitioner = 2 is not a partitioner; write"):
        Estimator(lambda features, mode: None, partitioner=2)
    with pytest.raises(ValueError, match="fixed_size_partitioner.num_shards = 0 must be a whole"):
        fixed_size_partitioner(0)
    with pytest.raises(ValueError, match="min_max_variable_partitioner.max_partitions = 1.5 must"):
        min_max_variable_partitioner(1.5)
