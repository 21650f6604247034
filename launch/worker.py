"""The tasks beside the chief that train or keep variables: workers and parameter servers."""

import time
from typing import Any

from .cluster_spec import Task
from .ledger import Ledger, in_ledger
from .peers import LOST_AFTER_SECS, Away, Chief, Watch, wait_for, wait_until
from .preemption import LOST_PEER, PREEMPTION, Preempted
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
    from ..estimators.compat.cluster_task import is_multi_worker

    deadline = estimator.config.session_creation_timeout_secs
    chief = Chief(estimator.model_dir, task, train_spec.max_steps, report, deadline)
    if _is_over(chief, report):
        return
    ledger = Ledger(estimator.model_dir, (task.type, task.index))
    in_step = is_multi_worker(estimator.config.train_distribute)
    train = _train_in_step if in_step else _train_at_own_pace
    with in_ledger(ledger):
        train(estimator, train_spec, task, chief, ledger, report)


def _train_in_step(estimator, train_spec, task, chief, ledger, report) -> None:
    import tensorflow as tf

    from ..estimators.agreement import train_in_rounds
    from ..estimators.compat.cluster_task import training_task
    from ..estimators.shard_devices import ShardDevicesHook
    from .hooks import EndHook, PreemptionHook

    deadline = estimator.config.session_creation_timeout_secs
    with training_task(estimator, task.cluster, task.type, task.index) as (own, hooks):
        ledger.run = chief.wait_for_start()
        if chief.has_ended():
            report.say("this run is finished; there is nothing to do")
            return
        if ledger.last("joined", run=ledger.run):
            # The others are in the middle of a step with the process that was here before.
            ledger.add("came_back")
            chief.wait_for_another(ledger.run)
            ledger.run = chief.run()
        ledger.add("started", task=task.name)
        ledger.add("joined", cluster=dict(task.cluster))
        away = Away({"the chief": task.chief_address}, LOST_AFTER_SECS)

        def lost() -> str | None:
            if chief.said("trained", "ended"):
                return None
            if chief.run() != ledger.run:
                return "the chief has started again"
            gone = away.names()
            return f"{gone[0]} at {task.chief_address} is gone" if gone else None

        with Watch(lost, ledger, report):
            wait_for(task.peers(), report, deadline, chief.must_live)
            end = EndHook()
            rounds = train_in_rounds(own, train_spec.input_fn, report.warn)
            with PREEMPTION.steps():
                tf.autograph.experimental.do_not_convert(rounds.estimator.train)(
                    rounds.input_fn,
                    max_steps=train_spec.max_steps,
                    hooks=rounds.hooks(
                        [*hooks, end, PreemptionHook(), ShardDevicesHook(), *train_spec.hooks]
                    ),
                )
            ledger.add("stopped", step=end.step, steps=end.steps)
            if PREEMPTION.asked:
                raise PREEMPTION.error()
            # All stop after the same step; only the chief knows why.
            wait_until(
                lambda: chief.said("trained", "ended") is not None,
                lambda: "the chief to save the last checkpoint",
                report,
                deadline,
                chief.must_live,
            )
    _end_as_the_chief(chief)
    report.say(f"{task.name} is done at step {end.step}")


def _train_at_own_pace(estimator, train_spec, task, chief, ledger, report) -> None:
    import tensorflow as tf

    from ..estimators.compat.cluster_task import session_config_of, training_task
    from ..estimators.shard_devices import ShardDevicesHook
    from .hooks import AskHook, EndHook, PreemptionHook, ReadyHook
    from .input_sharding import FirstBatchHook, sharded

    config = estimator.config
    deadline = config.session_creation_timeout_secs
    servers = task.peers()
    with training_task(estimator, task.cluster, task.type, task.index) as (own, hooks):
        ledger.run = chief.wait_for_start()
        if chief.has_ended():
            report.say("this run is finished; there is nothing to do")
            return
        ledger.add("started", task=task.name)
        away = Away(servers, deadline)

        def lost() -> str | None:
            gone = away.names()
            return f"{gone[0]} at {servers[gone[0]]} is gone" if gone else None

        def told_to_stop() -> str | None:
            chief.wait_while_away()
            told = chief.said("stopping", "trained", "ended")
            if told is None or told.get("preempted"):
                return None
            return str(told.get("reason") or told["event"])

        with Watch(lost, ledger, report, chief.has_ended):
            wait_for(servers, report, deadline, chief.must_live)
            end = EndHook()
            master, session_config = own.config.master, session_config_of(own)
            hooks = [
                *hooks,
                end,
                ReadyHook(master, session_config, report, deadline),
                FirstBatchHook(lambda digest: ledger.add("first_batch", digest=digest)),
                AskHook(told_to_stop),
                PreemptionHook(),
                ShardDevicesHook(),
            ]
            with PREEMPTION.steps():
                tf.autograph.experimental.do_not_convert(own.train)(
                    sharded(train_spec.input_fn, task, config.train_distribute),
                    max_steps=train_spec.max_steps,
                    hooks=[*hooks, *train_spec.hooks],
                )
    ledger.run = chief.run()
    ledger.add("stopped", step=end.step, steps=end.steps)
    if PREEMPTION.asked:
        raise PREEMPTION.error()
    report.say(f"{task.name} is done at step {end.step}")


def _end_as_the_chief(chief: Chief) -> None:
    """Raises where the chief's training did not come to its end."""
    chief.must_live()
    if chief.was_preempted():
        # Worth a retry: the chief goes on from what it has saved, and needs this task.
        raise Preempted(LOST_PEER - 128)


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

    with in_ledger(ledger), PREEMPTION.steps():
        serve(task.cluster, task.type, task.index, config.session_config, config.protocol)
        ledger.run = chief.wait_for_start()
        ledger.add("started", task=task.name)
        report.say(f"{task.name} keeps variables until training has ended")
        while not chief.has_ended():
            chief.must_live()
            # Others save what is here: that the chief is gone, and not the signal, is the end.
            if PREEMPTION.asked and (chief.was_preempted() or not chief.is_there()):
                raise PREEMPTION.error()
            time.sleep(_POLL_SECS)
        ledger.add("stopped")
        report.say(f"{task.name} is done: training has ended")


def _is_over(chief: Chief, report: LogReport) -> bool:
    why = chief.was_finished()
    if why is not None:
        report.say(f"this run is finished ({why}); there is nothing to do")
    return why is not None
