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
        ValueError: a split of another name.
    """
    import numpy as np

    if split not in _SPLITS:
        raise ValueError(
            f"linear_arrays.split is {split!r}"
            f"{did_you_mean(str(split), _SPLITS) or '; give train or eval.'}"
        )
    x = np.random.default_rng([seed, _SPLITS.index(split)]).normal(size=(examples, len(weights)))
    x = x.astype(np.float32)
    y = x.astype(np.float64) @ np.asarray(weights, np.float64) + bias
    return {"x": x, "y": y.astype(np.float32)}
