import math

import gin
import pytest
from genever import estimators

pytestmark = pytest.mark.core


def rates(schedule, steps):
    """The rate at each of `steps`, as a graph computes it."""
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.train.get_or_create_global_step()
        rate = tf.convert_to_tensor(schedule())
        session.run(tf.compat.v1.global_variables_initializer())
        found = []
        for value in steps:
            step.load(value, session)
            found.append(float(session.run(rate)))
        return found


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        (
            "exponential_decay.decay_steps = 10\nexponential_decay.decay_rate = 0.5",
            "exponential_decay",
            {0: 0.1, 10: 0.05, 20: 0.025},
        ),
        (
            "polynomial_decay.decay_steps = 100\npolynomial_decay.end_learning_rate = 0.0",
            "polynomial_decay",
            {0: 0.1, 50: 0.05, 100: 0.0, 500: 0.0},
        ),
        (
            "cosine_decay.decay_steps = 100\ncosine_decay.alpha = 0.1",
            "cosine_decay",
            {0: 0.1, 50: 0.1 * (0.9 * 0.5 + 0.1), 100: 0.01, 900: 0.01},
        ),
        (
            "inverse_time_decay.decay_steps = 10\ninverse_time_decay.decay_rate = 1.0",
            "inverse_time_decay",
            {0: 0.1, 10: 0.05, 30: 0.025},
        ),
    ],
)
def test_values(config, name, expected):
    gin.parse_config(f"{name}.learning_rate = 0.1\n{config}")
    found = rates(getattr(estimators, name), expected)
    assert found == pytest.approx(list(expected.values()), abs=1e-7)


def test_piecewise_constant():
    gin.parse_config("""
        piecewise_constant.boundaries = [10, 20]
        piecewise_constant.values = [1, 0.5, 0.25]
    """)
    assert rates(estimators.piecewise_constant, [0, 10, 11, 20, 21]) == [1, 1, 0.5, 0.5, 0.25]


def test_the_decay_starts_after_the_warm_up():
    gin.parse_config("""
        cosine_decay.learning_rate = 0.4
        cosine_decay.decay_steps = 100
        cosine_decay.warmup_steps = 4
    """)
    after = 0.4 * 0.5 * (1 + math.cos(math.pi / 2))
    assert rates(estimators.cosine_decay, [0, 1, 3, 4, 54]) == pytest.approx(
        [0.1, 0.2, 0.4, 0.4, after]
    )


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        ("piecewise_constant", ([1, 2], [0.1, 0.2]), "has 2 rates for 2 boundaries; give 3"),
        ("piecewise_constant", ([1], [0.1, -0.2]), "piecewise_constant.values = -0.2 must be"),
        ("cosine_decay", (0.1, 10), "cosine_decay has no global step outside a model"),
        ("cosine_decay", (-0.1, 10), "cosine_decay.learning_rate = -0.1 must be a number that is"),
        ("cosine_decay", (0.1, 0), "cosine_decay.decay_steps = 0 must be above 0"),
        ("exponential_decay", (-1, 10, 0.5), "exponential_decay.learning_rate = -1 must be"),
        ("exponential_decay", (1, -5, 0.5), "exponential_decay.decay_steps = -5 must be above 0"),
        ("inverse_time_decay", (-1, 10, 0.5), "inverse_time_decay.learning_rate = -1 must be"),
        ("inverse_time_decay", (1, 0, 0.5), "inverse_time_decay.decay_steps = 0 must be above 0"),
        ("polynomial_decay", (-1, 10), "polynomial_decay.learning_rate = -1 must be"),
        ("polynomial_decay", (1, 10, -0.5), "polynomial_decay.end_learning_rate = -0.5 must be"),
        ("polynomial_decay", (1, 0), "polynomial_decay.decay_steps = 0 must be above 0"),
    ],
)
def test_mistakes(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(estimators, make)(*arguments)
