"""The evaluator of a cluster: evaluates and exports checkpoints while others train."""

import os
import time
from collections.abc import Sequence
from typing import Any

from .checkpoints import latest, step_of
from .cluster_spec import Task
from .evaluations import Evaluations
from .ledger import Ledger, in_ledger
from .peers import Chief
from .report import LogReport

_POLL_SECS = 1.0


def run_evaluator(
    estimator: Any,
    train_spec: Any,
    eval_specs: Sequence[Any],
    eval_every_steps: int | None,
    task: Task,
    report: LogReport,
) -> tuple[list[Any], list[Any]]:
    """Evaluates checkpoints until training has ended and the last one is evaluated and exported.

    A checkpoint that is followed by a newer one before its turn comes is passed over.

    Args:
      estimator: the user's Estimator.
      train_spec: its `TrainSpec`, for max_steps.
      eval_specs: what to evaluate on.
      eval_every_steps: evaluates only checkpoints at least so many steps apart; None for all.
      task: this task.
      report: is told how it goes.

    Returns:
      (metrics, exports), for each EvalSpec.
    """
    from ..estimators.compat.cluster_task import for_one_process

    model_dir = estimator.model_dir
    deadline = estimator.config.session_creation_timeout_secs
    chief = Chief(model_dir, task, train_spec.max_steps, report, deadline)
    ledger = Ledger(model_dir, (task.type, task.index))
    evaluations = Evaluations(for_one_process(estimator), eval_specs, ledger, report)
    why = chief.was_finished()
    with in_ledger(ledger):
        if why is None:
            ledger.run = chief.wait_for_start()
            ledger.add("started", task=task.name)
            _follow(chief, evaluations, model_dir, eval_every_steps, ledger)
        else:
            report.say(f"this run is finished ({why}); evaluating its last checkpoint")
        checkpoint = latest(model_dir)
        if checkpoint is None:
            raise ValueError(f"model_dir '{model_dir}' has no checkpoint to evaluate")
        evaluations.finish(step_of(checkpoint), checkpoint, again=why is not None)
        if why is None:
            ledger.run = chief.run()
        ledger.add("ended", step=evaluations.last, reason="the last checkpoint was evaluated")
    return evaluations.metrics, evaluations.exports


def _follow(
    chief: Chief,
    evaluations: Evaluations,
    model_dir: str,
    eval_every_steps: int | None,
    ledger: Ledger,
) -> None:
    """Evaluates new checkpoints until the chief says that there will be no more."""
    seen = None
    while not chief.has_ended():
        chief.must_live()
        checkpoint = latest(model_dir)
        if checkpoint is None or checkpoint == seen:
            time.sleep(_POLL_SECS)
            continue
        seen = checkpoint
        try:
            step = step_of(checkpoint)
            since = step - (evaluations.last or 0)
            if step and (eval_every_steps is None or since >= eval_every_steps):
                ledger.run = chief.run()
                evaluations.evaluate(step, checkpoint)
                evaluations.export(step, checkpoint, final=False)
        except Exception:
            if os.path.exists(f"{checkpoint}.index"):
                raise
            ledger.add("passed_over", checkpoint=os.path.basename(checkpoint), reason="deleted")
