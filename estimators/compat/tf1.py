"""The TF1 world: in a program's own code `import tensorflow` means TensorFlow 1.

Replaces: the meaning of `import tensorflow` in the code of a TF1 program, on every TensorFlow; the
libraries that it uses, TensorFlow's own modules above all, go on seeing the real one. So the import
statement itself is what is patched, and not the module. Missing public API: `tensorflow.compat.v1`
has to be written into every file, and knows neither `tf.contrib` nor `tensorflow.examples`.
"""

import builtins
import functools
import importlib
import importlib.util
import logging
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable
from typing import Any

import wrapt

from .contrib import NotInTF1AttributeError, NotInTF1Error, NotInTF1ImportError, follow
from .moved_names import bring_back

__all__ = ["NotInTF1Error", "enter"]

# Code of today, wherever it is installed.
_MODERN = {"genever", "gin", "keras", "tensorflow", "tensorflow_estimator", "tf_keras", "tf_slim"}
_V1 = "tensorflow.compat.v1"
_EXAMPLES = (
    "tensorflow.examples ended with TensorFlow 1; load the data with tf.keras.datasets, or keep a "
    "copy of the example in your project."
)

_entered = False


def enter(packages: Iterable[str] = ()) -> None:
    """Gives this process the TF1 world; to be called before the program is imported.

    TensorFlow's v2 behaviour is switched off as soon as anything imports TensorFlow.

    Args:
      packages: names of installed packages that are TF1 code too.
    """
    global _entered
    if _entered:
        return
    _entered = True
    wrapt.register_post_import_hook(_disable_v2_behavior, "tensorflow")
    bring_back()
    is_program = functools.partial(_is_program, frozenset(packages), _libraries())
    builtins.__import__ = _import_in(builtins.__import__, is_program, TF1())


def _disable_v2_behavior(tf) -> None:
    logger = logging.getLogger("tensorflow")
    before = logger.level
    # It would warn that what was asked for is deprecated.
    logger.setLevel(logging.ERROR)
    try:
        tf.compat.v1.disable_v2_behavior()
    finally:
        logger.setLevel(before)


def _libraries() -> tuple[str, ...]:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({os.path.realpath(folder) + os.sep for folder in folders})


def _is_program(packages: frozenset[str], libraries: tuple[str, ...], namespace: Any) -> bool:
    """Whether an import statement that runs in `namespace` is the program's own."""
    if not namespace:
        return False
    name = namespace.get("__package__") or namespace.get("__name__") or ""
    package = name.partition(".")[0]
    if package in packages:
        return True
    if package in _MODERN:
        return False
    file = namespace.get("__file__")
    if not file:  # `python -c`, or code that a library has made up
        return namespace.get("__name__") == "__main__"
    return not os.path.realpath(file).startswith(libraries)


def _import_in(original, is_program, tf1):
    """Returns the `__import__` of the TF1 world."""

    @functools.wraps(original)
    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        if (
            level
            or not (name == "tensorflow" or name.startswith("tensorflow."))
            or not is_program(globals)
        ):
            return original(name, globals, locals, fromlist, level)
        original("tensorflow")
        module = tf1 if name == "tensorflow" else _submodule(original, name, fromlist)
        if isinstance(module, TF1) or "contrib" in name:
            _require(module, fromlist)
        # `import a.b` gives a, `from a.b import c` gives a.b.
        return module if fromlist else tf1

    return import_


def _submodule(original, name: str, fromlist: Any) -> Any:
    first, *rest = name.split(".")[1:]
    if first == "contrib":
        return follow(rest)
    if first == "examples":
        raise NotInTF1ImportError(_EXAMPLES)
    fromlist = fromlist or ("__name__",)
    if first != "compat":
        v1 = ".".join((_V1, first, *rest))
        if _exists(v1):
            return original(v1, None, None, fromlist, 0)
        # tf.layers is an attribute of TensorFlow 1 and no folder of TensorFlow 2.
        found = getattr(importlib.import_module(_V1), first, None)
        for part in rest:
            found = getattr(found, part, None)
        if isinstance(found, types.ModuleType):
            return found
    return original(name, None, None, fromlist, 0)


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _require(module: Any, names: Any) -> None:
    """Says why a name cannot be imported; the import statement would forget the sentence."""
    for name in names or ():
        if name == "*":
            continue
        try:
            getattr(module, name)
        except NotInTF1AttributeError as error:
            raise NotInTF1ImportError(str(error)) from None
        except AttributeError:
            continue


class TF1(types.ModuleType):
    """The module `tensorflow` as a TF1 program sees it: `tensorflow.compat.v1` and `tf.contrib`."""

    def __init__(self):
        super().__init__("tensorflow")

    def __getattr__(self, name: str) -> Any:
        real = sys.modules["tensorflow"]
        if name in ("__file__", "__path__", "compat"):
            return getattr(real, name)
        if name == "__all__":
            return [public for public in dir(self) if not public.startswith("_")]
        if name == "contrib":
            return follow([])
        if name == "examples":
            raise NotInTF1AttributeError(_EXAMPLES)
        try:
            return getattr(importlib.import_module(_V1), name)
        except AttributeError:
            # A folder of the sources, such as tensorflow.python, once something has imported it.
            found = sys.modules.get(f"tensorflow.{name}")
            if found is None:
                raise AttributeError(f"module 'tensorflow' has no attribute '{name}'") from None
            return found

    def __dir__(self) -> list[str]:
        return sorted({*dir(importlib.import_module(_V1)), "contrib"})
