"""The flags of `genever lint`, and its run."""

import os
import sys
from collections.abc import Sequence

from absl import flags

_TENSORFLOW = ["2.15", "2.16", "2.17", "2.18", "2.19", "2.20", "2.21"]
_PYTHON = ["3.10", "3.11", "3.12", "3.13"]

NOTHING_TO_CHANGE, TO_CHANGE = 0, 1


def define() -> flags.FlagValues:
    """The flags, for a command line of their own."""
    values = flags.FlagValues()
    flags.DEFINE_enum(
        "format",
        "text",
        ["text", "json"],
        "Lines for a reader, or JSON for a tool.",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "tensorflow",
        None,
        _TENSORFLOW,
        "The TensorFlow that the program shall run on; all supported ones if not given.",
        flag_values=values,
    )
    flags.DEFINE_enum(
        "python",
        None,
        _PYTHON,
        "The Python that the program shall run on; all supported ones if not given.",
        flag_values=values,
    )
    flags.DEFINE_bool("help", False, "Shows these flags.", short_name="h", flag_values=values)
    return values


def run(values: flags.FlagValues, paths: Sequence[str]) -> int:
    """Prints the report of the files and folders in `paths`.

    Returns:
      The exit code: 0 if nothing must be changed, else 1.

    Raises:
      ValueError: a path is not given or does not exist.
    """
    from .lint import lint
    from .lint_rules import Target, Verdict, version

    if not paths:
        raise ValueError("lint needs a file or a folder of your project: `genever lint PATH...`")
    target = Target(*(version(v) if v else None for v in (values.tensorflow, values.python)))
    report = lint(paths, target)
    try:
        print(report.json() if values.format == "json" else report.text(), flush=True)
    except BrokenPipeError:
        # Who reads only the head of it has seen enough; Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return TO_CHANGE if report.count()[Verdict.CHANGE] else NOTHING_TO_CHANGE
