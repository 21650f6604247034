"""`tf.contrib` for a TF1 program: each name leads to where it lives today, or to a sentence.

Replaces: the package tensorflow.contrib, gone since TensorFlow 2.0. contrib_table.py holds the
data. Missing public API: TensorFlow has no `tf.contrib`.
"""

import difflib
import importlib
import importlib.util
import types
from typing import Any

from .contrib_table import MODULES, NOTHING, Module

_NAME = "tensorflow.contrib"
_ABSENT = object()


class NotInTF1Error(Exception):
    """A TF1 program needs what no longer exists; its text is one sentence that says what to do."""


class NotInTF1AttributeError(NotInTF1Error, AttributeError):
    """The same, where an attribute was asked for, so that hasattr says no."""


class NotInTF1ImportError(NotInTF1Error, ImportError):
    """The same, where it was imported, so that `except ImportError` catches it."""


class Contrib(types.ModuleType):
    """`tf.contrib` or one of its modules.

    Args:
      path: the name below tf.contrib, "" for tf.contrib itself.
    """

    def __init__(self, path: str = ""):
        super().__init__(f"{_NAME}.{path}" if path else _NAME)
        self.__path__ = []
        self._module = MODULES.get(path, Module()) if path else Module()

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return dir(self)
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        value = self._find(name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        if self.__name__ == _NAME:
            return sorted(MODULES)
        found = {name for name, place in self._module.names.items() if _is_place(place)}
        for home in self._module.homes:
            found.update(name for name in dir(resolve(home)) if not name.startswith("_"))
        return sorted(found)

    def _find(self, name: str) -> Any:
        if self.__name__ == _NAME:
            return _module(name)
        # Programs also import by the folders of the sources: tensorflow.contrib.slim.python.slim.
        if name in ("python", self.__name__.rpartition(".")[2]):
            return self
        place = self._module.names.get(name)
        if place is not None:
            if not _is_place(place):
                raise NotInTF1AttributeError(_sentence(f"{self._short()}.{name}", place))
            return resolve(place)
        for home in self._module.homes:
            value = getattr(resolve(home), name, _ABSENT)
            if value is not _ABSENT and not _is_imported_there(value, home):
                return value
        raise NotInTF1AttributeError(
            _sentence(f"{self._short()}.{name}", self._module.advice) + self._did_you_mean(name)
        )

    def _did_you_mean(self, name: str) -> str:
        near = difflib.get_close_matches(name, dir(self), n=1, cutoff=0.75)
        return f" Did you mean '{near[0]}'?" if near else ""

    def _short(self) -> str:
        return self.__name__.replace("tensorflow", "tf", 1)


def _module(name: str) -> Contrib:
    module = MODULES.get(name)
    if module is None:
        raise NotInTF1AttributeError(_sentence(f"tf.contrib.{name}", NOTHING))
    if not module.homes and not module.names:
        raise NotInTF1AttributeError(_sentence(f"tf.contrib.{name}", module.advice))
    return Contrib(name)


def _is_imported_there(value: Any, home: str) -> bool:
    """Whether a value is no name of its home, but a module that the file there has imported."""
    return (
        isinstance(value, types.ModuleType)
        and not home.startswith("tf.")
        and not value.__name__.startswith(f"{home}.")
    )


def _is_place(place: str) -> bool:
    return " " not in place


def _sentence(name: str, advice: str) -> str:
    return f"{name} ended with TensorFlow 1; {advice}."


def resolve(place: str) -> Any:
    """Returns what a place of contrib_table.py leads to.

    Args:
      place: a dotted path, as described there.

    Raises:
      NotInTF1ImportError: the package that holds it is not installed.
      AttributeError: this TensorFlow does not have it.
    """
    if place.startswith("tf."):
        return _attributes(importlib.import_module("tensorflow.compat.v1"), place.split(".")[1:])
    if place.startswith("."):
        module, _, name = place[1:].partition(".")
        found = importlib.import_module(f".{module}", __package__)
        return getattr(found, name) if name else found
    parts = place.split(".")
    if parts[0] == "tf_slim" and importlib.util.find_spec("tf_slim") is None:
        raise NotInTF1ImportError(
            "slim and most of tf.contrib.layers, losses, metrics, framework and training live on "
            "in the package tf-slim, which is not installed: pip install 'genever[tf1]'."
        )
    found, at = importlib.import_module(parts[0]), 1
    while at < len(parts):
        try:
            found = importlib.import_module(".".join(parts[: at + 1]))
        except ModuleNotFoundError:
            break
        at += 1
    return _attributes(found, parts[at:])


def _attributes(found: Any, names: list[str]) -> Any:
    for name in names:
        found = getattr(found, name)
    return found


def follow(names: list[str]) -> Any:
    """Returns what `import tensorflow.contrib.a.b` names.

    Args:
      names: the parts below tensorflow.contrib.

    Raises:
      NotInTF1ImportError: it has no home today.
    """
    found: Any = contrib
    below_sources = False
    for name in names:
        below_sources = below_sources or name == "python"
        try:
            value = getattr(found, name)
        except NotInTF1AttributeError as error:
            if not below_sources:
                raise NotInTF1ImportError(str(error)) from None
            value = None
        except AttributeError:
            value = importlib.import_module(f"{found.__name__}.{name}")
        # A file among the sources of a module has no place of its own: its names are the module's.
        if isinstance(value, types.ModuleType) or not below_sources:
            found = value
    return found


contrib = Contrib()
