"""`genever launch slurm` on a real Slurm of four nodes, started here for these tests.

GENEVER_TEST_WITHOUT_SLURM=1 leaves them out where Slurm can be neither found nor installed.
"""

import importlib.util
import os
import stat
import sys
import time
from pathlib import Path

import genever
import pytest
import tensorflow as tf
from genever.launch.ledger import Ledger
from genever.launch.slurm_environment import read_hosts

pytestmark = pytest.mark.slow

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
# Stands in for Python: what the tasks do is told by the name of the gin file.
TASKS = """\
#!/bin/bash
echo "rank $SLURM_PROCID, restart ${SLURM_RESTART_COUNT:-0}: $5"
case "$SLURM_PROCID:$5:${SLURM_RESTART_COUNT:-0}" in
    1:permanent:*) exit 2 ;;
    1:lost:0) kill -9 $$ ;;
    1:always:*) exit 171 ;;
    [02]:lost:0 | [02]:always:*) sleep 1; exit 171 ;;
    *:permanent:* | *:preempted:0 | *:late:0 | *:cancelled:*)
        trap 'sleep $SLURM_PROCID; exit 143' TERM
        for i in $(seq 600); do sleep 0.1; done ;;
esac
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if os.environ.get("GENEVER_TEST_WITHOUT_SLURM") == "1":
        pytest.skip("GENEVER_TEST_WITHOUT_SLURM is 1")
    file = Path(__file__).with_name("slurm_cluster.py")
    spec = importlib.util.spec_from_file_location("slurm_cluster", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.slurm_cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def launch(cluster, *arguments, cwd="/", expect=0):
    command = [sys.executable, "-m", "genever", "launch", "slurm", *arguments]
    done = cluster.run(*command, cwd=cwd)
    assert done.returncode == expect, done.stderr
    return done.stderr.strip() if expect else done.stdout.strip()


@pytest.fixture(scope="module")
def jobs(cluster, tmp_path_factory):
    """Jobs that end in several ways, side by side: folder and id of each, by how it ends."""
    folder = tmp_path_factory.mktemp("jobs")
    python = folder / "python"
    python.write_text(TASKS)
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    found = {}
    for how in ("late", "permanent", "lost", "always", "preempted", "cancelled"):
        logs = folder / how
        flags = [f"--log_dir={logs}", f"--python={python}", "--grace_secs=4", "--max_requeues=2"]
        flags += ["--time=1"] if how == "late" else []
        job_id = launch(cluster, "--worker=2", *flags, "--submit", "--", "train", "--gin_file", how)
        found[how] = (logs, job_id)
    for how in ("preempted", "cancelled"):
        logs, job_id = found[how]
        await_files(logs, f"slurm-{job_id}-*-*.log", 3)
        if how == "cancelled":
            assert launch(cluster, f"--cancel={job_id}") == f"{job_id}: cancelled"
        else:
            assert cluster.run("scancel", "--signal=TERM", job_id).returncode == 0
    return found


def await_files(folder, pattern, count, timeout=60):
    deadline = time.monotonic() + timeout
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < deadline, f"{pattern} in {folder} did not come"
        time.sleep(0.2)


def ended(cluster, jobs, how):
    """How the job has ended: state, exit code and signal, restarts; and its exit codes by task."""
    logs, job_id = jobs[how]
    job = cluster.wait(job_id, ENDED, timeout=120)
    codes = {
        file.stem.removeprefix(f"slurm-{job_id}-"): int(file.read_text())
        for file in logs.glob("*.exit")
    }
    return (job["JobState"], job["ExitCode"], int(job["Restarts"])), codes


def restarts_of(jobs, how):
    logs, job_id = jobs[how]
    return (logs / f"slurm-{job_id}-worker-0.log").read_text().split("\n")[:-1]


def test_a_permanent_failure_ends_all_and_its_code_counts(cluster, jobs):
    state, codes = ended(cluster, jobs, "permanent")
    assert state == ("FAILED", "2:0", 0)
    assert codes["worker-0"] == 2
    assert codes["chief-0"] == codes["worker-1"] == 143


def test_a_lost_task_is_worth_a_retry(cluster, jobs):
    state, codes = ended(cluster, jobs, "lost")
    assert state == ("COMPLETED", "0:0", 1)
    assert codes == {"chief-0": 0, "worker-0": 0, "worker-1": 0}
    assert restarts_of(jobs, "lost") == ["rank 1, restart 0: lost", "rank 1, restart 1: lost"]


def test_a_preempted_job_is_requeued_when_all_have_saved(cluster, jobs):
    state, codes = ended(cluster, jobs, "preempted")
    assert state == ("COMPLETED", "0:0", 1)
    assert set(codes.values()) == {0}
    logs, job_id = jobs["preempted"]
    said = (logs / f"slurm-{job_id}.log").read_text()
    assert "the tasks ended with exit code 143" in said
    assert f"requeueing job {job_id}" in said


def test_retries_come_to_an_end(cluster, jobs):
    state, codes = ended(cluster, jobs, "always")
    assert state == ("FAILED", "171:0", 2)
    assert len(restarts_of(jobs, "always")) == 3
    logs, job_id = jobs["always"]
    said = (logs / f"slurm-{job_id}.log").read_text()
    assert said.endswith("requeued 2 times already, which is --max_requeues; not once more\n")


def test_a_cancelled_job_stays_cancelled(cluster, jobs):
    (state, _, restarts), codes = ended(cluster, jobs, "cancelled")
    assert (state, restarts) == ("CANCELLED", 0)
    assert set(codes.values()) == {143}


def test_status_and_logs(cluster, jobs):
    ended(cluster, jobs, "permanent")
    logs, job_id = jobs["permanent"]
    assert launch(cluster, f"--status={job_id}").split("\n") == [
        f"{job_id}: FAILED (exit code 2)",
        "  chief 0: ended with exit code 143",
        "  worker 0: ended with exit code 2",
        "  worker 1: ended with exit code 143",
    ]
    line = "rank 2, restart 0: permanent"
    assert launch(cluster, f"--logs={job_id}", "--task=worker:1").split("\n")[0] == line
    assert f"[worker-1] {line}" in launch(cluster, f"--logs={job_id}").split("\n")
    said = launch(cluster, f"--logs={job_id}", "--task=ps:0", expect=2)
    assert f"--task: ps:0 of job {job_id} has written nothing yet" in said


def test_a_job_that_slurm_does_not_know(cluster, jobs):
    said = launch(cluster, "--status=4711", expect=2)
    assert "Slurm knows no job 4711 any more; --log_dir DIR shows how its tasks ended" in said


def test_what_slurm_refuses_is_a_sentence(cluster, tmp_path):
    command = ["--", "train", "--gin_file", "run.gin"]
    said = launch(
        cluster, f"--log_dir={tmp_path}", "--partition=fast", "--submit", *command, expect=2
    )
    assert said.startswith("genever: error: `sbatch`: ")
    assert "invalid partition specified: fast" in said
    assert "\n" not in said


@pytest.mark.parametrize("text", ["n[1-3,07]", "n2,n10,n9", "n[08-11]", "r[1-2]n[3-4]"])
def test_hosts_are_read_as_slurm_reads_them(cluster, text):
    assert read_hosts(text) == cluster.run("scontrol", "show", "hostnames", text).stdout.split()


def test_a_linear_model_on_parameter_servers(cluster, tmp_path):
    model_dir = tmp_path / "a model's folder"
    job_id = launch(
        cluster,
        *("--worker=1", "--ps=1", "--evaluator", "--nodes=4", "--time=10", "--cpus_per_task=1"),
        *("--submit", "--", "train", "--gin_file", "linear_regression.gin"),
        *("--model_dir", model_dir.name),
        cwd=tmp_path,
    )
    job = cluster.wait(job_id, ENDED, timeout=300)
    said = launch(cluster, f"--logs={job_id}")
    assert (job["JobState"], job["NumNodes"]) == ("COMPLETED", "4"), said
    assert launch(cluster, f"--status={job_id}").split("\n")[1:] == [
        f"  {task} 0: ended with exit code 0" for task in ("chief", "worker", "ps", "evaluator")
    ]
    weights = tf.train.load_checkpoint(str(model_dir))
    values = {n: weights.get_tensor(n) for n in weights.get_variable_to_shape_map()}
    [weight] = [v for v in values.values() if v.size == 2]
    assert weight.ravel() == pytest.approx([1, 2], abs=1e-3)
    assert any(v.size == 1 and v.ravel() == pytest.approx([3], abs=1e-3) for v in values.values())
    step = Ledger(str(model_dir)).last("trained")["step"]
    assert step >= 500
    assert Ledger(str(model_dir), ("evaluator", 0)).last("evaluated")["step"] == step


def test_flights_on_four_tasks_go_on_after_a_requeue(cluster, tmp_path):
    run = tmp_path / "run.gin"
    run.write_text(
        "include 'flights_wide_deep.gin'\n"
        "include 'strategies/multi_worker_mirrored.gin'\n"
        "STEPS = 400\n"
        "RunConfig.save_checkpoints_steps = 100\n"
        "train_and_evaluate.eval_every_steps = 1000\n"
        "train/reader_input_fn.batch_size = 96\n"
        "train/reader_input_fn.shuffle_buffer_size = 1000\n"
    )
    model_dir = tmp_path / "flights"
    job_id = launch(
        cluster,
        *("--worker=2", "--evaluator", "--nodes=2-4", "--submit"),
        *("--", "train", "--gin_file", str(run), "--model_dir", str(model_dir)),
    )
    ledger = Ledger(str(model_dir))
    deadline = time.monotonic() + 300
    while not any(r["event"] == "saved" and r["step"] >= 100 for r in ledger.records()):
        state = cluster.job(job_id)["JobState"]
        assert state not in ENDED, launch(cluster, f"--logs={job_id}")
        assert time.monotonic() < deadline, launch(cluster, f"--logs={job_id}")
        time.sleep(0.2)
    assert cluster.run("scancel", "--signal=TERM", job_id).returncode == 0
    job = cluster.wait(job_id, ENDED, timeout=400)
    said = launch(cluster, f"--logs={job_id}")
    assert (job["JobState"], job["Restarts"]) == ("COMPLETED", "1"), said
    started = [r["step"] for r in ledger.records() if r["event"] == "started"]
    assert len(started) == 2
    assert started[0] is None
    assert 100 <= started[1] < 400
    assert f"resuming from step {started[1]}" in said
    assert ledger.last("trained")["step"] == 400
    evaluated = Ledger(str(model_dir), ("evaluator", 0)).last("evaluated")
    assert evaluated["step"] == 400
    assert evaluated["examples"] == len(genever.input_fns.flights_frame("eval"))
    assert evaluated["metrics"]["auc"] > 0.6
    assert list((model_dir / "export" / "final").glob("*/saved_model.pb"))


def test_the_end_of_the_time_is_a_preemption(cluster, jobs):
    """Comes last, for Slurm's shortest time is a minute."""
    state, codes = ended(cluster, jobs, "late")
    assert state == ("COMPLETED", "0:0", 1)
    logs, job_id = jobs["late"]
    assert "the tasks ended with exit code 143" in (logs / f"slurm-{job_id}.log").read_text()
