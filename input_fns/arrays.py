"""Readers of what is in memory already: arrays and pandas frames."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import gin

from .columns import convert, missing_in
from .errors import InputError, count_skipped, did_you_mean
from .memory import Table, index_batches
from .reader import Order, Reader
from .schema import Feature, Schema

_log = logging.getLogger(__name__)


class MemoryReader(Reader):
    """Gathers whole batches by row number from columns in memory."""

    def __init__(self, name: str, schema: Schema, columns: Mapping[str, tuple[Any, Any]]):
        """Converts the columns and notes the rows that do not fit.

        Args:
            name: how messages call the data.
            schema: what a row holds.
            columns: for each feature its values [rows, *shape], and where one is missing.
        """
        self.name = name
        self.schema = schema
        self._arrays: dict[str, Any] = {}
        self._faults: dict[int, str] = {}
        for feature in schema.features.values():
            values, missing = columns[feature.name]
            self._arrays[feature.name], faults = convert(feature, values, missing)
            for row, fault in faults.items():
                self._faults.setdefault(row, f"{feature.name!r} {fault}")
        self._rows = len(next(iter(self._arrays.values())))
        self._table: Table | None = None
        if not self._rows:
            raise InputError(f"{name}: there are no rows.")

    def row_batches(
        self, order: Order, batch_size: int, drop_remainder: bool, max_bad_records: int
    ) -> Any:
        """Returns batches of row numbers; see `Reader`."""
        import numpy as np

        arrays = self._arrays
        if self._faults:
            self._skip(max_bad_records)
            kept = np.setdiff1d(np.arange(self._rows), np.array(sorted(self._faults)))
            arrays = {name: values[kept] for name, values in arrays.items()}
        if self._table is None:
            self._table = Table(self.schema.features, arrays)
        return index_batches(self._table.rows, order, batch_size, drop_remainder)

    def parse(self, rows: Any) -> dict[str, Any]:
        """Gathers a batch of rows, an int64 tensor of the shape [batch]."""
        return self._table.gather(rows)

    def _place(self, row: int) -> str:
        return f"{self.name}, record {row + 1}"

    def _skip(self, limit: int) -> None:
        rows = sorted(self._faults)
        if len(rows) > limit:
            row = rows[limit]
            allowed = (
                f"; that is malformed record {limit + 1} and max_bad_records is {limit}."
                if limit
                else "."
            )
            raise InputError(f"{self._place(row)}: {self._faults[row]}{allowed}")
        if len(rows) == self._rows:
            raise InputError(f"{self._place(0)}: {self._faults[0]}; no record is left.")
        for row in rows:
            count_skipped(self.name, row + 1)
            _log.warning("skipped %s: %s", self._place(row), self._faults[row])


@gin.configurable(module="genever")
class ArrayReader(MemoryReader):
    """Reads rows of in-memory arrays."""

    def __init__(
        self,
        features: Mapping[str, Any],
        labels: Any = None,
        schema: Schema | None = None,
    ):
        """Checks and converts the arrays.

        Args:
            features: array [rows, *shape] for each name. Arrays that the schema does not name are
                ignored.
            labels: array [rows, *shape], or the name of the label among `features`; None where the
                schema says which it is, or where there is none.
            schema: what a row holds; None takes floats as float32, whole numbers as int64 and texts
                as string, in the shape that the arrays have.

        Raises:
            InputError: arrays that are missing, or differ in length or from the schema.
            ValueError: a wrong argument.
        """
        import numpy as np

        if not isinstance(features, Mapping) or not features:
            raise ValueError(
                f"ArrayReader.features is {type(features).__name__}; give a dict of name to array."
            )
        arrays = {name: np.asarray(values) for name, values in features.items()}
        label = labels if isinstance(labels, str) else None
        if label is not None and label not in arrays:
            raise InputError(
                f"ArrayReader.labels names {label!r}, which is not among the features "
                f"{', '.join(arrays)}{did_you_mean(label, arrays) or '.'}"
            )
        if labels is not None and label is None:
            label = schema.label.name if schema and schema.label else "labels"
            if label in arrays:
                raise InputError(
                    f"ArrayReader: the label {label!r} is among the features and given as labels "
                    f"too; leave out one of them."
                )
            arrays[label] = np.asarray(labels)
        if schema is None:
            schema = _schema_of(arrays, label)
        elif label is not None and (schema.label is None or schema.label.name != label):
            of = f"{schema.label.name!r}" if schema.label else "none"
            raise InputError(f"ArrayReader has labels ({label!r}), but Schema.label is {of}.")
        columns = {}
        for name, feature in schema.features.items():
            if name not in arrays:
                hint = did_you_mean(name, arrays) or f"; there are {', '.join(arrays)}."
                raise InputError(f"ArrayReader: no array {name!r}, which the schema names{hint}")
            _check_shape(feature, arrays[name])
            columns[name] = arrays[name], missing_in(arrays[name])
        _check_lengths({name: len(values) for name, (values, _) in columns.items()})
        super().__init__(f"ArrayReader({', '.join(columns)})", schema, columns)


@gin.configurable(module="genever")
class FrameReader(MemoryReader):
    """Reads the columns of a `Schema` from a pandas DataFrame.

    A feature of the shape (n,) is read from the columns `name_0` … `name_{n-1}`. A missing value
    (NaN, None, NA) takes the feature's default.
    """

    def __init__(self, frame: Any | Callable[[], Any], schema: Schema):
        """Checks and converts the columns.

        Args:
            frame: a DataFrame, or a function that returns one. Columns that the schema does not
                name are ignored.
            schema: what a row holds.

        Raises:
            InputError: a missing column, or values that are not of the schema's dtype.
            ValueError: a wrong argument.
        """
        import numpy as np

        if not hasattr(frame, "columns") and callable(frame):
            frame = frame()
        if not hasattr(frame, "columns"):
            raise ValueError(
                f"FrameReader.frame is {type(frame).__name__}; give a pandas DataFrame."
            )
        if not isinstance(schema, Schema):
            raise ValueError(f"FrameReader.schema is {schema!r}; give a Schema, such as @Schema().")
        names = [str(column) for column in frame.columns]
        columns = {}
        for name, feature in schema.features.items():
            series = [_series(frame, names, column) for column in feature.columns]
            values = [_values(one) for one in series]
            missing = [one.isna().to_numpy(dtype=bool) for one in series]
            if feature.shape:
                columns[name] = np.stack(values, axis=1), np.stack(missing, axis=1)
            else:
                columns[name] = values[0], missing[0]
        self._index = frame.index
        super().__init__("the frame", schema, columns)

    def _place(self, row: int) -> str:
        label = self._index[row]
        return f"{super()._place(row)}{'' if label == row else f' (index {label})'}"


def _series(frame: Any, names: list[str], column: str) -> Any:
    if column not in names:
        hint = did_you_mean(column, names) or f"; it has {', '.join(names)}."
        raise InputError(f"the frame has no column {column!r}, which the schema names{hint}")
    if names.count(column) > 1:
        raise InputError(f"the frame has the column {column!r} twice; rename one of them.")
    return frame.iloc[:, names.index(column)]


def _values(series: Any) -> Any:
    """A NumPy array of a NumPy dtype; pandas' own dtypes give objects."""
    import numpy as np

    native = isinstance(series.dtype, np.dtype)
    return series.to_numpy() if native else series.to_numpy(dtype=object)


def _check_shape(feature: Feature, values: Any) -> None:
    if values.ndim == 0:
        raise InputError(f"ArrayReader: {feature.name!r} is a single value; give an array of rows.")
    if values.shape[1:] != feature.shape:
        raise InputError(
            f"ArrayReader: a row of {feature.name!r} has the shape {list(values.shape[1:])}, but "
            f"Schema.features[{feature.name!r}] says {list(feature.shape)}; reshape the array or "
            f"change the schema."
        )


def _check_lengths(lengths: Mapping[str, int]) -> None:
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise InputError(
                f"ArrayReader: {name!r} has {length} rows and {first!r} has {lengths[first]}; "
                f"give arrays of the same length."
            )


def _schema_of(arrays: Mapping[str, Any], label: str | None) -> Schema:
    dtypes = {"f": "float32", "i": "int64", "u": "int64", "b": "int64"}
    dtypes |= {"U": "string", "S": "string", "O": "string"}
    features = {}
    for name, values in arrays.items():
        if values.dtype.kind not in dtypes:
            raise InputError(
                f"ArrayReader: {name!r} has the dtype {values.dtype}; use a number or text."
            )
        features[name] = {"dtype": dtypes[values.dtype.kind], "shape": values.shape[1:]}
    return Schema(features, label)
