"""Jobs on Slurm, through `sbatch`, `scontrol` and `scancel`."""

import os
import re
import subprocess
from collections.abc import Iterator

from absl import flags

from .scheduler import TASK_TYPES, Job, Scheduler
from .slurm_flags import Settings, define_flags, settings
from .slurm_script import PREFIX, log_dir, script

__all__ = ["Slurm", "define_flags", "make"]

_TIMEOUT_SECS = 60.0


def make(values: flags.FlagValues) -> Scheduler:
    """Returns the scheduler that the flags describe."""
    return Slurm(settings(values))


class Slurm(Scheduler):
    """Jobs of Slurm; the id of a job is its number."""

    def __init__(self, own: Settings):
        self._settings = own

    def dry_run(self, job: Job) -> str:
        return script(job, self._settings)

    def submit(self, job: Job) -> str:
        text = script(job, self._settings)
        folder = log_dir(job, self._settings)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"--log_dir: '{folder}' cannot be made ({error.strerror}); give another"
            ) from None
        # The number alone, or "number;name of the cluster".
        return _run("sbatch", "--parsable", stdin=f"{text}\n").strip().partition(";")[0]

    def status(self, job_id: str) -> str:
        known = _known(job_id)
        if known is None and self._settings.log_dir is None:
            raise ValueError(
                f"Slurm knows no job {job_id} any more; --log_dir DIR shows how its tasks ended"
            )
        lines = [f"{job_id}: {_job_state(known)}"]
        folder = self._folder(known)
        for kind, index in _tasks(folder, job_id):
            ended = f"{PREFIX}{job_id}-{kind}-{index}.exit"
            how = "has started"
            if os.path.exists(os.path.join(folder, ended)):
                with open(os.path.join(folder, ended), encoding="utf-8") as file:
                    how = f"ended with exit code {file.read().strip()}"
            lines.append(f"  {kind} {index}: {how}")
        return "\n".join(lines)

    def logs(self, job_id: str, task: tuple[str, int] | None = None) -> Iterator[str]:
        known = _known(job_id)
        if known is None and self._settings.log_dir is None:
            raise ValueError(
                f"Slurm knows no job {job_id} any more; say with --log_dir DIR where its logs are"
            )
        folder = self._folder(known)
        if task is not None:
            path = os.path.join(folder, f"{PREFIX}{job_id}-{task[0]}-{task[1]}.log")
            if not os.path.exists(path):
                raise ValueError(
                    f"--task: {task[0]}:{task[1]} of job {job_id} has written nothing yet to "
                    f"'{folder}', or there is no such task"
                )
            yield from _lines(path)
            return
        found = [("slurm", os.path.join(folder, f"{PREFIX}{job_id}.log"))]
        for kind, index in _tasks(folder, job_id):
            name = f"{kind}-{index}"
            found.append((name, os.path.join(folder, f"{PREFIX}{job_id}-{name}.log")))
        for name, path in found:
            if os.path.exists(path):
                yield from (f"[{name}] {line}" for line in _lines(path))

    def cancel(self, job_id: str) -> None:
        _check_id(job_id)
        _run("scancel", job_id)

    def _folder(self, known: dict[str, str] | None) -> str:
        if self._settings.log_dir is not None or known is None:
            return self._settings.log_dir or ""
        return os.path.dirname(known["StdOut"])


def _known(job_id: str) -> dict[str, str] | None:
    """Returns what the controller knows of a job; it forgets one some minutes after its end."""
    _check_id(job_id)
    try:
        text = _run("scontrol", "show", "job", job_id)
    except ValueError as error:
        if "Invalid job id" in str(error):
            return None
        raise
    # A path may have spaces, and has a line of its own.
    output = re.search(r"^\s*StdOut=(.*)$", text, re.MULTILINE)
    words = dict(re.findall(r"(\w+)=(\S*)", text))
    return {**words, "StdOut": output[1] if output else ""}


def _job_state(known: dict[str, str] | None) -> str:
    if known is None:
        return "Slurm knows it no more"
    state = known["JobState"]
    if state == "PENDING":
        state += f" ({known.get('Reason')})"
    elif state in ("RUNNING", "COMPLETING"):
        state += f" on {known.get('NodeList')}"
    else:
        # Two numbers, of an exit and of a signal.
        state += f" (exit code {known.get('ExitCode', '').partition(':')[0]})"
    restarts = known.get("Restarts", "0")
    return state if restarts == "0" else f"{state}, requeued {restarts} time(s)"


def _tasks(folder: str, job_id: str) -> list[tuple[str, int]]:
    """Returns the tasks of a job that have written something, in their order."""
    pattern = re.compile(rf"{PREFIX}{job_id}-({'|'.join(TASK_TYPES)})-(\d+)\.log")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    found = [(m[1], int(m[2])) for m in map(pattern.fullmatch, names) if m]
    return sorted(found, key=lambda task: (TASK_TYPES.index(task[0]), task[1]))


def _lines(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            yield line.rstrip("\n")


def _check_id(job_id: str) -> None:
    if not job_id.isascii() or not job_id.isdecimal():
        raise ValueError(f"'{job_id}' is no id of a job on Slurm, which is a number such as 4711")


def _run(program: str, *arguments: str, stdin: str | None = None) -> str:
    try:
        done = subprocess.run(
            [program, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECS,
        )
    except FileNotFoundError:
        raise ValueError(
            f"there is no {program} on PATH; run this on a login node of the cluster, or print the "
            "script with --dry_run and take it there"
        ) from None
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"`{program}` had not ended after {_TIMEOUT_SECS:.0f} s; see whether Slurm answers "
            "with `scontrol ping`"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split()) or "no reason was given"
        raise ValueError(f"`{program}`: {said.removeprefix(f'{program}: error: ').rstrip('.')}")
    return done.stdout
