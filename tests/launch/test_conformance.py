"""Every strategy trains, evaluates, resumes, exports and stops early, with the same numbers.

A row is a strategy; each runs the linear model three times in processes of its own: to step 200,
on to step 300, and until it has converged. Every run has a deadline.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from genever.launch.local_cluster import run_local_cluster

pytestmark = [pytest.mark.core, pytest.mark.slow]

DEADLINE_SECS = 180

CURVE = '''
"""Writes the loss of every step of the process that leads."""
import json
import os
import gin
import tensorflow as tf


@gin.configurable
class CurveHook(tf.compat.v1.train.SessionRunHook):
    def begin(self):
        self._wanted = {
            "loss": tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1],
            "step": tf.compat.v1.train.get_global_step(),
        }

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs(self._wanted)

    def after_run(self, run_context, run_values):
        task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "chief"})
        if task["type"] == "chief":
            with open(os.environ["CURVE"], "a") as file:
                file.write(f"{float(run_values.results['loss'])!r}\\n")


@gin.configurable
class CountListener(tf.compat.v1.train.CheckpointSaverListener):
    def after_save(self, session, step):
        with open(os.environ["CURVE"] + ".saved", "a") as file:
            file.write(f"{int(step)}\\n")
'''

CONFIG = """
import conformance_hooks
include 'linear_regression.gin'

train/reader_input_fn.shuffle_buffer_size = 0    # so that all strategies see the same batches
train/reader_input_fn.batch_size = 24
eval/linear_arrays.examples = 101                # rounds of several replicas do not come out even
eval/reader_input_fn.batch_size = 10
TrainSpec.hooks = [@conformance_hooks.CurveHook()]
TrainSpec.saving_listeners = [@conformance_hooks.CountListener()]
EvalSpec.exporters = [@FinalExporter()]
FinalExporter.name = 'final'
FinalExporter.serving_input_receiver_fn = @serving_input_receiver_fn()
serving_input_receiver_fn.schema = @Schema()
RunConfig.save_checkpoints_steps = 100
EarlyStopping.metric = 'average_loss'
EarlyStopping.patience = None
EarlyStopping.threshold = 1e-3
"""

LOCAL = None
WORKERS = {"chief": 1, "worker": 1, "evaluator": 1}
WORKERS_ALONE = {"chief": 1, "worker": 2}
SERVERS = {"chief": 1, "worker": 1, "ps": 2, "evaluator": 1}

SHARDED = """
train_and_evaluate.model_fn = @sharded_linear
sharded_linear.num_shards = 2
sharded_linear.optimizer = @GradientDescentOptimizer
RunConfig.session_config = @ConfigProto()
"""
TWO_BY_TWO = """
ConfigProto.device_count = {'CPU': 4}
MirroredStrategy.logical_cpus = 4
MirroredStrategy.shards_per_replica = 2
"""
NO_TPU = """
TPUEstimator.model_fn = @linear_regression
TPUEstimator.use_tpu = False
TPUEstimator.train_batch_size = 24
TPUEstimator.eval_batch_size = 10
"""
EVALUATE_TOO = "RunConfig.eval_distribute = @{}()\n"

# name: (the fragment of configs/strategies, the tasks of its cluster, whether replicas keep step,
# what else the config says)
ROWS = {
    "no strategy": (None, LOCAL, True, ""),
    "one device": ("one_device", LOCAL, True, EVALUATE_TOO.format("OneDeviceStrategy")),
    "mirrored": ("mirrored_logical_cpus", LOCAL, True, EVALUATE_TOO.format("MirroredStrategy")),
    "central storage": (
        "central_storage",
        LOCAL,
        True,
        EVALUATE_TOO.format("CentralStorageStrategy") + "CentralStorageStrategy.logical_cpus = 3\n",
    ),
    "multi-worker, evaluator": ("multi_worker_mirrored", WORKERS, True, ""),
    "multi-worker, chief evaluates": ("multi_worker_mirrored", WORKERS_ALONE, True, ""),
    "parameter servers, no strategy": (None, SERVERS, False, ""),
    "parameter servers": ("parameter_server", SERVERS, False, ""),
    "two shards": (None, LOCAL, True, SHARDED + "ConfigProto.device_count = {'CPU': 2}\n"),
    "two replicas of two shards": ("mirrored", LOCAL, True, SHARDED + TWO_BY_TWO),
    "TPUEstimator without a TPU": ("tpu", LOCAL, True, NO_TPU),
}
SYNCHRONOUS = [name for name, row in ROWS.items() if row[2]]


class Row:
    """The three runs of one strategy; each is made when it is first asked for."""

    def __init__(self, name, folder):
        self.fragment, self.counts, self.in_step, more = ROWS[name]
        self.folder = folder
        (folder / "conformance_hooks.py").write_text(CURVE)
        include = f"include 'strategies/{self.fragment}.gin'\n" if self.fragment else ""
        (folder / "run.gin").write_text(CONFIG + include + more)
        self._done = {}

    def run(self, name, *bindings, model_dir):
        """Runs once; returns model_dir and what the leading process printed."""
        if name not in self._done:
            self._done[name] = self._train(model_dir, bindings)
        return self.folder / model_dir, self._done[name]

    def trained(self):
        return self.run("trained", "TrainSpec.max_steps = 200", model_dir="model")

    def resumed(self):
        self.trained()
        return self.run("resumed", "TrainSpec.max_steps = 300", model_dir="model")

    def stopped(self):
        return self.run(
            "stopped",
            *self.until_converged(),
            model_dir="early",
        )

    def until_converged(self):
        # Tasks at their own pace go on while the evaluator evaluates: there must be enough to do.
        return (
            "TrainSpec.max_steps = 1000000",
            "train_and_evaluate.early_stopping = @EarlyStopping()",
            f"RunConfig.save_checkpoints_steps = {50 if self.in_step else 2000}",
        )

    def curve(self, model_dir):
        with open(f"{model_dir}.curve") as file:
            return [float(line) for line in file]

    def _train(self, model_dir, bindings):
        command = [sys.executable, "-m", "genever", "train", "--gin_file", f"{self.folder}/run.gin"]
        command += ["--model_dir", str(self.folder / model_dir)]
        command += [part for text in bindings for part in ("--gin_param", text)]
        environment = {"CURVE": f"{self.folder / model_dir}.curve"}
        if self.counts is None:
            done = subprocess.run(
                command,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=DEADLINE_SECS,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout
        ended = run_local_cluster(command, self.counts, DEADLINE_SECS, environment)
        for task in ended:
            assert task.code == 0, f"{task.task}: {task.output}"
        return ended[0].output


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    made = {}

    def row(name):
        if name not in made:
            made[name] = Row(name, tmp_path_factory.mktemp("row"))
        return made[name]

    return row


def weights(model_dir, step=None):
    import tensorflow as tf

    path = tf.train.latest_checkpoint(model_dir)
    reader = tf.train.load_checkpoint(path)
    if step is not None:
        assert reader.get_tensor("global_step") == step
    return reader.get_tensor("linear/weights"), reader.get_tensor("linear/bias")


def ledger(model_dir):
    records = []
    for path in sorted(model_dir.glob("ledger*.jsonl")):
        records += [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(records, key=lambda record: record["time"])


def evaluations(model_dir):
    return [record for record in ledger(model_dir) if record["event"] == "evaluated"]


@pytest.mark.parametrize("name", ROWS)
def test_train(name, rows):
    row = rows(name)
    model_dir, output = row.trained()
    w, b = weights(model_dir, step=200 if row.in_step else None)
    np.testing.assert_allclose(w, [1.0, 2.0], atol=1e-2)
    np.testing.assert_allclose(b, 3.0, atol=1e-2)
    assert "max_steps 200 was reached" in output
    saved = [int(n) for n in Path(f"{model_dir}.curve.saved").read_text().split()]
    if row.in_step:
        assert saved == [0, 100, 200]
    else:
        assert saved[0] == 0 and len(saved) >= 2
    assert not list(model_dir.glob("tmp_*"))


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_same_loss_curve_as_one_device(name, rows):
    model_dir, _ = rows(name).trained()
    reference, _ = rows("no strategy").trained()
    curve = rows(name).curve(model_dir)[:200]
    np.testing.assert_allclose(curve, rows("no strategy").curve(reference)[:200], atol=1e-5)


@pytest.mark.parametrize("name", ROWS)
def test_evaluate(name, rows):
    from genever.input_fns import linear_arrays

    model_dir, output = rows(name).trained()
    last = evaluations(model_dir)[-1] if not rows(name)._done.get("resumed") else None
    last = last or [r for r in evaluations(model_dir) if r["step"] < 250][-1]
    assert (last["examples"], last["batches"]) == (101, 11)
    data = linear_arrays(examples=101, split="eval")
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(model_dir / last["checkpoint"]))
    w, b = reader.get_tensor("linear/weights"), reader.get_tensor("linear/bias")
    error = data["x"] @ w + b - data["y"]
    np.testing.assert_allclose(last["metrics"]["average_loss"], np.mean(error**2), rtol=1e-3)
    batches = [np.mean(error[at : at + 10] ** 2) for at in range(0, 101, 10)]
    np.testing.assert_allclose(last["metrics"]["loss"], np.mean(batches), rtol=1e-3)
    assert re.search(r"evaluation at step \d+ \(101 examples", output)


@pytest.mark.parametrize("name", ROWS)
def test_train_and_evaluate_ends_with_the_last_checkpoint(name, rows):
    model_dir, _ = rows(name).trained()
    first_run = [r for r in ledger(model_dir) if r["run"] == ledger(model_dir)[0]["run"]]
    steps = [r["step"] for r in first_run if r["event"] == "evaluated"]
    trained = next(r for r in first_run if r["event"] == "trained")
    assert steps[-1] == trained["step"] >= 200
    ended = [r for r in first_run if r["event"] == "ended"]
    assert ended and not any(r.get("failed") for r in ended)


@pytest.mark.parametrize("name", ROWS)
def test_export(name, rows):
    import tensorflow as tf

    model_dir, _ = rows(name).trained()
    (export,) = [p for p in sorted((model_dir / "export" / "final").iterdir())][:1]
    serve = tf.saved_model.load(str(export)).signatures["predict"]
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.extend([2.0, -1.0])
    (predicted,) = serve(tf.constant([example.SerializeToString()])).values()
    np.testing.assert_allclose(predicted, [3.0], atol=1e-2)


@pytest.mark.parametrize("name", ROWS)
def test_resume(name, rows):
    row = rows(name)
    model_dir, output = row.resumed()
    assert "resuming from step 20" in output
    w, b = weights(model_dir, step=300 if row.in_step else None)
    np.testing.assert_allclose(w, [1.0, 2.0], atol=1e-3)
    np.testing.assert_allclose(b, 3.0, atol=1e-3)
    assert evaluations(model_dir)[-1]["step"] >= 300
    assert len(list((model_dir / "export" / "final").iterdir())) == 2
    if row.in_step:
        assert len(row.curve(model_dir)) == 300


@pytest.mark.parametrize("name", ROWS)
def test_early_stop(name, rows):
    row = rows(name)
    model_dir, output = row.stopped()
    (trained,) = [r for r in ledger(model_dir) if r["event"] == "trained"]
    assert trained["reason"].startswith("average_loss ")
    assert trained["reason"].endswith("has reached 0.001")
    assert trained["step"] < 1000000
    assert evaluations(model_dir)[-1]["step"] == trained["step"]
    assert trained["reason"] in output


@pytest.mark.parametrize("name", ["mirrored", "multi-worker, evaluator", "parameter servers"])
def test_a_finished_run_that_is_started_again_trains_nothing_and_ends(name, rows):
    row = rows(name)
    model_dir, _ = row.resumed()
    before = evaluations(model_dir)[-1]["step"]
    _, output = row.run("again", "TrainSpec.max_steps = 300", model_dir="model")
    assert "this run is finished" in output
    assert f"evaluation at step {before} (101 examples" in output
    row.stopped()
    _, output = row.run(
        "stopped again",
        *row.until_converged(),
        model_dir="early",
    )
    assert "this run is finished: average_loss " in output
