"""A whole cluster on this machine, in the foreground or, with --submit, in the background."""

import contextlib
import ctypes
import json
import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from absl import flags
from rich.console import Console
from rich.text import Text

from ..local_cluster import free_ports
from . import own_network
from .scheduler import Job, Scheduler

_LIBC = ctypes.CDLL(None)
_SET_DEATH_SIGNAL = 1
_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "bright_cyan", "bright_green")
# A task that goes on although the chief is done is asked to end after so long.
_AFTER_CHIEF_SECS = 300.0
_STATE = "launch.json"


def define_flags(values: flags.FlagValues) -> None:
    """Defines the flags of a local cluster."""
    flags.DEFINE_integer(
        "max_restarts",
        10,
        "How often a task is started again that a signal ended, or that asks for it by an exit "
        "code of 128 or more.",
        lower_bound=0,
        flag_values=values,
    )
    flags.DEFINE_bool(
        "isolate",
        None,
        "Gives the cluster a network of its own, so that nobody else reaches its ports (default: "
        "where the system allows it, and model_dir and gin files are local).",
        flag_values=values,
    )
    flags.DEFINE_float(
        "grace_secs",
        150.0,
        "After Ctrl-C or SIGTERM the tasks have so many seconds to save and end.",
        lower_bound=0.0,
        flag_values=values,
    )


def make(values: flags.FlagValues) -> "Local":
    """Returns the scheduler that the flags describe."""
    return Local(values["max_restarts"].value, values["isolate"].value, values["grace_secs"].value)


class Local(Scheduler):
    """Starts a process for each task; the id of a job is its model_dir.

    Args:
      max_restarts: how often each task is started again.
      isolate: whether in a network of its own; None where it can be.
      grace_secs: seconds between the wish that all end and their kill.
    """

    def __init__(
        self, max_restarts: int = 10, isolate: bool | None = None, grace_secs: float = 150.0
    ):
        self._max_restarts = max_restarts
        self._isolate = isolate
        self._grace_secs = grace_secs

    def dry_run(self, job: Job) -> str:
        cluster = _cluster(job, range(1, len(job.tasks) + 1))
        lines = [
            f"TF_CONFIG='{_tf_config(cluster, task)}' {shlex.join(_command(job))}"
            for task in job.tasks
        ]
        return "# with free ports instead of 1, 2, …\n" + "\n".join(lines)

    def run(self, job: Job) -> int:
        """Runs the job in the foreground and returns the exit code of the whole."""
        model_dir = _model_dir(job)
        _refuse_second(model_dir)
        console = Console(highlight=False)
        if self._isolate is not False:
            self._enter_own_network(job, console)
        elif job.tasks:
            console.print("the ports of this cluster are open to whoever reaches this machine")
        run = _Run(job, model_dir, self._max_restarts, self._grace_secs, console)
        return run.run()

    def submit(self, job: Job) -> str:
        model_dir = _model_dir(job)
        _refuse_second(model_dir)
        own = [f"--max_restarts={self._max_restarts}", f"--grace_secs={self._grace_secs}"]
        if self._isolate is not None:
            own.append("--isolate" if self._isolate else "--noisolate")
        counts = [f"--{kind}={n}" for kind, n in job.counts.items() if kind in ("worker", "ps")]
        if job.counts.get("evaluator"):
            counts.append("--evaluator")
        os.makedirs(f"{model_dir}/logs", exist_ok=True)
        with open(f"{model_dir}/logs/launch.log", "ab") as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "genever", "launch", "local", "--name", job.name),
                    *(*own, *counts, "--", *job.command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _write_state(model_dir, {"pid": process.pid, "tasks": {}})
        return model_dir

    def status(self, job_id: str) -> str:
        state = _state(job_id)
        if state is None:
            raise ValueError(f"there is no job in {job_id}; the id of a local job is its model_dir")
        running = _alive(state)
        lines = [f"{job_id}: {'running' if running else state.get('ended', 'gone')}"]
        for name, how in state["tasks"].items():
            gone = how.startswith("running") and not running
            lines.append(f"  {name}: {'ended with the launcher' if gone else how}")
        return "\n".join(lines)

    def logs(self, job_id: str, task: tuple[str, int] | None = None) -> Iterator[str]:
        folder = f"{job_id}/logs"
        wanted = None if task is None else f"{task[0]}-{task[1]}.log"
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        names = [name for name in names if wanted in (None, name) and name != "launch.log"]
        if not names:
            of = f" of {task[0]} {task[1]}" if task else ""
            raise ValueError(f"there are no logs{of} in {folder}")
        for name in names:
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                for line in file:
                    prefix = "" if wanted else f"[{name.removesuffix('.log')}] "
                    yield prefix + line.rstrip("\n")

    def cancel(self, job_id: str) -> None:
        state = _state(job_id)
        if not _alive(state):
            raise ValueError(f"no job runs in {job_id}")
        os.kill(state["pid"], signal.SIGTERM)

    def _enter_own_network(self, job: Job, console: Console) -> None:
        remote = next((word for word in job.command if "://" in word), None)
        if remote is not None and self._isolate is None:
            why = f"'{remote}' is not on this machine"
        else:
            why = own_network.enter()
        if why is None:
            return
        if self._isolate:
            raise ValueError(f"--isolate: there is no network of its own here ({why})")
        console.print(
            f"the ports of this cluster are open to whoever reaches this machine ({why})",
            markup=False,
        )


@dataclass
class _Task:
    """A task and the process that plays it now."""

    place: tuple[str, int]
    colour: str
    process: subprocess.Popen | None = None
    starts: int = 0
    code: int | None = None
    log: object = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"{self.place[0]} {self.place[1]}"


class _Run:
    """Starts the tasks, shows what they say, starts them again, and ends them."""

    def __init__(self, job, model_dir, max_restarts, grace_secs, console):
        self._job = job
        self._model_dir = model_dir
        self._max_restarts = max_restarts
        self._grace_secs = grace_secs
        self._console = console
        self._lines: queue.Queue = queue.Queue()
        self._tasks = [
            _Task(place, _COLOURS[at % len(_COLOURS)]) for at, place in enumerate(job.tasks)
        ]
        self._asked: int | None = None
        self._since = 0.0
        self._result: int | None = None

    def run(self) -> int:
        os.makedirs(f"{self._model_dir}/logs", exist_ok=True)
        cluster = _cluster(self._job, free_ports(len(self._tasks)))
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            with self._console.status("") if self._console.is_terminal else _nothing() as status:
                for task in self._tasks:
                    task.log = open(self._log(task), "ab")  # noqa: SIM115 - closed at the end
                    self._start(task, cluster)
                while any(task.process is not None for task in self._tasks):
                    self._show(status)
                    self._look(cluster)
                self._show(status, last=True)
        finally:
            for task in self._tasks:
                self._kill(task)
                if task.log is not None:
                    task.log.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        code = self._code()
        ended = "done" if code == 0 else f"ended with exit code {code}"
        self._write(ended=ended)
        if code:
            self._say(f"the cluster has {ended}; logs are in {self._model_dir}/logs")
        return code

    def _code(self) -> int:
        if self._asked is not None:
            return 128 + self._asked
        return self._result or 0

    def _start(self, task: _Task, cluster) -> None:
        parent = os.getpid()

        def die_with_the_launcher() -> None:
            _LIBC.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(128 + signal.SIGKILL)

        task.starts += 1
        task.code = None
        task.process = subprocess.Popen(
            _command(self._job),
            env={**os.environ, "TF_CONFIG": _tf_config(cluster, task.place)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_the_launcher,
        )
        threading.Thread(target=self._read, args=(task, task.process.stdout), daemon=True).start()
        self._write()

    def _read(self, task: _Task, stream) -> None:
        for line in stream:
            self._lines.put((task, line))
        stream.close()

    def _show(self, status, last: bool = False) -> None:
        """Shows the lines that have come, for a moment."""
        deadline = time.monotonic() + 0.2
        while True:
            try:
                task, line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                return
            with contextlib.suppress(ValueError):  # a line that comes after the end
                task.log.write(line)
                task.log.flush()
            text = line.decode("utf-8", "replace").rstrip("\n")
            if status is not None and task.place[0] == "chief" and re.match(r"step \d", text):
                status.update(Text(text))
                continue
            shown = Text(f"[{task.name}] ", style=task.colour)
            shown.append(text, style="default")
            self._console.print(shown, soft_wrap=True)
            if not last and time.monotonic() > deadline:
                return

    def _look(self, cluster) -> None:
        """Sees who has ended, and does what follows from it."""
        for task in self._tasks:
            if task.process is None or task.process.poll() is None:
                continue
            code = task.process.returncode
            task.process, task.code = None, 128 - code if code < 0 else code
            self._write()
            if task.code == 0 or self._ending:
                continue
            if task.code < 128:
                self._say(f"{task.name} failed with exit code {task.code}; the others are ended")
                self._end_all(task.code)
            elif task.starts > self._max_restarts:
                self._say(
                    f"{task.name} ended with exit code {task.code} after {task.starts} starts "
                    "(--max_restarts); the others are ended"
                )
                self._end_all(task.code)
            else:
                self._say(f"{task.name} ended with exit code {task.code} and is started again")
                self._start(task, cluster)
        chief = self._tasks[0]
        if chief.code == 0 and not self._ending:
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since > _AFTER_CHIEF_SECS:
                left = ", ".join(t.name for t in self._tasks if t.process is not None)
                self._say(f"the chief is done, and {left} go on; they are ended")
                self._end_all(1)
        if self._ending and time.monotonic() - self._since > self._grace_secs:
            for task in self._tasks:
                self._kill(task)

    @property
    def _ending(self) -> bool:
        return self._asked is not None or self._result is not None

    def _end_all(self, code: int) -> None:
        self._result, self._since = code, time.monotonic()
        self._signal_all(signal.SIGTERM)

    def _on_signal(self, number, frame) -> None:
        if self._asked is not None:
            self._signal_all(signal.SIGKILL)
            return
        self._asked, self._since = number, time.monotonic()
        self._signal_all(signal.SIGTERM)

    def _signal_all(self, number: int) -> None:
        for task in self._tasks:
            if task.process is not None and task.process.poll() is None:
                task.process.send_signal(number)

    def _kill(self, task: _Task) -> None:
        if task.process is not None and task.process.poll() is None:
            task.process.kill()
            task.process.wait()

    def _say(self, text: str) -> None:
        self._console.print(text, style="bold", markup=False, soft_wrap=True)

    def _log(self, task: _Task) -> str:
        return f"{self._model_dir}/logs/{task.place[0]}-{task.place[1]}.log"

    def _write(self, ended: str | None = None) -> None:
        how = {}
        for task in self._tasks:
            if task.process is not None:
                how[task.name] = f"running, pid {task.process.pid}, start {task.starts}"
            elif task.code is not None:
                how[task.name] = "done" if task.code == 0 else f"exit code {task.code}"
        state = {"pid": os.getpid(), "tasks": how}
        _write_state(self._model_dir, state if ended is None else {**state, "ended": ended})


@contextlib.contextmanager
def _nothing():
    yield None


def _command(job: Job) -> list[str]:
    return [sys.executable, "-u", "-m", "genever", *job.command]


def _cluster(job: Job, ports: Sequence[int]) -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = {}
    for (kind, _), port in zip(job.tasks, ports, strict=True):
        cluster.setdefault(kind, []).append(f"127.0.0.1:{port}")
    return cluster


def _tf_config(cluster: dict[str, list[str]], task: tuple[str, int]) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": task[0], "index": task[1]}})


def _model_dir(job: Job) -> str:
    model_dir = job.flag("model_dir")
    if not model_dir or "://" in model_dir:
        raise ValueError(
            "launch local writes its logs into the model_dir: give a local --model_dir in the "
            "command after --"
        )
    return model_dir


def _refuse_second(model_dir: str) -> None:
    state = _state(model_dir)
    if _alive(state) and state["pid"] != os.getpid():
        raise ValueError(f"a job runs in {model_dir} already; end it with --cancel {model_dir}")


def _state(model_dir: str) -> dict | None:
    try:
        with open(f"{model_dir}/{_STATE}", encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _write_state(model_dir: str, state: dict) -> None:
    path = f"{model_dir}/{_STATE}"
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(f"{path}.tmp", path)


def _alive(state: dict | None) -> bool:
    if state is None or "ended" in state:
        return False
    try:
        with open(f"/proc/{state['pid']}/cmdline", "rb") as file:
            return b"launch" in file.read()
    except OSError:
        return False
