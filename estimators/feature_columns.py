"""Feature columns of canned Estimators, made from the schema of the data."""

from typing import Any

import gin

from .whole_numbers import check_whole


@gin.configurable(module="genever")
def linear_columns(schema: Any) -> list[Any]:
    """Makes the columns of a linear model: `LinearClassifier.feature_columns = @linear_columns()`.

    Args:
        schema: the `Schema` of the data.
    Returns:
        One `tf.feature_column` for each input of the schema, in its order: categorical columns
        (vocabulary, hash buckets, number of buckets), bucketized columns (boundaries), numeric
        columns normalised by mean and standard deviation.
    """
    return [_sparse_or_numeric(feature) for feature in schema.inputs.values()]


@gin.configurable(module="genever")
def dnn_columns(schema: Any, embedding_dimension: int | None = 16) -> list[Any]:
    """Makes the columns of a neural network: `DNNClassifier.feature_columns = @dnn_columns()`.

    Args:
        schema: the `Schema` of the data.
        embedding_dimension: numbers in the embedding of a categorical feature; None turns each
            category into a number of its own (indicator columns), for few categories.
    Returns:
        One dense `tf.feature_column` for each input of the schema, in its order.
    Raises:
        ValueError: `embedding_dimension` is not a whole number of at least 1.
    """
    import tensorflow as tf

    if embedding_dimension is not None:
        check_whole("dnn_columns.embedding_dimension", embedding_dimension)
    columns = []
    for feature in schema.inputs.values():
        column = _sparse_or_numeric(feature)
        if feature.categorical:
            if embedding_dimension is None:
                column = tf.feature_column.indicator_column(column)
            else:
                column = tf.feature_column.embedding_column(column, embedding_dimension)
        columns.append(column)
    return columns


def _sparse_or_numeric(feature: Any) -> Any:
    import tensorflow as tf

    columns = tf.feature_column
    dtype = tf.as_dtype(feature.dtype)
    if feature.vocabulary is not None:
        return columns.categorical_column_with_vocabulary_list(
            feature.name, list(feature.vocabulary), dtype=dtype, num_oov_buckets=1
        )
    if feature.hash_buckets is not None:
        return columns.categorical_column_with_hash_bucket(
            feature.name, feature.hash_buckets, dtype=dtype
        )
    if feature.num_buckets is not None:
        # An id beyond the range counts as the first one; without a default it would be an error.
        return columns.categorical_column_with_identity(
            feature.name, feature.num_buckets, default_value=0
        )
    shape = feature.shape or (1,)
    if feature.boundaries:
        numeric = columns.numeric_column(feature.name, shape=shape)
        return columns.bucketized_column(numeric, list(feature.boundaries))
    mean, std = feature.mean, feature.std
    return columns.numeric_column(
        feature.name,
        shape=shape,
        normalizer_fn=lambda value: (tf.cast(value, tf.float32) - mean) / std,
    )
