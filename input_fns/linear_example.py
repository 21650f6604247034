"""The data of the smallest example: y = x · weights + bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gin

from .errors import did_you_mean

_SPLITS = ("train", "eval")


@gin.configurable(module="genever")
def linear_arrays(
    weights: Sequence[float] = (1.0, 2.0),
    bias: float = 3.0,
    examples: int = 1000,
    seed: int = 0,
    split: str = "train",
) -> dict[str, Any]:
    """Draws points and computes their labels exactly.

    Args:
        weights: one for each input.
        bias: added to each label.
        examples: number of points.
        seed: of the points.
        split: 'train' or 'eval'; each has its own points.

    Returns:
        Arrays for `ArrayReader`: 'x' [examples, len(weights)], standard normal, and 'y' [examples],
        both float32.

    Raises:
        ValueError: a split of another name, no weights, or a number that is not whole.
    """
    import numpy as np

    if split not in _SPLITS:
        raise ValueError(
            f"linear_arrays.split is {split!r}"
            f"{did_you_mean(str(split), _SPLITS) or '; give train or eval.'}"
        )
    if isinstance(weights, str) or not isinstance(weights, Sequence) or not weights:
        raise ValueError(f"linear_arrays.weights is {weights!r}; give a list such as [1.0, 2.0].")
    for name, value, least in (("examples", examples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(
                f"linear_arrays.{name} is {value!r}; give a whole number of at least {least}."
            )
    x = np.random.default_rng([seed, _SPLITS.index(split)]).normal(size=(examples, len(weights)))
    x = x.astype(np.float32)
    y = x.astype(np.float64) @ np.asarray(weights, np.float64) + bias
    return {"x": x, "y": y.astype(np.float32)}
