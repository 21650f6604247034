"""Two kinds of optimizers: those of `tf.compat.v1.train` for model_fns, those of Keras 2 for canned
Estimators, and what to write when one stands in the place of the other.
"""

import functools
import inspect
from typing import Any

# Class in Keras -> class in tf.compat.v1.train that does the same.
_KERAS_TO_V1 = {
    "Adadelta": "AdadeltaOptimizer",
    "Adagrad": "AdagradOptimizer",
    "Adam": "AdamOptimizer",
    "Ftrl": "FtrlOptimizer",
    "RMSprop": "RMSPropOptimizer",
    "SGD": "GradientDescentOptimizer",
}
_V1_TO_KERAS = {v1: keras for keras, v1 in _KERAS_TO_V1.items()} | {"MomentumOptimizer": "SGD"}


def not_of_tf_train(optimizer: Any) -> ValueError:
    """Returns the error of a model_fn whose optimizer is not one of `tf.compat.v1.train`."""
    name = optimizer if isinstance(optimizer, str) else _class_name(optimizer)
    shown = repr(optimizer) if isinstance(optimizer, str) else f"{_a(name)} ({optimizer!r})"
    if _is_keras(optimizer):
        shown = f"the Keras optimizer {name}"
    instead = _KERAS_TO_V1.get(name)
    cure = f"write `@{instead}`" if instead else "write one such as `@AdamOptimizer`"
    return ValueError(
        f"optimizer = {shown} is not an optimizer of tf.compat.v1.train; {cure} (Adam, Ftrl, ... "
        "of Keras are for canned Estimators)."
    )


def for_canned(parameter: str, optimizer: Any) -> Any:
    """Returns an optimizer that a canned Estimator can use.

    Args:
        parameter: its name in a config, e.g. 'DNNClassifier.optimizer'.
        optimizer: a name, an optimizer of Keras 2, or a function that makes one.
    Returns:
        The same; a function is wrapped so that what it makes is checked too.
    Raises:
        ValueError: it is, or is known to make, something else.
    """
    from . import optimizers

    if isinstance(optimizer, str):
        return optimizer
    if not callable(optimizer) or _is_v1(optimizer):
        return _checked(parameter, optimizer)
    made_by = inspect.unwrap(optimizer)
    if getattr(made_by, "__module__", None) == optimizers.__name__:
        raise _not_of_keras(parameter, made_by.__name__)
    if inspect.isclass(optimizer) and _is_v1_class(optimizer):
        raise _not_of_keras(parameter, optimizer.__name__)

    # A gin reference knows the parameters by its wrapper, so the wrapper keeps its face.
    @functools.wraps(optimizer, updated=())
    def make():
        return _checked(parameter, optimizer())

    return make


def _checked(parameter: str, optimizer: Any) -> Any:
    if _is_v1(optimizer):
        raise _not_of_keras(parameter, _class_name(optimizer))
    if not _is_keras(optimizer):
        raise ValueError(
            f"{parameter} = {optimizer!r} is not an optimizer of Keras; write one such as `@Adam`."
        )
    return optimizer


def _not_of_keras(parameter: str, name: str) -> ValueError:
    instead = _V1_TO_KERAS.get(name)
    cure = f"write `@{instead}`" if instead else "write one such as `@Adam`"
    if name == "MomentumOptimizer":
        cure += " and set SGD.momentum"
    return ValueError(
        f"{parameter} is {_a(name)} of tf.compat.v1.train, which is for model_fns; {cure}, an "
        "optimizer of Keras."
    )


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"


def _class_name(optimizer: Any) -> str:
    kind = optimizer if inspect.isclass(optimizer) else type(optimizer)
    return kind.__name__


def _is_v1(optimizer: Any) -> bool:
    import tensorflow as tf

    return isinstance(optimizer, tf.compat.v1.train.Optimizer)


def _is_v1_class(optimizer: type) -> bool:
    import tensorflow as tf

    return issubclass(optimizer, tf.compat.v1.train.Optimizer)


def _is_keras(optimizer: Any) -> bool:
    import tensorflow as tf

    keras = tf.keras.optimizers
    kinds = {keras.Optimizer, getattr(keras, "legacy", keras).Optimizer}
    return isinstance(optimizer, tuple(kinds))
