"""The tasks beside the chief that train or keep variables: workers and parameter servers."""

import time
from collections.abc import Callable
from typing import Any

from .cluster_spec import Task
from .ledger import Ledger
from .peers import Chief, wait_for
from .report import LogReport

_POLL_SECS = 0.5


def run_worker(estimator: Any, train_spec: Any, task: Task, report: LogReport) -> None:
    """Trains until the chief says that training has ended, or with it.

    Args:
      estimator: the user's Estimator.
      train_spec: its `TrainSpec`; saving_listeners are the chief's matter.
      task: this task.
      report: is told how it goes.
    """
    from ..estimators.compat.cluster_task import is_multi_worker, training_task
    from .hooks import AskHook, EndHook, ReadyHook
    from .input_sharding import FirstBatchHook, sharded

    config = estimator.config
    deadline = config.session_creation_timeout_secs
    chief = Chief(estimator.model_dir, task, train_spec.max_steps, report, deadline)
    if _is_over(chief, report):
        return
    ledger = Ledger(estimator.model_dir, (task.type, task.index))
    in_step = is_multi_worker(config.train_distribute)

    def work() -> None:
        with training_task(estimator, task.cluster, task.type, task.index) as (own, hooks):
            ledger.run = chief.wait_for_start()
            ledger.add("started", task=task.name)
            wait_for(task.peers(), report, deadline)
            end = EndHook()
            hooks = [*hooks, end]
            if not in_step:
                master, session_config = own.config.master, own.config.session_config
                hooks += [
                    ReadyHook(master, session_config, report, deadline),
                    FirstBatchHook(lambda digest: ledger.add("first_batch", digest=digest)),
                    AskHook(lambda: _told_to_stop(chief)),
                ]
            own.train(
                sharded(train_spec.input_fn, task, config.train_distribute),
                max_steps=train_spec.max_steps,
                hooks=[*hooks, *train_spec.hooks],
            )
            ledger.run = chief.run()
            ledger.add("stopped", step=end.step, steps=end.steps)
            report.say(f"{task.name} is done at step {end.step}")

    _in_ledger(work, ledger)


def run_parameter_server(estimator: Any, train_spec: Any, task: Task, report: LogReport) -> None:
    """Keeps variables for the others until training has ended.

    Args:
      estimator: the user's Estimator, for its RunConfig.
      train_spec: its `TrainSpec`.
      task: this task.
      report: is told how it goes.
    """
    from ..estimators.compat.cluster_task import serve

    config = estimator.config
    chief = Chief(
        estimator.model_dir,
        task,
        train_spec.max_steps,
        report,
        config.session_creation_timeout_secs,
    )
    if _is_over(chief, report):
        return
    ledger = Ledger(estimator.model_dir, (task.type, task.index))

    def work() -> None:
        serve(task.cluster, task.type, task.index, config.session_config, config.protocol)
        ledger.run = chief.wait_for_start()
        ledger.add("started", task=task.name)
        report.say(f"{task.name} keeps variables until training has ended")
        while chief.said("trained") is None and not _ended_well(chief):
            chief.must_live()
            time.sleep(_POLL_SECS)
        ledger.add("stopped")
        report.say(f"{task.name} is done: training has ended")

    _in_ledger(work, ledger)


def _is_over(chief: Chief, report: LogReport) -> bool:
    why = chief.was_finished()
    if why is not None:
        report.say(f"this run is finished ({why}); there is nothing to do")
    return why is not None


def _ended_well(chief: Chief) -> bool:
    ended = chief.said("ended")
    return ended is not None and not ended.get("failed")


def _told_to_stop(chief: Chief) -> str | None:
    told = chief.said("stopping", "trained", "ended")
    return str(told.get("reason") or told["event"]) if told else None


def _in_ledger(work: Callable[[], None], ledger: Ledger) -> None:
    """Writes into a task's own ledger why it failed."""
    try:
        work()
    except BaseException as error:
        why = f"{type(error).__name__}: {error}".split("\n")[0]
        ledger.add("ended", reason=why, failed=True)
        raise
