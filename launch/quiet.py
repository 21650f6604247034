"""Keeps TensorFlow's start-up lines and deprecation warnings out of a run's own lines."""

import contextlib
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator

# TensorFlow 2.17 and later log these while they are imported, whatever TF_CPP_MIN_LOG_LEVEL says.
_NOISE = re.compile(rb"WARNING: All log messages before absl|[IWE]\d{4} \d\d:\d\d:")
_SAYS_NOTHING = ("deprecated", "It seems that global step")


def less_from_tensorflow() -> None:
    """Sets TensorFlow's logs to errors, and its Python log to warnings that say something.

    A TF_CPP_MIN_LOG_LEVEL that the user has set is kept.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.getLogger("tensorflow").addFilter(_says_something)
    # tf.data says so of every dataset that a strategy distributes, whoever made it.
    warnings.filterwarnings("ignore", "To make it possible to preserve tf.data options")


def _says_something(record: logging.LogRecord) -> bool:
    # The driver itself watches for a global step that stands still; TensorFlow's line guesses.
    return record.levelno >= logging.WARNING and not any(
        text in str(record.msg) for text in _SAYS_NOTHING
    )


@contextlib.contextmanager
def importing_tensorflow() -> Iterator[None]:
    """Holds back what is written to the standard error, and lets through all but start-up noise."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "3":
        yield  # the user asked to see more
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        before = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
            held.seek(0)
            for line in held:
                if not _NOISE.match(line):
                    os.write(2, line)
