"""Two hosts, as network namespaces; the link between them goes down for a while and comes back.

Each host runs its task again when the exit code asks for it, as a cluster's supervisor does.
GENEVER_TEST_WITHOUT_NAMESPACES=1 leaves it out where the system gives no network namespaces.
"""

import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

DEADLINE_SECS = 300
DOWN_SECS = 30
HOSTS = ("10.203.77.1", "10.203.77.2")

HOOK = """
import time
import gin
import tensorflow as tf

@gin.configurable
class SlowHook(tf.compat.v1.train.SessionRunHook):
    def after_run(self, run_context, run_values):
        time.sleep(0.05)
"""

CONFIG = """
import link_hook
include 'linear_regression.gin'
TrainSpec.hooks = [@link_hook.SlowHook()]
TrainSpec.max_steps = 500
RunConfig.save_checkpoints_steps = 50
"""

MODES = {
    "multi-worker": (
        "RunConfig.train_distribute = @MultiWorkerMirroredStrategy()\n",
        [("chief", 0, 0), ("worker", 0, 1)],
    ),
    "parameter servers": ("", [("chief", 0, 0), ("ps", 0, 0), ("worker", 0, 1)]),
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)


@pytest.fixture
def hosts():
    """Returns for each host how to run a command on it."""
    if os.environ.get("GENEVER_TEST_WITHOUT_NAMESPACES") == "1":
        pytest.skip("GENEVER_TEST_WITHOUT_NAMESPACES is 1")
    missing = [name for name in ("ip", "unshare", "nsenter") if shutil.which(name) is None]
    if missing or os.geteuid():
        pytest.fail(f"this test needs root and {', '.join(missing) or 'iproute2, util-linux'}")
    holders = [
        subprocess.Popen(["unshare", "--net", "sleep", "1000"], start_new_session=True)
        for _ in HOSTS
    ]
    try:
        deadline = time.monotonic() + 20
        own = os.readlink("/proc/self/ns/net")
        while any(os.readlink(f"/proc/{h.pid}/ns/net") == own for h in holders):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        name = f"gv{os.getpid() % 100000}"
        pids = [str(holder.pid) for holder in holders]
        run(
            "ip",
            "link",
            "add",
            f"{name}a",
            "netns",
            pids[0],
            "type",
            "veth",
            "peer",
            "name",
            f"{name}b",
            "netns",
            pids[1],
        )
        enter = [["nsenter", "--net", "-t", pid] for pid in pids]
        for on, address, end in zip(enter, HOSTS, (f"{name}a", f"{name}b"), strict=True):
            run(*on, "ip", "link", "set", "lo", "up")
            run(*on, "ip", "address", "add", f"{address}/24", "dev", end)
            run(*on, "ip", "link", "set", end, "up")
        yield enter, f"{name}a"
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


class Supervised:
    """A task that is started again as long as its exit code asks for it."""

    def __init__(self, command, environment, log):
        self._command, self._environment, self._log = command, environment, log
        self.starts = 0
        self._start()

    def _start(self):
        self.starts += 1
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def code(self):
        """Returns the exit code once the task has ended for good."""
        code = self.process.poll()
        if code is not None and (code < 0 or code >= 128) and self.starts < 20:
            self._start()
            return None
        return code


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["multi-worker", pytest.param("parameter servers", marks=pytest.mark.nightly)]
)
def test_a_run_outlives_a_link_that_was_down(mode, hosts, tmp_path):
    enter, link = hosts
    strategy, tasks = MODES[mode]
    (tmp_path / "link_hook.py").write_text(HOOK)
    (tmp_path / "run.gin").write_text(CONFIG + strategy)
    cluster = {}
    for at, (kind, _, host) in enumerate(tasks):
        cluster.setdefault(kind, []).append(f"{HOSTS[host]}:{2222 + at}")
    model_dir = tmp_path / "model"
    supervised = []
    try:
        for kind, index, host in tasks:
            config = {"cluster": cluster, "task": {"type": kind, "index": index}}
            command = [*enter[host], sys.executable, "-u", "-m", "genever", "train"]
            command += ["--gin_file", str(tmp_path / "run.gin"), "--model_dir", str(model_dir)]
            environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
            supervised.append(Supervised(command, environment, tmp_path / f"{kind}.log"))
        deadline = time.monotonic() + DEADLINE_SECS
        while not list(model_dir.glob("model.ckpt-[1-9]*.index")):
            assert time.monotonic() < deadline, "training did not begin"
            time.sleep(0.2)
        run(*enter[0], "ip", "link", "set", link, "down")
        time.sleep(DOWN_SECS)
        run(*enter[0], "ip", "link", "set", link, "up")
        codes = [None]
        while None in codes and time.monotonic() < deadline:
            codes = [task.code() for task in supervised]
            time.sleep(0.2)
    finally:
        for task in supervised:
            if task.process.poll() is None:
                task.process.kill()
                task.process.wait()
    said = {kind: (tmp_path / f"{kind}.log").read_text() for kind, *_ in tasks}
    assert codes == [0] * len(tasks), said
    assert "max_steps 500 was reached" in said["chief"]
    if mode == "multi-worker":
        assert "is gone; start all tasks again" in said["chief"] + said["worker"]
    import tensorflow as tf

    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(model_dir)))
    np.testing.assert_allclose(reader.get_tensor("linear/weights"), [1.0, 2.0], atol=1e-3)
