"""The first batch of a task, by which tasks that read the same input are found."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def digest(values: Sequence[Any]) -> int:
    """Returns a number for the values of a batch that is the same for the same values, and not 0.

    Args:
      values: arrays, also of strings.
    """
    found = 0
    for value in values:
        array = np.asarray(value)
        data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        found = zlib.crc32(data, found)
    return found or 1


def overlap(first: str, second: str) -> str:
    """Returns what to tell of two tasks whose first batches are the same."""
    return (
        f"{first} and {second} began with the same batch, so they may read the same examples; let "
        "the input_fn take `input_context` and shard by it "
        "(dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id))"
    )
