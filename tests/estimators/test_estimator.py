import functools
import uuid

import gin
import numpy as np
import pytest
from genever import estimators
from genever.estimators import Estimator, RunConfig

pytestmark = pytest.mark.core

USER_CODE = """
import functools
import tensorflow as tf


def logged(model_fn):
    @functools.wraps(model_fn)
    def wrapper(*args, **kwargs):
        return model_fn(*args, **kwargs)

    return wrapper


def model_fn(features, labels, mode, params, config):
    w = tf.compat.v1.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(w * features["x"] - labels))
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(params["rate"])
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    metrics = {"mean_x": tf.compat.v1.metrics.mean(features["x"])}
    return tf.estimator.EstimatorSpec(
        mode, predictions=w, loss=loss, train_op=train_op, eval_metric_ops=metrics
    )


@logged
def wrapped_model_fn(features, labels, mode, params, config):
    return model_fn(features, labels, mode, params, config)


def input_fn(params):
    data = tf.data.Dataset.from_tensors(({"x": [1.0, 2.0]}, [3.0, 6.0]))
    return data.repeat(params["repeats"])
"""


@pytest.fixture
def user_module(tmp_path, monkeypatch):
    """A user's module, undecorated, outside of the project."""
    name = f"users_model_{uuid.uuid4().hex}"  # gin remembers modules for the life of the process
    (tmp_path / f"{name}.py").write_text(USER_CODE)
    monkeypatch.syspath_prepend(tmp_path)
    return name


CLASSIC = """
RunConfig.model_dir = {model_dir!r}
RunConfig.train_distribute = @one/OneDeviceStrategy()
one/OneDeviceStrategy.device = '/cpu:0'
Estimator.params = {{'rate': 0.1, 'repeats': 20}}
"""

DYNAMIC = """
from __gin__ import dynamic_registration
import {module}
from genever import estimators

estimators.RunConfig.model_dir = {model_dir!r}
estimators.RunConfig.train_distribute = @one/estimators.OneDeviceStrategy()
one/estimators.OneDeviceStrategy.device = '/cpu:0'
estimators.Estimator.model_fn = @{module}.{model_fn}
estimators.Estimator.params = {{'rate': 0.1, 'repeats': 20}}
estimators.TrainSpec.input_fn = @{module}.input_fn
"""


@pytest.mark.parametrize("model_fn", ["model_fn", "wrapped_model_fn"])
def test_a_dynamic_gin_file_trains_undecorated_user_code(user_module, tmp_path, model_fn):
    gin.parse_config(
        DYNAMIC.format(module=user_module, model_fn=model_fn, model_dir=str(tmp_path / "m"))
    )
    estimator = Estimator()
    estimator.train(estimators.TrainSpec().input_fn)
    assert estimator.get_variable_value("global_step") == 20
    assert estimator.get_variable_value("w") == pytest.approx(3.0, abs=1e-3)
    assert type(estimator.config.train_distribute).__name__.startswith("OneDeviceStrategy")


def test_a_classic_gin_file_configures_the_same_run(user_module, tmp_path):
    module = __import__(user_module)
    gin.parse_config(CLASSIC.format(model_dir=str(tmp_path / "m")))
    estimator = Estimator(module.model_fn)
    estimator.train(estimators.TrainSpec(module.input_fn).input_fn)
    assert estimator.get_variable_value("w") == pytest.approx(3.0, abs=1e-3)
    assert estimator.evaluate(module.input_fn)["mean_x"] == pytest.approx(1.5)


def test_gin_fills_the_arguments_that_tensorflow_does_not_pass(tmp_path):
    import tensorflow as tf

    calls = []

    @gin.configurable(module="test_estimator")
    def configured_model(features, mode, scale=1.0):
        calls.append(scale)
        return tf.estimator.EstimatorSpec(mode, predictions=scale * features)

    gin.parse_config("""
        test_estimator.configured_model.scale = 2.0
        small/test_estimator.configured_model.scale = 0.5
        Estimator.model_fn = @small/configured_model
    """)

    def input_fn():
        return tf.data.Dataset.from_tensors([1.0, 2.0])

    for estimator, scale in ((Estimator(configured_model), 2.0), (Estimator(), 0.5)):
        # Without a checkpoint predict initialises; there are no variables here.
        assert np.allclose(list(estimator.predict(input_fn)), [scale, 2 * scale])
    assert calls == [2.0, 0.5]


def test_the_config_is_genevers_own_unless_one_is_given(tmp_path):
    gin.bind_parameter("RunConfig.tf_random_seed", 5)

    def model_fn(features, mode):
        raise AssertionError

    assert Estimator(model_fn).config.tf_random_seed == 5
    given = RunConfig(tf_random_seed=6, model_dir=str(tmp_path))
    assert Estimator(model_fn, config=given).config.tf_random_seed == 6


def test_params_without_an_argument_for_them():
    def model_fn(features, mode):
        raise AssertionError

    with pytest.raises(ValueError, match="does not include params argument"):
        Estimator(model_fn, params={"a": 1})
    with pytest.raises(ValueError, match="must include features argument"):
        Estimator(lambda mode: None)


def test_a_model_fn_with_parentheses_is_named():
    with pytest.raises(ValueError, match="Estimator.model_fn = 3 is not a function; write `@name"):
        Estimator(3)


def test_a_partial_and_an_object_are_model_fns_too():
    class Model:
        def __call__(self, features, labels, mode):
            raise AssertionError

    def model_fn(features, labels, mode, rate):
        raise AssertionError

    for made in (Model(), functools.partial(model_fn, rate=0.1)):
        assert Estimator(made).params == {}
