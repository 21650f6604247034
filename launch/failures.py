"""Tells a user's mistake from a failure, and says it in a sentence."""

import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Sequence

from absl import flags

from .gin_files import Binding, ConfigError, without_gin

_GENEVER = os.path.normpath(os.path.join(os.path.dirname(__file__), os.pardir))
_LIBRARIES = tuple(
    os.path.normpath(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")
)
_WRONG_VALUE = (ValueError, TypeError, KeyError, RuntimeError, OSError, ImportError, flags.Error)


def sentence(
    error: BaseException, training_started: bool, bindings: Sequence[Binding] = ()
) -> str | None:
    """Returns what to tell the user if the error is their mistake, else None.

    A mistake is malformed input; a wrong value that Genever's own code refused; and, before any
    training session was asked for, any wrong value that a library refused.

    Args:
      error: what was raised.
      training_started: whether a training session was asked for.
      bindings: those of the config, to name the place of a value that is refused.
    """
    from .. import input_fns

    if "tensorflow" in sys.modules:
        explained = input_fns.explain(error)
        if explained is not None:
            return without_gin(str(explained))
    if isinstance(error, ConfigError):
        return str(error)
    if not isinstance(error, _WRONG_VALUE):
        return None
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raiser = next((f for f in reversed(frames) if _is_genever(f) or not _is_library(f)), "")
    if not _is_genever(raiser):
        return None  # the user's own code: they need the trace
    if _is_genever(frames[-1]) or not training_started:
        text = without_gin(str(error.args[0] if isinstance(error, KeyError) else error))
        return _place(str(error), bindings) + text
    return None


def _is_genever(filename: str) -> bool:
    return filename.startswith(_GENEVER + os.sep)


def _is_library(filename: str) -> bool:
    return filename.startswith(_LIBRARIES)


def _place(text: str, bindings: Sequence[Binding]) -> str:
    """Returns "run.gin:3: " where a message speaks of a parameter that is bound there, or ""."""
    calls = re.findall(r"In call to configurable '([\w.]+)'", text)
    first = text.split("\n")[0]
    for binding in reversed(bindings):
        name = binding.selector.rpartition(".")[2]
        speaks_of_it = re.search(rf"\b{re.escape(binding.parameter)}\b", first)
        if speaks_of_it and (name in calls[:1] or f"{name}.{binding.parameter}" in first):
            return f"{binding.where}: "
    return ""


def summary(error: BaseException) -> str:
    """Returns the one line of an error that tells most.

    TensorFlow's graph errors begin with the way to the node and tell the cause after it.
    """
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    nodes = [i for i, line in enumerate(lines) if line.startswith("Node: ")]
    if nodes and nodes[0] + 1 < len(lines):
        return lines[nodes[0] + 1]
    return lines[0] if lines else ""
