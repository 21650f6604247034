"""Learning rates that a config gives as numbers."""

import math
import numbers
from typing import Any


def checked_rate(parameter: str, rate: Any) -> Any:
    """Returns a learning rate that does not climb uphill.

    Args:
        parameter: its name in a config, e.g. 'AdamOptimizer.learning_rate'.
        rate: a number, or a tensor or function that gives one.
    Returns:
        `rate` itself.
    Raises:
        ValueError: it is a number that is negative, infinite or not a number.
    """
    if isinstance(rate, numbers.Real) and not (math.isfinite(rate) and rate >= 0):
        raise ValueError(
            f"{parameter} = {rate!r} must be a number that is not negative; give one such as 0.01."
        )
    return rate


def check_positive(parameter: str, value: Any) -> None:
    """Refuses a number, such as that of the steps of a decay, that is not above 0.

    Args:
        parameter: its name in a config, e.g. 'cosine_decay.decay_steps'.
        value: a number, or a tensor, which is not looked at.
    Raises:
        ValueError: it is a number that is not above 0.
    """
    if isinstance(value, numbers.Real) and not value > 0:
        raise ValueError(f"{parameter} = {value!r} must be above 0; give a number such as 1000.")
