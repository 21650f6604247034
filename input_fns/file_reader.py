"""What CSV and TFRecord have in common: rows from files, shared out, shuffled, and checked."""

from __future__ import annotations

import abc
import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any

from .errors import InputError, count_skipped
from .files import DataFile, verify_compressed
from .reader import Order, Reader
from .schema import Schema

_FILES_AT_ONCE = 16
_ROWS_CHECKED_AT_ONCE = 256

_log = logging.getLogger(__name__)


class FileReader(Reader):
    """Reads files whose records TensorFlow can find without parsing them.

    Attributes:
        files: the `DataFile`s, in order.
    """

    def __init__(self, files: Sequence[DataFile], schema: Schema):
        """Takes files that were seen to be readable."""
        if not isinstance(schema, Schema):
            raise ValueError(
                f"{type(self).__name__}.schema is {schema!r}; give a Schema, such as @Schema()."
            )
        self.files = list(files)
        self.schema = schema
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        self.name = f"{self.files[0].name}{more}"

    @abc.abstractmethod
    def _open(self, path: Any, compression: Any) -> Any:
        """Returns a `tf.data.Dataset` of the rows of one file; both arguments are tensors."""

    @abc.abstractmethod
    def _fault(self, row: bytes) -> str | None:
        """Says what is wrong with a row; None if it can be parsed."""

    @abc.abstractmethod
    def _scan_file(self, file: DataFile, sought: str) -> Iterator[InputError | None]:
        """Reads one file as `scan` does."""

    @abc.abstractmethod
    def _place(self, file: DataFile, record: int) -> str:
        """Names a record (counted from 1) in messages."""

    def scan(self, sought: str = "record") -> Iterator[InputError | None]:
        """Reads every record in Python; see `Reader`."""
        for file in self.files:
            try:
                with file.open() as data:
                    data.read(1)
            except OSError as error:
                # A file of an earlier run may be gone without being to blame for this error.
                if sought == "file":
                    yield InputError(f"{file.name}: can no longer be read ({error.strerror}).")
                continue
            if sought != "file":
                yield from self._scan_file(file, sought)

    def row_batches(
        self, order: Order, batch_size: int, drop_remainder: bool, max_bad_records: int
    ) -> Any:
        """Returns batches of unparsed rows; see `Reader`."""
        import tensorflow as tf

        verify_compressed(self.files)
        numbers = list(range(len(self.files)))
        shuffled = order.shuffle_buffer_size > 0
        by_file = order.by_file and order.num_shards > 1
        if by_file:
            if len(numbers) < order.num_shards:
                raise InputError(
                    f"{self.name}: {len(numbers)} file(s) cannot be shared out to "
                    f"{order.num_shards} pipelines; write reader_input_fn.shard_by = 'record', or "
                    "split the data into more files."
                )
            numbers = numbers[order.shard :: order.num_shards]
        # Without a seed each pipeline would draw another order of files, and shards would overlap.
        if shuffled and (order.seed is not None or order.num_shards == 1 or by_file):
            random.Random(order.seed).shuffle(numbers)
        skipper = _Skipper(self, max_bad_records) if max_bad_records else None
        paths = tf.constant([file.on_disk() for file in self.files])
        compressions = tf.constant([file.compression for file in self.files])

        def rows_of(number):
            rows = self._open(paths[number], compressions[number])
            return skipper.filter(number, rows) if skipper else rows

        together = min(len(numbers), _FILES_AT_ONCE) if shuffled else 1
        # Numbers and not paths are interleaved: a saved iterator holds no temporary path.
        rows = tf.data.Dataset.from_tensor_slices(tf.constant(numbers, tf.int64)).interleave(
            rows_of,
            cycle_length=together,
            num_parallel_calls=tf.data.AUTOTUNE if together > 1 else None,
            deterministic=True if together > 1 else None,
        )
        if order.num_shards > 1 and not by_file:
            rows = rows.shard(order.num_shards, order.shard)
        if shuffled:
            rows = rows.shuffle(order.shuffle_buffer_size, order.seed)
        rows = rows.repeat(order.num_epochs)
        return rows.batch(batch_size, drop_remainder)


class _Skipper:
    """Drops the bad rows of a dataset and counts them, up to a limit."""

    def __init__(self, reader: FileReader, limit: int):
        self._reader = reader
        self._limit = limit
        self._met: set[tuple[int, int]] = set()

    def filter(self, number: Any, rows: Any) -> Any:
        """Returns the rows of the file of that number without the bad ones."""
        import tensorflow as tf

        def keep(records, batch):
            good = tf.numpy_function(self._keep, [number, records, batch], tf.string)
            good.set_shape([None])
            return good

        return rows.enumerate(start=1).batch(_ROWS_CHECKED_AT_ONCE).map(keep).unbatch()

    def _keep(self, number: int, records: Any, batch: Any) -> Any:
        import numpy as np

        good = []
        for record, row in zip(records.tolist(), batch.tolist(), strict=True):
            fault = self._reader._fault(row)
            if fault is None:
                good.append(row)
            else:
                self._skip(int(number), record, fault)
        return np.array(good, dtype=object)

    def _skip(self, number: int, record: int, fault: str) -> None:
        if (number, record) in self._met:
            return
        reader = self._reader
        file = reader.files[number]
        place = reader._place(file, record)
        if len(self._met) >= self._limit:
            reader.refused = InputError(
                f"{place}: {fault}; that is malformed record {len(self._met) + 1} and "
                f"max_bad_records is {self._limit}."
            )
            raise reader.refused
        self._met.add((number, record))
        count_skipped(file.name, record)
        _log.warning("skipped %s: %s", place, fault)
