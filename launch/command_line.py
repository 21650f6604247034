"""`genever COMMAND …`: the command line, a thin skin over what gin configures."""

import sys
from collections.abc import Sequence

from absl import flags

from .command import DONE, INTERRUPTED, MISTAKE, say_mistake
from .commands import Check, Inspect, Lint, Run, Train
from .launch_command import Launch

COMMANDS = {
    "train": Train,
    "check": Check,
    "launch": Launch,
    "run": Run,
    "lint": Lint,
    "inspect": Inspect,
}

_USAGE = """\
genever trains, evaluates and exports tf.estimator models from gin files.

usage: genever COMMAND [flags] [-- flags of your own modules]

commands:
{commands}

`genever COMMAND --help` lists the flags of a command.
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a command and exits: 0 done, 2 the user's mistake, 1 a failure, 130 after Ctrl-C."""
    sys.exit(run(list(sys.argv if argv is None else argv)))


def run(argv: list[str]) -> int:
    """Runs `argv` ([program, command, flags…]) and returns the exit code."""
    commands = {name: command() for name, command in COMMANDS.items()}
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
        from ..input_fns.errors import did_you_mean

        return say_mistake(
            f"there is no command '{argv[1]}'"
            + (did_you_mean(argv[1], commands) or f"; the commands are {', '.join(commands)}")
        )
    try:
        rest = command.parse(argv)
    except flags.Error as error:
        return say_mistake(f"{str(error).rstrip('.')}; `genever {argv[1]} --help` lists the flags")
    if rest is None:
        return DONE
    try:
        return command.run(rest)
    except KeyboardInterrupt:
        if command.ends_as_python_does:
            raise
        print("genever: interrupted", file=sys.stderr)
        return INTERRUPTED
