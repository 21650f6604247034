"""Sizes that a config gives: how many, how wide."""

import numbers
from collections.abc import Sequence
from typing import Any


def check_whole(parameter: str, value: Any, least: int = 1) -> None:
    """Refuses a size that is no whole number or too small.

    Args:
        parameter: its name in a config, e.g. 'wide_deep.cross_buckets'.
        value: what was given.
        least: the smallest that makes sense.
    Raises:
        ValueError: `value` is not an int, or is below `least`.
    """
    if not _is_whole(value) or value < least:
        raise ValueError(f"{parameter} = {value!r} must be a whole number; give {least} or more.")


def check_widths(parameter: str, widths: Any) -> None:
    """Refuses widths of layers that cannot be built: a width of 0 ends the process in C++.

    Args:
        parameter: its name in a config, e.g. 'wide_deep.hidden_units'.
        widths: what was given; an empty list is a network without hidden layers.
    Raises:
        ValueError: `widths` is not a list of whole numbers of at least 1.
    """
    if _is_whole(widths):
        raise ValueError(f"{parameter} = {widths!r} must be a list of widths; write [{widths!r}].")
    if isinstance(widths, str) or not isinstance(widths, Sequence):
        raise ValueError(f"{parameter} = {widths!r} must be a list of widths, such as [128, 64].")
    for width in widths:
        if not _is_whole(width) or width < 1:
            raise ValueError(
                f"{parameter} = {list(widths)!r}: the width {width!r} must be a whole number; give "
                "1 or more."
            )


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
