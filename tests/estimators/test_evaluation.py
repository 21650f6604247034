"""Evaluation with several replicas gives one device's numbers; each program has four CPUs."""

import pytest

_PROGRAM = """
import sys

import numpy as np
import tensorflow as tf

import genever
from genever.estimators import CentralStorageStrategy, MirroredStrategy, RunConfig
from genever.estimators.devices import split_cpu
from genever.estimators.evaluation import evaluate

cpus = split_cpu("test", 4)
draw = np.random.RandomState(0)
X = draw.randn(41, 2).astype("float32")
C = np.array(list("abc"))[draw.randint(0, 3, 41)]
Y = ((X @ [1, 2] + draw.randn(41)) > 0.4).astype("int64")


def input_of(size):
    def input_fn():
        data = ({"x": X[:size], "c": C[:size]}, Y[:size])
        return tf.data.Dataset.from_tensor_slices(data).batch(4)

    return input_fn


def model_fn(features, labels, mode):
    v1 = tf.compat.v1
    weights = v1.get_variable("w", [2], initializer=v1.constant_initializer([0.5, 1.0]))
    logits = tf.linalg.matvec(features["x"], weights)
    score, truth = tf.sigmoid(logits), tf.cast(labels, tf.float32)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(truth, logits))
    metrics = train_op = None
    if mode == "train":
        step = v1.train.get_global_step()
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    else:
        metrics = more_metrics(labels, truth, score) if "more_metrics" in globals() else {}
        metrics["auc"] = v1.metrics.auc(labels, score)
        metrics["accuracy"] = v1.metrics.accuracy(labels, tf.cast(score > 0.5, tf.int64))
        metrics["sum"] = v1.metrics.mean(truth)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def mirrored(replicas):
    return MirroredStrategy(devices=cpus[:replicas])


def central(replicas):
    return CentralStorageStrategy(compute_devices=cpus[:replicas], parameter_device="/cpu:0")


known = {}


def agree(one, many, size, **arguments):
    key = (size, *arguments.items())
    if key not in known:
        known[key] = evaluate(one, input_of(size), **arguments)
    alone = known[key]
    together = evaluate(many, input_of(size), **arguments)
    batches = min(-(-size // 4), arguments.get("steps") or size)
    for done in (alone, together):
        assert (done.batches, done.examples) == (batches, min(size, 4 * batches)), (size, done)
    assert list(together.metrics) == list(alone.metrics), (alone, together)
    for name, value in alone.metrics.items():
        assert type(together.metrics[name]) is type(value), name
        np.testing.assert_allclose(together.metrics[name], value, 1e-5, 1e-7, err_msg=name)
    return alone, together
"""

_CANNED = {
    "v2 linear": "tf.estimator.LinearClassifier(columns, config=config)",
    "v1 linear": "tf.compat.v1.estimator.LinearClassifier(columns, config=config)",
    "v2 dnn linear": "tf.estimator.DNNLinearCombinedClassifier(linear_feature_columns=columns, "
    "dnn_feature_columns=dense, dnn_hidden_units=[4], config=config)",
    "v1 dnn linear": "tf.compat.v1.estimator.DNNLinearCombinedClassifier("
    "linear_feature_columns=columns, dnn_feature_columns=dense, dnn_hidden_units=[4], "
    "config=config)",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(range(1, 41), marks=pytest.mark.nightly),
        pytest.param((1, 4, 5, 12, 14), marks=pytest.mark.core),
    ],
)
def test_one_two_and_three_replicas_of_every_size(sizes, run_program):
    assert run_program(
        _PROGRAM
        + f"""
make = lambda strategy: tf.estimator.Estimator(
    model_fn, "m", RunConfig(eval_distribute=strategy)
)
one = make(None)
one.train(input_of(8), steps=1)
for replicas in (2, 3, 1):
    many = make(mirrored(replicas))
    # One replica is Estimator.evaluate itself.
    for size in {list(sizes)}[:: 5 if replicas == 1 else 1]:
        agree(one, many, size)
print("all agree")
""",
        timeout=500,
    ).endswith("all agree\n")


@pytest.mark.slow
@pytest.mark.core
def test_every_kind_of_metric(run_program):
    assert run_program(
        _PROGRAM
        + """
def more_metrics(labels, truth, score):
    keras, metrics = tf.keras.metrics, tf.compat.v1.metrics
    found = {
        "keras_auc": keras.AUC(),
        "keras_accuracy": keras.BinaryAccuracy(),
        "keras_rmse": keras.RootMeanSquaredError(),
    }
    for metric in found.values():
        metric.update_state(labels, score)
    found["keras_mean"] = keras.Mean()
    found["keras_mean"].update_state(score)
    guess = tf.cast(score > 0.5, tf.int64)
    precision, recall = metrics.precision(labels, guess), metrics.recall(labels, guess)
    found["f1"] = (
        2 * precision[0] * recall[0] / (precision[0] + recall[0]),
        tf.group(precision[1], recall[1]),
    )
    found["rmse"] = metrics.root_mean_squared_error(truth, score)
    found["per_class"] = metrics.mean_per_class_accuracy(labels, guess, 2)
    found["curve"] = metrics.precision_at_thresholds(tf.cast(labels, tf.bool), score, [0.3, 0.6])
    return found

make = lambda strategy: tf.estimator.Estimator(
    model_fn, "m", RunConfig(eval_distribute=strategy)
)
one = make(None)
one.train(input_of(8), steps=1)
for strategy in (mirrored(2), mirrored(3), central(2)):
    many = make(strategy)
    alone, _ = agree(one, many, 13)
    assert len(alone.metrics) == 13
    agree(one, many, 40, steps=3)
    agree(one, many, 8, steps=100)
print("all agree")
""",
        timeout=300,
    ).endswith("all agree\n")


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.parametrize("canned", list(_CANNED))
def test_canned_classifiers(canned, run_program):
    assert run_program(
        _PROGRAM
        + f"""
columns = [
    tf.feature_column.numeric_column("x", shape=(2,)),
    tf.feature_column.categorical_column_with_vocabulary_list("c", list("abc")),
]
dense = [columns[0], tf.feature_column.indicator_column(columns[1])]

def make(strategy):
    config = RunConfig(model_dir="m", eval_distribute=strategy)
    return {_CANNED[canned]}

one = make(None)
one.train(input_of(12), steps=3)
for strategy in (mirrored(2), mirrored(3), central(2)):
    many = make(strategy)
    for size in (9, 41):
        alone, _ = agree(one, many, size)
baseline = max(Y.mean(), 1 - Y.mean())
assert abs(alone.metrics["accuracy_baseline"] - baseline) < 1e-6, alone
print("all agree")
""",
        timeout=300,
    ).endswith("all agree\n")


@pytest.mark.slow
def test_wide_deep(run_program):
    assert run_program(
        _PROGRAM
        + """
import gin
from genever.estimators import Estimator, wide_deep
from genever.input_fns import Schema
from genever.launch.config import register

register()
gin.parse_config("wide_deep.optimizer = @AdamOptimizer\\nAdamOptimizer.learning_rate = 0.1")
features = {"c": {"vocabulary": ["a", "b", "c"]}, "x": {"shape": (2,)}, "y": {}}
gin.bind_parameter("wide_deep.schema", Schema(features, label="y"))
gin.bind_parameter("wide_deep.hidden_units", [4])
make = lambda strategy: Estimator(
    wide_deep, config=RunConfig(model_dir="m", tf_random_seed=1, eval_distribute=strategy)
)
one = make(None)
one.train(input_of(12), steps=3)
for strategy in (mirrored(2), central(3)):
    for size in (4, 13, 41):
        alone, _ = agree(one, make(strategy), size)
assert "auc" in alone.metrics
print("all agree")
"""
    ).endswith("all agree\n")


@pytest.mark.slow
@pytest.mark.core
def test_what_else_an_evaluation_does(run_program):
    printed = run_program(
        _PROGRAM
        + """
import glob, shutil
v1 = tf.compat.v1

class Watch(v1.train.SessionRunHook):
    def __init__(self):
        self.calls = []
    def begin(self):
        self.calls.append("begin")
    def after_run(self, run_context, run_values):
        self.calls.append("run")
        if len(self.calls) == STOP_AT:
            run_context.request_stop()
    def end(self, session):
        self.calls.append("end")

own = Watch()
def with_hook(features, labels, mode):
    spec = model_fn(features, labels, mode)
    def init(scaffold, session):
        print("init_fn was called")
    scaffold = v1.train.Scaffold(init_fn=init) if mode == "eval" else None
    return spec._replace(evaluation_hooks=[own], scaffold=scaffold)

config = RunConfig(model_dir="m", eval_distribute=mirrored(2))
many = tf.estimator.Estimator(with_hook, config=config)
one = tf.estimator.Estimator(model_fn, "m")
one.train(input_of(8), steps=2)
STOP_AT = None
watch = Watch()
done = evaluate(many, input_of(17), hooks=[watch], name="held_out")
print(watch.calls == own.calls == ["begin", "run", "run", "run", "end"], done.examples)
STOP_AT = 3
print(evaluate(many, input_of(17), hooks=[Watch()]).examples)

path = glob.glob("m/eval_held_out/events*")[0]
written = {}
for event in v1.train.summary_iterator(path):
    for value in event.summary.value:
        written[value.tag] = value.simple_value or value.tensor.string_val[0].decode()
        assert event.step == 2
print(sorted(written), written["checkpoint_path"])
print(abs(written["auc"] - done.metrics["auc"]) < 1e-6, done.metrics["global_step"])

# An old checkpoint, none at all, and one of another model to start from.
STOP_AT = None
one.train(input_of(8))
old = evaluate(many, input_of(17), checkpoint_path="m/model.ckpt-2")
print(old.metrics == done.metrics, evaluate(many, input_of(17)).metrics["global_step"])
fresh = RunConfig(model_dir="fresh", eval_distribute=mirrored(2))
start = evaluate(tf.estimator.Estimator(model_fn, config=fresh), input_of(17))
warm = tf.estimator.Estimator(model_fn, config=fresh, warm_start_from="m/model.ckpt-2")
print(start.metrics["loss"] != done.metrics["loss"], start.metrics["global_step"])
print(abs(evaluate(warm, input_of(17)).metrics["loss"] - done.metrics["loss"]) < 1e-6)

def context_input_fn(mode, params, config, input_context):
    print(mode, params, config.model_dir, input_context.num_input_pipelines,
          input_context.input_pipeline_id, input_context.num_replicas_in_sync)
    return input_of(17)()
aucs = [evaluate(many, fn).metrics["auc"] for fn in (context_input_fn, input_of(17))]
print(aucs[0] == aucs[1])
print(evaluate(many, input_of(0))[1:])
for wrong in (lambda: evaluate(many, lambda: (tf.zeros([2]), tf.zeros([2]))),
              lambda: evaluate(many, input_of(4), steps=0)):
    try:
        wrong()
    except ValueError as error:
        print(str(error).split("\\n")[0])
"""
    )
    lines = [line for line in printed.splitlines() if line != "init_fn was called"]
    assert lines == [
        "True 17",
        "16",
        "['accuracy', 'auc', 'checkpoint_path', 'loss', 'sum'] m/model.ckpt-2",
        "True 2",
        "True 4",
        "True 0",
        "True",
        "eval {} m 1 0 1",
        "True",
        "(0, 0)",
        "RunConfig.eval_distribute needs an evaluation input_fn that returns a Dataset of tensors; "
        "leave eval_distribute out, or return one",
        "steps is 0; it must be 1 or more, or None for all data",
    ]


@pytest.mark.slow
def test_a_metric_of_all_replicas_together_is_refused_where_it_cannot_be_exact(run_program):
    printed = run_program(
        _PROGRAM
        + """
def together(features, labels, mode):
    spec = model_fn(features, labels, mode)
    context = tf.distribute.get_replica_context()
    total = context.all_reduce(tf.distribute.ReduceOp.SUM, tf.reduce_sum(labels))
    metrics = {"total": tf.compat.v1.metrics.mean(total)} if mode == "eval" else None
    return spec._replace(eval_metric_ops=metrics)

config = RunConfig(model_dir="m", eval_distribute=mirrored(2))
many = tf.estimator.Estimator(together, config=config)
print(evaluate(many, input_of(16)).examples)
try:
    evaluate(many, input_of(17))
except ValueError as error:
    print(error)
"""
    )
    assert printed.splitlines() == [
        "16",
        "the metric 'total' is updated by all 2 replicas together, and the last round has 1 batch: "
        "leave RunConfig.eval_distribute out, or let the batches fill the rounds",
    ]
