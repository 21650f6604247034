"""Jobs on Kubernetes, through `kubectl`."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from absl import flags

from .kubernetes_flags import Settings, define_flags, settings
from .kubernetes_manifest import (
    CONTAINER,
    INDEX_LABEL,
    RESOURCE,
    TASK_TYPE_LABEL,
    labels,
    manifest,
)
from .scheduler import TASK_TYPES, Job, Scheduler

__all__ = ["Kubernetes", "define_flags", "make"]

_TIMEOUT_SECS = 60.0
_LOG_TIMEOUT_SECS = 600.0
_OPERATOR = {
    "tfjob": "the Kubeflow training operator (v1)",
    "jobset": "the JobSet controller",
}


def make(values: flags.FlagValues) -> Scheduler:
    """Returns the scheduler that the flags describe."""
    return Kubernetes(settings(values))


class Kubernetes(Scheduler):
    """TFJobs and JobSets; the id of a job is its kind and name, such as "tfjob/flights"."""

    def __init__(self, own: Settings):
        self._settings = own

    def dry_run(self, job: Job) -> str:
        return manifest(job, self._settings).rstrip("\n")

    def submit(self, job: Job) -> str:
        text, kind = manifest(job, self._settings), self._settings.kind
        job_id = f"{kind}/{job.name}"
        there = self._kubectl(
            "get", f"{RESOURCE[kind]}/{job.name}", "--ignore-not-found", "-o", "name"
        )
        # `apply` would change a job that runs, and do nothing about one that has ended.
        if there.strip():
            raise ValueError(
                f"--name: there is a job {job_id} already; give another name, or end and delete it "
                f"with --cancel {job_id}"
            )
        self._kubectl("apply", "-f", "-", stdin=text)
        return job_id

    def status(self, job_id: str) -> str:
        kind, name = self._parse(job_id)
        job = json.loads(self._kubectl("get", f"{RESOURCE[kind]}/{name}", "-o", "json"))
        pods = json.loads(self._kubectl("get", "pods", "-l", _selector(name), "-o", "json"))
        lines = [f"{kind}/{name}: {_job_state(job)}"]
        found = []
        for pod in pods["items"]:
            marks = pod["metadata"].get("labels", {})
            task_type, index = marks.get(TASK_TYPE_LABEL), marks.get(INDEX_LABEL[kind], "0")
            if task_type in TASK_TYPES:
                started = pod["metadata"].get("creationTimestamp", "")
                key = (TASK_TYPES.index(task_type), int(index), started)
                found.append((key, f"  {task_type} {index}: {_pod_state(pod)}"))
        return "\n".join(lines + [line for _, line in sorted(found)])

    def logs(self, job_id: str, task: tuple[str, int] | None = None) -> Iterator[str]:
        kind, name = self._parse(job_id)
        selector = _selector(name)
        if task is not None:
            selector += f",{TASK_TYPE_LABEL}={task[0]},{INDEX_LABEL[kind]}={task[1]}"
        text = self._kubectl(
            "logs",
            "-l",
            selector,
            "-c",
            CONTAINER,
            "--prefix",
            "--tail=-1",
            "--ignore-errors",
            timeout=_LOG_TIMEOUT_SECS,
        )
        yield from text.splitlines()

    def cancel(self, job_id: str) -> None:
        kind, name = self._parse(job_id)
        # The network stays closed until the last pod has saved and ended.
        wait = self._settings.grace_secs + _TIMEOUT_SECS
        self._kubectl(
            "delete",
            f"{RESOURCE[kind]}/{name}",
            "--cascade=foreground",
            f"--timeout={wait:.0f}s",
            timeout=wait + _TIMEOUT_SECS,
        )
        self._kubectl("delete", f"networkpolicy/{name}", "--ignore-not-found")

    def _parse(self, job_id: str) -> tuple[str, str]:
        kind, slash, name = job_id.partition("/")
        if not slash:
            kind, name = self._settings.kind, job_id
        if kind not in RESOURCE or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
            raise ValueError(
                f"'{job_id}' is no id of a job on Kubernetes; write such as tfjob/NAME or "
                "jobset/NAME"
            )
        return kind, name

    def _kubectl(
        self, *arguments: str, stdin: str | None = None, timeout: float | None = None
    ) -> str:
        timeout = _TIMEOUT_SECS if timeout is None else timeout
        where = [] if self._settings.namespace is None else ["-n", self._settings.namespace]
        try:
            done = subprocess.run(
                ["kubectl", *arguments, *where],
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except FileNotFoundError:
            raise ValueError(
                "there is no kubectl on PATH; install it, or print the manifest with --dry_run and "
                "apply it where there is one"
            ) from None
        except subprocess.TimeoutExpired:
            raise ValueError(
                f"`kubectl {arguments[0]}` had not ended after {timeout:g} s; see whether the "
                "cluster answers with `kubectl cluster-info`"
            ) from None
        if done.returncode:
            raise ValueError(self._refusal(arguments[0], done.stderr))
        return done.stdout

    def _refusal(self, verb: str, stderr: str) -> str:
        said = " ".join(stderr.split()) or "no reason was given"
        lacks = re.search(r"have a resource type|no matches for kind", said)
        cure = f"; the cluster lacks {_OPERATOR[self._settings.kind]}" if lacks else ""
        return f"`kubectl {verb}`: {said.rstrip('.')}{cure}"


def _selector(name: str) -> str:
    return ",".join(f"{key}={value}" for key, value in labels(name).items())


def _job_state(job: Mapping[str, Any]) -> str:
    status = job.get("status", {})
    true = {c["type"]: c for c in status.get("conditions", []) if c.get("status") == "True"}
    if "Failed" in true:
        return f"Failed ({true['Failed'].get('message', 'no reason was given')})"
    return status.get("terminalState") or (list(true) or ["Running" if status else "Created"])[-1]


def _pod_state(pod: Mapping[str, Any]) -> str:
    status = pod.get("status", {})
    phase = status.get("phase", "Unknown")
    for container in status.get("containerStatuses", []):
        if container.get("name") != CONTAINER:
            continue
        state = container.get("state", {})
        if "terminated" in state:
            return f"{phase} (exit code {state['terminated'].get('exitCode')})"
        if "waiting" in state:
            return f"{phase} ({state['waiting'].get('reason', 'waiting')})"
    return phase
