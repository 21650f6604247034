"""Learning-rate schedules: `AdamOptimizer.learning_rate = @cosine_decay()`.

They read the global step themselves, so the optimizer must be made inside the model's graph.
"""

from collections.abc import Callable, Sequence
from typing import Any

import gin

from .rates import check_positive, checked_rate


@gin.configurable(module="genever")
def exponential_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    warmup_steps: int = 0,
) -> Any:
    """learning_rate · decay_rate ^ (step / decay_steps).

    Args:
        learning_rate: rate at the start.
        decay_steps: steps in which the rate falls once by the factor `decay_rate`.
        decay_rate: that factor, above 0.
        staircase: falls at once every `decay_steps` steps.
        warmup_steps: the rate first rises linearly for so many steps; the decay starts after them.
    Returns:
        The rate of the current global step, a float32 scalar tensor.
    Raises:
        ValueError: a rate is negative, or `decay_steps` is not above 0.
    """
    import tensorflow as tf

    checked_rate("exponential_decay.learning_rate", learning_rate)
    check_positive("exponential_decay.decay_steps", decay_steps)
    return _at_global_step(
        "exponential_decay",
        warmup_steps,
        lambda step: tf.compat.v1.train.exponential_decay(
            learning_rate, step, decay_steps, decay_rate, staircase
        ),
    )


@gin.configurable(module="genever")
def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    warmup_steps: int = 0,
) -> Any:
    """Falls from learning_rate to end_learning_rate as (1 - step / decay_steps) ^ power.

    Args:
        learning_rate: rate at the start.
        decay_steps: steps until the rate is `end_learning_rate`.
        end_learning_rate: rate at the end.
        power: 1 is a straight line.
        cycle: starts again beyond `decay_steps`.
        warmup_steps: the rate first rises linearly for so many steps; the decay starts after them.
    Returns:
        The rate of the current global step, a float32 scalar tensor.
    Raises:
        ValueError: a rate is negative, or `decay_steps` is not above 0.
    """
    import tensorflow as tf

    checked_rate("polynomial_decay.learning_rate", learning_rate)
    checked_rate("polynomial_decay.end_learning_rate", end_learning_rate)
    check_positive("polynomial_decay.decay_steps", decay_steps)
    return _at_global_step(
        "polynomial_decay",
        warmup_steps,
        lambda step: tf.compat.v1.train.polynomial_decay(
            learning_rate, step, decay_steps, end_learning_rate, power, cycle
        ),
    )


@gin.configurable(module="genever")
def cosine_decay(
    learning_rate: float, decay_steps: int, alpha: float = 0.0, warmup_steps: int = 0
) -> Any:
    """Falls from learning_rate to alpha · learning_rate along half a cosine wave.

    Args:
        learning_rate: rate at the start.
        decay_steps: steps until the rate has fallen.
        alpha: part of the rate that is left at the end.
        warmup_steps: the rate first rises linearly for so many steps; the decay starts after them.
    Returns:
        The rate of the current global step, a float32 scalar tensor.
    Raises:
        ValueError: a rate is negative, or `decay_steps` is not above 0.
    """
    import tensorflow as tf

    checked_rate("cosine_decay.learning_rate", learning_rate)
    check_positive("cosine_decay.decay_steps", decay_steps)
    return _at_global_step(
        "cosine_decay",
        warmup_steps,
        lambda step: tf.compat.v1.train.cosine_decay(learning_rate, step, decay_steps, alpha),
    )


@gin.configurable(module="genever")
def inverse_time_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    warmup_steps: int = 0,
) -> Any:
    """learning_rate / (1 + decay_rate · step / decay_steps).

    Args:
        learning_rate: rate at the start.
        decay_steps: unit of the steps.
        decay_rate: how fast the rate falls, at least 0.
        staircase: falls at once every `decay_steps` steps.
        warmup_steps: the rate first rises linearly for so many steps; the decay starts after them.
    Returns:
        The rate of the current global step, a float32 scalar tensor.
    Raises:
        ValueError: a rate is negative, or `decay_steps` is not above 0.
    """
    import tensorflow as tf

    checked_rate("inverse_time_decay.learning_rate", learning_rate)
    check_positive("inverse_time_decay.decay_steps", decay_steps)
    return _at_global_step(
        "inverse_time_decay",
        warmup_steps,
        lambda step: tf.compat.v1.train.inverse_time_decay(
            learning_rate, step, decay_steps, decay_rate, staircase
        ),
    )


@gin.configurable(module="genever")
def piecewise_constant(
    boundaries: Sequence[int], values: Sequence[float], warmup_steps: int = 0
) -> Any:
    """A rate for each stretch of steps.

    Args:
        boundaries: steps up to which, inclusive, each rate but the last holds, rising.
        values: the rates, one more than there are boundaries.
        warmup_steps: the rate first rises linearly for so many steps; the boundaries count after
            them.
    Returns:
        The rate of the current global step, a float32 scalar tensor.
    Raises:
        ValueError: the numbers of boundaries and values do not fit, or a rate is negative.
    """
    import tensorflow as tf

    if len(values) != len(boundaries) + 1:
        raise ValueError(
            f"piecewise_constant.values has {len(values)} rates for {len(boundaries)} boundaries; "
            f"give {len(boundaries) + 1}."
        )
    for rate in values:
        checked_rate("piecewise_constant.values", rate)
    return _at_global_step(
        "piecewise_constant",
        warmup_steps,
        lambda step: tf.compat.v1.train.piecewise_constant(
            step, [int(b) for b in boundaries], [float(v) for v in values]
        ),
    )


def _at_global_step(configurable: str, warmup_steps: int, schedule: Callable[[Any], Any]) -> Any:
    import tensorflow as tf

    if tf.executing_eagerly():
        raise ValueError(
            f"{configurable} has no global step outside a model; write the optimizer without "
            "parentheses, e.g. `wide_deep.optimizer = @AdamOptimizer`, so that the model makes it."
        )
    if warmup_steps < 0:
        raise ValueError(f"{configurable}.warmup_steps = {warmup_steps} must not be negative.")
    step = tf.compat.v1.train.get_or_create_global_step()
    # Read here, not where the variable lives: every schedule works on a plain tensor.
    step = tf.identity(step)
    if not warmup_steps:
        return schedule(step)
    rate = schedule(tf.maximum(step - warmup_steps, 0))
    return rate * tf.minimum(1.0, (tf.cast(step, tf.float32) + 1.0) / warmup_steps)
