"""What every command of the command line has: flags of its own, `--help`, exit codes."""

import sys
import textwrap
from collections.abc import Callable, Sequence

from absl import flags

DONE, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


class Command:
    """A command: its flags, which are its own so that a user's module can define any flag.

    Attributes:
      summary: what it does, for `genever --help`.
      arguments: what stands beside the flags, for `--help`; "" where nothing does.
      ends_as_python_does: whether Ctrl-C is the program's own matter.
    """

    summary = ""
    arguments = ""
    ends_as_python_does = False

    def __init__(self, own: flags.FlagValues | None = None):
        self.flags = flags.FlagValues() if own is None else own
        if "help" not in self.flags:
            flags.DEFINE_bool(
                "help", False, "Shows these flags.", short_name="h", flag_values=self.flags
            )

    def parse(self, argv: Sequence[str]) -> list[str] | None:
        """Parses [program, command, flags…].

        Returns:
          What `run` is to be given; None when help was asked for and shown.

        Raises:
          flags.Error: a flag is unknown, or its value is wrong.
        """
        left = self.flags([argv[0], *argv[2:]])[1:]
        return None if self.help(argv[1]) else left

    def help(self, name: str) -> bool:
        """Shows the flags if --help was given, and says whether it was."""
        if not self.flags["help"].value:
            return False
        usage = f"usage: genever {name} [flags] {self.arguments}".rstrip()
        print(f"genever {name}: {self.summary}\n\n{usage}\n\nflags:")
        for module, own in self.flags.flags_by_module_dict().items():
            if module == "absl.flags":
                continue  # absl's own ones would drown those that matter
            for flag in own:
                given = "" if flag.default in (None, False, []) else f" (default: {flag.default})"
                text = textwrap.fill(" ".join(f"{flag.help}{given}".split()), 76)
                print(f"  --{flag.name}\n{textwrap.indent(text, '      ')}")
        return True

    def run(self, rest: list[str]) -> int:
        """Runs the command and returns the exit code."""
        raise NotImplementedError


class ConfigCommand(Command):
    """A command that loads gin files."""

    arguments = "[-- flags of your own modules]"

    def __init__(self):
        super().__init__()
        flags.DEFINE_multi_string(
            "gin_file",
            [],
            "A gin file, by path or by the name of a shipped one; later ones override",
            flag_values=self.flags,
        )
        flags.DEFINE_multi_string(
            "gin_param",
            [],
            "A binding such as 'AdamOptimizer.learning_rate = 0.1'; overrides the gin files",
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
            "A function whose **kwargs may be bound by names that its signature lacks",
            flag_values=self.flags,
        )

    def parse(self, argv: Sequence[str]) -> list[str] | None:
        """Parses the flags; returns what follows `--`."""
        own, rest = list(argv), []
        if "--" in own:
            at = own.index("--")
            own, rest = own[:at], own[at + 1 :]
        try:
            left = super().parse(own)
        except flags.UnrecognizedFlagError as error:
            raise flags.Error(f"{error}; flags of your own modules follow --") from error
        if left:
            raise flags.Error(
                f"'{left[0]}' is no flag; a gin file is given as --gin_file {left[0]}"
                if left[0].endswith(".gin")
                else f"'{left[0]}' is no flag"
            )
        return None if left is None else rest

    def load(self, rest: Sequence[str]):
        """Loads the config, then gives `rest` to the flags that the user's modules defined."""
        from . import cluster_spec, slurm_environment
        from .config import load

        slurm_environment.adopt()
        for correction in cluster_spec.adopt():
            print(f"warning: {correction}", file=sys.stderr)
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


def guarded(
    work: Callable[[], None],
    started: Callable[[], bool] = lambda: False,
    bindings: Callable[[], Sequence] = tuple,
) -> int:
    """Runs `work` and turns what it raises into a sentence and an exit code.

    Args:
      work: what to run.
      started: whether a training session was asked for; before that, a wrong value is the
        config's fault whoever finds it.
      bindings: returns the bindings of the config that is loaded, for their places.
    """
    from .failures import sentence, summary
    from .preemption import Preempted

    try:
        work()
    except KeyboardInterrupt:
        raise
    except Preempted as asked:
        print(f"genever: {asked}", file=sys.stderr)
        return asked.code
    except Exception as error:  # the last frame of the program: every error becomes an exit code
        mistake = sentence(error, started(), bindings())
        if mistake is not None:
            return say_mistake(mistake)
        import traceback

        traceback.print_exc()
        print(f"genever: failed: {type(error).__name__}: {summary(error)}", file=sys.stderr)
        return FAILED
    return DONE


def say_mistake(text: str) -> int:
    """Says what the user got wrong, a line for each thing, and returns the exit code."""
    for line in text.split("\n"):
        print(f"genever: error: {line}", file=sys.stderr)
    return MISTAKE
