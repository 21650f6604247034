"""`genever COMMAND …`: the command line, a thin skin over what gin configures."""

import sys
from collections.abc import Callable, Sequence

from absl import flags

_USAGE = """\
genever trains, evaluates and exports tf.estimator models from gin files.

usage: genever COMMAND [flags] [-- flags of your own modules]

commands:
{commands}

`genever COMMAND --help` lists the flags of a command.
"""

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 done, 2 the user's mistake, 1 a failure, 130 after Ctrl-C."""
    sys.exit(run(list(sys.argv if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Runs `argv` ([program, command, flags…]) and returns the exit code."""
    commands = {"train": _Train(), "check": _Check(), "run": _Run(), "lint": _Lint()}
    if len(argv) < 2 or argv[1] in ("help", "-h", "--help", "--helpfull"):
        rows = (f"  {name:<8} {command.summary}" for name, command in commands.items())
        print(_USAGE.format(commands="\n".join(rows)), end="")
        return DONE if len(argv) > 1 else MISTAKE
    if argv[1] == "--version":
        from .. import __version__

        print(f"genever {__version__}")
        return DONE
    command = commands.get(argv[1])
    if command is None:
        from .gin_files import did_you_mean

        return _mistake(
            f"there is no command '{argv[1]}'"
            + (did_you_mean(argv[1], commands) or f"; the commands are {', '.join(commands)}")
        )
    try:
        rest = command.parse(argv)
    except flags.Error as error:
        return _mistake(f"{str(error).rstrip('.')}; `genever {argv[1]} --help` lists the flags")
    if rest is None:
        return DONE
    try:
        return command.run(rest)
    except KeyboardInterrupt:
        if command.ends_as_python_does:
            raise
        print("genever: interrupted", file=sys.stderr)
        return INTERRUPTED


class _Command:
    """A command: its flags, which are its own so that a user's module can define any flag."""

    summary = ""
    ends_as_python_does = False

    def __init__(self):
        self.flags = flags.FlagValues()
        flags.DEFINE_multi_string(
            "gin_file",
            [],
            "A gin file, by path or by the name of a shipped one; later ones override.",
            flag_values=self.flags,
        )
        flags.DEFINE_multi_string(
            "gin_param",
            [],
            "A binding such as 'AdamOptimizer.learning_rate = 0.1'; overrides the gin files.",
            flag_values=self.flags,
        )
        flags.DEFINE_alias("gin_bindings", "gin_param", flag_values=self.flags)
        flags.DEFINE_string(
            "model_dir",
            None,
            "Where checkpoints, summaries, exports and the run ledger go (RunConfig.model_dir).",
            flag_values=self.flags,
        )
        flags.DEFINE_multi_string(
            "allow_kwargs",
            [],
            "A function whose **kwargs may be bound by names that its signature lacks.",
            flag_values=self.flags,
        )
        flags.DEFINE_bool(
            "help",
            False,
            "Shows these flags.",
            short_name="h",
            flag_values=self.flags,
        )

    def parse(self, argv: list[str]) -> list[str] | None:
        """Parses the flags; returns what follows `--`, or None when help was asked for."""
        own, rest = argv[2:], []
        if "--" in own:
            at = own.index("--")
            own, rest = own[:at], own[at + 1 :]
        left = self.flags([argv[0], *own])[1:]
        if self.flags["help"].value:
            print(f"genever {argv[1]}: {self.summary}\n\nflags:{self.flags.get_help('  ')}")
            return None
        if left:
            raise flags.Error(
                f"'{left[0]}' is no flag; a gin file is given as --gin_file {left[0]}"
                if left[0].endswith(".gin")
                else f"'{left[0]}' is no flag"
            )
        return rest

    def load(self, rest: Sequence[str]):
        """Loads the config, then gives `rest` to the flags that the user's modules defined."""
        from .config import load

        config = load(
            self.flags.gin_file,
            self.flags.gin_param,
            self.flags.model_dir,
            allow_kwargs=self.flags.allow_kwargs,
        )
        for warning in config.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        flags.FLAGS(["genever", *rest])
        return config

    def run(self, rest: list[str]) -> int:
        raise NotImplementedError


class _Train(_Command):
    summary = "train, evaluate and export as the gin files say"

    def run(self, rest: list[str]) -> int:
        from .quiet import importing_tensorflow, less_from_tensorflow
        from .report import TerminalReport

        less_from_tensorflow()
        report = TerminalReport()

        def train() -> None:
            with importing_tensorflow():
                config = self.load(rest)
                import tensorflow  # noqa: F401 - its start-up lines are held back here
            from ..input_fns import bad_records
            from .driver import train_and_evaluate

            train_and_evaluate(report=report)
            for source, count in bad_records().items():
                report.warn(f"{source}: {count} malformed record(s) were skipped")
            if report.training_started:  # a finished run calls only what evaluates it
                for line in config.unused():
                    report.warn(line)

        return _guarded(train, lambda: report.training_started)


class _Check(_Command):
    summary = "parse and audit the gin files, print the resolved run, start nothing"

    def __init__(self):
        super().__init__()
        flags.DEFINE_bool(
            "names", False, "Lists the names that a gin file can use.", flag_values=self.flags
        )

    def run(self, rest: list[str]) -> int:
        from .quiet import importing_tensorflow, less_from_tensorflow

        less_from_tensorflow()

        def check() -> None:
            from .config import register, resolved
            from .gin_tables import names

            if self.flags.names and not self.flags.gin_file:
                register()
                print("\n".join(sorted(n for n in names() if not n.startswith("gin."))))
                return
            with importing_tensorflow():
                self.load(rest)
            for name, value in resolved():
                print(f"{name} = {value}")
            print("the config is sound; nothing was started")

        return _guarded(check, lambda: False)


class _Run(_Command):
    summary = "run a Python program unchanged: SCRIPT [args] or -m MODULE [args]"
    ends_as_python_does = True

    def __init__(self):
        self.flags = flags.FlagValues()
        flags.DEFINE_bool(
            "tf1",
            False,
            "`import tensorflow` in the program means TensorFlow 1, with tf.contrib.",
            flag_values=self.flags,
        )
        flags.DEFINE_multi_string(
            "tf1_package",
            [],
            "With --tf1: an installed package that is TF1 code too.",
            flag_values=self.flags,
        )
        flags.DEFINE_bool(
            "driver",
            True,
            "tf.estimator.train_and_evaluate in the program is Genever's.",
            flag_values=self.flags,
        )
        flags.DEFINE_bool(
            "help", False, "Shows these flags.", short_name="h", flag_values=self.flags
        )

    def parse(self, argv: list[str]) -> list[str] | None:
        """Parses the flags before the program; returns the program and its arguments."""
        at = 2
        while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-m", "--"):
            at += 2 if argv[at].lstrip("-") == "tf1_package" else 1
        super().parse(argv[:at])
        if self.flags["help"].value:
            return None
        program = argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]
        if len(program) < 1 + (program[:1] == ["-m"]):
            raise flags.Error("'run' needs a program: SCRIPT [args] or -m MODULE [args]")
        return program

    def run(self, rest: list[str]) -> int:
        from ..estimators.compat.contrib import NotInTF1Error
        from . import legacy

        packages = self.flags.tf1_package
        if packages and not self.flags.tf1:
            return _mistake("--tf1_package has a meaning only with --tf1")
        if rest[0] == "-m":
            packages = [*packages, rest[1].partition(".")[0]]
        world = legacy.World(self.flags.tf1, self.flags.driver, tuple(packages))
        try:
            if rest[0] == "-m":
                legacy.run_module(rest[1], rest[2:], world)
            else:
                legacy.run_script(rest[0], rest[1:], world)
        except legacy.NoProgramError as error:
            return _mistake(str(error))
        except NotInTF1Error as error:
            return _mistake(f"{legacy.place(error)}{error}")
        return DONE


class _Lint(_Command):
    summary = "list what breaks in a project's source, on which version, and the cure"

    def __init__(self):
        from .lint_flags import define

        self.flags = define()
        self.paths: list[str] = []

    def parse(self, argv: list[str]) -> list[str] | None:
        self.paths = self.flags([argv[0], *argv[2:]])[1:]
        return [] if not self.flags["help"].value else super().parse([*argv[:2], "--help"])

    def run(self, rest: list[str]) -> int:
        from .lint_flags import run

        try:
            return run(self.flags, self.paths)
        except ValueError as error:
            return _mistake(str(error))


def _guarded(work: Callable[[], None], started: Callable[[], bool]) -> int:
    """Runs `work` and turns what it raises into a sentence and an exit code.

    Args:
      work: what to run.
      started: whether a training session was asked for; before that, a wrong value is the
        config's fault whoever finds it.
    """
    from .failures import sentence

    try:
        work()
    except KeyboardInterrupt:
        raise
    except Exception as error:  # the last frame of the program: every error becomes an exit code
        mistake = sentence(error, started())
        if mistake is not None:
            return _mistake(mistake)
        import traceback

        traceback.print_exc()
        reason = str(error).split("\n")[0]
        print(f"genever: failed: {type(error).__name__}: {reason}", file=sys.stderr)
        return FAILED
    return DONE


def _mistake(text: str) -> int:
    for line in text.split("\n"):
        print(f"genever: error: {line}", file=sys.stderr)
    return MISTAKE
