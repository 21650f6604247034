"""Tells a user's mistake from a failure, and says it in a sentence."""

import os
import sys
import sysconfig
import traceback

from absl import flags

from .gin_files import ConfigError

_GENEVER = os.path.normpath(os.path.join(os.path.dirname(__file__), os.pardir))
_LIBRARIES = tuple(
    os.path.normpath(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")
)
_WRONG_VALUE = (ValueError, TypeError, KeyError, RuntimeError, OSError, ImportError, flags.Error)


def sentence(error: BaseException, training_started: bool) -> str | None:
    """Returns what to tell the user if the error is their mistake, else None.

    A mistake is malformed input; a wrong value that Genever's own code refused; and, before any
    training session was asked for, any wrong value that a library refused.

    Args:
      error: what was raised.
      training_started: whether a training session was asked for.
    """
    from .. import input_fns

    if "tensorflow" in sys.modules:
        explained = input_fns.explain(error)
        if explained is not None:
            return str(explained)
    if isinstance(error, ConfigError):
        return str(error)
    if not isinstance(error, _WRONG_VALUE):
        return None
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raiser = next((f for f in reversed(frames) if not f.startswith(_LIBRARIES)), "")
    if not raiser.startswith(_GENEVER):
        return None  # the user's own code: they need the trace
    refused_by_genever = bool(frames) and frames[-1].startswith(_GENEVER)
    if refused_by_genever or not training_started:
        return _without_gin(str(error.args[0] if isinstance(error, KeyError) else error))
    return None


def _without_gin(text: str) -> str:
    """Returns the message with gin's "In call to configurable" lines made into a short tail."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    calls = [line.split("'")[1] for line in lines if line.startswith("In call to configurable")]
    kept = [line for line in lines if not line.startswith(("In call to", "No values supplied"))]
    kept = [line for line in kept if not line.startswith(("Gin had values", "Caller supplied"))]
    first = " ".join(kept[:2]) or "a value is wrong"
    return f"{first} (in {calls[0]})" if calls and calls[0] not in first else first
