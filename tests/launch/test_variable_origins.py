"""A warm start says where each variable came from and what did not match."""

import genever
import pytest
import tensorflow as tf
from genever.launch.ledger import Ledger
from genever.launch.report import LogReport

pytestmark = pytest.mark.core

v1 = tf.compat.v1


def model(**shapes):
    """Returns a model_fn with variables of these names and shapes."""

    def model_fn(features, labels, mode):
        variables = [v1.get_variable(name, shape) for name, shape in shapes.items()]
        loss = tf.add_n([tf.reduce_sum(v * v) for v in variables]) * tf.reduce_mean(features)
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


def input_fn():
    return tf.data.Dataset.from_tensors(tf.ones([2])).repeat(2)


class Told(LogReport):
    def __init__(self):
        super().__init__()
        self.lines = []

    def say(self, text):
        self.lines.append(text)


def train(model_dir, model_fn, warm_start_from=None):
    """Trains two steps and returns what the report was told of the start."""
    told = Told()
    genever.train_and_evaluate(
        tf.estimator.Estimator(model_fn, str(model_dir), warm_start_from=warm_start_from),
        tf.estimator.TrainSpec(input_fn),
        tf.estimator.EvalSpec(input_fn, steps=None),
        report=told,
    )
    start = [i for i, line in enumerate(told.lines) if line.startswith("batch: ")][0]
    return told.lines[1:start]


def test_an_ordinary_start_says_nothing(tmp_path):
    assert train(tmp_path / "a", model(kept=[2])) == []


def test_a_warm_start_names_matches_and_misfits(tmp_path):
    train(tmp_path / "old", model(kept=[2], grown=[3], gone=[4], before=[5]))
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "old"))
    settings = tf.estimator.WarmStartSettings(
        checkpoint,
        vars_to_warm_start=["kept", "after"],
        var_name_to_prev_var_name={"after": "before"},
    )
    lines = train(tmp_path / "new", model(kept=[2], grown=[6], after=[5], new=[1]), settings)
    assert lines == [
        f"warm start: 2 of 5 variables from {checkpoint}",
        "  after is before there",
        "  from their own initializers: global_step (not asked for), "
        "grown ([3] there, [6] here), new (not in it)",
        "  in the checkpoint and not in the model: gone",
    ]


def test_the_ledger_has_the_origin_of_each_variable(tmp_path):
    train(tmp_path / "old", model(kept=[2]))
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "old"))
    train(
        tmp_path / "new",
        model(kept=[2], new=[1]),
        tf.estimator.WarmStartSettings(checkpoint, vars_to_warm_start="kept"),
    )
    record = Ledger(str(tmp_path / "new")).last("warm_started")
    assert record["variables"] == {
        "global_step": "its own initializer",
        "kept": f"kept of {checkpoint}",
        "new": "its own initializer",
    }


def test_a_resumed_run_does_not_warm_start_again(tmp_path):
    train(tmp_path / "old", model(kept=[2]))
    checkpoint = tf.train.latest_checkpoint(str(tmp_path / "old"))
    train(tmp_path / "new", model(kept=[2]), checkpoint)
    lines = train(tmp_path / "new", model(kept=[2]), checkpoint)
    assert [line for line in lines if line.startswith("warm start")] == []
    assert lines[0] == "resuming from step 2"
