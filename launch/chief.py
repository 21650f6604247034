"""Who leads a run: one process that does all, or the chief of a cluster."""

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gin

from .checkpoints import latest, step_of
from .cluster_spec import Task
from .config_files import require_writable, write_config
from .evaluations import Evaluations, exported_before
from .ledger import Ledger, in_ledger
from .peers import LOST_AFTER_SECS, Away, Watch, is_reachable, wait_for, wait_until
from .preemption import PREEMPTION
from .report import LogReport


@dataclass(frozen=True)
class Options:
    """How a run goes, beside what its specs say; see `train_and_evaluate`."""

    eval_every_steps: int | None = None
    early_stopping: Any = None
    evaluator_wait_secs: float = 1800.0
    worker_wait_secs: float = 600.0


class ChiefRun:
    """Trains, and evaluates and exports unless an evaluator does.

    Args:
      estimator: the user's Estimator.
      train_spec: its `TrainSpec`.
      eval_specs: its `EvalSpec`s.
      options: how the run goes.
      report: is told how it goes.
      task: the task of this process in a cluster, or None.
    """

    def __init__(
        self,
        estimator: Any,
        train_spec: Any,
        eval_specs: Sequence[Any],
        options: Options,
        report: LogReport,
        task: Task | None = None,
    ):
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_specs = eval_specs
        self._options = options
        self._report = report
        self._task = task
        self._model_dir = estimator.model_dir
        require_writable(self._model_dir)
        self._ledger = Ledger(self._model_dir)
        self._evaluator = None
        if task is not None and task.has_evaluator:
            self._evaluator = Ledger(self._model_dir, ("evaluator", 0))
        if task is not None:
            from ..estimators.compat.cluster_task import for_one_process

            estimator = for_one_process(estimator)
        self._evaluations = Evaluations(estimator, eval_specs, self._ledger, report)
        self._first_step = self._saved_step()
        self._stop_reason: str | None = None
        # First batches, by task, of those that have one and were not compared yet.
        self._digests: dict[str, str] = {}

    def run(self) -> tuple[list[Mapping[str, Any]], list[list[Any]]]:
        """Does all of it and returns (metrics, exports), for each EvalSpec."""
        max_steps = self._train_spec.max_steps
        self._report.say(f"model_dir: {self._model_dir}")
        self._ledger.add("started", step=self._first_step, max_steps=max_steps)
        write_config(self._model_dir, "config.gin", gin.config_str())
        try:
            with in_ledger(self._ledger, lambda: {"step": self._saved_step()}):
                reason = self._train()
                checkpoint = latest(self._model_dir)
                step = step_of(checkpoint)
                self._ledger.add("trained", step=step, reason=reason)
                if self._evaluator is None:
                    self._evaluations.finish(step, checkpoint, again=reason is None)
                    metrics, exports = self._evaluations.metrics, self._evaluations.exports
                else:
                    metrics, exports = self._from_evaluator(step, checkpoint, again=reason is None)
        finally:
            write_config(self._model_dir, "operative_config.gin", gin.operative_config_str())
        self._ledger.add("ended", step=step, reason=reason or "it was finished before")
        return metrics, exports

    def _train(self) -> str | None:
        """Trains and returns why it ended; None where the run was finished before."""
        spec, config = self._train_spec, self._estimator.config
        if spec.max_steps is not None and (self._first_step or 0) >= spec.max_steps:
            self._report.say(
                f"this run is finished: {self._model_dir} has step {self._first_step} of "
                f"{spec.max_steps}; raise TrainSpec.max_steps or give a new model_dir to train on"
            )
            return None
        converged = self._early_stop(self._evaluator or self._ledger) if self._first_step else None
        if converged is not None:
            self._report.say(
                f"this run is finished: {converged}; change EarlyStopping or give a new model_dir "
                "to train on"
            )
            return None
        if not config.save_checkpoints_steps and not config.save_checkpoints_secs:
            raise ValueError(
                "train_and_evaluate evaluates checkpoints, and RunConfig saves none; set "
                "RunConfig.save_checkpoints_steps"
            )
        every, saved = self._options.eval_every_steps, config.save_checkpoints_steps
        if every and saved and every < saved:
            self._report.warn(
                f"eval_every_steps is {every}, but what is evaluated are checkpoints, saved every "
                f"{saved} steps; set RunConfig.save_checkpoints_steps to {every} as well"
            )
        if self._first_step:
            self._say_resume()
        try:
            end, reason = self._train_in_task()
        finally:
            self._report.stop()
        if PREEMPTION.asked:
            self._report.say(f"training is interrupted and saved at step {end.step}")
            raise PREEMPTION.error()
        if end.input_ended and end.step == (self._first_step or 0):
            raise ValueError(
                "the training input gave no batch; check the files and the filters of the "
                "input_fn of the TrainSpec (train_and_evaluate.train_input_fn)"
            )
        if end.unused and (self._task is None or self._in_step()):
            self._report.warn(
                f"{end.unused} batches of each replica were added up for an update that was not "
                "complete at the end, and were left out (create_train_op.accumulate_steps)"
            )
        self._report.say(f"training ended at step {end.step}: {reason}")
        return reason

    def _train_in_task(self) -> tuple[Any, str]:
        import tensorflow as tf

        from ..estimators.shard_devices import ShardDevicesHook
        from ..estimators.step_shares import StepSharesHook
        from .hooks import (
            AskHook,
            ConfigSummaryHook,
            EndHook,
            LastUpdatesHook,
            OwnModelHook,
            PreemptionHook,
            ProgressHook,
            SaveListener,
        )
        from .input_sharding import FirstBatchHook, sharded
        from .variable_origins import OriginHook

        spec, task = self._train_spec, self._task
        trainers = len(task.trainers) if task else 1
        end = EndHook()
        ask = AskHook(self._why_stop)
        hooks = [
            OwnModelHook(self._model_dir),
            end,
            ask,
            ProgressHook(self._report, spec.max_steps, trainers, self._in_step()),
        ]
        every = self._estimator.config.log_step_count_steps
        if every:
            hooks.append(StepSharesHook(self._report.say, every_steps=every))
        if self._first_step is None:
            hooks.append(OriginHook(self._report, self._ledger))
        if gin.config_str().strip():
            hooks.append(ConfigSummaryHook(self._model_dir))
        listener = SaveListener(self._ledger, self._evaluate_when_due)
        config = self._estimator.config
        with contextlib.ExitStack() as stack:
            estimator, more_hooks = stack.enter_context(self._training_estimator())
            hooks = [*hooks, *more_hooks, PreemptionHook(), *spec.hooks]
            if task is not None:
                stack.enter_context(Watch(self._who_is_lost(), self._ledger, self._report))
                self._wait_for_tasks(config.session_creation_timeout_secs)
                if not self._in_step():
                    hooks.append(FirstBatchHook(self._say_first_batch))
                    hooks.append(LastUpdatesHook(lambda: self._wait_for_workers(end, ask)))
            input_fn = sharded(spec.input_fn, task, config.train_distribute)
            rounds = None
            if config.train_distribute is not None:
                from ..estimators.agreement import train_in_rounds

                rounds = train_in_rounds(estimator, input_fn, self._report.warn)
                estimator, input_fn = rounds.estimator, rounds.input_fn
                hooks = rounds.hooks(hooks)
            stack.enter_context(PREEMPTION.steps())
            hooks.append(ShardDevicesHook())
            # Else a strategy wraps what model_fn raises into an error of AutoGraph's.
            tf.autograph.experimental.do_not_convert(estimator.train)(
                input_fn,
                max_steps=spec.max_steps,
                hooks=hooks,
                saving_listeners=[*spec.saving_listeners, listener],
            )
        if rounds is not None:
            end.input_ended = rounds.hook.input_ended
            self._tell_left_out(rounds.hook)
        return end, self._reason(end, ask)

    def _tell_left_out(self, hook) -> None:
        """Says what of the end of the input made no full round, if anything was left."""
        batches, examples = hook.left_out_batches, hook.left_out_examples
        if hook.cut_short:
            raise ValueError(
                f"the next batch has not {hook.only_size} examples as the others, and gradients of "
                "embeddings can only be exchanged between batches of one size; write "
                "dataset.batch(n, drop_remainder=True) (reader_input_fn.drop_remainder); what was "
                "trained until now is saved"
            )
        if not batches:
            return
        held = f"{examples} examples" if examples is not None else "at least as many examples"
        size = hook.only_size
        only = f" with batches of {size}, as gradients of embeddings need it" if size else ""
        self._ledger.add("left_out", batches=batches, examples=examples)
        self._report.warn(
            f"{batches} batch{'es' * (batches > 1)} ({held}) at the end of the training input "
            f"were left out, because they did not fill a round of all replicas{only}"
        )

    @contextlib.contextmanager
    def _training_estimator(self):
        if self._task is None:
            yield self._estimator, []
            return
        from ..estimators.compat.cluster_task import training_task

        task = self._task
        with training_task(self._estimator, task.cluster, task.type, task.index) as made:
            yield made

    def _wait_for_tasks(self, deadline_secs: float) -> None:
        """Waits for the tasks without which training cannot begin."""
        task = self._task
        wait_for(task.peers(), self._report, deadline_secs)
        if not self._in_step():
            return
        missing = self._workers()

        def all_joined() -> bool:
            for name, place in list(missing.items()):
                joined = Ledger(self._model_dir, place).last("joined", run=self._ledger.run)
                if joined is None:
                    continue
                own = {kind: list(addresses) for kind, addresses in task.cluster.items()}
                if joined.get("cluster", own) != own:
                    raise ValueError(
                        f"TF_CONFIG of {name} has another cluster, {joined['cluster']}, than that "
                        f"of the chief, {own}; give all tasks the same"
                    )
                del missing[name]
            return not missing

        # One that still is in a run of before would never take part in the first step.
        wait_until(
            all_joined,
            lambda: f"{', '.join(missing)} to join this run",
            self._report,
            deadline_secs,
        )

    def _who_is_lost(self):
        """Returns what tells the task without which this one would wait for ever, or None."""
        task, run = self._task, self._ledger.run
        in_step = self._in_step()
        places = self._workers() if in_step else {}
        addresses = {name: task.cluster[kind][i] for name, (kind, i) in places.items()}
        addresses = addresses or task.peers()
        deadline = self._estimator.config.session_creation_timeout_secs
        away = Away(addresses, LOST_AFTER_SECS if in_step else deadline)
        joined = set()

        def lost() -> str | None:
            gone = away.names()
            for name, place in places.items():
                ledger = Ledger(self._model_dir, place)
                if ledger.last("came_back", run=run):
                    return f"{name} has started again"
                if ledger.last("joined", run=run) and not ledger.last("stopped", run=run):
                    joined.add(name)
                else:
                    joined.discard(name)
            if in_step:  # one that has not come yet is waited for, longer
                gone = [name for name in gone if name in joined]
            return f"{gone[0]} at {addresses[gone[0]]} is gone" if gone else None

        return lost

    def _in_step(self) -> bool:
        """Whether all tasks that train take each step together; one alone does."""
        from ..estimators.compat.cluster_task import is_multi_worker

        return self._task is None or is_multi_worker(self._estimator.config.train_distribute)

    def _reason(self, end, ask) -> str:
        max_steps = self._train_spec.max_steps
        if max_steps is not None and end.step >= max_steps:
            return f"max_steps {max_steps} was reached"
        if end.input_ended:
            return "the input ended"
        return ask.reason or self._stop_reason or "a hook asked to stop"

    def _say_resume(self) -> None:
        self._report.say(f"resuming from step {self._first_step}")
        before = self._ledger.last("ended")
        if before and before.get("reason") == "the input ended":
            self._report.say(
                "the run before ended with its input; this one reads the input from its start"
            )

    def _evaluate_when_due(self, step: int) -> bool:
        """Evaluates the checkpoint of `step` while the training session waits.

        Returns:
          Whether to stop.
        """
        if self._evaluator is not None or PREEMPTION.asked:
            return False
        max_steps = self._train_spec.max_steps
        if max_steps is not None and step >= max_steps:
            return False  # the last evaluation comes when the training session is closed
        with PREEMPTION.at_once():  # the checkpoint of this step is there already
            return self._evaluate_now(step)

    def _evaluate_now(self, step: int) -> bool:
        checkpoint = latest(self._model_dir)
        if step == (self._first_step or 0):
            # A new model knows nothing yet; a resumed one may have died before its evaluation.
            if step > 0:
                self._evaluations.evaluate(step, checkpoint)
            return False
        every = self._options.eval_every_steps
        since = step - (self._evaluations.last or 0)
        if every is None or since >= every:
            self._evaluations.evaluate(step, checkpoint)
            self._evaluations.export(step, checkpoint, final=False)
            self._stop_reason = self._early_stop(self._ledger)
        # Tasks that train in step stop together, which takes a step more.
        return self._stop_reason is not None and (self._task is None or not self._in_step())

    def _why_stop(self) -> str | None:
        """Says why the training should stop, by what was evaluated until now."""
        if self._digests:
            self._compare_first_batches()
        if self._evaluator is not None:
            self._stop_reason = self._early_stop(self._evaluator)
        return self._stop_reason

    def _early_stop(self, ledger: Ledger) -> str | None:
        early = self._options.early_stopping
        if early is None:
            return None
        name = early.name
        if name is None and all(spec.name is not None for spec in self._eval_specs):
            name = self._eval_specs[0].name
        history = {}
        for record in ledger.records():
            if record.get("event") == "evaluated" and record.get("name") == name:
                # A resumed run evaluates a step anew; what is newer than its checkpoint is gone.
                step = record["step"]
                history = {at: value for at, value in history.items() if at < step}
                history[step] = early.value(record["metrics"])
        return early.why_stop(sorted(history.items()))

    def _say_first_batch(self, digest: str) -> None:
        self._ledger.add("first_batch", digest=digest)
        self._digests[self._task.name] = digest

    def _workers(self) -> dict[str, tuple[str, int]]:
        """Returns type and index of the other tasks that train, by name."""
        task = self._task
        return {
            Task(task.cluster, kind, index).name: (kind, index)
            for kind, index in task.trainers
            if (kind, index) != (task.type, task.index)
        }

    def _compare_first_batches(self) -> None:
        """Warns of tasks that read the same input, as soon as their first batches are known."""
        from ..estimators.first_batch import overlap
        from .input_sharding import same_input

        workers = self._workers()
        for name in workers.keys() - self._digests.keys():
            ledger = Ledger(self._model_dir, workers[name])
            record = ledger.last("first_batch", run=self._ledger.run)
            if record is None:
                continue
            for other in same_input(record["digest"], self._digests):
                self._report.warn(overlap(other, name))
            self._digests[name] = record["digest"]

    def _wait_for_workers(self, end, ask) -> None:
        """Waits for the workers' last updates, which belong into the last checkpoint."""
        task, workers = self._task, self._workers()
        if not workers or PREEMPTION.asked:
            return  # one that was asked to end does not keep others from going on
        reason = self._reason(end, ask)
        if not end.input_ended:
            self._ledger.add("stopping", reason=reason)
        left = dict(workers)

        def done() -> bool:
            for name, (kind, index) in list(left.items()):
                stopped = Ledger(self._model_dir, (kind, index)).last(
                    "stopped", run=self._ledger.run
                )
                if stopped and stopped.get("steps") == 0 and end.step > (self._first_step or 0):
                    self._report.warn(
                        f"{name} made no step: its input gave no batch, or it came too late"
                    )
                if stopped or not is_reachable(task.cluster[kind][index]):
                    del left[name]
            return not left

        try:
            wait_until(
                done,
                lambda: f"the last updates of {', '.join(left)}",
                self._report,
                self._options.worker_wait_secs,
            )
        except TimeoutError as error:
            self._ledger.add("stopping", reason=reason)
            self._report.warn(f"{error}; the last checkpoint is saved without them")
        self._compare_first_batches()

    def _from_evaluator(self, step: int, checkpoint: str, again: bool):
        """Waits for the evaluator's last evaluation and returns it; makes it where nobody does."""
        evaluator, run = self._evaluator, self._ledger.run
        if again:
            # The evaluator of a finished run may have looked before this chief was there.
            if all(evaluator.last("evaluated", name=s.name, step=step) for s in self._eval_specs):
                return self._as_evaluated(step)
            self._evaluations.finish(step, checkpoint, again=True)
            return self._evaluations.metrics, self._evaluations.exports
        signs = [time.monotonic(), 0]

        def finished() -> bool:
            size = os.path.getsize(evaluator.path) if os.path.exists(evaluator.path) else 0
            if size != signs[1]:
                signs[:] = [time.monotonic(), size]
            return evaluator.last("ended", run=run) is not None or (
                time.monotonic() - signs[0] > self._options.evaluator_wait_secs
            )

        patience = self._options.evaluator_wait_secs
        wait_until(
            finished,
            lambda: (
                f"the evaluator's evaluation of step {step}, as long as it gives a sign of "
                f"itself every {patience:.0f} s"
            ),
            self._report,
            float("inf"),
        )
        ended = evaluator.last("ended", run=run)
        if ended is None:
            self._report.warn(
                f"no sign of an evaluator for {self._options.evaluator_wait_secs:.0f} s; the chief "
                "evaluates the last checkpoint itself"
            )
            self._evaluations.finish(step, checkpoint)
            return self._evaluations.metrics, self._evaluations.exports
        if ended.get("failed"):
            raise RuntimeError(f"the evaluator failed: {ended['reason']}")
        return self._as_evaluated(ended["step"])

    def _as_evaluated(self, step: int):
        """Returns what the evaluator has written about a step."""
        metrics = []
        for spec in self._eval_specs:
            record = self._evaluator.last("evaluated", name=spec.name, step=step)
            metrics.append(record["metrics"])
            self._report.evaluated(
                spec.name, step, record["metrics"], f"{record['examples']} examples"
            )
        return metrics, exported_before(self._evaluator, self._eval_specs, step)

    def _saved_step(self) -> int | None:
        checkpoint = latest(self._model_dir)
        return None if checkpoint is None else step_of(checkpoint)
