"""`train_and_evaluate` on one machine: what it trains, evaluates, exports, returns and records."""

import os

import genever
import numpy as np
import pytest
import tensorflow as tf
from genever.launch.ledger import Ledger
from genever.launch.report import LogReport

pytestmark = pytest.mark.core

v1 = tf.compat.v1


def model_fn(features, labels, mode):
    """A line through x, written as TF1 code is."""
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer())
    prediction = weight * features["x"]
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": prediction})
    loss = tf.reduce_mean(tf.square(prediction - labels))
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"mean_x": v1.metrics.mean(features["x"])}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = v1.train.get_global_step()
    train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def other_model_fn(features, labels, mode):
    v1.get_variable("slope", [3])
    return model_fn(features, labels, mode)


def input_fn(examples=40, repeat=None):
    """Batches of 4 numbered examples."""
    x = np.arange(examples, dtype=np.float32) / 10
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x))
    return data.batch(4).repeat(repeat)


def eval_input_fn():
    return input_fn(examples=10, repeat=1)


def receiver_fn():
    x = v1.placeholder(tf.float32, [None], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def estimator(model_dir, model=model_fn, **settings):
    settings = {"save_checkpoints_steps": 10, "tf_random_seed": 1, **settings}
    return tf.estimator.Estimator(
        model, config=tf.estimator.RunConfig(model_dir=str(model_dir), **settings)
    )


def specs(max_steps, *, train=input_fn, exporters=None, **train_settings):
    return (
        tf.estimator.TrainSpec(train, max_steps=max_steps, **train_settings),
        tf.estimator.EvalSpec(eval_input_fn, steps=None, exporters=exporters),
    )


def steps_of(model_dir, event):
    return [r["step"] for r in Ledger(str(model_dir)).records() if r["event"] == event]


def events(model_dir):
    for path in model_dir.glob("events.out.*"):
        yield from v1.train.summary_iterator(str(path))


def weight_of(model_dir):
    return tf.train.load_variable(str(model_dir), "weight")


def test_returns_the_metrics_of_the_last_checkpoint(tmp_path):
    metrics, exports = genever.train_and_evaluate(estimator(tmp_path), *specs(25))
    assert metrics["global_step"] == 25
    assert metrics["mean_x"] == pytest.approx(0.45)
    weight = weight_of(tmp_path)
    assert 0 < weight < 2
    # The loss is the mean of the batch means: 4 + 4 + 2 examples.
    x = np.arange(10) / 10
    squares = (weight * x - 2 * x) ** 2
    batches = [squares[:4].mean(), squares[4:8].mean(), squares[8:].mean()]
    assert metrics["loss"] == pytest.approx(np.mean(batches), rel=1e-5)
    assert exports == []


def test_every_checkpoint_is_evaluated_and_recorded(tmp_path):
    genever.train_and_evaluate(estimator(tmp_path), *specs(25))
    assert steps_of(tmp_path, "saved") == [0, 10, 20, 25]
    assert steps_of(tmp_path, "evaluated") == [10, 20, 25]
    record = Ledger(str(tmp_path)).last("evaluated")
    assert (record["examples"], record["batches"]) == (10, 3)
    assert record["checkpoint"] == "model.ckpt-25"
    assert Ledger(str(tmp_path)).last("ended")["reason"] == "max_steps 25 was reached"


def test_evaluates_by_steps(tmp_path):
    genever.train_and_evaluate(estimator(tmp_path), *specs(50), eval_every_steps=20)
    assert steps_of(tmp_path, "evaluated") == [20, 40, 50]


def test_the_first_checkpoint_of_a_resumed_process_is_evaluated(tmp_path):
    genever.train_and_evaluate(estimator(tmp_path), *specs(20))
    genever.train_and_evaluate(estimator(tmp_path), *specs(40))
    assert steps_of(tmp_path, "evaluated") == [10, 20, 20, 30, 40]
    runs = [r["run"] for r in Ledger(str(tmp_path)).records()]
    assert len(set(runs)) == 2


def test_evaluation_disturbs_neither_input_nor_weights(tmp_path):
    genever.train_and_evaluate(estimator(tmp_path / "often"), *specs(40))
    estimator(tmp_path / "plain").train(input_fn, max_steps=40)
    assert weight_of(tmp_path / "often").tobytes() == weight_of(tmp_path / "plain").tobytes()


def test_input_that_ends_is_evaluated_and_exported(tmp_path):
    exporter = tf.estimator.FinalExporter("final", receiver_fn)
    once = lambda: input_fn(repeat=1)  # noqa: E731 - as users write it
    metrics, (path,) = genever.train_and_evaluate(
        estimator(tmp_path), *specs(500, train=once, exporters=exporter)
    )
    assert metrics["global_step"] == 10
    ended = Ledger(str(tmp_path)).last("ended")
    assert (ended["step"], ended["reason"]) == (10, "the input ended")
    served = tf.saved_model.load(path.decode()).signatures["serving_default"](x=tf.constant([2.0]))
    assert list(served.values())[0].numpy()[0] == pytest.approx(2 * weight_of(tmp_path))


def test_a_finished_run_says_so_and_returns_its_metrics(tmp_path):
    told = Told()
    first = genever.train_and_evaluate(
        estimator(tmp_path),
        *specs(20, exporters=tf.estimator.FinalExporter("final", receiver_fn)),
    )
    weight = weight_of(tmp_path)
    second = genever.train_and_evaluate(
        estimator(tmp_path),
        *specs(20, exporters=tf.estimator.FinalExporter("final", receiver_fn)),
        report=told,
    )
    assert any("this run is finished" in line for line in told.lines)
    assert second == first
    assert weight_of(tmp_path) == weight
    assert len(os.listdir(tmp_path / "export" / "final")) == 1


def test_several_eval_specs_give_lists(tmp_path):
    train, _ = specs(20)
    evals = [
        tf.estimator.EvalSpec(eval_input_fn, steps=None, name="all"),
        tf.estimator.EvalSpec(eval_input_fn, steps=1, name="first"),
    ]
    metrics, exports = genever.train_and_evaluate(estimator(tmp_path), train, evals)
    assert [m["mean_x"] for m in metrics] == pytest.approx([0.45, 0.15])
    assert exports == [[], []]
    assert os.path.isdir(tmp_path / "eval_all") and os.path.isdir(tmp_path / "eval_first")


def test_two_eval_specs_with_one_export_folder_are_refused(tmp_path):
    train, _ = specs(20)
    evals = [
        tf.estimator.EvalSpec(
            eval_input_fn, name=name, exporters=tf.estimator.FinalExporter("final", receiver_fn)
        )
        for name in ("a", "b")
    ]
    with pytest.raises(ValueError, match="an exporter named 'final'"):
        genever.train_and_evaluate(estimator(tmp_path), train, evals)


def test_evaluation_more_often_than_checkpoints_is_warned_of(tmp_path):
    told = Told()
    genever.train_and_evaluate(estimator(tmp_path), *specs(20), eval_every_steps=5, report=told)
    assert any("set RunConfig.save_checkpoints_steps to 5" in line for line in told.warnings)
    assert steps_of(tmp_path, "evaluated") == [10, 20]


def test_a_hook_that_stops_the_training_is_told(tmp_path):
    class Stop(v1.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            self.steps = getattr(self, "steps", 0) + 1
            if self.steps == 7:
                run_context.request_stop()

    metrics, _ = genever.train_and_evaluate(estimator(tmp_path), *specs(50, hooks=[Stop()]))
    assert metrics["global_step"] == 7
    assert Ledger(str(tmp_path)).last("ended")["reason"] == "a hook asked to stop"


def test_saving_listeners_of_the_spec_are_called(tmp_path):
    class Listener(v1.train.CheckpointSaverListener):
        steps = []

        def after_save(self, session, global_step_value):
            self.steps.append(int(global_step_value))

    listener = Listener()
    genever.train_and_evaluate(estimator(tmp_path), *specs(20, saving_listeners=[listener]))
    assert listener.steps == [0, 10, 20]


def test_latest_and_best_exporters(tmp_path):
    exporters = [
        tf.estimator.LatestExporter("latest", receiver_fn, exports_to_keep=None),
        tf.estimator.BestExporter("best", receiver_fn, exports_to_keep=None),
    ]
    _, paths = genever.train_and_evaluate(estimator(tmp_path), *specs(30, exporters=exporters))
    assert len(os.listdir(tmp_path / "export" / "latest")) == 3
    assert all(os.path.exists(os.path.join(path, b"saved_model.pb")) for path in paths)


def test_input_without_examples_is_named(tmp_path):
    with pytest.raises(ValueError, match="the training input gave no batch"):
        genever.train_and_evaluate(
            estimator(tmp_path), *specs(20, train=lambda: input_fn(examples=0, repeat=1))
        )
    ended = Ledger(str(tmp_path)).last("ended")
    assert ended["failed"] is True and ended["reason"].startswith("ValueError: the training input")


def test_evaluation_without_examples_is_named(tmp_path):
    train, _ = specs(20)
    empty = tf.estimator.EvalSpec(lambda: input_fn(examples=0, repeat=1), steps=None, name="none")
    with pytest.raises(ValueError, match="EvalSpec 'none' gave no batch"):
        genever.train_and_evaluate(estimator(tmp_path), train, empty)


def test_model_dir_of_another_model_is_refused_and_kept(tmp_path):
    genever.train_and_evaluate(estimator(tmp_path), *specs(10))
    before = weight_of(tmp_path)
    with pytest.raises(ValueError, match="holds another model.*slope is not in it"):
        genever.train_and_evaluate(estimator(tmp_path, other_model_fn), *specs(20))
    assert weight_of(tmp_path) == before
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-10")


def test_global_step_that_stands_still_is_named(tmp_path):
    def forgetful(features, labels, mode):
        spec = model_fn(features, labels, mode)
        return spec._replace(train_op=tf.no_op()) if mode == "train" else spec

    with pytest.raises(ValueError, match="global step still is 0 after 201 calls"):
        genever.train_and_evaluate(estimator(tmp_path, forgetful), *specs(20))


def test_run_config_without_checkpoints_is_refused(tmp_path):
    silent = estimator(tmp_path, save_checkpoints_steps=None, save_checkpoints_secs=None)
    with pytest.raises(ValueError, match="set RunConfig.save_checkpoints_steps"):
        genever.train_and_evaluate(silent, *specs(10))


class Told(LogReport):
    """A report that keeps its lines."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.warnings = []

    def say(self, text):
        self.lines.append(text)

    def warn(self, text):
        self.warnings.append(text)


def test_the_report_tells_batch_end_and_evaluation(tmp_path):
    told = Told()
    every_step = estimator(tmp_path, save_summary_steps=1)
    genever.train_and_evaluate(every_step, *specs(20), report=told)
    assert "batch: 1 replica, 4 per replica, 4 global, 4 examples per step" in told.lines
    assert "training ended at step 20: max_steps 20 was reached" in told.lines
    # The progress that is told last has the loss of the last step.
    progress = [line for line in told.lines if line.startswith("step 20/20")][-1]
    losses = [
        value.simple_value
        for event in events(tmp_path)
        for value in event.summary.value
        if value.tag == "loss" and event.step == 20
    ]
    assert f"loss {losses[-1]:.4g}" in progress and "left" not in progress
    last = told.lines[-1]
    assert last.startswith("evaluation at step 20 (10 examples, ") and "mean_x = 0.45" in last
