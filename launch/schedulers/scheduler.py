"""What every scheduler can do with a job; a new one is one file beside this."""

import abc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

TASK_TYPES = ("chief", "worker", "ps", "evaluator")


@dataclass(frozen=True)
class Job:
    """A cluster of processes that run one command.

    Attributes:
      name: of letters, digits and hyphens, so that every scheduler takes it.
      command: what each task runs after "genever", such as ("train", "--gin_file", "run.gin").
      counts: number of tasks by type, in the order of TASK_TYPES; one chief always.
    """

    name: str
    command: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def tasks(self) -> list[tuple[str, int]]:
        """Type and index of every task."""
        return [(kind, i) for kind in TASK_TYPES for i in range(self.counts.get(kind, 0))]

    def flag(self, name: str) -> str:
        """Returns what the command gives for a flag, "" where it gives nothing."""
        return flag_of(self.command, name)


def flag_of(command: Sequence[str], name: str) -> str:
    """Returns what a command gives for a flag; the last one counts, and none after `--`."""
    found = ""
    for at, word in enumerate(command):
        if word == "--":
            break
        flag, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and flag == name:
            found = value if equals else "".join(command[at + 1 : at + 2])
    return found


class Scheduler(abc.ABC):
    """Places the processes of a job and knows how they are."""

    @abc.abstractmethod
    def dry_run(self, job: Job) -> str:
        """Returns what `submit` would hand over: a script, a manifest or command lines."""

    @abc.abstractmethod
    def submit(self, job: Job) -> str:
        """Hands the job over and returns the id by which the scheduler knows it.

        Raises:
          ValueError: the scheduler refuses it; says what it said.
        """

    @abc.abstractmethod
    def status(self, job_id: str) -> str:
        """Returns how the job and its tasks are, a line each."""

    @abc.abstractmethod
    def logs(self, job_id: str, task: tuple[str, int] | None = None) -> Iterator[str]:
        """Yields the lines that its tasks, or one of them, have written."""

    @abc.abstractmethod
    def cancel(self, job_id: str) -> None:
        """Ends the job."""
