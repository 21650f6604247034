"""SIGTERM and Ctrl-C: finish the step, save, and say by the exit code that it is worth a retry."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

# What is worth a retry without a signal: another task of the cluster was lost.
LOST_PEER = 171


class Preempted(BaseException):
    """A signal asked this process to end; nothing after the last checkpoint is lost but work.

    Attributes:
      code: the exit code, 128 and the number of the signal.
    """

    def __init__(self, number: int):
        lost = number + 128 == LOST_PEER
        what = "the chief was preempted" if lost else f"{signal.Signals(number).name} was received"
        super().__init__(what)
        self.code = 128 + number


class Preemption:
    """Whether this process was asked to end, and by which signal.

    Outside of a training step the signal ends what is being done at once, because nothing would be
    saved by waiting. Within, the step is finished first.
    """

    def __init__(self):
        self._number: int | None = None
        self._in_steps = False
        self._grace_secs = 0.0
        self._installed = False

    @property
    def asked(self) -> bool:
        """Whether a signal was received."""
        return self._number is not None

    def error(self) -> Preempted:
        """Returns what to raise once the work is saved."""
        return Preempted(self._number)

    def install(self, grace_secs: float) -> None:
        """Handles SIGTERM and SIGINT from now on; a second one ends the process at once.

        Args:
          grace_secs: after the first signal the process ends itself after so many seconds, saved or
            not.
        """
        self._grace_secs = grace_secs
        if self._installed:
            return
        self._installed = True
        read, write = os.pipe()
        os.set_blocking(write, False)
        # TensorFlow may hold the main thread for long, and Python's handlers run only there.
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)
        threading.Thread(target=self._enforce, args=(read,), daemon=True).start()

    @contextlib.contextmanager
    def steps(self) -> Iterator[None]:
        """Within, a signal waits for the end of the step."""
        before, self._in_steps = self._in_steps, True
        try:
            yield
        finally:
            self._in_steps = before

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Within, a signal ends what is being done, also where that is a part of training."""
        before, self._in_steps = self._in_steps, False
        try:
            if self.asked:
                raise self.error()
            yield
        finally:
            self._in_steps = before

    def _handle(self, number, frame) -> None:
        if self._number is None:
            self._number = number
            if not self._in_steps:
                raise self.error()

    def _enforce(self, read: int) -> None:
        first = None
        while True:
            for number in os.read(read, 16):
                if number not in (signal.SIGTERM, signal.SIGINT):
                    continue
                if first is not None:
                    _leave(number, "once more, so this process ends at once")
                first = number
                threading.Thread(target=self._wait, args=(number,), daemon=True).start()

    def _wait(self, number: int) -> None:
        if self._in_steps:
            _say(number, "the step is finished and saved; once more ends at once")
        time.sleep(self._grace_secs)
        _leave(number, f"not done within {self._grace_secs:.0f} s")


def _say(number: int, text: str) -> None:
    print(f"genever: {signal.Signals(number).name}: {text}", file=sys.stderr, flush=True)


def _leave(number: int, why: str) -> None:
    _say(number, why)
    sys.stdout.flush()
    os._exit(128 + number)


# A process has one; without `install` nothing asks it to end.
PREEMPTION = Preemption()
