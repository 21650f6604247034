"""Evaluates checkpoints and exports them: what a local run, a chief and an evaluator all do."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .ledger import Ledger
from .report import LogReport


class Evaluations:
    """The evaluations of one process.

    Args:
      estimator: evaluates and exports; its session is of this process alone.
      eval_specs: what to evaluate on.
      ledger: where each evaluation and export is written.
      report: what is told.

    Attributes:
      last: the step that was evaluated last, or None.
      metrics: of the last evaluation, for each EvalSpec.
      exports: what each exporter of each EvalSpec returned for that step.
    """

    def __init__(
        self, estimator: Any, eval_specs: Sequence[Any], ledger: Ledger, report: LogReport
    ):
        self._estimator = estimator
        self._eval_specs = eval_specs
        self._ledger = ledger
        self._report = report
        self.last: int | None = None
        self.metrics: list[Mapping[str, Any]] = []
        self.exports: list[list[Any]] = []

    def evaluate(self, step: int, checkpoint: str) -> None:
        """Evaluates a checkpoint on every EvalSpec.

        Args:
          step: global step of the checkpoint.
          checkpoint: its path.

        Raises:
          ValueError: an input gave no batch.
        """
        from ..estimators.evaluation import evaluate
        from .hooks import EvaluationHook

        metrics = []
        for spec in self._eval_specs:
            start = time.monotonic()
            done = evaluate(
                self._estimator,
                spec.input_fn,
                steps=spec.steps,
                hooks=[EvaluationHook(self._report), *spec.hooks],
                checkpoint_path=checkpoint,
                name=spec.name,
            )
            if not done.batches:
                raise ValueError(
                    f"the input of EvalSpec '{spec.name or 'eval'}' gave no batch; check the files "
                    "and the filters of its input_fn"
                )
            took = f"{time.monotonic() - start:.1f} s"
            if done.examples is not None:
                took = f"{done.examples} examples, {took}"
            metrics.append(done.metrics)
            self._report.evaluated(spec.name, step, done.metrics, took)
            self._ledger.add(
                "evaluated",
                name=spec.name,
                step=step,
                checkpoint=os.path.basename(checkpoint),
                examples=done.examples,
                batches=done.batches,
                metrics={key: _number(value) for key, value in done.metrics.items()},
            )
        self.metrics, self.exports, self.last = metrics, [], step

    def export(self, step: int, checkpoint: str, final: bool) -> None:
        """Calls the exporters for the checkpoint evaluated last.

        An exporter that has exported this very checkpoint already is not called again.

        Args:
          step: global step of the checkpoint.
          checkpoint: its path.
          final: whether training has ended.
        """
        exported = self.exports or [[None] * len(spec.exporters) for spec in self._eval_specs]
        self.exports = []
        for spec, metrics, before in zip(self._eval_specs, self.metrics, exported, strict=True):
            results = []
            for exporter, path in zip(spec.exporters, before, strict=True):
                if path is None:
                    path = exporter.export(
                        estimator=self._estimator,
                        export_path=os.path.join(
                            self._estimator.model_dir, "export", exporter.name
                        ),
                        checkpoint_path=checkpoint,
                        eval_result=metrics,
                        is_the_final_export=final,
                    )
                    if path is not None:
                        text = os.fsdecode(path)
                        self._report.say(f"exported {text}")
                        self._ledger.add("exported", step=step, exporter=exporter.name, path=text)
                results.append(path)
            self.exports.append(results)

    def finish(self, step: int, checkpoint: str, again: bool = False) -> None:
        """Evaluates and exports the last checkpoint, unless that was done.

        Args:
          step: global step of the checkpoint.
          checkpoint: its path.
          again: whether the run was finished before, so that its exports may be there already.
        """
        if self.last != step:
            self.evaluate(step, checkpoint)
        if again:
            self.exports = self.exported_before(step)
        self.export(step, checkpoint, final=True)

    def exported_before(self, step: int) -> list[list[bytes | None]]:
        """Returns what the ledger says was exported at a step and is still there."""
        return exported_before(self._ledger, self._eval_specs, step)


def exported_before(
    ledger: Ledger, eval_specs: Sequence[Any], step: int
) -> list[list[bytes | None]]:
    """Returns for each exporter of each EvalSpec the path that a ledger has for a step, or None."""
    done = {
        (record["exporter"], record["step"]): record["path"]
        for record in ledger.records()
        if record.get("event") == "exported"
    }
    return [
        [_still_there(done.get((exporter.name, step))) for exporter in spec.exporters]
        for spec in eval_specs
    ]


def _still_there(path: str | None) -> bytes | None:
    # Bytes, as TensorFlow's exporters return them.
    return os.fsencode(path) if path and os.path.isdir(path) else None


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value
