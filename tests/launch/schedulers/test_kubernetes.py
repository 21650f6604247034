"""`genever launch kubernetes` with a kubectl that notes what it is asked and answers as told."""

import json
import os
import sys

import pytest
import yaml
from genever.launch.command_line import run

KUBECTL = """#!{python} -S
import json, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
asked = dict(arguments=sys.argv[1:], stdin=sys.stdin.read())
with open(os.path.join(here, "asked"), "a") as file:
    file.write(json.dumps(asked) + chr(10))
for words, code, out, err in json.load(open(os.path.join(here, "answers"))):
    if all(word in sys.argv for word in words):
        sys.stdout.write(out)
        sys.stderr.write(err)
        sys.exit(code)
"""
TRAIN = ["--", "train", "--gin_file", "flights.gin"]
SELECTOR = "app.kubernetes.io/name=genever,app.kubernetes.io/instance=flights"


class Kubectl:
    """What the fake kubectl was asked, and what it is to answer."""

    def __init__(self, folder):
        self.folder = folder
        path = folder / "kubectl"
        path.write_text(KUBECTL.format(python=sys.executable))
        path.chmod(0o755)
        self.answers()

    def answers(self, *answers):
        """Each is (words of the command, exit code, stdout, stderr)."""
        (self.folder / "answers").write_text(json.dumps(answers))

    @property
    def asked(self):
        path = self.folder / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return Kubectl(tmp_path)


def launch(capsys, *arguments, expect=0):
    code = run(["genever", "launch", "kubernetes", *arguments])
    printed = capsys.readouterr()
    assert code == expect, printed.err
    return printed.err.strip() if expect else printed.out.strip()


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_submit_hands_over_what_dry_run_prints(kubectl, capsys, kind):
    flags = ["--kind", kind, "--image", "run", "--worker", "1", "--namespace", "team"]
    text = launch(capsys, *flags, "--dry_run", *TRAIN)
    assert text == launch(capsys, *flags, *TRAIN)
    assert kubectl.asked == []
    assert launch(capsys, *flags, "--submit", *TRAIN) == f"{kind}/flights"
    look, apply = kubectl.asked
    resource = {"tfjob": "tfjobs.kubeflow.org", "jobset": "jobsets.jobset.x-k8s.io"}[kind]
    assert look["arguments"] == [
        *("get", f"{resource}/flights", "--ignore-not-found", "-o", "name", "-n", "team")
    ]
    assert apply["arguments"] == ["apply", "-f", "-", "-n", "team"]
    assert apply["stdin"].strip() == text
    kinds = [each["kind"] for each in yaml.safe_load_all(apply["stdin"])]
    assert kinds == ["NetworkPolicy", {"tfjob": "TFJob", "jobset": "JobSet"}[kind]]


def test_submit_leaves_a_job_of_that_name_alone(kubectl, capsys):
    kubectl.answers([["get"], 0, "tfjob.kubeflow.org/flights\n", ""])
    said = launch(capsys, "--image", "run", "--submit", *TRAIN, expect=2)
    assert "--name: there is a job tfjob/flights already" in said
    assert "--cancel tfjob/flights" in said
    assert [each["arguments"][0] for each in kubectl.asked] == ["get"]


def test_what_kubectl_refuses_is_a_sentence(kubectl, capsys):
    refusal = 'error: the server doesn\'t have a resource type "tfjobs"\n'
    kubectl.answers([["get"], 1, "", refusal])
    said = launch(capsys, "--image", "run", "--submit", *TRAIN, expect=2)
    assert said == (
        'genever: error: `kubectl get`: error: the server doesn\'t have a resource type "tfjobs"; '
        "the cluster lacks the Kubeflow training operator (v1)"
    )


def test_a_missing_kubectl_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    for action in (["--submit", "--image", "run", *TRAIN], ["--status", "tfjob/flights"]):
        said = launch(capsys, *action, expect=2)
        assert said.startswith("genever: error: there is no kubectl on PATH; install it")


def test_a_kubectl_that_does_not_answer_is_ended(kubectl, capsys, monkeypatch):
    (kubectl.folder / "kubectl").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    monkeypatch.setattr("genever.launch.schedulers.kubernetes._TIMEOUT_SECS", 0.5)
    said = launch(capsys, "--status", "tfjob/flights", expect=2)
    assert "`kubectl get` had not ended after 0.5 s; see whether the cluster answers" in said


def pod(task_type, index, state, key="training.kubeflow.org/replica-index", created="1"):
    labels = {"app.kubernetes.io/component": task_type, key: index}
    own = [{"name": "istio-proxy", "state": {}}, {"name": "tensorflow", "state": state[1]}]
    return {
        "metadata": {"labels": labels, "creationTimestamp": created},
        "status": {"phase": state[0], "containerStatuses": own if state[1] else []},
    }


def test_status_of_a_tfjob(kubectl, capsys):
    conditions = [
        {"type": "Created", "status": "True"},
        {"type": "Restarting", "status": "False"},
        {"type": "Running", "status": "True"},
    ]
    pods = [
        pod("worker", "10", ("Pending", {"waiting": {"reason": "ImagePullBackOff"}})),
        pod("worker", "2", ("Failed", {"terminated": {"exitCode": 3}})),
        pod("evaluator", "0", ("Pending", None)),
        pod("chief", "0", ("Running", {"running": {}})),
        {"metadata": {}, "status": {}},
    ]
    kubectl.answers(
        [["get", "pods"], 0, json.dumps({"items": pods}), ""],
        [["get"], 0, json.dumps({"status": {"conditions": conditions}}), ""],
    )
    assert launch(capsys, "--status", "tfjob/flights").splitlines() == [
        "tfjob/flights: Running",
        "  chief 0: Running",
        "  worker 2: Failed (exit code 3)",
        "  worker 10: Pending (ImagePullBackOff)",
        "  evaluator 0: Pending",
    ]
    assert [each["arguments"] for each in kubectl.asked] == [
        ["get", "tfjobs.kubeflow.org/flights", "-o", "json"],
        ["get", "pods", "-l", SELECTOR, "-o", "json"],
    ]


def test_status_of_a_jobset_that_failed(kubectl, capsys):
    key = "batch.kubernetes.io/job-completion-index"
    pods = [
        pod("worker", "0", ("Running", {"running": {}}), key, created="2026-01-01T00:00:09Z"),
        pod(
            "worker", "0", ("Failed", {"terminated": {"exitCode": 143}}), key, created="2026-01-01"
        ),
    ]
    failed = {"type": "Failed", "status": "True", "message": "jobset failed due to worker-0"}
    kubectl.answers(
        [["get", "pods"], 0, json.dumps({"items": pods}), ""],
        [
            ["get"],
            0,
            json.dumps({"status": {"conditions": [failed], "terminalState": "Failed"}}),
            "",
        ],
    )
    assert launch(capsys, "--status", "jobset/flights").splitlines() == [
        "jobset/flights: Failed (jobset failed due to worker-0)",
        "  worker 0: Failed (exit code 143)",
        "  worker 0: Running",
    ]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({}, "Created"),
        ({"restarts": 0}, "Running"),
        (
            {
                "terminalState": "Completed",
                "conditions": [{"type": "StartupPolicyCompleted", "status": "True"}],
            },
            "Completed",
        ),
    ],
)
def test_states_of_a_jobset(kubectl, capsys, status, state):
    kubectl.answers(
        [["get", "pods"], 0, json.dumps({"items": []}), ""],
        [["get"], 0, json.dumps({"status": status}), ""],
    )
    assert launch(capsys, "--status", "jobset/flights") == f"jobset/flights: {state}"


@pytest.mark.parametrize(
    ("job_id", "label"),
    [
        ("tfjob/flights", "training.kubeflow.org/replica-index"),
        ("jobset/flights", "batch.kubernetes.io/job-completion-index"),
    ],
)
def test_logs_of_all_tasks_and_of_one(kubectl, capsys, job_id, label):
    kubectl.answers([["logs"], 0, "[pod/flights-chief-0/tensorflow] step 100\nstep 200\n", ""])
    printed = launch(capsys, "--logs", job_id)
    assert printed.splitlines() == ["[pod/flights-chief-0/tensorflow] step 100", "step 200"]
    launch(capsys, "--logs", job_id, "--task", "worker:1", "--namespace", "team")
    everything, one = (each["arguments"] for each in kubectl.asked)
    rest = ["-c", "tensorflow", "--prefix", "--tail=-1", "--ignore-errors"]
    assert everything == ["logs", "-l", SELECTOR, *rest]
    task = f",app.kubernetes.io/component=worker,{label}=1"
    assert one == ["logs", "-l", SELECTOR + task, *rest, "-n", "team"]


def test_cancel_closes_the_network_last(kubectl, capsys):
    assert launch(capsys, "--cancel", "jobset/flights") == "jobset/flights: cancelled"
    assert [each["arguments"] for each in kubectl.asked] == [
        [
            *("delete", "jobsets.jobset.x-k8s.io/flights"),
            *("--cascade=foreground", "--timeout=210s"),
        ],
        ["delete", "networkpolicy/flights", "--ignore-not-found"],
    ]


def test_cancel_of_a_job_that_is_not_there(kubectl, capsys):
    kubectl.answers(
        [["delete"], 1, "", 'Error from server (NotFound): tfjobs "flights" not found\n']
    )
    said = launch(capsys, "--cancel", "flights", expect=2)
    assert said.endswith(
        '`kubectl delete`: Error from server (NotFound): tfjobs "flights" not found'
    )
    assert len(kubectl.asked) == 1


@pytest.mark.parametrize("job_id", ["pod/flights", "tfjob/-A", "tfjob/Flights", "tfjob/a b", "/"])
def test_a_wrong_id_reaches_no_kubectl(kubectl, capsys, job_id):
    said = launch(capsys, "--cancel", job_id, expect=2)
    assert f"'{job_id}' is no id of a job on Kubernetes" in said
    assert kubectl.asked == []
