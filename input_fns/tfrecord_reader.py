"""TFRecord files of tf.Example."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import gin

from .errors import InputError, did_you_mean
from .file_reader import FileReader
from .files import DataFile, find_files
from .framing import FOOTER_BYTES, HEADER_BYTES, is_framed
from .schema import Feature, Schema

_LISTS = {"string": "bytes_list", "int64": "int64_list", "float32": "float_list"}
_COMPRESSIONS = ("", "GZIP", "ZLIB")


@gin.configurable(module="genever")
class TFRecordReader(FileReader):
    """Reads the features of a `Schema` from TFRecord files of serialized tf.Example.

    Features that the schema does not name are ignored. A feature that an example lacks takes its
    default.
    """

    def __init__(self, files: str | Sequence[str], schema: Schema, compression: str | None = None):
        """Finds the files and checks that they are TFRecord files.

        Args:
            files: path, glob pattern, or a list of them; 'a.zip' is the only member of a zip
                archive and 'a.zip/b' a named one.
            schema: what a record holds.
            compression: '', 'GZIP' or 'ZLIB'; None reads '.gz' as GZIP and all else as plain.

        Raises:
            InputError: files that are missing, unreadable or of another format.
            ValueError: a wrong argument.
        """
        if compression not in (None, *_COMPRESSIONS):
            hint = did_you_mean(str(compression).upper(), _COMPRESSIONS[1:])
            raise ValueError(
                f"TFRecordReader.compression is {compression!r}"
                f"{hint or '; give None, an empty string, GZIP or ZLIB.'}"
            )
        super().__init__(find_files("TFRecordReader.files", files, "", compression), schema)
        for file in self.files:
            _check_beginning(file)

    def parse(self, rows: Any) -> dict[str, Any]:
        """Parses a batch of serialized examples, a string tensor of the shape [batch]."""
        import tensorflow as tf

        return tf.io.parse_example(rows, self.schema.parsing_spec())

    def _scan_file(self, file: DataFile, sought: str) -> Iterator[InputError | None]:
        for number, record in enumerate(_records(file), start=1):
            if isinstance(record, InputError):
                if sought == "framing":
                    yield record
                return
            fault = self._fault(record) if sought == "record" else None
            yield fault and InputError(f"{self._place(file, number)}: {fault}.")

    def _open(self, path: Any, compression: Any) -> Any:
        import tensorflow as tf

        return tf.data.TFRecordDataset(path, compression)

    def _place(self, file: DataFile, record: int) -> str:
        return f"{file.name}, record {record}"

    def _fault(self, row: bytes) -> str | None:
        import tensorflow as tf

        try:
            values = tf.train.Example.FromString(row).features.feature
        except Exception:  # DecodeError is protobuf's, which only TensorFlow depends on.
            return "it is not a serialized tf.Example"
        for feature in self.schema.features.values():
            fault = _feature_fault(feature, values)
            if fault:
                return fault
        return None


def _feature_fault(feature: Feature, values: Any) -> str | None:
    held = values[feature.name].WhichOneof("kind") if feature.name in values else None
    if held is None:
        if feature.default is not None:
            return None
        listed = ", ".join(sorted(values)) or "none"
        hint = did_you_mean(feature.name, values) or f"; it has {listed}"
        return f"the example has no feature {feature.name!r}, which has no default{hint}"
    if held != _LISTS[feature.dtype]:
        dtype = next(dtype for dtype, kind in _LISTS.items() if kind == held)
        return f"feature {feature.name!r} is {dtype}, not {feature.dtype} as the schema says"
    count = len(getattr(values[feature.name], held).value)
    wanted = math.prod(feature.shape)
    if count != wanted:
        return (
            f"feature {feature.name!r} has {count} value{'' if count == 1 else 's'} instead of "
            f"{wanted}, as the schema's shape {list(feature.shape)} says"
        )
    return None


def _records(file: DataFile) -> Iterator[bytes | InputError]:
    """Yields each record, and at last an error where the file is damaged."""
    import tensorflow as tf

    options = tf.io.TFRecordOptions(compression_type=file.compression)
    offset, number = 0, 0
    try:
        with _quiet():
            for record in tf.compat.v1.io.tf_record_iterator(file.on_disk(), options):
                number += 1
                yield record
                offset += HEADER_BYTES + len(record) + FOOTER_BYTES
    except tf.errors.OpError as error:
        how = "cut off" if "truncated" in str(error) else "corrupt"
        unit = "decompressed byte" if file.compression else "byte"
        yield InputError(
            f"{file.name}, record {number + 1}: the record at {unit} {offset} is {how} "
            f"({error.message}); nothing after it can be read, so write the file again."
        )


@contextlib.contextmanager
def _quiet():
    """Keeps back TensorFlow's advice to read with a dataset, which cannot say where it failed."""
    import tensorflow as tf

    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def _check_beginning(file: DataFile) -> None:
    with file.open() as data:
        start = data.read(HEADER_BYTES)
    if is_framed(start):
        return
    try:
        text = start.decode("utf-8")
        looks = "it looks like text; use CsvReader" if text.isprintable() else ""
    except UnicodeDecodeError:
        looks = ""
    raise InputError(
        f"{file.name}: is not a TFRecord file, or its first record's length is corrupt"
        f"{f' ({looks})' if looks else ''}."
    )
