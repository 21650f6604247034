"""Malformed data: the error, the count of skipped records, and the search for the bad one.

The readers parse whole batches inside TensorFlow, which names neither file nor record when it
fails. `explain` looks only after such a failure, so that the healthy path pays nothing for it.
"""

from __future__ import annotations

import collections
import difflib
import re
import threading
import time
from collections.abc import Iterable
from typing import Any

_SEARCH_SECONDS = 120.0
_READERS_REMEMBERED = 64

# How TensorFlow says that an input pipeline failed, and that a record could not be parsed.
_PLACE = re.compile(r"IteratorGetNext|MultiDeviceIterator|RemoteCall")
_PARSING = re.compile(
    r"Field \d+ (?:in record|is required)|Expect \d+ fields|Unquoted fields|Quoted field"
    r"|Quote inside|Could not parse example|Feature: .* is required|Number of \w+ values"
    r"|Data types don't match"
)

# For each kind of error what it says, and what a reader is to look for.
_SOUGHT = {
    "DataLossError": (_PLACE, "framing"),
    "FailedPreconditionError": (_PLACE, "file"),
    "InvalidArgumentError": (_PARSING, "record"),
    "NotFoundError": (_PLACE, "file"),
    "PermissionDeniedError": (_PLACE, "file"),
    # TensorFlow fails so when the value that it wants to show is no text.
    "UnicodeDecodeError": (_PARSING, "record"),
}

_lock = threading.Lock()
_readers: collections.OrderedDict[str, Any] = collections.OrderedDict()
_skipped: dict[str, set[int]] = {}


class InputError(ValueError):
    """Data that cannot be read as the schema says; the message names file, record and cure."""


def explain(error: BaseException) -> InputError | None:
    """Finds the malformed record behind an error that training or evaluation raised.

    Args:
        error: what a session, or an eager loop over a dataset, raised.

    Returns:
        An `InputError` that names file and record, or None where the input is not to blame.
    """
    seen = 0
    link: BaseException | None = error
    while link is not None and seen < 16:
        found = _explain_one(link)
        if found is not None:
            return found
        link, seen = link.__cause__ or link.__context__, seen + 1
    return None


def bad_records() -> dict[str, int]:
    """Counts the malformed records that were skipped so far in this process.

    Returns:
        For each file (or in-memory reader) with any, the number of distinct records skipped.
    """
    with _lock:
        return {source: len(records) for source, records in _skipped.items()}


def remember(reader: Any) -> None:
    """Notes that a dataset of this reader is in use, so that `explain` can ask it."""
    with _lock:
        _readers.pop(reader.name, None)
        _readers[reader.name] = reader
        while len(_readers) > _READERS_REMEMBERED:
            _readers.popitem(last=False)


def count_skipped(source: str, record: int) -> None:
    """Counts a skipped record; the same record in a later epoch counts once."""
    with _lock:
        _skipped.setdefault(source, set()).add(record)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean 'x'?" for the nearest of the known names, or an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _explain_one(error: BaseException) -> InputError | None:
    if isinstance(error, InputError):
        return error
    text = str(error)
    if isinstance(error, UnicodeDecodeError):
        text = error.object.decode("utf-8", "backslashreplace")
    with _lock:
        readers = list(reversed(_readers.values()))
    for reader in readers:
        if reader.refused is not None and str(reader.refused) in text:
            return reader.refused
    says, sought = _SOUGHT.get(type(error).__name__, (None, ""))
    if says is None or not says.search(text):
        return None
    deadline = time.monotonic() + _SEARCH_SECONDS
    for reader in readers:
        for found in reader.scan(sought):
            if found is not None:
                return found
            if time.monotonic() > deadline:
                return InputError(
                    f"{reader.name}: a record is malformed ({text.splitlines()[0]}); the search "
                    f"for it was given up after {_SEARCH_SECONDS:.0f} s."
                )
    return None
