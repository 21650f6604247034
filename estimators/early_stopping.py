"""Training until convergence: `EarlyStopping` decides from the evaluations of a run."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import gin

from .whole_numbers import check_whole


@gin.configurable(module="genever")
class EarlyStopping:
    """Stops a training when a metric of its evaluations is good enough, or no longer gets better.

    It works under every strategy: whoever evaluates writes the metrics into the run ledger, and the
    chief decides by it and tells the other tasks. A resumed run remembers its evaluations.

    Args:
        metric: name of the metric, such as 'loss' or 'auc'.
        higher_is_better: whether the metric should grow.
        patience: stops when so many evaluations in a row have not been better than the best one
            before them; None does not look at that.
        min_delta: by how much an evaluation must be better to count as better.
        threshold: stops as soon as the metric is at least as good as this; None does not look at
            that.
        min_steps: never stops before this global step.
        name: name of the EvalSpec whose metric counts; None is the one without a name, or the
            first.
    Raises:
        ValueError: nothing would ever stop the training, or a number is out of range.
    """

    def __init__(
        self,
        metric: str = "loss",
        higher_is_better: bool = False,
        patience: int | None = 3,
        min_delta: float = 0.0,
        threshold: float | None = None,
        min_steps: int = 0,
        name: str | None = None,
    ):
        if patience is None and threshold is None:
            raise ValueError(
                "EarlyStopping: patience and threshold are both None, so that nothing would ever "
                "stop the training; give one of them."
            )
        if patience is not None:
            check_whole("EarlyStopping.patience", patience)
        if min_delta < 0:
            raise ValueError(f"EarlyStopping.min_delta = {min_delta} must not be negative.")
        self.metric = metric
        self.name = name
        self._sign = 1.0 if higher_is_better else -1.0
        self._patience = patience
        self._min_delta = min_delta
        self._threshold = threshold
        self._min_steps = min_steps

    def value(self, metrics: Mapping[str, Any]) -> float:
        """Returns the metric of an evaluation.

        Args:
            metrics: those of the evaluation, by name.
        Raises:
            ValueError: it is not among them.
        """
        if self.metric not in metrics:
            known = ", ".join(sorted(set(metrics) - {"global_step"}))
            raise ValueError(
                f"EarlyStopping.metric = {self.metric!r} is no metric of this model; choose from "
                f"{known}."
            )
        return float(metrics[self.metric])

    def why_stop(self, history: Sequence[tuple[int, float]]) -> str | None:
        """Decides.

        Args:
            history: (global step, metric) of each evaluation, oldest first.
        Returns:
            Why to stop, or None to go on. An evaluation that is not a number counts as not better.
        """
        if not history or history[-1][0] < self._min_steps:
            return None
        step, value = history[-1]
        if self._threshold is not None and self._sign * (value - self._threshold) >= 0:
            return f"{self.metric} {value:g} at step {step} has reached {self._threshold:g}"
        if self._patience is None:
            return None
        best, best_step, since = -math.inf, None, 0
        for at, seen in history:
            if self._sign * seen > best + (self._min_delta if best_step is not None else 0.0):
                best, best_step, since = self._sign * seen, at, 0
            else:
                since += 1
        if since < self._patience:
            return None
        if best_step is None:
            return f"{self.metric} was not a number in {since} evaluations"
        return (
            f"{self.metric} has not got better than {self._sign * best:g} of step {best_step} in "
            f"{since} evaluations"
        )
