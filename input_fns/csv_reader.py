"""CSV files: plain, gzip-compressed, or members of a zip archive."""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import gin

from .csv_record import (
    CsvSyntaxError,
    columns_of,
    field_fault,
    join_lines,
    shown,
    split_fields,
)
from .errors import InputError, did_you_mean
from .file_reader import FileReader
from .files import DataFile, find_files
from .framing import is_framed
from .schema import Schema


@gin.configurable(module="genever")
class CsvReader(FileReader):
    """Reads the columns of a `Schema` from CSV files (RFC 4180).

    A feature of the shape (n,) is read from the columns `name_0` … `name_{n-1}`. Columns that the
    schema does not name are ignored. An empty field takes the feature's default.
    """

    def __init__(
        self,
        files: str | Sequence[str],
        schema: Schema,
        header: bool | Sequence[str] = True,
        delimiter: str = ",",
        na_value: str = "",
        quoted_newlines: bool = False,
    ):
        """Finds the files and checks their headers.

        Args:
            files: path, glob pattern, or a list of them; '.gz' is read as gzip, 'a.zip' is its only
                CSV member and 'a.zip/b.csv' a named one.
            schema: what a record holds.
            header: True where each file begins with the names of the columns; False where the
                columns are the schema's features in their order; or the names themselves, for
                files without a header.
            delimiter: the single character between fields.
            na_value: a text that stands for a missing field, such as 'NA', besides the empty one.
            quoted_newlines: True joins lines while a quoted field is open; it reads more slowly.

        Raises:
            InputError: files that are missing, unreadable or of another format; a column that the
                schema names and the file lacks.
            ValueError: a wrong argument.
        """
        super().__init__(find_files("CsvReader.files", files, ".csv", None), schema)
        if not isinstance(delimiter, str) or len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            raise ValueError(
                f"CsvReader.delimiter is {delimiter!r}; give one ASCII character, such as ',' or "
                f"'\\t'."
            )
        self._delimiter = delimiter
        self._na_value = na_value
        self._quoted_newlines = quoted_newlines
        self._header_lines = 1 if header is True else 0
        self._needed = columns_of(list(schema.features.values()))
        if header is True:
            self._columns = self._common_header()
        else:
            self._columns = list(self._needed) if header is False else list(header)
            for file in self.files:
                self._check_beginning(file)
        self._check_columns(header)
        self._check_not_all_empty()

    def parse(self, rows: Any) -> dict[str, Any]:
        """Parses a batch of records, a string tensor of the shape [batch]."""
        import tensorflow as tf

        defaults = []
        for column in self._columns:
            feature = self._needed.get(column)
            if feature is None:
                defaults.append(tf.constant([""]))
            elif feature.default is None:
                defaults.append(tf.constant([], feature.dtype))
            else:
                defaults.append(tf.constant([feature.default], feature.dtype))
        values = tf.io.decode_csv(
            rows, defaults, field_delim=self._delimiter, na_value=self._na_value
        )
        by_column = dict(zip(self._columns, values, strict=True))
        return {
            name: tf.stack([by_column[column] for column in feature.columns], axis=-1)
            if feature.shape
            else by_column[name]
            for name, feature in self.schema.features.items()
        }

    def _scan_file(self, file: DataFile, sought: str) -> Iterator[InputError | None]:
        record = 0
        try:
            with file.open() as data:
                records = join_lines(data, self._quoted_newlines)
                for line, row in itertools.islice(records, self._header_lines, None):
                    record += 1
                    fault = self._fault(row) if sought == "record" else None
                    yield fault and InputError(
                        f"{file.name}, record {record} (line {line}): {fault}."
                    )
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            yield InputError(f"{file.name}: is damaged after record {record} ({error}).")

    def _open(self, path: Any, compression: Any) -> Any:
        import tensorflow as tf

        lines = tf.data.TextLineDataset(path, compression)
        if self._quoted_newlines:
            lines = _join_quoted(lines)
        return lines.skip(self._header_lines) if self._header_lines else lines

    def _place(self, file: DataFile, record: int) -> str:
        line = "" if self._quoted_newlines else f" (line {record + self._header_lines})"
        return f"{file.name}, record {record}{line}"

    def _fault(self, row: bytes) -> str | None:
        if not row:
            return "the line is empty; delete it"
        try:
            fields = split_fields(row, self._delimiter.encode())
        except CsvSyntaxError as error:
            cure = "; if the field holds a line break, set CsvReader.quoted_newlines = True"
            return f"{error}{cure if 'not closed' in str(error) else ''}"
        if len(fields) != len(self._columns):
            return f"it has {_count(len(fields), 'field')} instead of {len(self._columns)}"
        na_value = self._na_value.encode()
        for column, value in zip(self._columns, fields, strict=True):
            feature = self._needed.get(column)
            fault = feature and field_fault(feature, column, value, na_value)
            if fault:
                return fault
        return None

    def _first_records(self, file: DataFile, count: int) -> list[bytes]:
        with file.open() as data:
            return [
                row for _, row in itertools.islice(join_lines(data, self._quoted_newlines), count)
            ]

    def _check_beginning(self, file: DataFile) -> list[str]:
        """Refuses what is evidently no such CSV file; returns the fields of the first record."""
        with file.open() as data:
            start = data.read(16)
        if is_framed(start[:12]):
            raise InputError(f"{file.name}: is a TFRecord file and not CSV; use TFRecordReader.")
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{file.name}: is UTF-16 text; save it as UTF-8.")
        if b"\x00" in start:
            raise InputError(f"{file.name}: is a binary file and not CSV.")
        marked = start.startswith(b"\xef\xbb\xbf")
        if marked and not self._header_lines:
            raise InputError(
                f"{file.name}: begins with a byte order mark, which would become part of the first "
                f"field; save it as UTF-8 without one."
            )
        first = self._first_records(file, 1)[0]
        try:
            fields = split_fields(first[3:] if marked else first, self._delimiter.encode())
        except CsvSyntaxError as error:
            if self._header_lines:
                raise InputError(f"{file.name}, line 1 (the header): {error}.") from error
            return []
        names = [field.decode("utf-8", "backslashreplace") for field in fields]
        if not self._header_lines and names == self._columns:
            raise InputError(
                f"{file.name}: line 1 is a header; set CsvReader.header = True to read it as one."
            )
        return names

    def _common_header(self) -> list[str]:
        columns = self._check_beginning(self.files[0])
        for file in self.files[1:]:
            other = self._check_beginning(file)
            if other != columns:
                raise InputError(
                    f"{file.name}: its header {','.join(other)!r} differs from that of "
                    f"{self.files[0].name}, {','.join(columns)!r}; give all files the same columns "
                    f"in the same order."
                )
        return columns

    def _check_columns(self, header: bool | Sequence[str]) -> None:
        where = f"{self.files[0].name}: the header" if header is True else "CsvReader.header"
        for column in self._needed:
            times = self._columns.count(column)
            if times > 1:
                raise InputError(f"{where} has the column {column!r} twice; rename one of them.")
            if times:
                continue
            hint = did_you_mean(column, self._columns)
            if not hint:
                listed = shown(self._delimiter.join(self._columns).encode())
                hint = f"; it is {listed}."
            if header is True:
                hint += " If the file has no header, give the names as CsvReader.header."
            raise InputError(f"{where} has no column {column!r}, which the schema names{hint}")

    def _check_not_all_empty(self) -> None:
        enough = self._header_lines + 1
        if not any(len(self._first_records(file, enough)) == enough for file in self.files):
            raise InputError(f"{self.name}: has a header but no record.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _join_quoted(lines: Any) -> Any:
    """Joins each line that leaves a quote open with those after it, up to the closing quote."""
    import tensorflow as tf

    # No line holds a line feed. It pushes out the record that a file leaves open at its end.
    end = "\n"

    def step(state, line):
        text, is_open = state
        at_end = tf.equal(line, end)
        joined = tf.where(is_open, tf.strings.join([text, line], "\n"), line)
        quotes = tf.strings.length(tf.strings.regex_replace(line, '[^"]', ""))
        still_open = tf.not_equal(is_open, tf.equal(quotes % 2, 1))
        record = tf.where(at_end, text, joined)
        complete = tf.where(at_end, is_open, tf.logical_not(still_open))
        return (tf.where(still_open, joined, ""), still_open), (record, complete)

    lines = lines.concatenate(tf.data.Dataset.from_tensors(tf.constant(end)))
    joined = lines.scan((tf.constant(""), tf.constant(False)), step)
    return joined.filter(lambda _, complete: complete).map(lambda record, _: record)
