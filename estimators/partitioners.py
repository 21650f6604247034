"""Cuts large variables into parts that lie on several parameter servers: `Estimator.partitioner`.

A checkpoint holds each variable whole, so the number of parts may change between runs.
"""

import functools
from collections.abc import Callable
from typing import Any

import gin
from absl import logging

from .strategy_kinds import kind_of
from .whole_numbers import check_whole


@gin.configurable(module="genever")
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., Any]:
    """Cuts a variable into as many parts as its size allows, at most `max_partitions`.

    Args:
        max_partitions: largest number of parts, usually the number of parameter servers.
        axis: dimension that is cut; 0 cuts an embedding table by its rows.
        min_slice_size: a part for each so many bytes, and one for the rest; smaller variables stay
            whole.
        bytes_per_string_element: bytes that a string counts.
    Returns:
        A function of a shape and a dtype that returns the number of parts along each dimension.
    Raises:
        ValueError: a number is not a whole one, or is too small.
    """
    import tensorflow as tf

    check_whole("min_max_variable_partitioner.max_partitions", max_partitions)
    check_whole("min_max_variable_partitioner.axis", axis, least=0)
    check_whole("min_max_variable_partitioner.min_slice_size", min_slice_size)
    cut = tf.compat.v1.min_max_variable_partitioner(
        max_partitions, axis, min_slice_size, bytes_per_string_element
    )
    return _where_there_is(axis, cut)


@gin.configurable(module="genever")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., Any]:
    """Cuts every variable into a fixed number of parts; into fewer where it has fewer rows.

    Args:
        num_shards: number of parts, usually the number of parameter servers.
        axis: dimension that is cut; 0 cuts an embedding table by its rows.
    Returns:
        A function of a shape and a dtype that returns the number of parts along each dimension.
    Raises:
        ValueError: a number is not a whole one, or is too small.
    """
    import tensorflow as tf

    check_whole("fixed_size_partitioner.num_shards", num_shards)
    check_whole("fixed_size_partitioner.axis", axis, least=0)
    return _where_there_is(axis, tf.compat.v1.fixed_size_partitioner(num_shards, axis))


def _where_there_is(axis: int, cut: Callable[..., Any]) -> Callable[..., Any]:
    """Leaves variables that have no dimension `axis`, such as biases for axis 1, whole."""

    def partitioner(shape, dtype):
        return cut(shape=shape, dtype=dtype) if axis < shape.rank else [1] * shape.rank

    return partitioner


def partitioned(model_fn: Callable[..., Any], partitioner: Any) -> Callable[..., Any]:
    """Returns a model_fn whose `get_variable` calls cut their variables by `partitioner`.

    Args:
        model_fn: a model_fn as tf.estimator is to see it.
        partitioner: function of a shape and a dtype, such as `min_max_variable_partitioner` makes.
    Raises:
        ValueError: `partitioner` is not a function.
    """
    if not callable(partitioner):
        raise ValueError(
            f"Estimator.partitioner = {partitioner!r} is not a partitioner; write one such as "
            "@min_max_variable_partitioner()."
        )

    @functools.wraps(model_fn)
    def call(*args, **kwargs):
        import tensorflow as tf

        v1 = tf.compat.v1
        strategy = getattr(kwargs.get("config"), "train_distribute", None)
        if kind_of(strategy) not in (None, "OneDeviceStrategy", "ParameterServerStrategy"):
            # The other strategies train whole variables, so evaluation must read whole ones.
            return model_fn(*args, **kwargs)
        # Neither scope of names changes, so neither do the names in checkpoints.
        with v1.variable_scope(
            v1.get_variable_scope(), partitioner=partitioner, auxiliary_name_scope=False
        ):
            made = model_fn(*args, **kwargs)
        _warn_of_mod(v1.get_default_graph())
        return made

    return call


def _warn_of_mod(graph: Any) -> None:
    """Warns of lookups that count the rows of a table differently for each number of parts."""
    found = [
        op.name
        for op in graph.get_operations()
        if op.type == "FloorMod" and "embedding_lookup" in op.name
    ]
    if found:
        logging.warning(
            "Estimator.partitioner: %s takes the rows of a table in parts by turns (partition_"
            "strategy 'mod'), so that the same checkpoint means another table with another number "
            "of parts; write tf.nn.embedding_lookup(..., partition_strategy='div')",
            found[0].rpartition("/")[0],
        )
