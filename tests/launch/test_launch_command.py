"""`genever launch` itself: its flags, its command, and what it says of mistakes."""

import subprocess
import sys

import pytest
from genever.launch.command_line import run
from genever.launch.launch_command import SCHEDULERS, Launch
from genever.launch.schedulers import kubernetes
from genever.launch.schedulers.scheduler import Job

TRAIN = ["--", "train", "--gin_file", "configs/Wide_deep.v2.gin"]


class Notes:
    """A scheduler that notes what it is asked."""

    def __init__(self):
        self.asked = []

    def dry_run(self, job):
        self.asked.append(("dry_run", job))
        return "the script"

    def submit(self, job):
        self.asked.append(("submit", job))
        return "job/7"

    def status(self, job_id):
        self.asked.append(("status", job_id))
        return "running"

    def logs(self, job_id, task=None):
        self.asked.append(("logs", job_id, task))
        yield from ("line 1", "line 2")

    def cancel(self, job_id):
        self.asked.append(("cancel", job_id))


@pytest.fixture
def notes(monkeypatch):
    scheduler = Notes()
    monkeypatch.setattr(kubernetes, "make", lambda values: scheduler)
    return scheduler


def launch(capsys, *arguments, expect=0):
    code = run(["genever", "launch", *arguments])
    printed = capsys.readouterr()
    assert code == expect, printed.err
    return printed.err.strip() if expect else printed.out.strip()


def test_the_job_that_a_scheduler_gets(notes, capsys):
    flags = ["--worker", "2", "--ps=1", "--evaluator", "--name", "my-run"]
    assert launch(capsys, "kubernetes", *flags, *TRAIN, "--", "--slope", "3") == "the script"
    [(action, job)] = notes.asked
    assert action == "dry_run"
    command = ("train", "--gin_file", "configs/Wide_deep.v2.gin", "--", "--slope", "3")
    counts = {"chief": 1, "worker": 2, "ps": 1, "evaluator": 1}
    assert job == Job("my-run", command, counts)
    assert list(job.counts) == ["chief", "worker", "ps", "evaluator"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["train", "--gin_file", "configs/Wide_deep.v2.gin"], "wide-deep-v2"),
        (["train", "--gin_file=a.gin", "--gin_file=/b/c.gin"], "c"),
        (["train", "--gin_file", "2026_run.gin"], "run"),
        (["train", "--gin_file", "x" * 60 + ".gin"], "x" * 40),
        (["train"], "genever"),
    ],
)
def test_a_job_is_called_after_its_gin_file(notes, capsys, command, name):
    launch(capsys, "kubernetes", "--dry_run", "--", *command)
    assert notes.asked == [("dry_run", Job(name, tuple(command), {"chief": 1}))]


def test_every_action(notes, capsys):
    assert launch(capsys, "kubernetes", "--submit", *TRAIN) == "job/7"
    assert launch(capsys, "kubernetes", "--status", "job/7") == "running"
    assert launch(capsys, "kubernetes", "--logs", "job/7") == "line 1\nline 2"
    assert launch(capsys, "kubernetes", "--logs", "job/7", "--task", "ps:1") == "line 1\nline 2"
    assert launch(capsys, "kubernetes", "--logs", "job/7", "--task", "chief") == "line 1\nline 2"
    assert launch(capsys, "kubernetes", "--cancel", "job/7") == "job/7: cancelled"
    assert [each[0] for each in notes.asked[:2]] == ["submit", "status"]
    assert notes.asked[1:] == [
        ("status", "job/7"),
        ("logs", "job/7", None),
        ("logs", "job/7", ("ps", 1)),
        ("logs", "job/7", ("chief", 0)),
        ("cancel", "job/7"),
    ]


def test_a_scheduler_that_runs_jobs_itself_does_so_without_an_action(notes, capsys):
    notes.run = lambda job: 143
    launch(capsys, "kubernetes", *TRAIN, expect=143)
    assert notes.asked == []
    assert launch(capsys, "kubernetes", "--dry_run", *TRAIN) == "the script"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "'launch' needs a scheduler first: local, slurm, kubernetes"),
        (["--worker", "2", *TRAIN], "'launch' needs a scheduler first"),
        (["kubernets", *TRAIN], "there is no scheduler 'kubernets'; did you mean 'kubernetes'?"),
        (["yarn", *TRAIN], "there is no scheduler 'yarn'; the schedulers are local, slurm, kub"),
        (["kubernetes"], "the command of the tasks stands after --; write -- train --gin_file"),
        (["kubernetes", "train"], "'train' is no flag; the command of the tasks stands after --"),
        (
            ["kubernetes", "train", "--gin_file", "F.gin"],
            "Unknown command line flag 'gin_file'; the command of the tasks stands after --",
        ),
        (["kubernetes", "F.gin", *TRAIN], "'F.gin' is no flag; write -- train --gin_file F.gin"),
        (["kubernetes", "--"], "there is no command after --; write -- train --gin_file"),
        (["kubernetes", "--", "--gin_file", "F.gin"], "'--gin_file' after -- is no command"),
        (["kubernetes", "--", "trian"], "'trian' after -- is no command that a task can run; did"),
        (["kubernetes", "--", "launch", "local"], "'launch' after -- is no command that a task"),
        (["kubernetes", "--worker", "-1", *TRAIN], "flag --worker=-1"),
        (["kubernetes", "--ps", "two", *TRAIN], "flag --ps=two"),
        (["kubernetes", "--evaluator", "2", *TRAIN], "--evaluator takes no number ('2')"),
        (["kubernetes", "--wroker", "1", *TRAIN], "Unknown command line flag 'wroker'. Did you"),
        (
            ["kubernetes", "--name", "my_run", *TRAIN],
            "--name: my_run is no name; write letters, digits",
        ),
        (["kubernetes", "--submit", "--dry_run", *TRAIN], "--dry_run and --submit exclude each"),
        (["kubernetes", "--status", "a", "--cancel", "a"], "--status and --cancel exclude each"),
        (["kubernetes", "--status", ""], "--status needs the id that --submit printed"),
        (["kubernetes", "--logs", "a", *TRAIN], "--logs takes the id of a job and no command"),
        (["kubernetes", "--logs", "a", "--task", "boss:1"], "--task: 'boss:1' is no task; write"),
        (["kubernetes", "--logs", "a", "--task", "ps:x"], "--task: 'ps:x' is no task; write type"),
        (["kubernetes", "--task", "ps:1", *TRAIN], "--task has a meaning only with --logs"),
    ],
)
def test_a_mistake_is_one_sentence(notes, capsys, arguments, sentence):
    said = launch(capsys, *arguments, expect=2)
    assert sentence in said
    assert said.startswith("genever: error: ")
    assert len(said.splitlines()) == 1
    assert notes.asked == []


def test_help_shows_the_flags_of_launch_and_of_the_scheduler(capsys):
    text = launch(capsys, "--help")
    assert "usage: genever launch local|slurm|kubernetes [flags] -- train --gin_file" in text
    assert "--worker" in text
    assert "--image" not in text
    text = launch(capsys, "kubernetes", "--help")
    assert "usage: genever launch kubernetes [flags] -- train" in text
    assert "--worker" in text
    assert "--image" in text
    assert run(["genever", "--help"]) == 0
    assert f"  launch   {Launch.summary}\n" in capsys.readouterr().out


def test_every_scheduler_has_flags_of_its_own(capsys):
    for name in SCHEDULERS:
        assert f"usage: genever launch {name} " in launch(capsys, name, "--help")


def test_launch_imports_no_tensorflow():
    code = (
        "import sys; from genever.launch.command_line import run; "
        "run(['genever', 'launch', 'kubernetes', '--image', 'run', '--', 'train']); "
        "sys.exit('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "kind: TFJob" in done.stdout
