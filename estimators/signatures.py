"""Shows `tf.estimator` the arguments of a function that gin or another decorator has wrapped."""

import inspect
from collections.abc import Callable
from typing import Any

# What tf.estimator itself passes by name; it refuses a model_fn that shows any other argument.
MODEL_FN_ARGUMENTS = ("features", "labels", "mode", "params", "config")
INPUT_FN_ARGUMENTS = ("mode", "params", "config", "input_context")

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def expose_arguments(fn: Callable[..., Any], passed: tuple[str, ...]) -> Callable[..., Any]:
    """Returns a callable that shows tf.estimator those of `fn`'s arguments that it passes.

    tf.estimator looks at the outermost function only, so it does not see the arguments behind
    `functools.wraps`, and it refuses arguments that are not its own, which gin fills.

    Args:
        fn: a model_fn or an input_fn, wrapped or not.
        passed: the argument names that tf.estimator passes to it.
    Returns:
        A callable that calls `fn` with what it is given, with a signature of the names in `passed`
        that `fn` takes.
    """
    taken = [
        parameter.replace(
            kind=inspect.Parameter.POSITIONAL_OR_KEYWORD, default=inspect.Parameter.empty
        )
        for parameter in inspect.signature(fn).parameters.values()
        if parameter.kind in _NAMED and parameter.name in passed
    ]

    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    call.__name__ = getattr(fn, "__name__", type(fn).__name__)
    call.__qualname__ = getattr(fn, "__qualname__", call.__name__)
    call.__module__ = getattr(fn, "__module__", __name__)
    call.__doc__ = fn.__doc__
    call.__signature__ = inspect.Signature(taken)
    return call
