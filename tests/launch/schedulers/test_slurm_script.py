"""The sbatch script, and what `genever launch slurm` says of mistakes; needs no Slurm."""

import os
import shlex
import subprocess
import sys

import pytest
from genever.launch.command_line import run

TRAIN = ["--", "train", "--gin_file", "run.gin", "--model_dir", "/models/m"]


def launch(capsys, *arguments, expect=0):
    code = run(["genever", "launch", "slurm", *arguments])
    printed = capsys.readouterr()
    assert code == expect, printed.err
    return printed.err.strip() if expect else printed.out


def options(text):
    """The #SBATCH options of a script, as a shell would read them."""
    marked = [line for line in text.split("\n") if line.startswith("#SBATCH ")]
    words = [shlex.split(line.removeprefix("#SBATCH "))[0] for line in marked]
    return dict(word.removeprefix("--").partition("=")[::2] for word in words)


def test_the_options_of_a_plain_job(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = launch(capsys, "--worker=2", "--ps=1", "--evaluator", *TRAIN)
    assert options(text) == {
        "job-name": "run",
        "ntasks": "5",
        "output": "/models/m/logs/slurm-%j.log",
        "open-mode": "append",
        "chdir": str(tmp_path),
        "signal": "TERM@150",
        "requeue": "",
    }
    assert "GENEVER_CLUSTER=chief=1,worker=2,ps=1,evaluator=1 " in text
    assert f"{sys.executable} -m genever train --gin_file run.gin --model_dir /models/m" in text
    assert "task chief-0 worker-0 worker-1 ps-0 evaluator-0" in text


def test_every_option(capsys):
    flags = [
        *("--nodes=2-3", "--partition=gpu", "--account=team", "--time=1-12:00:00", "--mem=16G"),
        *("--cpus_per_task=4", "--gpus_per_task=a100:1", "--sbatch=--qos=long"),
        *("--sbatch=--exclusive", "--log_dir=/logs/100% sure", "--norequeue", "--grace_secs=60"),
    ]
    text = launch(capsys, "--worker=2", "--name=my-run", *flags, *TRAIN)
    found = options(text)
    assert found.pop("chdir") == os.getcwd()
    assert found == {
        "job-name": "my-run",
        "ntasks": "3",
        "output": "/logs/100%% sure/slurm-%j.log",
        "open-mode": "append",
        "signal": "TERM@60",
        "no-requeue": "",
        "nodes": "2-3",
        "cpus-per-task": "4",
        "gpus-per-task": "a100:1",
        "partition": "gpu",
        "account": "team",
        "time": "1-12:00:00",
        "mem": "16G",
        "qos": "long",
        "exclusive": "",
    }
    srun = next(line for line in text.split("\n") if line.startswith("srun "))
    assert "--cpus-per-task=4" in srun
    assert "scontrol requeue" not in text


def test_setup_comes_before_the_tasks(capsys):
    setup = ["--setup", "module load cuda", "--setup", ". '/envs/my env/bin/activate'"]
    text = launch(capsys, *setup, *TRAIN)
    assert "\nset -e\nmodule load cuda\n. '/envs/my env/bin/activate'\nset +e\n" in text
    assert "\n    python -m genever train " in text
    assert text.index("module load") < text.index("\nsrun ")
    text = launch(capsys, *setup, "--python=/opt/py/bin/python3", *TRAIN)
    assert "\n    /opt/py/bin/python3 -m genever train " in text


def test_the_tasks_get_the_command_as_it_was_given(capsys, tmp_path):
    """Runs the script with programs of Slurm that only start the task."""
    words = ["a b", "it's", "$HOME", "`date`", "x; exit 3", "*", "\\", 'f("1")', "%j"]
    python = tmp_path / "my python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" "$GENEVER_CLUSTER" "$GENEVER_PORTS"\n')
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n')
    logs = tmp_path / "my $logs"
    logs.mkdir()
    for program in (python, srun):
        program.chmod(0o755)
    text = launch(
        capsys,
        *(f"--log_dir={logs}", f"--python={python}", "--norequeue", "--ports=3000-3100"),
        *("--", "train", *words),
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", text],
        env={**os.environ, "PATH": path, "SLURM_JOB_ID": "7", "SLURM_PROCID": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    written = (logs / "slurm-7-chief-0.log").read_text().split("\n")
    assert written == ["-m", "genever", "train", *words, "chief=1", "3000-3100", ""]
    assert (logs / "slurm-7-chief-0.exit").read_text() == "0\n"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--mem=16gb"], "--mem: '16gb' is no amount of memory; write such as 16G or 500M"),
        (["--time=1h"], "--time: '1h' is no time; write minutes, 8:00:00 or 2-12:00:00"),
        (["--nodes=0"], "--nodes: '0' is no number of nodes; write such as 2 or 2-4"),
        (["--nodes=4-2"], "--nodes: '4-2' ends before it begins"),
        (["--nodes=3", "--worker=1"], "--nodes: 3 nodes are more than the job has tasks, 2"),
        (["--gpus_per_task=0"], "--gpus_per_task: '0' is no number of GPUs; write such as 1 or"),
        (["--partition=a\n#SBATCH --x"], "--partition: 'a\\n#SBATCH --x' is no name of a partit"),
        (["--sbatch=qos=long"], "--sbatch: 'qos=long' is no option of sbatch; write such as --s"),
        (["--ports=22-30"], "--ports: '22-30' is no range of ports; write the first and the last"),
        (["--ports=3000-3001", "--ps=2"], "--ports: 3000-3001 are fewer ports than the job has "),
        (["--log_dir=a\\b"], "use no backslash"),
        (["--worker=-1"], "--worker"),
        (["--patition=gpu"], "Did you mean: partition"),
    ],
)
def test_a_mistake_is_a_sentence(capsys, flags, says):
    said = launch(capsys, *flags, *TRAIN, expect=2)
    assert says in said
    assert said.startswith("genever: error: ")
    assert "\n" not in said


def test_logs_need_a_folder(capsys):
    command = ["--", "train", "--gin_file", "run.gin"]
    said = launch(capsys, *command, expect=2)
    assert "--log_dir is missing, and the command has no --model_dir" in said
    said = launch(capsys, *command, "--model_dir=gs://bucket/m", expect=2)
    assert "Slurm cannot write logs to 'gs://bucket/m'; give a folder" in said
    text = launch(capsys, *command, "--model_dir=m")
    assert options(text)["output"] == f"{os.getcwd()}/m/logs/slurm-%j.log"


@pytest.mark.parametrize(
    ("flags", "program"),
    [
        (["--submit", *TRAIN], "sbatch"),
        (["--status=7"], "scontrol"),
        (["--logs=7"], "scontrol"),
        (["--cancel=7"], "scancel"),
    ],
)
def test_without_slurm(capsys, monkeypatch, tmp_path, flags, program):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = launch(capsys, f"--log_dir={tmp_path}", *flags, expect=2)
    assert f"there is no {program} on PATH; run this on a login node" in said


def test_an_id_is_a_number(capsys):
    said = launch(capsys, "--cancel", "-u root", expect=2)
    assert "'-u root' is no id of a job on Slurm, which is a number such as 4711" in said


def test_a_log_dir_that_cannot_be_made(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    said = launch(capsys, f"--log_dir={tmp_path}/file/logs", "--submit", *TRAIN, expect=2)
    assert f"--log_dir: '{tmp_path}/file/logs' cannot be made (Not a directory)" in said
