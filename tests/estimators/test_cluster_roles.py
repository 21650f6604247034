"""What a strategy needs of the cluster in TF_CONFIG, said before anything starts."""

import json

import gin
import pytest
from genever.estimators import ParameterServerStrategy, RunConfig
from genever.estimators.cluster_roles import require_roles

pytestmark = pytest.mark.core

TWO = {"chief": ["a:1"], "worker": ["b:1"]}
WITH_PS = {**TWO, "ps": ["c:1", "d:1"]}


def set_task(monkeypatch, cluster, kind="chief"):
    config = {"cluster": cluster, "task": {"type": kind, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))


@pytest.mark.parametrize(
    ("strategy", "cluster"),
    [
        ("MultiWorkerMirroredStrategy", TWO),
        ("MultiWorkerMirroredStrategy", {"worker": ["a:1", "b:1"]}),
        ("ParameterServerStrategy", WITH_PS),
        *((name, {}) for name in ("MultiWorkerMirroredStrategy", "ParameterServerStrategy")),
        ("MirroredStrategy", {"chief": ["a:1"]}),
        ("MirroredStrategy", {"chief": ["a:1"], "evaluator": ["b:1"]}),
        ("OneDeviceStrategy", {"worker": ["a:1"]}),
    ],
)
def test_clusters_that_fit(strategy, cluster):
    require_roles(strategy, cluster)


@pytest.mark.parametrize(
    ("strategy", "cluster", "message"),
    [
        (
            "MultiWorkerMirroredStrategy",
            WITH_PS,
            r"TF_CONFIG has 2 ps: remove them from the cluster, or write @ParameterServerStrategy",
        ),
        (
            "ParameterServerStrategy",
            TWO,
            r"has none: add 'ps' to the cluster, or write @MultiWorkerMirroredStrategy\(\)",
        ),
        (
            "MirroredStrategy",
            TWO,
            r"one process, .* has 2 that train and 0 ps: write @MultiWorkerMirroredStrategy\(\)",
        ),
        (
            "CentralStorageStrategy",
            {"chief": ["a:1"], "ps": ["b:1"]},
            r"has 1 that train and 1 ps: write @ParameterServerStrategy\(\), or unset TF_CONFIG",
        ),
        ("OneDeviceStrategy", {"worker": ["a:1", "b:1"]}, "OneDeviceStrategy trains in one proc"),
        ("TPUStrategy", TWO, "TPUStrategy trains in one process"),
    ],
)
def test_clusters_that_do_not_fit(strategy, cluster, message):
    with pytest.raises(ValueError, match=message):
        require_roles(strategy, cluster)


def test_a_strategy_asks_when_it_is_made(monkeypatch):
    set_task(monkeypatch, TWO)
    with pytest.raises(ValueError, match="ParameterServerStrategy keeps its variables on ps tasks"):
        ParameterServerStrategy()


def test_a_strategy_of_one_process_may_evaluate_in_a_cluster_but_not_train(monkeypatch):
    set_task(monkeypatch, TWO)
    gin.parse_config("RunConfig.eval_distribute = @MirroredStrategy()")
    strategy = RunConfig().eval_distribute
    # TensorFlow would make replicas on the devices of all tasks.
    assert strategy.num_replicas_in_sync == 1
    for name, arguments in (
        ("MirroredStrategy", ""),
        ("CentralStorageStrategy", ""),
        ("OneDeviceStrategy", "OneDeviceStrategy.device = '/cpu:0'"),
    ):
        gin.clear_config()
        gin.parse_config(f"RunConfig.train_distribute = @{name}()\n{arguments}")
        with pytest.raises(ValueError, match=f"{name} trains in one process"):
            RunConfig()


def test_the_evaluator_has_no_training_strategy(monkeypatch):
    set_task(monkeypatch, WITH_PS, "evaluator")
    assert ParameterServerStrategy() is None
    gin.parse_config("RunConfig.train_distribute = @MultiWorkerMirroredStrategy()")
    set_task(monkeypatch, TWO, "evaluator")
    assert RunConfig().train_distribute is None


def test_evaluation_in_a_cluster_runs_in_one_process(monkeypatch):
    set_task(monkeypatch, WITH_PS)
    import tensorflow as tf

    strategy = ParameterServerStrategy()
    with pytest.raises(ValueError, match=r"eval_distribute = @ParameterServerStrategy\(\) cannot"):
        RunConfig(eval_distribute=strategy)
    assert RunConfig(train_distribute=strategy).train_distribute is strategy
    monkeypatch.delenv("TF_CONFIG")
    alone = tf.distribute.MirroredStrategy(["/cpu:0"])
    assert RunConfig(eval_distribute=alone).eval_distribute is alone


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "TF_CONFIG is not JSON"),
        ("[1]", r"TF_CONFIG is not a JSON object but '\[1\]'"),
        ('{"cluster": ["a:1"]}', "TF_CONFIG: 'cluster' and 'task' must be JSON objects, such as"),
    ],
)
def test_a_malformed_tf_config(monkeypatch, text, message):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=message):
        ParameterServerStrategy()


def test_multi_worker_in_a_task_of_a_cluster(run_program):
    printed = run_program("""
import json
import os

os.environ["TF_CONFIG"] = json.dumps({
    "cluster": {"chief": ["localhost:1"], "worker": ["localhost:2"]},
    "task": {"type": "worker", "index": 0}})
from genever.estimators import MirroredStrategy, MultiWorkerMirroredStrategy, RunConfig
import tensorflow as tf

strategy = MultiWorkerMirroredStrategy()
print(tf.executing_eagerly(), strategy.num_replicas_in_sync)
for arguments in ({"save_checkpoints_secs": 60}, {"eval_distribute": strategy}):
    try:
        RunConfig(train_distribute=strategy, **arguments)
    except ValueError as error:
        print(str(error).splitlines()[0])
config = RunConfig(train_distribute=strategy, eval_distribute=MirroredStrategy(logical_cpus=1))
print(config.train_distribute is strategy)
""").splitlines()
    # The session of an Estimator has no eager context, whose runtime swallows SIGTERM.
    assert printed[-4] == "False 2"
    assert printed[-3].startswith(
        "RunConfig.save_checkpoints_secs = 60: the clocks of the workers of a "
        "MultiWorkerMirroredStrategy differ, and all must save at the same step; set RunConfig."
    )
    assert printed[-2] == (
        "RunConfig.eval_distribute = @MultiWorkerMirroredStrategy() cannot work in a cluster, for "
        "evaluation runs in one process: write @MirroredStrategy(), or leave it out."
    )
    assert printed[-1] == "True"


@pytest.mark.slow
def test_the_parameter_server_strategy_of_tensorflow_2_is_refused(run_program):
    printed = run_program("""
import socket

import genever
import tensorflow as tf
from genever.estimators import RunConfig

sockets = [socket.socket() for _ in range(2)]
for one in sockets:
    one.bind(("localhost", 0))
ports = [one.getsockname()[1] for one in sockets]
for one in sockets:
    one.close()
spec = tf.train.ClusterSpec({
    "worker": [f"localhost:{ports[0]}"], "ps": [f"localhost:{ports[1]}"]})
servers = [tf.distribute.Server(spec, job, 0, protocol="grpc") for job in ("worker", "ps")]
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
try:
    RunConfig(train_distribute=strategy)
except ValueError as error:
    print(str(error).splitlines()[0], flush=True)
import os

os._exit(0)  # servers cannot be stopped
""")
    assert printed.splitlines()[-1] == (
        "RunConfig.train_distribute: no Estimator can use the ParameterServerStrategy of "
        "TensorFlow 2; write @ParameterServerStrategy(), which is "
        "tf.compat.v1.distribute.experimental.ParameterServerStrategy."
    )
