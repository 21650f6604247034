"""The run ledger: what happened to a model_dir, as append-only JSON lines.

Each line is one object with `run` (the id of the process's run), `time` (seconds since 1970),
`event` and what belongs to it: "started", "warm_started", "saved", "evaluated", "exported",
"stopping" (a chief tells the workers), "stopped" (a worker answers), "trained" (the last checkpoint
is there), "ended". A model can always be read without it; it only tells the story.

The chief, or a run on one machine, writes `ledger.jsonl`; every other task of a cluster writes a
file of its own, such as `ledger-worker-1.jsonl`, because appending from several machines to one
file of a network file system tears lines.
"""

import contextlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from .preemption import Preempted

FILENAME = "ledger.jsonl"


class Ledger:
    """Appends records to the ledger of a model_dir and reads them back.

    Args:
      model_dir: the folder of the run; made if it does not exist.
      task: type and index of the task that writes it, such as ("worker", 1); None for the chief.

    Attributes:
      path: the file.
      run: the id of the run, new for each chief; the other tasks take over that of their chief.
    """

    def __init__(self, model_dir: str, task: tuple[str, int] | None = None):
        name = FILENAME if task is None else f"ledger-{task[0]}-{task[1]}.jsonl"
        self.path = os.path.join(model_dir, name)
        self.run = uuid.uuid4().hex[:12]

    def add(self, event: str, **details: Any) -> None:
        """Appends one record.

        Args:
          event: what happened, one of the words above.
          **details: JSON values, and numpy scalars, which are written as numbers.
        """
        record = {"run": self.run, "time": round(time.time(), 3), "event": event, **details}
        line = json.dumps(record, default=_plain) + "\n"
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "a+b") as file:
            # A killed process may have left half a line; it must not swallow this one.
            if file.tell() and not _ends_with_newline(file):
                file.write(b"\n")
            file.write(line.encode())

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields all records, oldest first, passing over lines that a killed process left torn."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record

    def last(self, event: str, **details: Any) -> dict[str, Any] | None:
        """Returns the newest record of an event whose details are as given, or None."""
        found = None
        for record in self.records():
            if record.get("event") == event and details.items() <= record.items():
                found = record
        return found


@contextlib.contextmanager
def in_ledger(ledger: Ledger, details: Callable[[], dict[str, Any]] = lambda: {}) -> Iterator[None]:
    """Writes into a task's ledger why what is done within failed, or was asked to end.

    Args:
      ledger: the ledger.
      details: what else to write.
    """
    try:
        yield
    except BaseException as error:
        why = f"{type(error).__name__}: {error}".split("\n")[0]
        preempted = isinstance(error, Preempted | KeyboardInterrupt)
        kind = {"preempted": True} if preempted else {"failed": True}
        ledger.add("ended", **details(), reason=why, **kind)
        raise


def _ends_with_newline(file) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be written to the ledger")
