"""`genever train` and `genever check` as processes: what a user sees, and what stays behind."""

import json
import os
import subprocess
import sys

import pytest
import tensorflow as tf

pytestmark = pytest.mark.core

# A module as TF1 code is written: undecorated, with tf.compat.v1 throughout, and a flag of its own.
MODULE = """
import numpy as np
import tensorflow.compat.v1 as tf
from absl import flags

flags.DEFINE_float("slope", 2.0, "The slope of the line.")
flags.DEFINE_string("model_dir", "", "A flag that genever has too.")


def input_fn(batch, repeat=None):
    x = np.arange(40, dtype=np.float32) / 10
    y = flags.FLAGS.slope * x
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(batch).repeat(repeat)


def model_fn(features, labels, mode, params):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    prediction = weight * features["x"]
    loss = tf.losses.mean_squared_error(labels, prediction)
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"error": tf.metrics.mean_absolute_error(labels, prediction)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(
        loss, tf.train.get_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""

GIN = """
from __gin__ import dynamic_registration
import line
from genever import estimators
from genever import launch

launch.train_and_evaluate.model_fn = @line.model_fn
launch.train_and_evaluate.train_input_fn = @train/line.input_fn
launch.train_and_evaluate.eval_input_fn = @eval/line.input_fn
launch.train_and_evaluate.params = {'rate': 0.05}
train/line.input_fn.batch = 8
eval/line.input_fn.batch = 20
eval/line.input_fn.repeat = 1
estimators.TrainSpec.max_steps = 100
estimators.RunConfig.save_checkpoints_steps = 50
estimators.LinearRegressor.optimizer = 'Ftrl'
"""


def genever(*arguments, cwd, expect=0, timeout=240):
    """Runs the command in a process of its own and returns what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "genever", *arguments],
        cwd=cwd,
        env={k: v for k, v in os.environ.items() if not k.startswith("TF_")},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


@pytest.fixture
def project(tmp_path):
    """A user's project outside the working folder: a gin file and the module that it names."""
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / "line.py").write_text(MODULE)
    (tmp_path / "project" / "run.gin").write_text(GIN)
    return tmp_path


def test_undecorated_module_trains_from_any_folder(project):
    gin_file = str(project / "project" / "run.gin")
    done = genever("train", "--gin_file", gin_file, "--model_dir", "m", cwd=project / "elsewhere")
    model_dir = project / "elsewhere" / "m"
    assert tf.train.load_variable(str(model_dir), "weight") == pytest.approx(2.0, abs=1e-3)

    assert "step 100/100" in done.stdout
    assert "batch: 1 replica, 8 per replica, 8 global, 8 examples per step" in done.stdout
    assert "evaluation at step 50 (40 examples, " in done.stdout
    assert "training ended at step 100: max_steps 100 was reached" in done.stdout
    assert "error = " in done.stdout
    unused = "'estimators.LinearRegressor.optimizer' was never used: it was not called"
    assert f"run.gin:16: {unused}" in done.stdout
    # Neither TensorFlow's start-up lines nor its deprecation warnings are among the run's own.
    noise = [line for line in done.stderr.splitlines() if "WARNING: All log" not in line]
    assert noise == []

    config = (model_dir / "config.gin").read_text()
    assert "LinearRegressor.optimizer = 'Ftrl'" in config
    operative = (model_dir / "operative_config.gin").read_text()
    assert "LinearRegressor" not in operative
    assert "save_checkpoints_steps = 50" in operative and "rate" in operative
    assert {"gin/config", "gin/operative_config"} <= text_tags(model_dir)


def test_the_saved_config_trains_again(project):
    gin_file = str(project / "project" / "run.gin")
    genever("train", "--gin_file", gin_file, "--model_dir", "first", cwd=project / "elsewhere")
    saved = (project / "elsewhere" / "first" / "config.gin").read_text()
    (project / "project" / "saved.gin").write_text(saved)
    genever(*("train", "--gin_file", "saved.gin", "--model_dir", "second"), cwd=project / "project")
    weights = [
        tf.train.load_variable(str(path), "weight")
        for path in (project / "elsewhere" / "first", project / "project" / "second")
    ]
    assert weights[0].tobytes() == weights[1].tobytes()


def test_flags_after_two_dashes_go_to_the_users_modules(project):
    genever(
        *("train", "--gin_file", "run.gin", "--model_dir", "m", "--", "--slope=3"),
        cwd=project / "project",
    )
    weight = tf.train.load_variable(str(project / "project" / "m"), "weight")
    assert weight == pytest.approx(3.0, abs=1e-3)


def test_override_uses_the_names_of_the_file(project):
    done = genever(
        *("train", "--gin_file", "run.gin", "--model_dir", "m"),
        *("--gin_param", "estimators.TrainSpec.max_steps = 10"),
        *(
            "--gin_bindings",
            "line.input_fn.repeat = 1",
            "--gin_param",
            "RunConfig.tf_random_seed=3",
        ),
        cwd=project / "project",
    )
    assert "training ended at step 5: the input ended" in done.stdout


def test_failure_in_the_users_code_keeps_its_trace(project):
    module = MODULE.replace('params["rate"]', 'params["ratio"]')
    (project / "project" / "line.py").write_text(module)
    done = genever(
        *("train", "--gin_file", "run.gin", "--model_dir", "m"), cwd=project / "project", expect=1
    )
    assert "line.py" in done.stderr and "KeyError" in done.stderr


def test_model_dir_of_another_model(project):
    genever("train", "--gin_file", "run.gin", "--model_dir", "m", cwd=project / "project")
    (project / "project" / "line.py").write_text(MODULE.replace('"weight"', '"slope"'))
    done = genever(
        *("train", "--gin_file", "run.gin", "--model_dir", "m"),
        *("--gin_param", "estimators.TrainSpec.max_steps = 200"),
        cwd=project / "project",
        expect=2,
    )
    assert "Traceback" not in done.stderr
    assert (
        "model_dir 'm' holds another model" in done.stderr and "slope is not in it" in done.stderr
    )


def test_check_prints_the_run_and_starts_nothing(project):
    done = genever(*("check", "--gin_file", "run.gin", "--model_dir", "m"), cwd=project / "project")
    assert "TrainSpec.max_steps = 100" in done.stdout
    assert "RunConfig.model_dir = 'm'" in done.stdout
    assert "the config is sound; nothing was started" in done.stdout
    assert not (project / "project" / "m").exists()


def test_check_of_a_shipped_config_imports_no_tensorflow(tmp_path):
    code = (
        "import sys; from genever.launch.command_line import run;"
        "code = run(['genever', 'check', '--gin_file', 'linear_regression.gin']);"
        "sys.exit(code or ('tensorflow' in sys.modules) * 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=120)
    assert done.returncode == 0


def test_misspelt_scope_is_warned_of(project):
    text = GIN.replace("eval/line.input_fn.repeat", "evla/line.input_fn.repeat")
    (project / "project" / "run.gin").write_text(text)
    done = genever("check", "--gin_file", "run.gin", cwd=project / "project")
    assert "no reference enters the scope 'evla'; did you mean 'eval'?" in done.stderr


CSV = """
train_and_evaluate.model_fn = @linear_regression
train_and_evaluate.train_input_fn = @reader_input_fn
train_and_evaluate.eval_input_fn = @reader_input_fn
reader_input_fn.reader = @CsvReader()
reader_input_fn.batch_size = 2
CsvReader.files = 'points.csv'
CsvReader.schema = @Schema()
Schema.features = {'x': {'shape': (1,)}, 'y': {}}
Schema.label = 'y'
"""


@pytest.fixture
def points(tmp_path):
    """A run on a CSV file whose third record is malformed."""
    (tmp_path / "points.csv").write_text("x_0,y\n1,2\n2,4\nthree,6\n4,8\n")
    (tmp_path / "points.gin").write_text(CSV)
    return tmp_path


def test_malformed_record_is_named(points):
    done = genever("train", "--gin_file", "points.gin", "--model_dir", "m", cwd=points, expect=2)
    assert "points.csv, record 3 (line 4)" in done.stderr and "three" in done.stderr
    assert "Traceback" not in done.stderr


def test_malformed_record_is_skipped_and_counted(points):
    done = genever(
        *("train", "--gin_file", "points.gin", "--model_dir", "m"),
        *("--gin_param", "reader_input_fn.max_bad_records = 1"),
        cwd=points,
    )
    assert "evaluation at step 2 (3 examples, " in done.stdout
    assert "points.csv: 1 malformed record(s) were skipped" in done.stdout


LINEAR = ("train", "--gin_file", "linear_regression.gin", "--model_dir", "m")


def test_shipped_linear_regression_recovers_the_line(tmp_path):
    genever(*LINEAR, cwd=tmp_path)
    assert_line(tmp_path / "m")


def test_shipped_linear_regression_on_two_logical_devices(tmp_path):
    done = genever(
        *LINEAR,
        *("--gin_param", "RunConfig.train_distribute = @MirroredStrategy()"),
        *("--gin_param", "MirroredStrategy.logical_cpus = 2"),
        cwd=tmp_path,
    )
    assert_line(tmp_path / "m")
    assert "batch: 2 replicas" in done.stdout


def assert_line(model_dir):
    """Asserts the mission's example: y = x·[1, 2] + 3."""
    weights = tf.train.load_variable(str(model_dir), "linear/weights")
    bias = tf.train.load_variable(str(model_dir), "linear/bias")
    assert weights.ravel().tolist() == pytest.approx([1.0, 2.0], abs=1e-3)
    assert bias.ravel().tolist() == pytest.approx([3.0], abs=1e-3)


def text_tags(model_dir):
    """Returns the tags of all text summaries in the event files of a model_dir."""
    tags = set()
    for name in os.listdir(model_dir):
        if not name.startswith("events.out"):
            continue
        for event in tf.compat.v1.train.summary_iterator(str(model_dir / name)):
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "text":
                    tags.add(value.tag)
    return tags


def test_inspect_lists_a_trained_checkpoint(tmp_path):
    genever(*LINEAR, "--gin_param", "TrainSpec.max_steps = 5", cwd=tmp_path)
    table = genever("inspect", "m", cwd=tmp_path).stdout
    assert "m/model.ckpt-5" in table and "3 variables, 20 bytes" in table
    listed = json.loads(genever("inspect", "m", "--format", "json", cwd=tmp_path).stdout)
    assert [entry["name"] for entry in listed["entries"]] == [
        "global_step",
        "linear/bias",
        "linear/weights",
    ]
    missing = genever("inspect", "m/model.ckpt-7", cwd=tmp_path, expect=2)
    assert "there are model.ckpt-0, model.ckpt-5" in missing.stderr


def test_versions_are_shown_with_the_installed_one_marked(tmp_path):
    shown = genever("check", "--versions", cwd=tmp_path).stdout
    minor = ".".join(tf.__version__.split(".")[:2])
    assert f"tensorflow {tf.__version__}" in shown and f"{minor} *" in shown
    assert all(f"2.{n}" in shown for n in range(15, 22))


def test_help_lists_a_commands_own_flags(tmp_path):
    shown = genever("train", "--help", cwd=tmp_path).stdout
    assert "--gin_file\n" in shown and "--gin_bindings\n" in shown and "undefok" not in shown
