"""What goes wrong between tasks ends all of them, with a sentence that says what."""

import json
import os
import socket
import subprocess
import sys

import pytest
from genever.launch.local_cluster import free_ports

DEADLINE_SECS = 120
MULTI_WORKER = "RunConfig.train_distribute = @MultiWorkerMirroredStrategy()"


def start(cluster, kind, index, model_dir, *bindings):
    config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    command = [sys.executable, "-m", "genever", "train", "--gin_file", "linear_regression.gin"]
    command += ["--model_dir", str(model_dir)]
    command += [part for text in bindings for part in ("--gin_param", text)]
    return subprocess.Popen(
        command,
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process):
    try:
        output, _ = process.communicate(timeout=DEADLINE_SECS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode, output


@pytest.mark.slow
def test_a_port_in_use_is_named(tmp_path):
    with socket.create_server(("0.0.0.0", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        cluster = {"chief": [address], "ps": [f"127.0.0.1:{free_ports(1)[0]}"]}
        code, output = finish(start(cluster, "chief", 0, tmp_path))
    assert code == 2, output
    assert f"the server of chief 0 cannot listen at {address}: is its port in use" in output


@pytest.mark.slow
def test_tasks_with_different_clusters_are_told(tmp_path):
    chief, worker, other = (f"127.0.0.1:{port}" for port in free_ports(3))
    one = {"chief": [chief], "worker": [worker]}
    two = {"chief": [chief], "worker": [worker, other]}
    tasks = [
        start(one, "chief", 0, tmp_path, MULTI_WORKER),
        start(two, "worker", 0, tmp_path, MULTI_WORKER),
    ]
    (code, output), (worker_code, worker_output) = map(finish, tasks)
    assert code == 2, output
    assert "TF_CONFIG of worker 0 has another cluster" in output
    assert worker_code in (1, 2), worker_output
    assert "the chief failed" in worker_output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "bindings", "message"),
    [
        (
            {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]},
            (),
            "has 2 tasks that train and no ps, so that without a strategy each would train a model",
        ),
        (
            {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]},
            ("RunConfig.train_distribute = @ParameterServerStrategy()",),
            "the cluster of TF_CONFIG has none",
        ),
        (
            {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"]},
            (MULTI_WORKER,),
            "the cluster of TF_CONFIG has 1 ps",
        ),
        (
            {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]},
            ("RunConfig.train_distribute = @MirroredStrategy()",),
            "MirroredStrategy trains in one process",
        ),
    ],
)
def test_a_strategy_that_the_roles_do_not_fit_is_refused(cluster, bindings, message, tmp_path):
    code, output = finish(start(cluster, "chief", 0, tmp_path, *bindings))
    assert code == 2, output
    assert message in output
