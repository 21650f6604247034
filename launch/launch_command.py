"""`genever launch`: one command in every task of a cluster, placed by a scheduler."""

import importlib
import re
from collections.abc import Sequence

from absl import flags

from .command import DONE, Command, say_mistake

# Each is imported only when it is named; `define_flags` and `make` are what a module must have.
SCHEDULERS = {"local": "local", "slurm": "slurm", "kubernetes": "kubernetes"}
_NEEDS_ID = ("status", "logs", "cancel")
_EXAMPLE = "-- train --gin_file run.gin --model_dir DIR"


class _AtMostOne(flags.BooleanParser):
    def parse(self, argument):
        try:
            return super().parse(argument)
        except ValueError:
            raise ValueError("a cluster has one evaluator at most; write --evaluator") from None


class Launch(Command):
    summary = "run a command in every task of a cluster: here, on Slurm or on Kubernetes"
    arguments = _EXAMPLE

    def __init__(self):
        super().__init__()
        own = self.flags
        flags.DEFINE_integer(
            "worker", 0, "Workers beside the chief.", lower_bound=0, flag_values=own
        )
        flags.DEFINE_integer("ps", 0, "Parameter servers.", lower_bound=0, flag_values=own)
        flags.DEFINE_bool("evaluator", False, "A task that only evaluates.", flag_values=own)
        own["evaluator"].parser = _AtMostOne()
        flags.DEFINE_string(
            "name",
            None,
            "The job's name: small letters, digits and hyphens (default: the gin file's).",
            flag_values=own,
        )
        flags.DEFINE_bool("dry_run", False, "Prints what would be handed over.", flag_values=own)
        flags.DEFINE_bool("submit", False, "Hands the job over and prints its id.", flag_values=own)
        flags.DEFINE_string("status", None, "Prints how the job of this id is.", flag_values=own)
        flags.DEFINE_string("logs", None, "Prints what the job has written.", flag_values=own)
        flags.DEFINE_string(
            "task", None, "With --logs: of one task only, such as worker:1.", flag_values=own
        )
        flags.DEFINE_string("cancel", None, "Ends the job of this id.", flag_values=own)

    def parse(self, argv: Sequence[str]) -> list[str] | None:
        """Parses the flags, those of the scheduler too; returns the command of the tasks."""
        own, command, separated = list(argv[2:]), [], False
        if "--" in own:
            at = own.index("--")
            own, command, separated = own[:at], own[at + 1 :], True
        if own and own[0].lstrip("-") in ("help", "h"):
            return super().parse([argv[0], f"launch {'|'.join(SCHEDULERS)}", "--help"])
        if not own or own[0].startswith("-"):
            raise flags.Error("'launch' needs a scheduler first: " + ", ".join(SCHEDULERS))
        name, own = own[0], own[1:]
        self._scheduler = _module(name)
        self._scheduler.define_flags(self.flags)
        try:
            left = super().parse([argv[0], f"launch {name}", *own])
        except flags.UnrecognizedFlagError as error:
            hint = "" if separated else "; the command of the tasks stands after --"
            raise flags.Error(f"{str(error).rstrip('.')}{hint}") from error
        if left is None:
            return None
        if left:
            raise flags.Error(_no_flag(left[0], own))
        self._check_action(command, separated)
        return command

    def _check_action(self, command: Sequence[str], separated: bool) -> None:
        given = [name for name in ("dry_run", "submit") if self.flags[name].value]
        given += [name for name in _NEEDS_ID if self.flags[name].value is not None]
        if len(given) > 1:
            raise flags.Error(f"--{given[0]} and --{given[1]} exclude each other")
        needs_id = given and given[0] in _NEEDS_ID
        if self.flags["task"].value is not None and given != ["logs"]:
            raise flags.Error("--task has a meaning only with --logs")
        if needs_id:
            if separated:
                raise flags.Error(f"--{given[0]} takes the id of a job and no command after --")
            if not self.flags[given[0]].value:
                raise flags.Error(f"--{given[0]} needs the id that --submit printed")
            return
        if not command:
            raise flags.Error(
                f"there is no command after --; write {_EXAMPLE}"
                if separated
                else f"the command of the tasks stands after --; write {_EXAMPLE}"
            )
        if command[0].startswith("-"):
            raise flags.Error(f"'{command[0]}' after -- is no command; write {_EXAMPLE}")
        from ..input_fns.errors import did_you_mean
        from .command_line import COMMANDS

        if command[0] not in COMMANDS or command[0] == "launch":
            others = [name for name in COMMANDS if name != "launch"]
            raise flags.Error(
                f"'{command[0]}' after -- is no command that a task can run"
                + (did_you_mean(command[0], others) or f"; write {_EXAMPLE}")
            )

    def run(self, rest: list[str]) -> int:
        try:
            return self._run(rest)
        except ValueError as error:
            return say_mistake(str(error))

    def _run(self, command: list[str]) -> int:
        scheduler, own = self._scheduler.make(self.flags), self.flags
        if own["status"].value:
            print(scheduler.status(own["status"].value))
        elif own["logs"].value:
            for line in scheduler.logs(own["logs"].value, _task(own["task"].value)):
                print(line)
        elif own["cancel"].value:
            scheduler.cancel(own["cancel"].value)
            print(f"{own['cancel'].value}: cancelled")
        elif own["submit"].value:
            print(scheduler.submit(self._job(command)))
        elif own["dry_run"].value or not hasattr(scheduler, "run"):
            print(scheduler.dry_run(self._job(command)))
        else:
            return scheduler.run(self._job(command))
        return DONE

    def _job(self, command: Sequence[str]):
        from .schedulers.scheduler import Job

        own = self.flags
        counts = {
            "chief": 1,
            "worker": own["worker"].value,
            "ps": own["ps"].value,
            "evaluator": int(own["evaluator"].value),
        }
        name = _default_name(command) if own["name"].value is None else own["name"].value
        if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?", name):
            raise ValueError(
                f"--name: {name} is no name; write letters, digits and hyphens, such as my-run"
            )
        return Job(name, tuple(command), {kind: n for kind, n in counts.items() if n})


def _module(name: str):
    if name not in SCHEDULERS:
        from ..input_fns.errors import did_you_mean

        raise flags.Error(
            f"there is no scheduler '{name}'"
            + (did_you_mean(name, SCHEDULERS) or f"; the schedulers are {', '.join(SCHEDULERS)}")
        )
    return importlib.import_module(f".schedulers.{SCHEDULERS[name]}", __package__)


def _no_flag(word: str, given: Sequence[str]) -> str:
    if ("evaluator", word) in zip((w.lstrip("-") for w in given), given[1:], strict=False):
        return f"--evaluator takes no number ('{word}'): a cluster has one evaluator at most"
    if word.endswith(".gin"):
        return f"'{word}' is no flag; write -- train --gin_file {word}"
    return f"'{word}' is no flag; the command of the tasks stands after --"


def _task(text: str | None) -> tuple[str, int] | None:
    """Reads "worker:1"; "chief" is chief:0."""
    if text is None:
        return None
    from .schedulers.scheduler import TASK_TYPES

    kind, colon, index = text.partition(":")
    if kind not in TASK_TYPES or (colon and not index.isdecimal()):
        raise ValueError(
            f"--task: '{text}' is no task; write type:index, such as worker:1; the types are "
            + ", ".join(TASK_TYPES)
        )
    return kind, int(index or 0)


def _default_name(command: Sequence[str]) -> str:
    """The name of the last gin file, as a scheduler takes it; "genever" where there is none."""
    from .schedulers.scheduler import flag_of

    stem = flag_of(command, "gin_file").rpartition("/")[2].removesuffix(".gin")
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return name.lstrip("-0123456789")[:40].rstrip("-") or "genever"
