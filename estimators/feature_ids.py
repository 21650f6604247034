"""From a batch of features to ids of categories and normalised numbers, by the schema alone."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# A value so many standard deviations away is a wrong reading, not a signal.
_MOST_DEVIATIONS = 5.0


class Ids(NamedTuple):
    """Ids of one categorical feature or cross."""

    values: Any
    """int64, [batch, k]; k is 1 but for features with a shape."""
    size: int
    """Every id is in 0 ... size - 1."""


def categories(schema: Any, features: Mapping[str, Any]) -> dict[str, Ids]:
    """Turns every categorical or bucketized input into ids.

    Args:
        schema: the `Schema` of the data.
        features: name -> tensor [batch, ...] of the input's dtype.
    Returns:
        Feature name -> its ids, in the order of the schema. Categories outside a vocabulary share
        one id of their own; integers outside 0 ... num_buckets - 1 are clipped.
    """
    return {
        feature.name: _ids(feature, _column(features, feature))
        for feature in schema.inputs.values()
        if feature.categorical or feature.boundaries
    }


def numbers(schema: Any, features: Mapping[str, Any]) -> Any:
    """Returns all other inputs as normalised numbers: float32, [batch, n], or None without any."""
    import tensorflow as tf

    columns = []
    for feature in schema.inputs.values():
        if feature.categorical or feature.boundaries:
            continue
        value = tf.cast(_column(features, feature), tf.float32)
        value = (value - feature.mean) / feature.std
        columns.append(tf.clip_by_value(value, -_MOST_DEVIATIONS, _MOST_DEVIATIONS))
    return tf.concat(columns, axis=1) if columns else None


def cross(parts: Sequence[Ids], most: int) -> Ids:
    """Returns an id for each combination of the ids of several features.

    Args:
        parts: ids of the crossed features, each [batch, 1].
        most: size of the cross at most; where there are more combinations they are hashed into it.
    Returns:
        The ids of the combinations, [batch, 1].
    """
    import tensorflow as tf

    combined = parts[0].values
    for part in parts[1:]:
        combined = combined * part.size + part.values
    size = math.prod(part.size for part in parts)
    if size <= most:
        return Ids(combined, size)
    # Multiplication by a large odd number spreads neighbours; int64 wraps around.
    mixed = (combined ^ tf.bitwise.right_shift(combined, 17)) * 0x1E3779B97F4A7C15
    mixed = tf.bitwise.bitwise_xor(mixed, tf.bitwise.right_shift(mixed, 29))
    return Ids(tf.math.floormod(mixed, most), most)


def _column(features: Mapping[str, Any], feature: Any) -> Any:
    """The tensor of a feature as [batch, k]."""
    import tensorflow as tf

    if feature.name not in features:
        raise ValueError(
            f"the schema has an input {feature.name!r}, but the input_fn gives only "
            f"{', '.join(sorted(features))}."
        )
    return tf.reshape(features[feature.name], [-1, math.prod(feature.shape)])


def _ids(feature: Any, column: Any) -> Ids:
    import tensorflow as tf

    if feature.vocabulary is not None:
        words = list(feature.vocabulary)
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(words, tf.as_dtype(feature.dtype)),
                tf.range(len(words), dtype=tf.int64),
            ),
            default_value=len(words),
        )
        return Ids(table.lookup(column), len(words) + 1)
    if feature.hash_buckets is not None:
        if column.dtype != tf.string:
            column = tf.strings.as_string(column)
        return Ids(
            tf.strings.to_hash_bucket_fast(column, feature.hash_buckets), feature.hash_buckets
        )
    if feature.num_buckets is not None:
        ids = tf.clip_by_value(tf.cast(column, tf.int64), 0, feature.num_buckets - 1)
        return Ids(ids, feature.num_buckets)
    ids = tf.raw_ops.Bucketize(
        input=tf.cast(column, tf.float32), boundaries=[float(b) for b in feature.boundaries]
    )
    return Ids(tf.cast(ids, tf.int64), len(feature.boundaries) + 1)
