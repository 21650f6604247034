"""`genever check --twin`: does the strategy of a config train the same model as one device?

The user's own model is trained a few steps twice, in processes of its own: under the strategy, as
a small cluster on this machine where the strategy needs one, and on one device. Both read the same
examples in the same order: shuffling is off, and where an input_fn gives the batches of replicas,
one device reads as many of them at once.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import gin_tables
from .config import train_strategy

TIMEOUT_SECS = 600.0
_TOLERANCE = 1e-5
_ALL = 1 << 30  # more examples than a batch can have


def compare(request: Mapping[str, Any], steps: int, timeout_secs: float) -> tuple[bool, list[str]]:
    """Trains both twins and compares them.

    Args:
      request: "gin_files", "gin_params", "allow_kwargs" and "rest", as the command line has them.
      steps: how many steps to train.
      timeout_secs: how long each of the two trainings may take.

    Returns:
      (whether they agree, what to say about it).

    Raises:
      ValueError: the config has no strategy, or one of the twins failed; says what it wrote last.
      TimeoutError: one of them had not ended in time.
    """
    strategy, counts = _cluster()
    if strategy is None and counts is None:
        raise ValueError(
            "check --twin compares a strategy with one device, and this config has none; bind "
            "RunConfig.train_distribute"
        )
    name = strategy or "parameter servers"
    with tempfile.TemporaryDirectory(prefix="genever-twin-") as folder:
        here = {**request, "steps": steps, "model_dir": f"{folder}/strategy", "alone": False}
        _run(here, counts, name, timeout_secs)
        facts = _facts(here)
        alone = {
            **request,
            "steps": steps,
            "model_dir": f"{folder}/one_device",
            "alone": True,
            "replicas": facts["replicas"],
        }
        _run(alone, None, "one device", timeout_secs)
        return _verdict(name, facts, _losses(here), _losses(alone), here, alone)


def _cluster() -> tuple[str | None, dict[str, int] | None]:
    """Returns the name of the config's strategy and the tasks that it needs."""
    from .cluster_spec import this_task

    name = train_strategy()
    if name == "MultiWorkerMirroredStrategy":
        return name, {"chief": 1, "worker": 1}
    task = this_task()
    if name == "ParameterServerStrategy" or (name is None and task and "ps" in task.cluster):
        # Workers of their own pace never give the same numbers twice; one trainer does.
        return name, {"chief": 1, "ps": 2}
    return name, None


def _run(request, counts, name: str, timeout_secs: float) -> None:
    from .local_cluster import run_local_cluster

    os.makedirs(request["model_dir"])
    path = f"{request['model_dir']}/request.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(request, file)
    command = [sys.executable, "-c", f"from {__name__} import child; child()", path]
    if counts is None:
        environment = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_secs,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(
                f"the training on {name} had not ended after {timeout_secs:.0f} s"
            ) from error
        ended = [(done.returncode, done.stdout.decode("utf-8", "replace"))]
    else:
        tasks = run_local_cluster(command, counts, timeout_secs)
        ended = [(task.code, task.output) for task in tasks]
    for code, output in ended:
        if code:
            lines = [line for line in output.strip().split("\n") if line.strip()]
            # gin adds lines of its own below what was raised.
            raised = [
                line for line in lines if re.match(r"[\w.]+(Error|Exception|Timeout)\b", line)
            ]
            last = (raised or lines or [f"exit code {code}"])[-1]
            raise ValueError(f"the training on {name} failed: {last}")


def child() -> None:
    """Trains one twin; what to do stands in the JSON file that the command line names."""
    import gin
    from absl import flags

    from .chief import ChiefRun, Options
    from .cluster_spec import this_task
    from .config import load
    from .driver import parts
    from .quiet import importing_tensorflow, less_from_tensorflow
    from .worker import run_parameter_server, run_worker

    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    less_from_tensorflow()
    with importing_tensorflow():
        load(
            request["gin_files"],
            request["gin_params"],
            request["model_dir"],
            allow_kwargs=request["allow_kwargs"],
        )
        flags.FLAGS(["genever", *request["rest"]])
        with gin.unlock_config():
            _bind(request["alone"], request["steps"])
        import tensorflow as tf
    if request["alone"]:
        _split_as_the_strategy_would()
    known = ("estimator", "train_spec", "eval_spec", "model_fn", "train_input_fn", "params")
    bound = gin.get_bindings("genever.train_and_evaluate")
    given = {name: bound[name] for name in (*known, "eval_input_fn") if name in bound}
    estimator, train_spec, _ = parts(**given)
    strategy = estimator.config.train_distribute
    if request["alone"] and strategy is not None:
        raise ValueError(
            "the RunConfig of this estimator is not gin's, so it cannot be trained on one device"
        )
    input_fn = train_spec.input_fn
    if request["alone"]:
        input_fn = _whole_batches(input_fn, request["replicas"])
    task, report = this_task(), None
    hooks = list(train_spec.hooks)
    if task is None or task.is_chief:
        hooks.append(_loss_hook(f"{request['model_dir']}/losses.jsonl"))
        replicas = 1 if strategy is None else strategy.num_replicas_in_sync
        with open(f"{request['model_dir']}/facts.json", "w", encoding="utf-8") as file:
            json.dump({"replicas": replicas}, file)
    train_spec = tf.estimator.TrainSpec(input_fn, max_steps=request["steps"], hooks=hooks)
    report = _silent()
    if task is not None and task.type == "ps":
        run_parameter_server(estimator, train_spec, task, report)
    elif task is not None and not task.is_chief:
        run_worker(estimator, train_spec, task, report)
    else:
        ChiefRun(estimator, train_spec, [], Options(), report, task).run()


def _bind(alone: bool, steps: int) -> None:
    """Sets what makes the two runs comparable, in every scope in which it is bound."""
    import gin

    wanted = {
        "genever.RunConfig": {"save_checkpoints_steps": steps, "save_checkpoints_secs": None},
        "genever.reader_input_fn": {"shuffle_buffer_size": 0},
        "genever.Estimator": {"warm_start_from": None},
    }
    if alone:
        wanted["genever.RunConfig"] |= {"train_distribute": None, "eval_distribute": None}
    scopes = {(scope, selector) for scope, selector in gin_tables.bindings() if selector in wanted}
    for scope, selector in scopes | {("", selector) for selector in wanted}:
        for parameter, value in wanted[selector].items():
            gin.bind_parameter(f"{scope}/{selector}.{parameter}".lstrip("/"), value)


def _split_as_the_strategy_would() -> None:
    """Gives one process the logical CPUs that sharded layers of the config count on."""
    from ..estimators.devices import split_cpu

    counts = [
        values["logical_cpus"]
        for _, values in gin_tables.bindings().items()
        if isinstance(values.get("logical_cpus"), int)
    ]
    if counts:
        split_cpu("logical_cpus", max(counts))


def _silent():
    from .report import LogReport

    return LogReport()


def _loss_hook(path: str):
    import tensorflow as tf

    class LossHook(tf.compat.v1.train.SessionRunHook):
        """Writes the loss of every step."""

        def begin(self):
            self._loss = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]

        def before_run(self, run_context):
            return tf.compat.v1.train.SessionRunArgs(self._loss)

        def after_run(self, run_context, run_values):
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{float(run_values.results)!r}\n")

    return LossHook()


def _whole_batches(input_fn: Callable, replicas: int) -> Callable:
    """Lets one device read at once what as many replicas read of a user's own input_fn."""
    from .input_sharding import takes_context

    if replicas == 1 or takes_context(input_fn):
        return input_fn

    @functools.wraps(input_fn)
    def whole(*args, **kwargs):
        import tensorflow as tf

        dataset = input_fn(*args, **kwargs)
        if not isinstance(dataset, tf.data.Dataset | tf.compat.v1.data.Dataset):
            raise ValueError("check --twin needs an input_fn that returns a Dataset")
        # As many batches become one: their examples, in order.
        return dataset.window(replicas, drop_remainder=True).flat_map(_join)

    def _join(*components):
        import tensorflow as tf

        parts = tf.nest.map_structure(
            lambda part: part.unbatch().batch(_ALL, drop_remainder=False), components
        )
        return tf.data.Dataset.zip(parts if len(components) > 1 else parts[0])

    return whole


def _facts(request) -> dict[str, Any]:
    with open(f"{request['model_dir']}/facts.json", encoding="utf-8") as file:
        return json.load(file)


def _losses(request) -> list[float]:
    with open(f"{request['model_dir']}/losses.jsonl", encoding="utf-8") as file:
        return [float(line) for line in file]


def _verdict(
    name: str,
    facts: Mapping[str, Any],
    there: Sequence[float],
    alone: Sequence[float],
    here_request,
    alone_request,
) -> tuple[bool, list[str]]:
    replicas = facts["replicas"]
    trained = f"{replicas} replica{'s' * (replicas != 1)}"
    lines = [f"twin: {len(there)} steps under {name} ({trained}) and on one device"]
    if len(there) != len(alone):
        return False, [*lines, f"the one took {len(there)} steps, the other {len(alone)}"]
    agree = True
    for step, (one, other) in enumerate(zip(there, alone, strict=True), 1):
        if not _close(one, other):
            agree = False
            why = _why(step, one, other, replicas)
            lines.append(
                f"losses differ first at step {step}: {one:.8g} under {name}, {other:.8g} on one "
                f"device; {why}"
            )
            break
    else:
        lines.append(f"losses agree, the last is {there[-1]:.8g}")
    different = _different_variables(here_request["model_dir"], alone_request["model_dir"])
    lines += different or ["weights agree"]
    return agree and not different, lines


def _why(step: int, one: float, other: float, replicas: int) -> str:
    """Returns what may be the reason of the first difference."""
    if replicas > 1 and any(_close(a * replicas, b) for a, b in ((one, other), (other, one))):
        return f"it is {replicas} times as much: the loss must be a mean over the batch, not a sum"
    own = "batch statistics and random numbers (dropout) are those of each replica"
    if step == 1:
        return f"the data or the initial values differ, or {own}; a table in parts starts otherwise"
    return (
        f"the gradients differ, or {own}; a mean over replicas with batches of different sizes (a "
        "short last batch) is not that over all examples; the loss must be a mean over the batch"
    )


def _different_variables(one: str, other: str) -> list[str]:
    import numpy as np
    import tensorflow as tf

    readers = [tf.train.load_checkpoint(tf.train.latest_checkpoint(path)) for path in (one, other)]
    shapes = [reader.get_variable_to_shape_map() for reader in readers]
    names = sorted(set(shapes[0]) & set(shapes[1]))
    lines = [
        f"{name} is only in the checkpoint of {where}"
        for name in sorted(set(shapes[0]) ^ set(shapes[1]))
        for where in ["the strategy" if name in shapes[0] else "one device"]
        if not re.search(r"(^|/)(genever|signal_early_stopping)", name)
    ]
    for name in names:
        values = [np.asarray(reader.get_tensor(name)) for reader in readers]
        if values[0].dtype.kind not in "fc" or values[0].shape != values[1].shape:
            same = values[0].shape == values[1].shape and (values[0] == values[1]).all()
            gap = "" if same else "values"
        else:
            apart = np.abs(values[0].astype("f8") - values[1].astype("f8"))
            scale = max(1.0, float(np.abs(values[1]).max(initial=0.0)))
            biggest = float(apart.max(initial=0.0))
            gap = "" if biggest <= _TOLERANCE * scale else f"by {biggest:.2g} at most"
        if gap:
            lines.append(f"{name} differs {gap}")
    return lines[:5] + ([f"and {len(lines) - 5} more"] if len(lines) > 5 else [])


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(1.0, abs(other))
