"""Every mistake in a config ends with exit code 2 and a sentence, before a session starts."""

import os

import gin
import pytest
from genever.launch import command_line

pytestmark = pytest.mark.core

# A config that is right; each case below adds its mistake.
SOUND = """
train_and_evaluate.model_fn = @linear_regression
train_and_evaluate.train_input_fn = @reader_input_fn
train_and_evaluate.eval_input_fn = @eval/reader_input_fn
reader_input_fn.reader = @ArrayReader()
reader_input_fn.batch_size = 10
ArrayReader.features = @linear_arrays()
ArrayReader.schema = @Schema()
Schema.features = {'x': {'shape': (2,)}, 'y': {}}
Schema.label = 'y'
TrainSpec.max_steps = 10
"""

MODULE = """
import gin

def model_fn(features, labels, mode, params=None, rate=0.1):
    raise AssertionError("the model must not be built")

def input_fn(files, batch_size=1):
    raise AssertionError("the input must not be read")

def loose(features, labels, mode, **settings):
    raise AssertionError("the model must not be built")

@gin.configurable(module="left")
def twin(x=1):
    pass

@gin.configurable("twin", module="right")
def other_twin(x=1):
    pass
"""

DYNAMIC = """
from __gin__ import dynamic_registration
from genever import estimators
from genever import launch
import my_model
launch.train_and_evaluate.train_input_fn = @my_model.input_fn
launch.train_and_evaluate.eval_input_fn = @my_model.input_fn
"""

# name: (gin file, what the message says)
FILES = {
    "unknown configurable": (
        SOUND + "TrainSpecs.max_steps = 5",
        ["run.gin:12", "no configurable is named 'TrainSpecs'", "did you mean 'TrainSpec'"],
    ),
    "unknown reference": (
        SOUND.replace("@linear_regression", "@linear_regresion"),
        ["run.gin:2", "'linear_regresion'", "did you mean 'linear_regression'"],
    ),
    "TensorFlow's name without its import": (
        SOUND + "linear_regression.optimizer = @tf.train.AdamOptimizer",
        ["run.gin:12", "'tf.train.AdamOptimizer'", "did you mean 'AdamOptimizer'"],
    ),
    "unknown parameter": (
        SOUND + "RunConfig.save_checkpoint_steps = 5",
        ["run.gin:12", "no parameter 'save_checkpoint_steps'", "'save_checkpoints_steps'"],
    ),
    "unknown parameter in a block": (
        SOUND + "RunConfig:\n    save_summary_step = 5\n",
        ["run.gin:13", "no parameter 'save_summary_step'", "'save_summary_steps'"],
    ),
    "parameter swallowed by **kwargs": (
        DYNAMIC
        + "launch.train_and_evaluate.model_fn = @my_model.loose\nmy_model.loose.widht = 3\n",
        ["run.gin:9", "'my_model.loose' has no parameter 'widht'", "--allow_kwargs="],
    ),
    "no model_fn": (
        SOUND.replace("train_and_evaluate.model_fn = @linear_regression", ""),
        ["'train_and_evaluate.model_fn' is required", "write train_and_evaluate.model_fn = @"],
    ),
    "no train_input_fn": (
        SOUND.replace("train_and_evaluate.train_input_fn = @reader_input_fn", ""),
        ["'train_and_evaluate.train_input_fn' is required"],
    ),
    "no eval_input_fn": (
        SOUND.replace("train_and_evaluate.eval_input_fn = @eval/reader_input_fn", ""),
        ["'train_and_evaluate.eval_input_fn' is required"],
    ),
    "required parameter of an input_fn": (
        SOUND.replace("reader_input_fn.batch_size = 10", ""),
        ["'reader_input_fn.batch_size' is required and not bound"],
    ),
    "required parameter of a user's input_fn": (
        DYNAMIC + "launch.train_and_evaluate.model_fn = @my_model.model_fn\n",
        ["'my_model.input_fn.files' is required and not bound"],
    ),
    "required parameter in one scope only": (
        SOUND.replace("reader_input_fn.batch_size", "eval/reader_input_fn.batch_size"),
        ["'reader_input_fn.batch_size' is required and not bound"],
    ),
    "shadowed by the Estimator": (
        SOUND + "linear_regression.mode = 'train'",
        ["run.gin:12", "'linear_regression.mode' has no effect", "remove"],
    ),
    "shadowed by train_and_evaluate": (
        SOUND + "TrainSpec.input_fn = @reader_input_fn",
        ["run.gin:12", "'TrainSpec.input_fn' has no effect", "remove"],
    ),
    "two cadences": (
        SOUND + "RunConfig.save_checkpoints_steps = 5\nRunConfig.save_checkpoints_secs = 5",
        ["'RunConfig.save_checkpoints_steps'", "'RunConfig.save_checkpoints_secs'", "exclude"],
    ),
    "two models": (
        SOUND + "train_and_evaluate.estimator = @LinearRegressor()",
        ["'train_and_evaluate.model_fn'", "'train_and_evaluate.estimator'", "exclude"],
    ),
    "module that does not exist": (
        SOUND + "import my_modle",
        ["run.gin:12", "cannot import 'my_modle'", "did you mean 'my_model'"],
    ),
    "module with a syntax error": (
        SOUND + "import broken_syntax",
        ["run.gin:12", "importing 'broken_syntax' failed", "broken_syntax.py:2", "SyntaxError"],
    ),
    "module that raises": (
        SOUND + "import raises",
        ["run.gin:12", "importing 'raises' failed", "raises.py:3", "ZeroDivisionError"],
    ),
    "module that exits": (
        SOUND + "import exits",
        ["run.gin:12", "importing 'exits' failed", "SystemExit"],
    ),
    "value missing": (SOUND + "TrainSpec.max_steps =\n", ["run.gin:12", "not valid gin"]),
    "value that is no literal": (
        SOUND + "RunConfig.tf_random_seed = 1 + 1\n",
        ["run.gin:12", "not valid gin"],
    ),
    "bracket that never closes": (
        SOUND + "wide_deep.hidden_units = [1, 2\n",
        ["not valid gin"],
    ),
    "no binding at all": (SOUND + "max_steps 10\n", ["run.gin:12", "not valid gin"]),
    "text for a number": (
        SOUND + "TrainSpec.max_steps = '100'",
        ["run.gin:12", "'TrainSpec.max_steps' is '100'; it must be int"],
    ),
    "number for a list": (
        SOUND + "wide_deep.hidden_units = 128",
        ["run.gin:12", "'wide_deep.hidden_units' is 128; it must be"],
    ),
    "metric that is misspelt": (
        SOUND + "linear_regression.metrics = ['average_loss', 'mean_square_error']",
        ["run.gin:12", "it must be Sequence[Literal[", "did you mean 'mean_squared_error'"],
    ),
    "number below its range": (
        SOUND.replace("TrainSpec.max_steps = 10", "TrainSpec.max_steps = -1"),
        ["run.gin:11", "max_steps", "-1"],
    ),
    "evaluation every 0 steps": (
        SOUND + "train_and_evaluate.eval_every_steps = 0",
        ["eval_every_steps is 0; it must be 1 or more"],
    ),
    "two evaluations of one name": (
        SOUND.replace("train_and_evaluate.eval_input_fn = @eval/reader_input_fn", "")
        + "train_and_evaluate.eval_spec = [@a/EvalSpec(), @b/EvalSpec()]\n"
        + "EvalSpec.input_fn = @reader_input_fn\n",
        ["EvalSpecs named [None, None]", "EvalSpec.name"],
    ),
    "include of a file that is not there": (
        SOUND + "include 'linear_regressions.gin'",
        ["run.gin:12", "no gin file 'linear_regressions.gin'", "'linear_regression.gin'"],
    ),
    "include of itself": (SOUND + "include 'run.gin'", ["run.gin:12", "includes itself"]),
    "macro that is not defined": (
        SOUND + "lr = 0.1\nGradientDescentOptimizer.learning_rate = %rl",
        ["run.gin:13", "no macro 'rl' is defined"],
    ),
    "ambiguous name": (
        SOUND + "import my_model\ntwin.x = 1",
        ["run.gin:13", "'twin' could be left.twin or right.twin; write the one meant"],
    ),
    "dynamic: module that is not imported": (
        DYNAMIC + "launch.train_and_evaluate.model_fn = @my_modl.model_fn\n",
        ["run.gin:8", "nothing named 'my_modl' is imported", "did you mean 'my_model'"],
    ),
    "dynamic: function that is not there": (
        DYNAMIC + "launch.train_and_evaluate.model_fn = @my_model.modl_fn\n",
        ["run.gin:8", "'my_model' has no 'modl_fn'", "did you mean 'model_fn'"],
    ),
    "dynamic: value that is no function": (
        DYNAMIC + "launch.train_and_evaluate.model_fn = @my_model.__name__\n",
        ["run.gin:8", "'my_model.__name__' is not a function or class"],
    ),
    "unknown gin feature": (
        "from __gin__ import dynamic_registraton\n" + SOUND,
        ["run.gin:1", "no feature 'dynamic_registraton'", "'dynamic_registration'"],
    ),
    "training without an end": (
        SOUND.replace("TrainSpec.max_steps = 10", "reader_input_fn.num_epochs = None"),
        ["'reader_input_fn.num_epochs' is None", "'TrainSpec.max_steps' is not bound"],
    ),
    "evaluation without an end": (
        SOUND + "eval/reader_input_fn.num_epochs = None",
        ["'eval/reader_input_fn.num_epochs' is None", "'EvalSpec.steps' is not bound"],
    ),
    "parentheses forgotten": (
        SOUND.replace("@ArrayReader()", "@ArrayReader"),
        ["run.gin:5", "'reader_input_fn.reader' wants @ArrayReader() with parentheses"],
    ),
    "parentheses forgotten within a list": (
        SOUND + "EvalSpec.exporters = [@a/FinalExporter]",
        ["run.gin:12", "'EvalSpec.exporters' wants @a/FinalExporter() with parentheses"],
    ),
    "parentheses too many": (
        SOUND.replace("@linear_regression", "@linear_regression()"),
        ["run.gin:2", "wants @linear_regression without parentheses"],
    ),
    "parentheses too many on a user's model_fn": (
        DYNAMIC
        + "launch.train_and_evaluate.model_fn = @my_model.model_fn()\nmy_model.input_fn.files = 1",
        ["run.gin:8", "wants @my_model.model_fn without parentheses"],
    ),
    "Estimator for a model_fn": (
        SOUND.replace("@linear_regression", "@LinearRegressor"),
        ["'train_and_evaluate.model_fn'", "train_and_evaluate.estimator = @LinearRegressor()"],
    ),
    "schema for a model_fn": (
        SOUND.replace("@linear_regression", "@Schema"),
        ["'train_and_evaluate.model_fn' wants a function, and @Schema is no model_fn"],
    ),
    "model_fn for an input_fn": (
        SOUND.replace("train_input_fn = @reader_input_fn", "train_input_fn = @linear_regression"),
        ["@linear_regression is no input_fn; write @reader_input_fn"],
    ),
    "learning rate of an optimizer that the model makes": (
        SOUND
        + "linear_regression.optimizer = @MomentumOptimizer\nMomentumOptimizer.momentum = 1.0",
        ["'MomentumOptimizer.learning_rate' is required and not bound"],
    ),
    "True for a number": (
        SOUND.replace("TrainSpec.max_steps = 10", "TrainSpec.max_steps = True"),
        ["run.gin:11", "'TrainSpec.max_steps' is True; it must be int"],
    ),
    "misspelt scope of a required value": (
        DYNAMIC.replace("train_input_fn = @my", "train_input_fn = @trian/my")
        + "launch.train_and_evaluate.model_fn = @my_model.model_fn\n"
        + "train/my_model.input_fn.files = 'x'\nmy_model.input_fn.batch_size = 1\n"
        + "launch.train_and_evaluate.eval_input_fn = @train/my_model.input_fn\n",
        ["'trian/my_model.input_fn.files' is required", "did you mean the scope 'train'?"],
    ),
    "dynamic: failed import is told once": (
        DYNAMIC.replace("import my_model", "import my_modle as my_model")
        + "launch.train_and_evaluate.model_fn = @my_model.model_fn\n",
        ["run.gin:5", "cannot import 'my_modle'"],
    ),
    "array of another shape": (
        SOUND.replace("(2,)", "(3,)"),
        ["ArrayReader: a row of 'x' has the shape [2]"],
    ),
    "schema with a misspelt key": (
        SOUND.replace("{'shape': (2,)}", "{'shapes': (2,)}"),
        ["shapes", "did you mean 'shape'"],
    ),
    "files that match nothing": (
        SOUND.replace("@ArrayReader()", "@CsvReader()")
        + "CsvReader.files = 'nowhere-*.csv'\nCsvReader.schema = @Schema()",
        ["CsvReader.files", "nowhere-*.csv"],
    ),
    "device that does not exist": (
        SOUND
        + "RunConfig.train_distribute = @MirroredStrategy()\n"
        + "MirroredStrategy.devices = ['/gpu:7']",
        ["MirroredStrategy.devices", "gpu:7"],
    ),
    "TPU without a TPU": (
        SOUND + "RunConfig.train_distribute = @TPUStrategy()",
        ["TPU"],
    ),
}

# name: (arguments after `genever`, what the message says)
ARGUMENTS = {
    "unknown command": (["trian"], ["no command 'trian'", "did you mean 'train'"]),
    "unknown flag": (["train", "--gin_fil", "run.gin"], ["gin_fil", "gin_file"]),
    "gin file without its flag": (["train", "run.gin"], ["--gin_file run.gin"]),
    "no gin file": (["train"], ["no gin file is given", "--gin_file"]),
    "gin file that is not there": (["train", "--gin_file", "rum.gin"], ["'rum.gin'", "'run.gin'"]),
    "folder for a gin file": (["train", "--gin_file", "."], ["no gin file '.'"]),
    "misspelt override": (
        ["train", "--gin_file", "run.gin", "--gin_param", "TrainSpec.max_step = 1"],
        ["--gin_param 'TrainSpec.max_step = 1'", "did you mean 'max_steps'"],
    ),
    "override that is no binding": (
        ["train", "--gin_file", "run.gin", "--gin_bindings", "TrainSpec.max_steps"],
        ["--gin_param 'TrainSpec.max_steps'", "not valid gin"],
    ),
    "flag that no module defines": (
        ["train", "--gin_file", "run.gin", "--", "--my_flag=1"],
        ["my_flag"],
    ),
    "a module's flag before the two dashes": (
        ["train", "--gin_file", "run.gin", "--my_flag=1"],
        ["my_flag", "flags of your own modules follow --"],
    ),
    "model_dir that is a file": (
        ["train", "--gin_file", "run.gin", "--model_dir", "run.gin"],
        ["model_dir 'run.gin' cannot be written to", "give another --model_dir"],
    ),
    "model_dir under a file": (
        ["train", "--gin_file", "run.gin", "--model_dir", "run.gin/m"],
        ["model_dir 'run.gin/m' cannot be written to (Not a directory)"],
    ),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Works in a folder of its own, with the modules that the cases import."""
    import tensorflow as tf

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("TF_CONFIG", raising=False)
    (tmp_path / "my_model.py").write_text(MODULE)
    (tmp_path / "broken_syntax.py").write_text("x = 1\ndef f(:\n    pass\n")
    (tmp_path / "raises.py").write_text("def f():\n    pass\n1 / 0\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "run.gin").write_text(SOUND)

    def no_session(*args, **kwargs):
        raise AssertionError("a session was started")

    monkeypatch.setattr(tf.compat.v1.Session, "__init__", no_session)
    yield
    gin.clear_config()


@pytest.mark.parametrize("name", FILES)
def test_mistake_in_a_gin_file(name, tmp_path, capsys):
    text, expected = FILES[name]
    (tmp_path / "run.gin").write_text(text)
    code = command_line.run(["genever", "train", "--gin_file", "run.gin", "--model_dir", "m"])
    _assert_mistake(code, capsys.readouterr(), expected)
    assert not os.path.exists("m/checkpoint")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_mistake_on_the_command_line(name, capsys):
    arguments, expected = ARGUMENTS[name]
    code = command_line.run(["genever", *arguments])
    _assert_mistake(code, capsys.readouterr(), expected)


def test_cluster_without_a_task_in_the_environment(monkeypatch, capsys):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"chief": ["localhost:1"]}}')
    code = command_line.run(["genever", "train", "--gin_file", "run.gin", "--model_dir", "m"])
    _assert_mistake(code, capsys.readouterr(), ["TF_CONFIG has a cluster and no 'task'"])


def test_environment_that_is_no_json(monkeypatch, capsys):
    monkeypatch.setenv("TF_CONFIG", "{cluster")
    code = command_line.run(["genever", "train", "--gin_file", "run.gin", "--model_dir", "m"])
    _assert_mistake(code, capsys.readouterr(), ["TF_CONFIG is not JSON"])


def test_scope_that_nothing_enters_is_warned_of_after_an_override(tmp_path, capsys):
    text = SOUND.replace("reader_input_fn.batch_size", "train/reader_input_fn.batch_size")
    text = text.replace("= @reader_input_fn", "= @train/reader_input_fn")
    (tmp_path / "run.gin").write_text(
        text + "eval/reader_input_fn.batch_size = 5\nreader_input_fn.batch_size = 7\n"
    )
    override = "train_and_evaluate.train_input_fn = @trian/reader_input_fn"
    code = command_line.run(["genever", "check", "--gin_file", "run.gin", "--gin_param", override])
    told = capsys.readouterr().err
    assert code == 0
    assert "run.gin:6: no reference enters the scope 'train'; did you mean 'trian'?" in told
    assert "nothing is bound in the scope 'trian'; did you mean 'train'?" in told


def test_several_mistakes_are_all_named(tmp_path, capsys):
    (tmp_path / "run.gin").write_text(SOUND + "RunConfig.a = 1\nTrainSpec.b = 2\n")
    assert command_line.run(["genever", "check", "--gin_file", "run.gin"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[2] for line in lines] == ["run.gin:12", "run.gin:13"]


def _assert_mistake(code, captured, expected):
    assert code == command_line.MISTAKE, captured.err
    assert "Traceback" not in captured.err
    lines = captured.err.splitlines()
    mistakes = [line for line in lines if line.startswith("genever: error: ")]
    assert 1 <= len(mistakes) <= 2, captured.err
    for fragment in expected:
        assert fragment in captured.err, captured.err
