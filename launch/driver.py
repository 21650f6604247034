"""`train_and_evaluate`: trains an Estimator, evaluates its checkpoints and exports the last one."""

from collections.abc import Callable, Mapping
from typing import Any

import gin

from ..estimators.cluster_roles import require_roles
from .chief import ChiefRun, Options
from .cluster_spec import TRAINERS, this_task
from .evaluator import run_evaluator
from .report import LogReport
from .worker import run_parameter_server, run_worker

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
    early_stopping: Any = None,
    evaluator_wait_secs: float = 1800.0,
    worker_wait_secs: float = 600.0,
    report: LogReport | None = None,
) -> tuple[Any, Any]:
    """Trains, evaluates and exports; a drop-in for `tf.estimator.train_and_evaluate`.

    In a cluster that TF_CONFIG describes it plays the part of this process: chief, worker,
    parameter server or evaluator. Without an evaluator the chief evaluates.

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
      early_stopping: an `EarlyStopping`, or None to train until max_steps or the end of the input.
      evaluator_wait_secs: where a cluster has an evaluator, the chief waits for its last evaluation
        until there was no sign of it for so many seconds, and then evaluates itself.
      worker_wait_secs: where workers train each at their own pace, the chief waits so many seconds
        for their last updates before it saves the last checkpoint.
      report: what is told how the run goes; by default absl's log.

    Returns:
      (None, None) in a worker (beside the chief) and in a parameter server. Else (metrics, exports)
      as `tf.estimator.train_and_evaluate` returns them: the metrics of the
      last evaluation, with "global_step", and what each exporter returned. Two lists, in the
      order of the EvalSpecs, where `eval_spec` is a sequence.

    Raises:
      ValueError: names what is missing in the arguments or wrong in TF_CONFIG, a model_dir that
        holds another model, or an input_fn that gives nothing.
      TimeoutError: another task of the cluster did not come, or was away too long.
      RuntimeError: another task failed.

    Source: https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate
    """
    task = this_task()
    estimator, train_spec, eval_spec = parts(
        estimator, train_spec, eval_spec, model_fn, train_input_fn, eval_input_fn, params
    )
    if task is not None and task.type in TRAINERS and estimator.config.train_distribute is None:
        require_roles(None, task.cluster)
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
    options = Options(eval_every_steps, early_stopping, evaluator_wait_secs, worker_wait_secs)
    report = report or LogReport()
    if task is not None and task.type == "ps":
        run_parameter_server(estimator, train_spec, task, report)
        return None, None
    if task is not None and task.type == "worker" and not task.is_chief:
        run_worker(estimator, train_spec, task, report)
        return None, None
    if task is not None and task.type == "evaluator":
        metrics, exports = run_evaluator(
            estimator, train_spec, eval_specs, eval_every_steps, task, report
        )
    else:
        run = ChiefRun(estimator, train_spec, eval_specs, options, report, task)
        metrics, exports = run.run()
    return (metrics, exports) if several else (metrics[0], exports[0])


def parts(
    estimator: Any = None,
    train_spec: Any = None,
    eval_spec: Any = None,
    model_fn: Callable | None = None,
    train_input_fn: Callable | None = None,
    eval_input_fn: Callable | None = None,
    params: Mapping[str, Any] | None = None,
) -> tuple[Any, Any, Any]:
    """Makes what is missing of (estimator, train_spec, eval_spec); see `train_and_evaluate`."""
    from ..estimators import Estimator, EvalSpec, TrainSpec

    if estimator is None:
        _need(model_fn, "model_fn", "estimator")
        estimator = Estimator(model_fn=model_fn, params=params)
    if train_spec is None:
        _need(train_input_fn, "train_input_fn", "train_spec")
        train_spec = TrainSpec(input_fn=train_input_fn)
    if eval_spec is None:
        _need(eval_input_fn, "eval_input_fn", "eval_spec")
        eval_spec = EvalSpec(input_fn=eval_input_fn)
    return estimator, train_spec, eval_spec


def _need(value: Any, name: str, instead: str) -> None:
    if value is None:
        raise ValueError(
            f"train_and_evaluate needs '{name}' or '{instead}'; bind train_and_evaluate.{name} = "
            f"@your_module.{name}"
        )
