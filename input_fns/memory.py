"""Arrays that a graph can gather rows from without holding them.

A constant would be copied into every graph file, checkpoint and summary of a run. So the columns
lie in files of this process, one for each dtype, which TensorFlow maps into memory; texts lie
there as numbers of a dictionary.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from .files import scratch_folder
from .reader import Order
from .schema import Feature


class Table:
    """Columns of equal length, as arrays [rows, *shape] in the features' dtypes."""

    def __init__(self, features: Mapping[str, Feature], arrays: Mapping[str, Any]):
        """Copies the arrays to files.

        Args:
            features: what each column holds, by name.
            arrays: for each name float32, int64, or an object array of str or bytes.
        """
        import numpy as np

        self._features = dict(features)
        self.rows = len(next(iter(arrays.values())))
        self._words: dict[str, list] = {}
        self._blocks: list[_Block] = []
        packed: dict[str, list] = {}
        for name, feature in self._features.items():
            flat = np.asarray(arrays[name]).reshape(self.rows, -1)
            dtype = feature.dtype
            if dtype == "string":
                flat, self._words[name] = _numbered(flat)
                dtype = "int32"
            packed.setdefault(dtype, []).append((name, flat))
        for dtype, columns in packed.items():
            block = np.concatenate([flat for _, flat in columns], axis=1).astype(dtype, copy=False)
            self._blocks.append(
                _Block(dtype, [(name, flat.shape[1]) for name, flat in columns], block)
            )

    def gather(self, rows: Any) -> dict[str, Any]:
        """Returns for each feature the tensor [batch, *shape] of these rows, an int64 [batch]."""
        import tensorflow as tf

        flat: dict[str, Any] = {}
        for block in self._blocks:
            flat.update(block.gather(rows))
        result = {}
        for name, feature in self._features.items():
            value = tf.ensure_shape(
                tf.reshape(flat[name], [-1, *feature.shape]), [*rows.shape, *feature.shape]
            )
            if feature.dtype == "string":
                value = tf.gather(tf.constant(self._words[name]), value)
            result[name] = value
        return result


class _Block:
    """The columns of one dtype, side by side in one file."""

    def __init__(self, dtype: str, widths: list[tuple[str, int]], values: Any):
        import numpy as np

        self._dtype = dtype
        self._widths = widths
        self._shape = values.shape
        self._path = _stored(np.ascontiguousarray(values))

    def gather(self, rows: Any) -> dict[str, Any]:
        import tensorflow as tf

        values = tf.raw_ops.ImmutableConst(
            dtype=tf.dtypes.as_dtype(self._dtype),
            shape=self._shape,
            memory_region_name=self._path,
        )
        parts = tf.split(tf.gather(values, rows), [width for _, width in self._widths], axis=1)
        return {name: part for (name, _), part in zip(self._widths, parts, strict=True)}


def index_batches(count: int, order: Order, batch_size: int, drop_remainder: bool) -> Any:
    """Makes batches of row numbers.

    Each epoch is shuffled whole, from the seed and the epoch's number alone.

    Args:
        count: rows in all.
        order: which of them come, and how.
        batch_size: row numbers in a batch.
        drop_remainder: leaves out a last, smaller batch.

    Returns:
        A `tf.data.Dataset` of int64 tensors [batch].
    """
    import tensorflow as tf

    mine = len(range(order.shard, count, order.num_shards))
    seed = _mixed_seed(order.seed)

    def epoch(number):
        own = tf.range(order.shard, count, order.num_shards, dtype=tf.int64)
        if not order.shuffle_buffer_size:
            return own
        draws = tf.random.stateless_uniform(
            [mine], [seed, number], minval=None, maxval=None, dtype=tf.int32
        )
        return tf.gather(own, tf.argsort(draws, stable=True))

    epochs = tf.data.Dataset.range(order.num_epochs or tf.int64.max)
    return epochs.map(epoch).rebatch(batch_size, drop_remainder)


def _mixed_seed(seed: int | None) -> int:
    """One number from the seed and TensorFlow's global one; random where neither is set."""
    import tensorflow as tf

    graph_seed, op_seed = tf.compat.v1.get_seed(seed)
    if op_seed is None:
        return int.from_bytes(os.urandom(7), "big")
    text = f"{graph_seed}|{op_seed}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


def _numbered(values: Any) -> tuple[Any, list]:
    """Replaces each text by its number in a dictionary."""
    import numpy as np

    words: dict[Any, int] = {}
    numbers = [words.setdefault(value, len(words)) for value in values.ravel().tolist()]
    dictionary = [word.encode() if isinstance(word, str) else word for word in words]
    return np.array(numbers, np.int32).reshape(values.shape), dictionary


def _stored(values: Any) -> str:
    # Named by content, so that the same data is stored once however often an input_fn is called.
    name = hashlib.blake2b(values.data, digest_size=16).hexdigest()
    path = os.path.join(scratch_folder(), f"{name}-{values.dtype}.rows")
    if not os.path.exists(path):
        values.tofile(path + ".part")
        os.replace(path + ".part", path)
    return path
