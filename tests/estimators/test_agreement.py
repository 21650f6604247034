"""Training in rounds, on one machine and in clusters of real processes with a deadline."""

import json
import sys

import pytest

_MODEL = """
import json
import os
import sys

import numpy as np
import tensorflow as tf

import genever
from genever.estimators import RunConfig
from genever.estimators.agreement import train_in_rounds

v1 = tf.compat.v1
case = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
X = np.random.RandomState(0).randn(1000, 2).astype("float32")
Y = (X @ [1, 2] + 3).astype("float32")


class StopAt(v1.train.SessionRunHook):
    def __init__(self, runs):
        self.left = runs

    def after_run(self, run_context, run_values):
        self.left -= 1
        if self.left == 0:
            run_context.request_stop()


def model_fn(features, labels, mode, params, config):
    assert sorted(features) == ["x"] and params == {"rate": 0.1}
    weights, bias = v1.get_variable("w", [2]), v1.get_variable("b", [])
    ops = []
    if case.get("average"):
        average = v1.get_variable(
            "average",
            [2],
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )
        ops = [average.assign(0.9 * average + 0.1 * tf.reduce_mean(features["x"], 0))]
    loss = tf.reduce_mean((tf.linalg.matvec(features["x"], weights) + bias - labels) ** 2)
    optimizer = v1.train.GradientDescentOptimizer(params["rate"])
    with tf.control_dependencies(ops):
        train_op = optimizer.minimize(loss, v1.train.get_global_step())
    hooks = [StopAt(3)] if case.get("model_stops") == ME else []
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=hooks)
"""

_ALONE = (
    _MODEL
    + """
import tempfile
from genever.estimators import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy
from genever.estimators.devices import split_cpu

ME = 0
cpus = split_cpu("test", 4)
strategies = {
    "none": None,
    "one device": OneDeviceStrategy(device=cpus[1]),
    "mirrored": MirroredStrategy(devices=cpus[:2]),
    "three": MirroredStrategy(devices=cpus[:3]),
    "central": CentralStorageStrategy(compute_devices=cpus[:2], parameter_device="/cpu:0"),
}


class Mine(tf.estimator.Estimator):
    pass


def train(name, size, hooks=(), **arguments):
    config = RunConfig(model_dir=tempfile.mkdtemp(dir="."), train_distribute=strategies[name])
    estimator = Mine(model_fn, config=config, params={"rate": 0.1})

    def input_fn(mode, params):
        assert (mode, params) == ("train", {"rate": 0.1})
        data = tf.data.Dataset.from_tensor_slices(({"x": X}, Y))
        return data.repeat().batch(4) if size is None else data.take(size).batch(4)

    rounds = train_in_rounds(estimator, input_fn)
    assert type(rounds.estimator) is Mine and rounds.estimator.params == {"rate": 0.1}
    rounds.estimator.train(rounds.input_fn, hooks=rounds.hooks(hooks), **arguments)
    hook = rounds.hook
    step = int(estimator.get_variable_value("global_step"))
    return step, hook.input_ended, hook.left_out_batches, hook.left_out_examples
"""
)

_TASK = (
    _MODEL
    + """
tf.compat.v1.disable_eager_execution()
from genever.estimators import Estimator, MultiWorkerMirroredStrategy
from genever.estimators.compat.cluster_task import training_task

here = json.loads(os.environ["TF_CONFIG"])
cluster, task = here["cluster"], here["task"]
ME = 0 if task["type"] == "chief" else task["index"] + 1


def input_fn(input_context):
    assert input_context.input_pipeline_id == ME
    size = case["sizes"][ME]
    if size == "broken":
        data = tf.data.Dataset.range(4)
        broken = lambda i: tf.cast(tf.fill([1, 2], 1 // (i * 0)), tf.float32)
        return data.map(lambda i: ({"x": broken(i)}, tf.zeros([1])))
    data = tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).skip(case.get("skip", 400) * ME)
    return data.repeat().batch(4) if size is None else data.take(size).batch(4)


class Listener(v1.train.CheckpointSaverListener):
    def after_save(self, session, step):
        return step >= 4


config = RunConfig(
    model_dir=case["model_dir"],
    train_distribute=MultiWorkerMirroredStrategy(),
    save_checkpoints_steps=case.get("save", 1000),
)
estimator = Estimator(model_fn, config=config, params={"rate": 0.1})
warnings = []
result = {}
with training_task(estimator, cluster, task["type"], task["index"]) as (own, hooks):
    rounds = train_in_rounds(own, input_fn, warnings.append)
    hooks = [*hooks, StopAt(3)] if case.get("hook_stops") == ME else hooks
    listeners = [Listener()] if case.get("listener") and ME == 0 else []
    try:
        rounds.estimator.train(
            rounds.input_fn,
            hooks=rounds.hooks(hooks),
            max_steps=case.get("max_steps"),
            saving_listeners=listeners,
        )
        hook = rounds.hook
        result = {
            "input_ended": hook.input_ended,
            "left_out": [hook.left_out_batches, hook.left_out_examples],
            "asked_by": hook.asked_by,
            "warnings": warnings,
        }
        if ME == 0:
            result["step"] = int(own.get_variable_value("global_step"))
    except (ValueError, tf.errors.OpError) as error:
        result = {"error": str(error).split("\\n")[0]}
print("RESULT", json.dumps(result))
"""
)


@pytest.fixture
def run_cluster(tmp_path):
    """Runs the tasks of a case and returns what each has to say."""
    from genever.launch.local_cluster import run_local_cluster

    def run(**case):
        program = tmp_path / "task.py"
        program.write_text(_TASK)
        case["model_dir"] = str(tmp_path / "m")
        command = [sys.executable, str(program), json.dumps(case)]
        workers = len(case["sizes"]) - 1
        ended = run_local_cluster(command, {"chief": 1, "worker": workers}, 150.0)
        results = []
        for task in ended:
            assert task.code == 0, task.output[-3000:]
            line = next(ln for ln in task.output.splitlines() if ln.startswith("RESULT "))
            results.append(json.loads(line.removeprefix("RESULT ")))
        return results

    return run


@pytest.mark.slow
@pytest.mark.core
def test_on_one_machine_what_fills_no_round_is_counted(run_program):
    lines = run_program(
        _ALONE
        + """
for name in strategies:
    for size in (11, 32, 38):
        print(name, size, *train(name, size))
    print(name, "endless", *train(name, None, max_steps=3))
    print(name, "stopped", *train(name, None, hooks=[StopAt(2)]))
"""
    ).splitlines()
    expected = []
    for name, replicas in (
        ("none", 1),
        ("one device", 1),
        ("mirrored", 2),
        ("three", 3),
        ("central", 2),
    ):
        for size in (11, 32, 38):
            batches = -(-size // 4)
            steps, left = divmod(batches, replicas)
            examples = size - 4 * steps * replicas if left else 0
            expected.append(f"{name} {size} {steps} True {left} {examples}")
        expected += [f"{name} endless 3 False 0 0", f"{name} stopped 2 False 0 0"]
    assert lines == expected


@pytest.mark.slow
def test_on_one_machine_too_little_input_is_told_before_the_first_step(run_program):
    lines = run_program(
        _ALONE
        + """
for size in (0, 3, 7):
    try:
        train("three", size)
    except ValueError as error:
        print(error)
try:
    rounds = train_in_rounds(
        Mine(model_fn, "m", RunConfig(train_distribute=strategies["mirrored"]), {"rate": 0.1}),
        lambda: ({"x": tf.zeros([4, 2])}, tf.zeros([4])),
    )
    rounds.estimator.train(rounds.input_fn, hooks=rounds.hooks([]))
except ValueError as error:
    print(error)
"""
    ).splitlines()
    assert lines == [
        "the training input gave no batch; check the files and the filters of the input_fn of the "
        "TrainSpec (train_and_evaluate.train_input_fn)",
        "the training input has 1 of the 3 batches that its replicas take in one step; give more "
        "data or smaller batches",
        "the training input has 2 of the 3 batches that its replicas take in one step; give more "
        "data or smaller batches",
        "RunConfig.train_distribute needs a training input_fn that returns a Dataset of tensors; "
        "leave train_distribute out, or return one",
    ]


@pytest.mark.slow
def test_rounds_train_to_the_same_weights(run_program):
    lines = run_program(
        _ALONE
        + """
def weights(in_rounds):
    config = RunConfig(
        model_dir=tempfile.mkdtemp(dir="."),
        train_distribute=strategies["mirrored"],
        tf_random_seed=1,
    )
    estimator = Mine(model_fn, config=config, params={"rate": 0.1})
    input_fn = lambda: tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(4)
    if in_rounds:
        rounds = train_in_rounds(estimator, input_fn)
        rounds.estimator.train(rounds.input_fn, hooks=rounds.hooks([]), max_steps=20)
        # What is trained in rounds evaluates without them.
        metrics = rounds.estimator.evaluate(input_fn, steps=2)
        assert metrics["global_step"] == 20, metrics
    else:
        estimator.train(input_fn, max_steps=20)
    return [*estimator.get_variable_value("w"), estimator.get_variable_value("b")]

print(weights(True) == weights(False))
"""
    ).splitlines()
    assert lines == ["True"]


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.parametrize(
    ("sizes", "average", "steps", "left_out"),
    [
        ([40, 22], False, 6, [4, 16]),
        ([22, 40], True, 6, [4, 16]),
        ([40, 24, 30], False, 6, [6, 22]),
        ([None, 12], False, 3, [0, 0]),
    ],
    ids=["worker first", "chief first", "three", "endless"],
)
def test_workers_stop_together_when_the_input_of_one_ends(
    sizes, average, steps, left_out, run_cluster
):
    results = run_cluster(sizes=sizes, average=average, save=4)
    assert results[0].pop("step") == steps
    for result in results:
        assert result == {
            "input_ended": True,
            "left_out": left_out,
            "asked_by": [],
            "warnings": [],
        }


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.parametrize(
    ("case", "step", "by"),
    [
        ({"hook_stops": 1}, 4, ["worker 0"]),
        ({"model_stops": 1}, 4, ["worker 0"]),
        ({"listener": True, "save": 2}, 5, ["chief"]),
        ({"hook_stops": 0, "max_steps": 3}, 3, []),
    ],
    ids=["a hook", "a hook of the model_fn", "a listener", "max_steps"],
)
def test_what_stops_one_worker_stops_all_after_the_same_step(case, step, by, run_cluster):
    results = run_cluster(sizes=[None, None], **case)
    assert results[0]["step"] == step
    for result in results:
        assert (result["input_ended"], result["asked_by"]) == (False, by)
        assert result["left_out"] == [0, 0]


@pytest.mark.slow
def test_an_empty_input_is_told_by_all_before_the_first_step(run_cluster):
    error = (
        "the training input of worker 0 gave no batch; check the files, the filters and the shards "
        "of the input_fn of the TrainSpec (train_and_evaluate.train_input_fn)"
    )
    assert run_cluster(sizes=[40, 0]) == [{"error": error}] * 2


@pytest.mark.slow
def test_an_input_that_fails_in_one_worker_keeps_no_other_waiting(run_cluster):
    chief, worker = run_cluster(sizes=[40, "broken"])
    assert chief == {"error": "the training input of worker 0 failed; its own log says why"}
    assert worker["error"] != chief["error"]


@pytest.mark.slow
@pytest.mark.core
def test_workers_that_read_the_same_are_told_to_shard(run_cluster):
    chief, worker = run_cluster(sizes=[40, 40], skip=0)
    assert chief["warnings"] == [
        "chief and worker 0 began with the same batch, so they may read the same examples; let the "
        "input_fn take `input_context` and shard by it "
        "(dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id))"
    ]
    assert worker["warnings"] == []
    assert chief["step"] == 10
