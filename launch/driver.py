"""`train_and_evaluate`: trains an Estimator, evaluates its checkpoints and exports the last one."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import gin

from .cluster_spec import refuse_cluster
from .ledger import Ledger
from .report import LogReport

# An argument that gin cannot know: what the command line gives is no setting of the run.
_NOT_BOUND = ("report",)


@gin.configurable(module="genever", denylist=_NOT_BOUND)
def train_and_evaluate(
    estimator: Any = None,
    train_spec: Any = None,
    eval_spec: Any = None,
    *,
    model_fn: Callable | None = None,
    train_input_fn: Callable | None = None,
    eval_input_fn: Callable | None = None,
    params: Mapping[str, Any] | None = None,
    eval_every_steps: int | None = None,
    report: LogReport | None = None,
) -> tuple[Any, Any]:
    """Trains, evaluates and exports; a drop-in for `tf.estimator.train_and_evaluate`.

    The training session and its input live on while checkpoints are evaluated. Checkpoints are
    evaluated by step and never by wall clock; the last one is always evaluated and exported, also
    when the input ends before `max_steps`. A run that is finished is not trained again; it is
    evaluated and says so. What happens is written to the run ledger in `model_dir`.

    Args:
      estimator: the Estimator to train; made of `model_fn` and `params` where it is not given.
      train_spec: a `TrainSpec`; made of `train_input_fn` where it is not given.
      eval_spec: an `EvalSpec`, or a sequence of them with different names; made of
        `eval_input_fn` where it is not given.
      model_fn: the model function of the Estimator to make.
      train_input_fn: the input function of the `TrainSpec` to make.
      eval_input_fn: the input function of the `EvalSpec` to make.
      params: hyperparameters that the Estimator to make passes to `model_fn`.
      eval_every_steps: evaluates a checkpoint when at least so many steps were trained since the
        evaluation before it; None evaluates every checkpoint.
      report: what is told how the run goes; by default absl's log.

    Returns:
      (metrics, exports) as `tf.estimator.train_and_evaluate` returns them: the metrics of the
      last evaluation, with "global_step", and what each exporter returned. Two lists, in the
      order of the EvalSpecs, where `eval_spec` is a sequence.

    Raises:
      ValueError: names what is missing in the arguments, a model_dir that holds another model, or
        an input_fn that gives nothing.

    Source: https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate
    """
    from ..estimators import Estimator, EvalSpec, TrainSpec

    refuse_cluster()
    if estimator is None:
        _need(model_fn, "model_fn", "estimator")
        estimator = Estimator(model_fn=model_fn, params=params)
    if train_spec is None:
        _need(train_input_fn, "train_input_fn", "train_spec")
        train_spec = TrainSpec(input_fn=train_input_fn)
    if eval_spec is None:
        _need(eval_input_fn, "eval_input_fn", "eval_spec")
        eval_spec = EvalSpec(input_fn=eval_input_fn)
    if eval_every_steps is not None and eval_every_steps < 1:
        raise ValueError(f"eval_every_steps is {eval_every_steps}; it must be 1 or more, or None")

    several = not hasattr(eval_spec, "input_fn")  # an EvalSpec is a tuple itself
    eval_specs = list(eval_spec) if several else [eval_spec]
    names = [spec.name for spec in eval_specs]
    if not eval_specs or len(set(names)) < len(names):
        raise ValueError(
            f"eval_spec holds EvalSpecs named {names}; give each a name of its own (EvalSpec.name)"
        )
    exporters = [exporter.name for spec in eval_specs for exporter in spec.exporters]
    twice = sorted({name for name in exporters if exporters.count(name) > 1})
    if twice:
        raise ValueError(
            f"several EvalSpecs have an exporter named '{twice[0]}', and all would write to "
            f"export/{twice[0]}; give each exporter a name of its own"
        )
    run = _LocalRun(estimator, train_spec, eval_specs, eval_every_steps, report or LogReport())
    metrics, exports = run.run()
    return (metrics, exports) if several else (metrics[0], exports[0])


def _need(value: Any, name: str, instead: str) -> None:
    if value is None:
        raise ValueError(
            f"train_and_evaluate needs '{name}' or '{instead}'; bind train_and_evaluate.{name} = "
            f"@your_module.{name}"
        )


class _LocalRun:
    """One process that trains, evaluates and exports by turns."""

    def __init__(self, estimator, train_spec, eval_specs, eval_every_steps, report):
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_specs = eval_specs
        self._eval_every_steps = eval_every_steps
        self._report = report
        _require_writable(estimator.model_dir)
        self._ledger = Ledger(estimator.model_dir)
        self._first_step = self._saved_step()
        self._last_evaluated = None
        # Of the last evaluation: by EvalSpec the metrics, and by EvalSpec what was exported.
        self._metrics: list[Mapping[str, Any]] = []
        self._exports: list[list[Any]] = []

    def run(self) -> tuple[list[Mapping[str, Any]], list[list[Any]]]:
        model_dir, max_steps = self._estimator.model_dir, self._train_spec.max_steps
        self._report.say(f"model_dir: {model_dir}")
        self._ledger.add("started", step=self._first_step, max_steps=max_steps)
        write_config(model_dir, "config.gin", gin.config_str())
        try:
            reason = self._train()
            step = self._saved_step()
            self._finish(step, again=reason is None)
        except BaseException as error:
            why = f"{type(error).__name__}: {error}".split("\n")[0]
            self._ledger.add("ended", step=self._saved_step(), reason=why, failed=True)
            raise
        finally:
            write_config(model_dir, "operative_config.gin", gin.operative_config_str())
        self._ledger.add("ended", step=step, reason=reason or "it was finished before")
        return self._metrics, self._exports

    def _train(self) -> str | None:
        """Trains and returns why it ended; None where the run was finished before."""
        from .hooks import ConfigSummaryHook, EndHook, OwnModelHook, ProgressHook, SaveListener
        from .variable_origins import OriginHook

        spec, config = self._train_spec, self._estimator.config
        if spec.max_steps is not None and (self._first_step or 0) >= spec.max_steps:
            self._report.say(
                f"this run is finished: {self._estimator.model_dir} has step {self._first_step} of "
                f"{spec.max_steps}; raise TrainSpec.max_steps or give a new model_dir to train on"
            )
            return None
        if not config.save_checkpoints_steps and not config.save_checkpoints_secs:
            raise ValueError(
                "train_and_evaluate evaluates checkpoints, and RunConfig saves none; set "
                "RunConfig.save_checkpoints_steps"
            )
        every, saved = self._eval_every_steps, config.save_checkpoints_steps
        if every and saved and every < saved:
            self._report.warn(
                f"eval_every_steps is {every}, but what is evaluated are checkpoints, saved every "
                f"{saved} steps; set RunConfig.save_checkpoints_steps to {every} as well"
            )
        if self._first_step:
            self._say_resume()
        end = EndHook()
        hooks = [
            OwnModelHook(self._estimator.model_dir),
            end,
            ProgressHook(self._report, spec.max_steps),
        ]
        if self._first_step is None:
            hooks.append(OriginHook(self._report, self._ledger))
        if gin.config_str().strip():
            hooks.append(ConfigSummaryHook(self._estimator.model_dir))
        try:
            self._estimator.train(
                spec.input_fn,
                max_steps=spec.max_steps,
                hooks=[*hooks, *spec.hooks],
                saving_listeners=[
                    *spec.saving_listeners,
                    SaveListener(self._ledger, self._evaluate_when_due),
                ],
            )
        finally:
            self._report.stop()
        if end.input_ended and end.step == (self._first_step or 0):
            raise ValueError(
                "the training input gave no batch; check the files and the filters of the "
                "input_fn of the TrainSpec (train_and_evaluate.train_input_fn)"
            )
        reason = self._reason(end)
        self._report.say(f"training ended at step {end.step}: {reason}")
        return reason

    def _reason(self, end) -> str:
        if self._train_spec.max_steps is not None and end.step >= self._train_spec.max_steps:
            return f"max_steps {self._train_spec.max_steps} was reached"
        if end.input_ended:
            return "the input ended"
        return "a hook asked to stop"

    def _say_resume(self) -> None:
        self._report.say(f"resuming from step {self._first_step}")
        before = self._ledger.last("ended")
        if before and before.get("reason") == "the input ended":
            self._report.say(
                "the run before ended with its input; this one reads the input from its start"
            )

    def _evaluate_when_due(self, step: int) -> None:
        """Evaluates the checkpoint of `step` while the training session waits."""
        max_steps = self._train_spec.max_steps
        if max_steps is not None and step >= max_steps:
            return  # the last evaluation comes when the training session is closed
        if step == (self._first_step or 0):
            # A new model knows nothing yet; a resumed one may have died before its evaluation.
            if step > 0:
                self._evaluate(step)
            return
        since = step - (self._last_evaluated or 0)
        if self._eval_every_steps is None or since >= self._eval_every_steps:
            self._evaluate(step)
            self._export(step, final=False)

    def _evaluate(self, step: int) -> None:
        from .examples import CountHook

        checkpoint = self._estimator.latest_checkpoint()
        self._metrics, self._exports = [], []
        self._last_evaluated = step
        for spec in self._eval_specs:
            start, count = time.monotonic(), CountHook()
            metrics = self._estimator.evaluate(
                spec.input_fn,
                steps=spec.steps,
                hooks=[count, *spec.hooks],
                checkpoint_path=checkpoint,
                name=spec.name,
            )
            if not count.batches:
                raise ValueError(
                    f"the input of EvalSpec '{spec.name or 'eval'}' gave no batch; check the files "
                    "and the filters of its input_fn"
                )
            took = f"{time.monotonic() - start:.1f} s"
            if count.examples is not None:
                took = f"{count.examples} examples, {took}"
            self._metrics.append(metrics)
            self._report.evaluated(spec.name, step, metrics, took)
            self._ledger.add(
                "evaluated",
                name=spec.name,
                step=step,
                checkpoint=os.path.basename(checkpoint),
                examples=count.examples,
                batches=count.batches,
                metrics={key: _number(value) for key, value in metrics.items()},
            )

    def _export(self, step: int, final: bool) -> None:
        """Calls the exporters for the checkpoint evaluated last.

        An exporter that has exported this very checkpoint already is not called again.
        """
        exported = self._exports or [[None] * len(spec.exporters) for spec in self._eval_specs]
        self._exports = []
        for spec, metrics, before in zip(self._eval_specs, self._metrics, exported, strict=True):
            results = []
            for exporter, path in zip(spec.exporters, before, strict=True):
                if path is None:
                    path = exporter.export(
                        estimator=self._estimator,
                        export_path=os.path.join(
                            self._estimator.model_dir, "export", exporter.name
                        ),
                        checkpoint_path=self._estimator.latest_checkpoint(),
                        eval_result=metrics,
                        is_the_final_export=final,
                    )
                    if path is not None:
                        text = os.fsdecode(path)
                        self._report.say(f"exported {text}")
                        self._ledger.add("exported", step=step, exporter=exporter.name, path=text)
                results.append(path)
            self._exports.append(results)

    def _finish(self, step: int, again: bool) -> None:
        """Evaluates and exports the last checkpoint, unless that was done."""
        if self._last_evaluated != step:
            self._evaluate(step)
        if again:
            done = {
                (record["exporter"], record["step"]): record["path"]
                for record in self._ledger.records()
                if record.get("event") == "exported"
            }
            self._exports = [
                [self._still_there(done.get((exporter.name, step))) for exporter in spec.exporters]
                for spec in self._eval_specs
            ]
        self._export(step, final=True)

    @staticmethod
    def _still_there(path: str | None) -> bytes | None:
        # Bytes, as TensorFlow's exporters return them.
        return os.fsencode(path) if path and os.path.isdir(path) else None

    def _saved_step(self) -> int | None:
        """Returns the global step of the latest checkpoint, None where there is none."""
        import tensorflow as tf

        checkpoint = tf.train.latest_checkpoint(self._estimator.model_dir)
        if checkpoint is None:
            return None
        return int(tf.train.load_checkpoint(checkpoint).get_tensor("global_step"))


def _require_writable(model_dir: str) -> None:
    """Raises a ValueError where model_dir cannot be made or written to."""
    try:
        os.makedirs(model_dir, exist_ok=True)
        with tempfile.TemporaryFile(dir=model_dir):
            pass
    except OSError as error:
        raise ValueError(
            f"model_dir '{model_dir}' cannot be written to ({error.strerror}); give another "
            "--model_dir (RunConfig.model_dir)"
        ) from error


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "size", 1) == 1 else value


def write_config(model_dir: str, filename: str, text: str) -> None:
    """Writes a gin config into model_dir, whole or not at all; nothing where nothing is bound."""
    if not text.strip():
        return
    os.makedirs(model_dir, exist_ok=True)
    path = os.path.join(model_dir, filename)
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.tmp", path)
