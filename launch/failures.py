"""Tells a user's mistake from a failure, and says it in a sentence."""

import os
import sys
import sysconfig
import traceback

from absl import flags

from .gin_files import ConfigError, without_gin

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
            return without_gin(str(explained))
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
        return without_gin(str(error.args[0] if isinstance(error, KeyError) else error))
    return None
