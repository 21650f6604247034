"""A BestExporter that goes by one metric; imports TensorFlow, so import it inside functions."""

import difflib
import math
from collections.abc import Mapping
from typing import Any

import tensorflow as tf


class BestByMetric(tf.estimator.BestExporter):
    """Exports after an evaluation whose metric is better than all before.

    Attributes:
        metric: name of the metric.
        higher_is_better: whether a greater one is better.
    """

    def __init__(self, metric: str, higher_is_better: bool, **arguments: Any):
        """Takes the metric; the other arguments are those of `tf.estimator.BestExporter`."""
        super().__init__(compare_fn=self._better, **arguments)
        self.metric = metric
        self.higher_is_better = higher_is_better

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Exports if the result is the best one; see `tf.estimator.Exporter.export`.

        Raises:
            ValueError: the evaluation has no such metric.
        """
        # The first result is exported without a comparison: only here is a wrong name seen at once.
        if self.metric not in eval_result:
            close = difflib.get_close_matches(self.metric, eval_result, n=1)
            found = ", ".join(sorted(eval_result))
            hint = f"did you mean {close[0]!r}?" if close else f"there are {found}."
            raise ValueError(
                f"BestExporter.metric: no metric {self.metric!r} was evaluated; {hint}"
            )
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )

    def _better(
        self, best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]
    ) -> bool:
        # Results in older event files may lack the metric; they count as the worst.
        best = float(best_eval_result.get(self.metric, math.nan))
        current = float(current_eval_result.get(self.metric, math.nan))
        if math.isnan(best) or math.isnan(current):
            return math.isnan(best) and not math.isnan(current)
        return current > best if self.higher_is_better else current < best
