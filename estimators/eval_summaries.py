"""Metrics of an evaluation as summaries, for TensorBoard and for `BestExporter`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf


def write_metrics(folder: str, metrics: Mapping[str, Any], checkpoint_path: str | None) -> None:
    """Writes metrics at their global step, as `Estimator.evaluate` does.

    Args:
      folder: where the event file is.
      metrics: by name; numbers, arrays, or serialised `tf.compat.v1.Summary` protos. "global_step"
        says where they belong.
      checkpoint_path: what was evaluated, or None; written beside them.
    """
    summary = tf.compat.v1.Summary()
    for key, value in metrics.items():
        if key == "global_step" or value is None:
            continue
        if isinstance(value, bytes):
            summary.value.extend(_values_of(key, value))
        elif np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
            summary.value.add(tag=key, simple_value=float(value))
        elif isinstance(value, np.ndarray):
            summary.value.add(tag=key, node_name=key, tensor=tf.make_tensor_proto(value))
    with tf.Graph().as_default():  # TensorFlow makes no such writer in eager mode
        writer = tf.compat.v1.summary.FileWriterCache.get(folder)
    step = int(metrics["global_step"])
    writer.add_summary(summary, step)
    if checkpoint_path:
        where = tf.compat.v1.Summary()
        where.value.add(
            tag="checkpoint_path", tensor=tf.make_tensor_proto(checkpoint_path, dtype=tf.string)
        )
        writer.add_summary(where, step)
    writer.flush()


def _values_of(key: str, serialised: bytes) -> list[Any]:
    """Returns the values of a serialised summary, under the name of the metric."""
    try:
        values = list(tf.compat.v1.Summary.FromString(serialised).value)
    except Exception:  # the error of protobuf, whose class depends on its version
        return []
    for number, value in enumerate(values):
        value.tag = f"{key}/{number}"
    return values
