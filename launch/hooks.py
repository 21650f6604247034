"""The hooks by which `train_and_evaluate` follows a training, and ends it."""

import time
from collections.abc import Callable

import gin
import tensorflow as tf

from ..estimators.accumulation import batches_to_an_update
from ..estimators.examples import batch_sizes
from .ledger import Ledger
from .peers import wait_until
from .preemption import PREEMPTION
from .report import LogReport

_train = tf.compat.v1.train
_STANDSTILL = 200
_EVALUATION_SAYS_SECS = 30.0


class EndHook(_train.SessionRunHook):
    """Finds out why a training ended, and ends one that could not end.

    Attributes:
      step: the global step at the end.
      steps: how many steps this task made.
      unused: how many batches of each replica were added up for an update that never came.
      input_ended: whether the input ended; if not, max_steps or a hook ended the training.
    """

    def begin(self):
        self._global_step = _train.get_global_step()
        self._to_an_update = batches_to_an_update(tf.compat.v1.get_default_graph())
        self._limit = _STANDSTILL + self._to_an_update
        self._in_run = False
        self._runs = 0
        self.step = None
        self.unused = 0
        self.input_ended = False

    def after_create_session(self, session, coord):
        self._first_step = int(session.run(self._global_step))

    def before_run(self, run_context):
        self._in_run = True

    def after_run(self, run_context, run_values):
        self._in_run = False
        self._runs += 1
        if self._runs != self._limit:
            return
        if int(run_context.session.run(self._global_step)) == self._first_step:
            raise ValueError(
                f"the global step still is {self._first_step} after {self._runs} calls of "
                "train_op, so max_steps would never be reached; pass "
                "tf.compat.v1.train.get_global_step() to the optimizer's minimize()"
            )

    @property
    def steps(self) -> int:
        return self._runs

    def end(self, session):
        # A step that began and did not come back met the end of the input.
        self.input_ended = self._in_run
        self.step = int(session.run(self._global_step))
        updates = self.step - self._first_step
        if self._to_an_update > 1:
            self.unused = max(self._runs - updates * self._to_an_update, 0)


class ProgressHook(_train.SessionRunHook):
    """Tells a report how far the training is, and once how its batches are split.

    Args:
      report: what is told.
      max_steps: the global step at which the training ends, or None.
      trainers: number of tasks that train.
      in_step: whether these tasks take each step together.
    """

    def __init__(
        self,
        report: LogReport,
        max_steps: int | None,
        trainers: int = 1,
        in_step: bool = True,
    ):
        self._report = report
        self._max_steps = max_steps
        self._trainers = trainers
        self._in_step = in_step

    def begin(self):
        losses = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)
        self._wanted = {"step": _train.get_global_step(), "sizes": batch_sizes()}
        # The Estimator adds the model's total loss last.
        if losses and isinstance(losses[-1], tf.Tensor):
            self._wanted["loss"] = losses[-1]
        self._batch = None
        self._loss = None
        self._steps_made = False
        self._to_an_update = batches_to_an_update(tf.compat.v1.get_default_graph())

    def after_create_session(self, session, coord):
        self._report.start(int(session.run(self._wanted["step"])), self._max_steps)
        self._due = 0.0

    def before_run(self, run_context):
        self._asked = time.monotonic() >= self._due
        # The loss is fetched by the Estimator anyway; the last one is told at the end.
        wanted = self._wanted if self._asked else {"loss": self._wanted.get("loss", [])}
        return _train.SessionRunArgs(wanted)

    def after_run(self, run_context, run_values):
        values = run_values.results
        self._steps_made = True
        if "loss" in self._wanted:
            self._loss = float(values["loss"])
        if not self._asked:
            return
        sizes = [int(size) for size in values["sizes"]]
        # The global step may have been read before or after this step's own update.
        step = int(values["step"])
        if self._batch is None:
            self._say_batch(sizes)
        else:
            self._report.progress(step, self._loss, self._batch)
        self._due = time.monotonic() + self._report.interval_secs

    def end(self, session):
        if self._steps_made:
            step = int(session.run(self._wanted["step"]))
            self._report.progress(step, self._loss, self._batch, last=True)

    def _say_batch(self, sizes: list[int]) -> None:
        self._batch = sum(sizes) or None
        if not sizes:
            self._report.say("batch: not known, the input_fn returns no batched Dataset")
            return
        each = str(sizes[0]) if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
        replicas = len(sizes) * (self._trainers if self._in_step else 1)
        if self._in_step:
            self._batch *= self._trainers
        total = self._batch
        self._batch *= self._to_an_update  # what a global step takes
        tasks = f" in {self._trainers} tasks" if self._trainers > 1 and self._in_step else ""
        added = f" of {self._to_an_update} batches" if self._to_an_update > 1 else ""
        own = f"; {self._trainers} tasks, each at its own pace" if not self._in_step else ""
        self._report.say(
            f"batch: {replicas} replica{'s' * (replicas > 1)}{tasks}, {each} per replica, "
            f"{total} global, {self._batch} examples per step{added}{own}"
        )


class ConfigSummaryHook(_train.SessionRunHook):
    """Shows the config and the operative config in TensorBoard's text tab.

    Args:
      model_dir: where the summaries go.
    """

    def __init__(self, model_dir: str):
        self._model_dir = model_dir

    def begin(self):
        self._global_step = _train.get_global_step()

    def after_create_session(self, session, coord):
        self._write("gin/config", gin.config_str(), session)

    def end(self, session):
        self._write("gin/operative_config", gin.operative_config_str(), session)

    def _write(self, tag: str, text: str, session) -> None:
        summary = tf.compat.v1.Summary()
        value = summary.value.add(tag=tag)
        value.metadata.plugin_data.plugin_name = "text"
        value.tensor.CopyFrom(tf.make_tensor_proto(gin.markdown(text), dtype=tf.string))
        writer = tf.compat.v1.summary.FileWriterCache.get(self._model_dir)
        writer.add_summary(summary, int(session.run(self._global_step)))
        writer.flush()


class OwnModelHook(_train.SessionRunHook):
    """Refuses to train into a model_dir whose checkpoint is of another model.

    Args:
      model_dir: the folder whose latest checkpoint would be restored.
    """

    def __init__(self, model_dir: str):
        self._model_dir = model_dir

    def begin(self):
        checkpoint = tf.train.latest_checkpoint(self._model_dir)
        if checkpoint is None or not tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SAVERS):
            return  # nothing to restore, or a Saver of the model's own that decides what is saved
        saved = tf.train.load_checkpoint(checkpoint).get_variable_to_shape_map()
        missing, different = [], []
        for variable in tf.compat.v1.global_variables():
            name = variable.op.name
            if "/replica_" in name or "/part_" in name:
                continue  # replicas are not saved; parts are saved under the whole one's name
            if name not in saved:
                missing.append(name)
                continue
            here, there = variable.shape, list(saved[name])
            if here.is_fully_defined() and here.as_list() != there:
                different.append(f"{name} is {there} there and {here.as_list()} here")
        if missing or different:
            what = [f"{name} is not in it" for name in missing] + different
            more = f" and {len(what) - 3} more" if len(what) > 3 else ""
            raise ValueError(
                f"model_dir '{self._model_dir}' holds another model: of its checkpoint "
                f"{checkpoint.rpartition('/')[2]}, {'; '.join(what[:3])}{more}; "
                "give a new --model_dir (RunConfig.model_dir), or the config that wrote it"
            )


class SaveListener(_train.CheckpointSaverListener):
    """Writes every checkpoint into the ledger and has it evaluated when it is due.

    Args:
      ledger: the run's ledger.
      evaluate: called with the step of each checkpoint that was saved; returns whether to stop.
    """

    def __init__(self, ledger: Ledger, evaluate: Callable[[int], bool]):
        self._ledger = ledger
        self._evaluate = evaluate

    def after_save(self, session, global_step_value):
        step = int(global_step_value)
        self._ledger.add("saved", step=step)
        return self._evaluate(step)


class AskHook(_train.SessionRunHook):
    """Ends a training as soon as somebody outside of it wants that.

    Args:
      why_stop: asked now and then; returns why to stop, or None.
      interval_secs: how often it is asked.

    Attributes:
      reason: why it ended the training, or None.
    """

    def __init__(self, why_stop: Callable[[], str | None], interval_secs: float = 1.0):
        self._why_stop = why_stop
        self._interval_secs = interval_secs
        self._asked = time.monotonic()
        self.reason = None

    def after_run(self, run_context, run_values):
        if self.reason is None and time.monotonic() - self._asked >= self._interval_secs:
            self.reason = self._why_stop()
            self._asked = time.monotonic()
            if self.reason is not None:
                run_context.request_stop()


class PreemptionHook(_train.SessionRunHook):
    """Ends a training after the step in which a signal asked for that."""

    def after_run(self, run_context, run_values):
        if PREEMPTION.asked:
            run_context.request_stop()


class ReadyHook(_train.SessionRunHook):
    """Waits until the chief has made the variables; TensorFlow itself looks every 30 seconds.

    Args:
      master: the server of this task, such as "grpc://host:2222".
      session_config: how sessions of this task are configured.
      report: is told what it waits for.
      deadline_secs: how long it waits.
    """

    def __init__(self, master: str, session_config, report: LogReport, deadline_secs: float):
        self._master = master
        self._session_config = session_config
        self._report = report
        self._deadline_secs = deadline_secs

    def begin(self):
        missing = tf.compat.v1.report_uninitialized_variables(tf.compat.v1.global_variables())
        with tf.compat.v1.Session(self._master, config=self._session_config) as session:
            wait_until(
                lambda: not len(session.run(missing)),
                lambda: "the chief to make the variables",
                self._report,
                self._deadline_secs,
            )


class EvaluationHook(_train.SessionRunHook):
    """Tells how far a long evaluation is.

    Args:
      report: what is told.
    """

    def __init__(self, report: LogReport):
        self._report = report

    def begin(self):
        self._steps = 0
        self._said = time.monotonic()

    def after_run(self, run_context, run_values):
        self._steps += 1
        if time.monotonic() - self._said > _EVALUATION_SAYS_SECS:
            self._said = time.monotonic()
            self._report.say(f"evaluating: {self._steps} steps so far")


class LastUpdatesHook(_train.SessionRunHook):
    """Lets the workers finish before the chief saves the last checkpoint.

    Args:
      wait: waits until they have; called when the chief has made its last step.
    """

    def __init__(self, wait: Callable[[], None]):
        self._wait = wait

    def end(self, session):
        self._wait()
