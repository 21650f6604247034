"""Turns a column of values into the feature's dtype, and finds what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .schema import Feature


def convert(feature: Feature, values: Any, missing: Any) -> tuple[Any, dict[int, str]]:
    """Converts a column.

    Args:
        feature: what the column holds.
        values: array of rows, of any dtype.
        missing: bool array of the same shape: where there is no value.

    Returns:
        The array in the feature's dtype (strings as an object array of str or bytes), and for each
        row (counted from 0) that does not fit what is wrong with it.
    """
    import numpy as np

    faults: dict[int, str] = {}
    if missing.any():
        filler = feature.default
        if filler is None:
            for row in np.unique(np.nonzero(missing)[0]).tolist():
                faults[row] = "has no value and the feature has no default"
            filler = "" if feature.dtype == "string" else 0
        values = values.copy() if values.dtype.kind == "f" else values.astype(object)
        values[missing] = filler
    if feature.dtype == "string":
        return _texts(values, faults), faults
    if feature.dtype == "int64":
        return _integers(values, faults), faults
    return _floats(values, faults), faults


def missing_in(values: Any) -> Any:
    """Where an array has None, or NaN in an array of mixed objects."""
    import numpy as np

    if values.dtype.kind != "O":
        return np.zeros(values.shape, bool)
    flat = [
        value is None or (isinstance(value, float) and value != value) for value in values.ravel()
    ]
    return np.array(flat, bool).reshape(values.shape)


def _texts(values: Any, faults: dict[int, str]) -> Any:
    import numpy as np

    if values.dtype.kind in "US":
        return values.astype(object)
    if all(type(value) is str for value in values.flat):
        return values

    def text(value):
        if isinstance(value, (str, bytes)):
            return value
        # A whole number is the same text in every file; a float or a bool is not.
        if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
            return str(value)
        raise TypeError

    return _each(values, text, object, "", "is {!r}, not a string", faults)


def _integers(values: Any, faults: dict[int, str]) -> Any:
    import numpy as np

    kind = values.dtype.kind
    if kind in "ib" or (kind == "u" and values.dtype.itemsize < 8):
        return values.astype(np.int64)

    def integer(value):
        whole = int(value)
        if isinstance(value, (float, np.floating)) and whole != value:
            raise ValueError
        if not -(2**63) <= whole < 2**63:
            raise ValueError
        return whole

    if kind == "f":
        whole = np.isfinite(values) & (np.abs(values) < 2.0**63)
        whole &= np.where(whole, values, 0) == np.trunc(np.where(whole, values, 0))
        if whole.all():
            return values.astype(np.int64)
    return _each(values, integer, np.int64, 0, "is {!r}, not an int64", faults)


def _floats(values: Any, faults: dict[int, str]) -> Any:
    import numpy as np

    if values.dtype.kind in "fiub":
        return values.astype(np.float32)
    return _each(values, float, np.float32, 0.0, "is {!r}, not a float32", faults)


def _each(
    values: Any,
    one: Callable[[Any], Any],
    dtype: Any,
    filler: Any,
    fault: str,
    faults: dict[int, str],
) -> Any:
    import numpy as np

    result = np.empty(values.shape, dtype)
    flat = result.reshape(-1)
    width = max(1, values.size // max(1, len(values)))
    for at, value in enumerate(values.ravel().tolist()):
        try:
            flat[at] = one(value)
        except (TypeError, ValueError, OverflowError):
            flat[at] = filler
            faults.setdefault(at // width, fault.format(value))
    return result
