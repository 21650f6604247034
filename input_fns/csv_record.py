"""One CSV record in Python, by the same rules as TensorFlow's decode_csv."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .schema import Feature

# What every supported TensorFlow reads; newer ones also take "+1", "Infinity" and "0x1p3".
_INT = re.compile(rb"\s*-?\d+\s*\Z")
_FLOAT = re.compile(
    rb"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[0-9a-f]+|inf|nan)\s*\Z", re.IGNORECASE
)


class CsvSyntaxError(ValueError):
    """A record whose quotes or fields cannot be told apart."""


def split_fields(record: bytes, delimiter: bytes) -> list[bytes]:
    """Splits a record without its line ending.

    Raises:
        CsvSyntaxError: quotes that RFC 4180 does not allow.
    """
    if not record:
        return []
    if b'"' not in record:
        if b"\n" in record or b"\r" in record:
            raise CsvSyntaxError("a field outside quotes holds a line break")
        return record.split(delimiter)
    fields = []
    at = 0
    while True:
        if record[at : at + 1] == b'"':
            field, at = _quoted(record, at, delimiter, len(fields) + 1)
        else:
            end = record.find(delimiter, at)
            end = len(record) if end < 0 else end
            field, at = record[at:end], end
            if b'"' in field:
                raise CsvSyntaxError(
                    f"field {len(fields) + 1} has a quote inside but does not begin with one"
                )
            if b"\n" in field or b"\r" in field:
                raise CsvSyntaxError("a field outside quotes holds a line break")
        fields.append(field)
        if at >= len(record):
            return fields
        at += 1


def _quoted(record: bytes, at: int, delimiter: bytes, number: int) -> tuple[bytes, int]:
    parts = []
    start = at + 1
    while True:
        end = record.find(b'"', start)
        if end < 0:
            raise CsvSyntaxError(f"the quote that begins field {number} is not closed")
        parts.append(record[start:end])
        following = record[end + 1 : end + 2]
        if following in (b"", delimiter):
            return b'"'.join(parts), end + 1
        if following != b'"':
            raise CsvSyntaxError(
                f"field {number} goes on after its closing quote; write a quote inside as two"
            )
        start = end + 2


def field_fault(feature: Feature, column: str, value: bytes, na_value: bytes) -> str | None:
    """Says what is wrong with one field; None if it can be parsed."""
    if value in (b"", na_value):
        if feature.default is None:
            return f"field {column!r} is empty and the feature has no default"
        return None
    if feature.dtype == "int64":
        fits = _INT.match(value) is not None and -(2**63) <= int(value) < 2**63
    else:
        fits = feature.dtype == "string" or _FLOAT.match(value) is not None
    if fits:
        return None
    article = "an" if feature.dtype == "int64" else "a"
    return f"field {column!r} is {shown(value)}, not {article} {feature.dtype}"


def shown(value: bytes) -> str:
    """Quotes a value for a message, cut to a readable length."""
    text = value.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def join_lines(lines: Iterable[bytes], quoted_newlines: bool) -> Iterator[tuple[int, bytes]]:
    """Yields the number of the first line (from 1) and the bytes of each record."""
    number, parts, is_open = 1, [], False
    for at, line in enumerate(lines, start=1):
        # TensorFlow's line reader drops every carriage return.
        line = line.rstrip(b"\n").replace(b"\r", b"")
        parts.append(line)
        is_open = quoted_newlines and is_open != (line.count(b'"') % 2 == 1)
        if not is_open:
            yield number, b"\n".join(parts)
            number, parts = at + 1, []
    if parts:
        yield number, b"\n".join(parts)


def columns_of(features: Sequence[Feature]) -> dict[str, Feature]:
    """Maps each column that a table must have to its feature."""
    return {column: feature for feature in features for column in feature.columns}
