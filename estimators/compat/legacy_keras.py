"""Keras 2 behind `tf.keras`, `tf.compat.v1.layers` and `from tensorflow.keras import ...`.

Replaces: Keras 3, which is behind `tf.keras` from TensorFlow 2.16 on and cannot build canned
Estimators, `tf.compat.v1.layers` or models for `model_to_estimator`. TensorFlow itself takes
`tf_keras` when TF_USE_LEGACY_KERAS is set, but reads the variable once when it is imported (for its
import paths) and again at the first use of each Keras name. Missing public API: a way to say so
after the import, and to ask which Keras a name is bound to.
"""

import importlib.util
import os
import sys
from typing import Any

from . import versions

_VARIABLE = "TF_USE_LEGACY_KERAS"
# The values that TensorFlow takes for yes.
_YES = ("1", "true", "True")

_V2_NAMES = ("keras", "losses", "metrics", "optimizers", "initializers")
_V1_NAMES = ("keras", "layers")


def choose(version: tuple[int, int] | None) -> None:
    """Asks for Keras 2 before TensorFlow is imported, unless the user has chosen a Keras.

    Never on TensorFlow 2.15, which has Keras 2 itself and recurses for ever when it is asked for
    a tf_keras that is not installed.
    """
    if version is None or version < versions.FIRST_WITHOUT_ESTIMATOR:
        return
    if _VARIABLE not in os.environ and _package_folder("tf_keras"):
        os.environ[_VARIABLE] = "1"


def bind(tf) -> None:
    """Fixes every Keras name of the imported TensorFlow to Keras 2, if Keras 2 is wanted.

    Raises:
      ImportError: one of them was used before and is Keras 3.
    """
    folder = _package_folder("tf_keras")
    if folder is None or os.environ.get(_VARIABLE, "1") not in _YES:
        return
    names = _keras_names(tf)
    taken = [name for name, value in names if _is_keras_3(value)]
    if taken:
        raise ImportError(
            f"{taken[0]} is already bound to Keras 3, which Estimators cannot use: import genever "
            f"before TensorFlow is used, or set the environment variable {_VARIABLE}=1 (set it to "
            "0 to keep Keras 3 and do without canned Estimators)."
        )
    os.environ[_VARIABLE] = "1"
    _put_first(tf, os.path.join(folder, "api", "_v2"))
    for v1 in _modules(tf, "v1"):
        api = os.path.join(folder, "api", "_v1")
        _put_first(v1, api)
        _put_first(v1.nn, os.path.join(api, "keras", "__internal__", "legacy"))
    for v2 in _modules(tf, "v2"):
        _put_first(v2, os.path.join(folder, "api", "_v2"))
    # A name that is used first where the environment is another one (a test, a thread with a
    # changed os.environ) would take Keras 3 alone.
    for _, value in names:
        if _is_unbound(value):
            value._initialize()


def _modules(tf, which: str) -> list:
    """`tf.compat.v1` or v2, and the second module that `import tensorflow.compat.v1` makes."""
    found = [getattr(tf.compat, which)]
    imported = sys.modules.get(f"tensorflow.compat.{which}")
    if imported is not None and imported is not found[0]:
        found.append(imported)
    return found


def _keras_names(tf) -> list[tuple[str, Any]]:
    """What is behind each name that TensorFlow takes from Keras, without loading any of it."""
    names = [(f"tf.{name}", getattr(tf, name)) for name in _V2_NAMES]
    for v2 in _modules(tf, "v2"):
        names += [(f"tf.compat.v2.{name}", getattr(v2, name)) for name in _V2_NAMES]
    for v1 in _modules(tf, "v1"):
        names += [(f"tf.compat.v1.{name}", getattr(v1, name)) for name in _V1_NAMES]
        names.append(("tf.compat.v1.nn.rnn_cell", v1.nn.rnn_cell))
    return names


def _is_unbound(value) -> bool:
    return vars(value).get("_tfll_initialized") is False


def _is_keras_3(value) -> bool:
    if "_tfll_initialized" in vars(value):
        return vars(value).get("_tfll_keras_version") == "keras_3"
    # Once used, a name holds the module itself; this is the folder of what Keras 3 shows there.
    folder, file = _package_folder("keras"), getattr(value, "__file__", None)
    return bool(folder and file and file.startswith(os.path.join(folder, "_tf_keras") + os.sep))


def _put_first(module, folder: str) -> None:
    if folder not in module.__path__:
        module.__path__ = [folder, *module.__path__]


def _package_folder(name: str) -> str | None:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        return None
    return os.path.dirname(spec.origin)
