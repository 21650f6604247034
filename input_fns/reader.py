"""What the pipeline asks of a reader."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator
from typing import Any

from .errors import InputError
from .schema import Schema


@dataclasses.dataclass(frozen=True)
class Order:
    """Which records come, and in which order.

    Attributes:
        shuffle_buffer_size: 0 for the order of the data.
        seed: of the shuffle; None for another order in each run.
        num_epochs: how often the data is read; None for ever.
        num_shards: number of pipelines that share the data.
        shard: which of them this is.
        by_file: whether they share out whole files and not records.
    """

    shuffle_buffer_size: int = 0
    seed: int | None = None
    num_epochs: int | None = 1
    num_shards: int = 1
    shard: int = 0
    by_file: bool = False


class Reader(abc.ABC):
    """A source of records. Rows are cheap to move; they are parsed a batch at a time.

    Attributes:
        name: how messages call the source.
        schema: the `Schema` of a record.
        refused: the error of a record beyond `max_bad_records`, once there was one.
    """

    name: str
    schema: Schema
    refused: InputError | None = None

    @abc.abstractmethod
    def row_batches(
        self, order: Order, batch_size: int, drop_remainder: bool, max_bad_records: int
    ) -> Any:
        """Returns a `tf.data.Dataset` of batches of unparsed rows, each of the shape [batch]."""

    @abc.abstractmethod
    def parse(self, rows: Any) -> dict[str, Any]:
        """Turns a batch of rows into a tensor [batch, *shape] for each feature of the schema."""

    def scan(self, sought: str = "record") -> Iterator[InputError | None]:
        """Reads everything in Python; yields None for a good record, an error for a bad one.

        Args:
            sought: 'record' looks for records that cannot be parsed, 'framing' for damage that
                hides where a record ends, 'file' for files that can no longer be opened.
        """
        del sought
        return iter(())
