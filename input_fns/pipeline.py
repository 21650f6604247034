"""The input_fn: batches of any reader, in any order, for any number of pipelines."""

from __future__ import annotations

from typing import Any, Literal

import gin

from . import errors
from .file_reader import FileReader
from .reader import Order, Reader


@gin.configurable(module="genever")
def reader_input_fn(
    reader: Reader = gin.REQUIRED,
    batch_size: int = gin.REQUIRED,
    shuffle_buffer_size: int = 0,
    seed: int | None = None,
    num_epochs: int | None = 1,
    drop_remainder: bool = False,
    max_bad_records: int = 0,
    shard_by: Literal["record", "file"] = "record",
    input_context: Any = None,
) -> Any:
    """Makes a dataset of batches; it is itself an input_fn.

    Rows are shared out, shuffled, repeated and batched before they are parsed, a batch at a time
    and several batches at once, in a fixed order.

    Args:
        reader: where the records come from, such as `@CsvReader()`.
        batch_size: examples in a batch of all replicas together.
        shuffle_buffer_size: rows to draw the next one from; 0 keeps the order of the data. At least
            as many as there are records is a full shuffle; for data in memory any number is.
        seed: makes the shuffle the same in each run; each epoch has another order all the same.
        num_epochs: how often the data is read; None for ever.
        drop_remainder: leaves out a last batch that is smaller than the others.
        max_bad_records: how many malformed records to count and skip; one more is an error. 0 makes
            the first one an error.
        shard_by: what the pipelines of several tasks share out: 'record' reads every file in each
            task and keeps its part of the records, 'file' reads only its part of the files, which
            costs less; the tasks then have as many records as their files do.
        input_context: the `tf.distribute.InputContext` that a strategy hands to its input_fn.

    Returns:
        A `tf.data.Dataset` of (features, label), or of features where the schema has no label.
        features is a dict of name to a tensor [batch, *shape]; the label is one such tensor.

    Raises:
        InputError: data that cannot be read.
        ValueError: a wrong argument.
    """
    import tensorflow as tf

    if not isinstance(reader, Reader):
        hint = " with parentheses" if isinstance(reader, type) or callable(reader) else ""
        raise ValueError(
            f"reader_input_fn.reader is {reader!r}; give a reader, such as @CsvReader(){hint}."
        )
    _check_count("batch_size", batch_size, 1)
    _check_count("shuffle_buffer_size", shuffle_buffer_size, 0)
    _check_count("max_bad_records", max_bad_records, 0)
    if num_epochs is not None:
        _check_count("num_epochs", num_epochs, 1)

    if shard_by == "file" and not isinstance(reader, FileReader):
        raise ValueError(
            f"reader_input_fn.shard_by is 'file', and {type(reader).__name__} reads no files; "
            "write 'record'."
        )

    order = Order(shuffle_buffer_size, seed, num_epochs)
    if input_context is not None:
        batch_size = _per_replica(batch_size, input_context)
        order = Order(
            shuffle_buffer_size,
            seed,
            num_epochs,
            input_context.num_input_pipelines,
            input_context.input_pipeline_id,
            by_file=shard_by == "file",
        )
    reader.refused = None
    batches = reader.row_batches(order, batch_size, drop_remainder, max_bad_records)
    errors.remember(reader)

    def parse(rows):
        features = dict(reader.parse(rows))
        if reader.schema.label is None:
            return features
        label = features.pop(reader.schema.label.name)
        return features, label

    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(
        tf.data.AUTOTUNE
    )


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(
            f"reader_input_fn.{name} is {value!r}; give a whole number of at least {least}."
        )


def _per_replica(batch_size: int, input_context: Any) -> int:
    replicas = input_context.num_replicas_in_sync
    left = batch_size % replicas
    if left:
        raise ValueError(
            f"reader_input_fn.batch_size is {batch_size}, which {replicas} replicas cannot share "
            f"equally; give a multiple of {replicas}, such as {batch_size + replicas - left}."
        )
    return input_context.get_per_replica_batch_size(batch_size)
