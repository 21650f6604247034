import functools
import inspect
import logging

import gin
import pytest
from genever.estimators import EvalSpec, TrainSpec

pytestmark = pytest.mark.core


def input_fn(mode, params):
    return mode, params


def test_they_are_the_specs_of_tensorflow_and_keep_their_arguments():
    import tensorflow as tf

    gin.parse_config("TrainSpec.max_steps = 9\nEvalSpec.name = 'held_out'")
    train, evaluation = TrainSpec(input_fn), EvalSpec(input_fn)
    assert isinstance(train, tf.estimator.TrainSpec)
    assert (train.max_steps, evaluation.name) == (9, "held_out")
    assert train.input_fn("train", {"a": 1}) == ("train", {"a": 1})
    for ours, theirs in ((TrainSpec, tf.estimator.TrainSpec), (EvalSpec, tf.estimator.EvalSpec)):
        names = list(inspect.signature(theirs.__new__).parameters)[1:]
        assert list(inspect.signature(ours).parameters) == names


def test_all_data_is_evaluated_unless_steps_are_given():
    assert EvalSpec(input_fn).steps is None
    assert EvalSpec(input_fn, steps=3).steps == 3


@pytest.mark.parametrize("argument", ["start_delay_secs", "throttle_secs"])
def test_seconds_are_accepted_with_a_warning(argument, caplog):
    with caplog.at_level(logging.WARNING, logger="absl"):
        EvalSpec(input_fn, **{argument: 60})
    assert f"EvalSpec.{argument} = 60 has no effect: evaluation goes by steps" in caplog.text
    caplog.clear()
    EvalSpec(input_fn)
    assert not caplog.text


def test_wrapped_input_fns_show_their_arguments_to_tensorflow():
    @functools.wraps(input_fn)
    def wrapped(*args, **kwargs):
        return input_fn(*args, **kwargs)

    shown = inspect.getfullargspec(TrainSpec(wrapped).input_fn).args
    assert shown == ["mode", "params"]

    @gin.configurable(module="test_specs")
    def configured(batch_size, input_context=None):
        return batch_size, input_context

    gin.parse_config("test_specs.configured.batch_size = 4")
    made = TrainSpec(configured).input_fn
    assert inspect.getfullargspec(made).args == ["input_context"]
    assert made(input_context=2) == (4, 2)


def test_an_input_fn_with_parentheses_is_named():
    with pytest.raises(ValueError, match="TrainSpec.input_fn = 5 is not a function; write `@name"):
        TrainSpec(5)


@pytest.mark.parametrize("name", ["a/../../b", ".."])
def test_an_evaluation_whose_name_leads_elsewhere(name):
    with pytest.raises(
        ValueError, match=f"EvalSpec.name = '{name}' must be the name of one folder"
    ):
        EvalSpec(lambda: None, name=name)
