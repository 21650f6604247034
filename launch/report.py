"""What a run says while it goes: to the log of a program, or to a person at the command line."""

import math
import time
from collections.abc import Mapping
from typing import Any

from absl import logging
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


class LogReport:
    """Writes a run's story to absl's log, as a library should.

    Attributes:
      training_started: whether a training session was asked for.
    """

    interval_secs = 30.0

    def __init__(self):
        self.training_started = False

    def say(self, text: str) -> None:
        """Tells one line."""
        logging.info(text)

    def warn(self, text: str) -> None:
        """Tells one line that asks for attention."""
        logging.warning(text)

    def start(self, step: int, max_steps: int | None) -> None:
        """Begins the progress of a training from `step` on."""
        self.training_started = True
        self._clock = _Clock(step, max_steps)

    def progress(
        self, step: int, loss: float | None, batch: int | None, last: bool = False
    ) -> None:
        """Tells how far the training is.

        Args:
          step: the global step that was done last.
          loss: the training loss of that step, or None.
          batch: examples per step over all replicas, or None where it is not known.
          last: whether the training ends with this step.
        """
        self.say(self._clock.line(step, loss, batch, time_left=not last))

    def evaluated(self, name: str | None, step: int, metrics: Mapping[str, Any], took: str) -> None:
        """Tells the metrics of one evaluation."""
        values = ", ".join(f"{key} = {_short(value)}" for key, value in _ordered(metrics))
        self.say(f"{_title(name)} at step {step} ({took}): {values}")

    def stop(self) -> None:
        """Ends the progress of a training."""


class TerminalReport(LogReport):
    """Writes to a person: a progress bar and tables on a terminal, plain lines elsewhere.

    Args:
      console: where to write; the standard output by default.
    """

    def __init__(self, console: Console | None = None):
        super().__init__()
        self._console = console or Console(highlight=False)
        self._bar = None
        # A terminal shows every half second; a file gets a line now and then.
        self.interval_secs = 0.5 if self._console.is_terminal else 10.0

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        self.say(f"warning: {text}")

    def start(self, step: int, max_steps: int | None) -> None:
        super().start(step, max_steps)
        if not self._console.is_terminal:
            return
        self._bar = Progress(
            TextColumn("train"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[line]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("train", total=max_steps, completed=step, line="starting")
        self._bar.start()

    def progress(
        self, step: int, loss: float | None, batch: int | None, last: bool = False
    ) -> None:
        if self._bar is None:
            super().progress(step, loss, batch, last)
            return
        line = self._clock.line(step, loss, batch, time_left=False)
        self._bar.update(self._task, completed=step, line=line)

    def evaluated(self, name: str | None, step: int, metrics: Mapping[str, Any], took: str) -> None:
        if not self._console.is_terminal:
            super().evaluated(name, step, metrics, took)
            return
        self.say(f"{_title(name)} at step {step} ({took})")
        table = Table()
        table.add_column("metric")
        table.add_column("value", justify="right")
        for key, value in _ordered(metrics):
            table.add_row(key, _short(value))
        self._console.print(table)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class _Clock:
    """Speed and time left, measured over the last stretch of a training."""

    def __init__(self, step: int, max_steps: int | None):
        self._max_steps = max_steps
        self._last = (time.monotonic(), step)
        self._speed = 0.0

    def line(self, step, loss, batch, time_left=True) -> str:
        now = time.monotonic()
        then, before = self._last
        if step > before:
            self._speed = (step - before) / max(now - then, 1e-9)
            self._last = (now, step)
        parts = [f"step {step}" + (f"/{self._max_steps}" if self._max_steps else "")]
        if self._speed and batch:
            parts.append(f"{self._speed * batch:,.0f} examples/s")
        elif self._speed:
            parts.append(f"{self._speed:,.1f} steps/s")
        if loss is not None:
            parts.append(f"loss {loss:.4g}")
        if time_left and self._speed and self._max_steps:
            left = max(self._max_steps - step, 0) / self._speed
            parts.append(f"{_duration(left)} left")
        return "  ".join(parts)


def _title(name: str | None) -> str:
    return f"evaluation '{name}'" if name else "evaluation"


def _ordered(metrics: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Returns the metrics, the loss first and the global step left out, for it stands above."""
    names = sorted(metrics, key=lambda name: (name != "loss", name))
    return [(name, metrics[name]) for name in names if name != "global_step"]


def _short(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if math.isfinite(number) and number == int(number) and abs(number) < 1e9:
        return f"{number:.1f}" if not isinstance(value, int) else str(value)
    return f"{number:.6g}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
