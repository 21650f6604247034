import gin
import pytest
from genever.estimators import Estimator, LinearRegressor, RunConfig, WarmStartSettings
from genever.estimators import linear_regression as model_fn

pytestmark = pytest.mark.core


def input_fn():
    import tensorflow as tf

    x = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    return tf.data.Dataset.from_tensors(({"x": x}, [4.0, 5.0, 6.0])).repeat(10)


def receiver():
    import tensorflow as tf

    x = tf.compat.v1.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


@pytest.fixture
def source(tmp_path):
    """A trained Estimator, whose training others start from."""
    estimator = Estimator(model_fn, config=RunConfig(model_dir=str(tmp_path / "source")))
    estimator.train(input_fn)
    return estimator


def first_weights(tmp_path, warm_start_from):
    """The weights before the first step of a training that starts from somewhere."""
    gin.parse_config("""
        linear_regression.optimizer = @GradientDescentOptimizer
        GradientDescentOptimizer.learning_rate = 0.0
    """)
    config = RunConfig(model_dir=str(tmp_path / "new"))
    estimator = Estimator(model_fn, config=config, warm_start_from=warm_start_from)
    estimator.train(input_fn, max_steps=1)
    return estimator.get_variable_value("linear/weights")


@pytest.mark.parametrize("settings", [lambda path: path, WarmStartSettings])
@pytest.mark.parametrize("kind", ["model_dir", "prefix", "export", "variables", "pathlib"])
def test_it_starts_from(source, tmp_path, settings, kind):
    export = ""
    if kind in ("export", "variables"):
        export = source.export_saved_model(str(tmp_path / "export"), receiver).decode()
    path = {
        "model_dir": source.model_dir,
        "prefix": source.latest_checkpoint(),
        "export": export,
        "variables": f"{export}/variables",
        "pathlib": tmp_path / "source",
    }[kind]
    found = first_weights(tmp_path, settings(path))
    assert found.any()
    assert found == pytest.approx(source.get_variable_value("linear/weights"))


def test_the_settings_choose_variables(source, tmp_path):
    settings = WarmStartSettings(source.model_dir, vars_to_warm_start=".*bias")
    assert not first_weights(tmp_path, settings).any()


@pytest.mark.parametrize("missing", ["nope", "empty", "source/model.ckpt-11", "{prefix}.index"])
def test_a_checkpoint_that_does_not_exist(source, tmp_path, missing):
    (tmp_path / "empty").mkdir()
    path = str(tmp_path / missing.format(prefix=source.latest_checkpoint()))
    new = RunConfig(model_dir=str(tmp_path / "new"))
    with pytest.raises(
        ValueError, match=f"Estimator.warm_start_from = '{path}': there is no such checkpoint; give"
    ):
        Estimator(model_fn, config=new, warm_start_from=path)
    with pytest.raises(
        ValueError, match=f"LinearRegressor.warm_start_from = '{path}': there is no such checkpoint"
    ):
        LinearRegressor([], config=new, warm_start_from=path)
    with pytest.raises(
        ValueError, match=f"WarmStartSettings.ckpt_to_initialize_from = '{path}': there is no such"
    ):
        Estimator(model_fn, config=new, warm_start_from=WarmStartSettings(path))


def test_a_training_that_goes_on_does_not_ask_for_it(source):
    config = RunConfig(model_dir=source.model_dir)
    estimator = Estimator(model_fn, config=config, warm_start_from="/nope")
    estimator.train(input_fn, steps=1)
    assert estimator.get_variable_value("global_step") == 11
