"""`genever launch local`: real clusters here, what they leave behind, and their ports."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

DEADLINE_SECS = 180

# A stand-in for the tasks' program: what a launcher does needs no TensorFlow.
TASK = """
import json, os, signal, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
name = f"{task['type']}-{task['index']}"
print("hello from", name, flush=True)
seen = f"{name}.starts"
starts = 1 + (int(open(seen).read()) if os.path.exists(seen) else 0)
open(seen, "w").write(str(starts))
do = json.loads(os.environ["DO"]).get(name, ["exit 0"])
what = do[min(starts, len(do)) - 1]
if what == "wait":
    def leave(number, frame):
        print(name, "saves", flush=True)
        sys.exit(128 + number)
    signal.signal(signal.SIGTERM, leave)
    time.sleep(120)
    sys.exit(99)
if what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(120)
if what == "die":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(float(os.environ.get("TAKES", "0")))
sys.exit(int(what.split()[1]))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "task.py").write_text(TASK)
    return tmp_path


def launch(folder, *arguments, do=None, flags=(), takes=0.0):
    """Starts a launcher whose tasks run the stand-in, by `genever run`."""
    return subprocess.Popen(
        [sys.executable, "-m", "genever", "launch", "local", *flags, *arguments]
        + ["--", "run", "task.py", "--model_dir=model"],
        cwd=folder,
        env={**os.environ, "DO": json.dumps(do or {}), "TAKES": str(takes)},
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
    return process.returncode, output


def state(folder, model_dir="model"):
    return json.loads((folder / model_dir / "launch.json").read_text())


def wait_for(condition, secs=60):
    deadline = time.monotonic() + secs
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise AssertionError(f"it did not happen within {secs} s")


def pids(folder, model_dir="model"):
    tasks = state(folder, model_dir)["tasks"].values()
    return [int(n) for how in tasks for n in re.findall(r"pid (\d+)", how)]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_every_task_has_its_place_its_log_and_its_lines(folder):
    code, output = finish(launch(folder, "--worker=2", "--ps=1", "--evaluator"))
    assert code == 0, output
    for name in ("chief", "worker", "ps", "evaluator"):
        assert f"[{name} 0] hello from {name}-0" in output
    assert "[worker 1] hello from worker-1" in output
    assert (folder / "model/logs/worker-1.log").read_text() == "hello from worker-1\n"
    assert state(folder)["ended"] == "done"
    assert set(state(folder)["tasks"].values()) == {"done"}


def test_what_a_signal_ended_is_started_again(folder):
    do = {"worker-0": ["die", "exit 143", "exit 171", "exit 0"]}
    code, output = finish(launch(folder, "--worker=1", do=do, takes=3))
    assert code == 0, output
    for ended in (137, 143, 171):
        assert f"worker 0 ended with exit code {ended} and is started again" in output
    assert (folder / "worker-0.starts").read_text() == "4"
    assert (folder / "chief-0.starts").read_text() == "1"


def test_after_so_many_starts_it_is_enough(folder):
    do = {"worker-0": ["die"], "chief-0": ["wait"]}
    code, output = finish(launch(folder, "--worker=1", "--max_restarts=2", do=do))
    assert code == 137, output
    assert "worker 0 ended with exit code 137 after 3 starts" in output
    assert "chief-0 saves" in output


def test_a_failure_ends_the_others_and_is_the_exit_code(folder):
    do = {"chief-0": ["wait"], "ps-0": ["wait"], "worker-0": ["exit 3"]}
    code, output = finish(launch(folder, "--worker=1", "--ps=1", do=do))
    assert code == 3, output
    assert "worker 0 failed with exit code 3; the others are ended" in output
    assert "chief-0 saves" in output and "ps-0 saves" in output
    assert not any(map(is_running, pids(folder)))


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_with_time_to_save(folder, number, expected):
    process = launch(folder, "--worker=1", do={"chief-0": ["wait"], "worker-0": ["wait"]})
    wait_for(lambda: (folder / "worker-0.starts").exists() and (folder / "chief-0.starts").exists())
    time.sleep(1.0)
    process.send_signal(number)
    code, output = finish(process)
    assert code == expected, output
    assert "chief-0 saves" in output and "worker-0 saves" in output


def test_who_does_not_end_in_time_is_killed(folder):
    flags = ("--grace_secs=2",)
    process = launch(folder, do={"chief-0": ["stubborn"]}, flags=flags)
    wait_for(lambda: (folder / "chief-0.starts").exists())
    time.sleep(1.0)
    (pid,) = pids(folder)
    process.send_signal(signal.SIGTERM)
    code, output = finish(process)
    assert code == 143, output
    assert not is_running(pid)


def test_no_task_outlives_a_launcher_that_is_killed(folder):
    process = launch(folder, "--worker=1", do={"chief-0": ["stubborn"], "worker-0": ["stubborn"]})
    wait_for(lambda: (folder / "worker-0.starts").exists() and (folder / "chief-0.starts").exists())
    tasks = pids(folder)
    assert len(tasks) == 2 and all(map(is_running, tasks))
    process.kill()
    process.communicate(timeout=30)
    wait_for(lambda: not any(map(is_running, tasks)), secs=10)


def test_in_the_background_it_is_asked_how_it_is_and_cancelled(folder):
    genever = [sys.executable, "-m", "genever", "launch", "local"]

    def call(*arguments):
        return subprocess.run(
            [*genever, *arguments],
            cwd=folder,
            env={**os.environ, "DO": json.dumps({"chief-0": ["wait"], "worker-0": ["wait"]})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    command = ("--", "run", "task.py", "--model_dir=model")
    submitted = call("--worker=1", "--submit", *command)
    assert submitted.stdout == "model\n", submitted.stderr
    wait_for(lambda: (folder / "worker-0.starts").exists() and (folder / "chief-0.starts").exists())
    assert call("--status=model").stdout.startswith("model: running\n  chief 0: running, pid ")
    assert "[chief-0] hello from chief-0" in call("--logs=model").stdout
    assert call("--logs=model", "--task=worker:0").stdout == "hello from worker-0\n"
    again = call("--submit", *command)
    assert again.returncode == 2 and "a job runs in model already" in again.stderr
    assert call("--cancel=model").returncode == 0
    wait_for(lambda: "ended with exit code 143" in call("--status=model").stdout, secs=60)
    assert call("--cancel=model").returncode == 2
    assert "there is no job in nowhere" in call("--status=nowhere").stderr


def test_without_a_model_dir_there_is_no_place_for_logs(folder):
    done = subprocess.run(
        [sys.executable, "-m", "genever", "launch", "local", "--", "train", "--gin_file=a.gin"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "give a local --model_dir in the command after --" in done.stderr


def listening_ports():
    ports = set()
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(path).read_text().splitlines()[1:]:
            _, local, _, status, *_ = line.split()
            if status == "0A":
                ports.add(int(local.rsplit(":", 1)[1], 16))
    return ports


def ports_of(pid):
    """The ports of the cluster, as the environment of a task of it has them."""
    for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if variable.startswith(b"TF_CONFIG="):
            cluster = json.loads(variable.partition(b"=")[2])["cluster"]
            return {int(a.rpartition(":")[2]) for tasks in cluster.values() for a in tasks}
    return set()


@pytest.mark.slow
def test_a_whole_cluster_trains_and_none_of_its_ports_is_seen_from_outside(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "genever", "launch", "local", "--worker=2", "--ps=2", "--evaluator"]
        + ["--", "train", "--gin_file=linear_regression.gin", f"--model_dir={tmp_path}"]
        + ["--gin_param", "EvalSpec.exporters = [@FinalExporter()]"]
        + ["--gin_param", "FinalExporter.name = 'final'"]
        + ["--gin_param", "serving_input_receiver_fn.schema = @Schema()"]
        + [
            "--gin_param",
            "FinalExporter.serving_input_receiver_fn = @serving_input_receiver_fn()",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seen, own = set(), set()
    try:
        deadline = time.monotonic() + DEADLINE_SECS
        while process.poll() is None and time.monotonic() < deadline:
            seen |= listening_ports()
            if not own and (tmp_path / "launch.json").exists():
                own = ports_of(pids(tmp_path.parent, tmp_path.name)[-1])
            time.sleep(0.2)
    finally:
        code, output = finish(process)
    assert code == 0, output
    if "are open to whoever" in output:
        if os.environ.get("GENEVER_TEST_WITHOUT_NAMESPACES") == "1":
            pytest.skip("GENEVER_TEST_WITHOUT_NAMESPACES is 1")
        pytest.fail(f"this system gives no network of its own, so isolation is not shown: {output}")
    assert len(own) == 6
    assert not seen & own, f"ports seen from outside: {seen & own}"
    import tensorflow as tf

    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(tmp_path)))
    np.testing.assert_allclose(reader.get_tensor("linear/weights"), [1.0, 2.0], atol=1e-3)
    assert (tmp_path / "export" / "final").is_dir()
    assert output.count("is done") >= 4
    # The table is looked at in the right way.
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] in listening_ports()
