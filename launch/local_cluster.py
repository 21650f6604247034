"""A whole cluster on this machine: a process for each task, on free ports of the loopback."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_POLL_SECS = 0.1
_GRACE_SECS = 5.0


@dataclass(frozen=True)
class Ended:
    """How the process of a task ended.

    Attributes:
      task: type and index, such as ("worker", 0).
      code: its exit code; negative where a signal ended it.
      output: what it wrote, to both streams.
    """

    task: tuple[str, int]
    code: int
    output: str


def run_local_cluster(
    command: Sequence[str],
    counts: Mapping[str, int],
    timeout_secs: float,
    environment: Mapping[str, str] | None = None,
) -> list[Ended]:
    """Runs one command in every task of a cluster and waits until all have ended.

    Where one task fails, the others are ended too.

    Args:
      command: what to run, the same for each task.
      counts: number of tasks by type, such as {"chief": 1, "worker": 2, "ps": 1}.
      timeout_secs: after so long all of them are ended.
      environment: what to add to the environment of each.

    Returns:
      How each task ended.

    Raises:
      TimeoutError: not all had ended in time; says which, and what they wrote last.
    """
    tasks = [(kind, index) for kind, count in counts.items() for index in range(count)]
    ports = iter(free_ports(len(tasks)))
    cluster: dict[str, list[str]] = {}
    for kind, _ in tasks:
        cluster.setdefault(kind, []).append(f"127.0.0.1:{next(ports)}")
    outputs = [tempfile.TemporaryFile() for _ in tasks]  # noqa: SIM115 - closed below
    processes: list[subprocess.Popen] = []
    try:
        for (kind, index), output in zip(tasks, outputs, strict=True):
            config = {"cluster": cluster, "task": {"type": kind, "index": index}}
            processes.append(
                subprocess.Popen(
                    command,
                    env={**os.environ, **(environment or {}), "TF_CONFIG": json.dumps(config)},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        late = _wait(processes, timeout_secs)
    finally:
        _end(processes)
        texts = []
        for output in outputs:
            output.seek(0)
            texts.append(output.read().decode("utf-8", "replace"))
            output.close()
    ended = [
        Ended(task, process.returncode, text)
        for task, process, text in zip(tasks, processes, texts, strict=True)
    ]
    if late:
        last = "\n".join(f"--- {e.task[0]} {e.task[1]}:\n{e.output[-2000:]}" for e in ended)
        names = ", ".join("{} {}".format(*tasks[at]) for at in late)
        raise TimeoutError(f"after {timeout_secs:.0f} s {names} had not ended\n{last}")
    return ended


def free_ports(count: int) -> list[int]:
    """Returns ports of the loopback on which nobody listens."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _wait(processes: Sequence[subprocess.Popen], timeout_secs: float) -> list[int]:
    """Waits for the end of all, or the failure of one; returns which had not ended in time."""
    deadline = time.monotonic() + timeout_secs
    failed_at = None
    while True:
        codes = [process.poll() for process in processes]
        running = [at for at, code in enumerate(codes) if code is None]
        if not running:
            return []
        now = time.monotonic()
        if failed_at is None and any(codes):
            failed_at = now
        if failed_at is not None and now - failed_at > _GRACE_SECS:
            return []
        if now > deadline:
            return running
        time.sleep(_POLL_SECS)


def _end(processes: Sequence[subprocess.Popen]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    for process in processes:
        process.wait()
