"""Which names of TensorFlow belong to TF1, read from tf1_names.txt without importing TensorFlow.

`python -m genever.launch.tf1_names` writes the file anew, from the installed TensorFlow.
"""

import dataclasses
import functools
import inspect
import os
import re
import types
from collections.abc import Callable, Iterator, Mapping

FILE = os.path.join(os.path.dirname(__file__), "tf1_names.txt")

_TITLES = (
    "only in tf.compat.v1",
    "arguments only in tf.compat.v1, after the number of positional arguments that tf takes",
    "only in tf",
)
_HEAD = (
    "# Public names of TensorFlow without the leading `tf.`; a name stands for all that is under\n"
    "# it too. Written by `python -m genever.launch.tf1_names`.\n"
)
# Modules whose files lie there hold the public API.
_API_FOLDERS = re.compile(r"[/\\](_api|api)[/\\]|tensorboard[/\\]summary[/\\]_tf")


@dataclasses.dataclass(frozen=True)
class Arguments:
    """How tf takes its arguments where tf.compat.v1 takes others.

    Attributes:
      positional: how many arguments tf takes by position.
      removed: the arguments that only tf.compat.v1 has.
    """

    positional: int
    removed: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Names:
    """What the file says; the names have no leading `tf.`."""

    only_v1: frozenset[str]
    arguments: Mapping[str, Arguments]
    only_v2: frozenset[str]

    def is_only_v1(self, name: str) -> bool:
        """Whether `name`, or what it is an attribute of, exists in tf.compat.v1 and not in tf."""
        return _nearest(name, self.only_v1)

    def is_only_v2(self, name: str) -> bool:
        """Whether `name`, or what it is an attribute of, exists in tf and not in tf.compat.v1."""
        return _nearest(name, self.only_v2)


def _nearest(name: str, names: frozenset[str]) -> bool:
    while name:
        if name in names:
            return True
        name = name.rpartition(".")[0]
    return False


@functools.cache
def load() -> Names:
    """Reads the file that is shipped with Genever."""
    with open(FILE, encoding="utf-8") as file:
        return parse(file.read())


def parse(text: str) -> Names:
    """Reads the text of the file."""
    sections: dict[str, list[str]] = {title: [] for title in _TITLES}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            current = sections[line[1:-1]]
        elif line and not line.startswith("#"):
            current.append(line)
    only_v1, arguments, only_v2 = sections.values()
    rows = [line.split() for line in arguments]
    return Names(
        frozenset(only_v1),
        {name: Arguments(int(number), frozenset(rest)) for name, number, *rest in rows},
        frozenset(only_v2),
    )


def generate() -> str:
    """The text of the file for the installed TensorFlow, with the bridge."""
    import tensorflow as tf

    v1, v2 = dict(_walk(tf.compat.v1)), dict(_walk(tf))
    arguments = []
    for name in sorted(v1.keys() & v2.keys()):
        # Keras keeps its arguments, and takes the removed ones by other ways.
        if v1[name] is v2[name] or not callable(v1[name]) or name.startswith("keras."):
            continue
        row = _other_arguments(v1[name], v2[name])
        if row is not None:
            arguments.append(f"{name} {row}")
    rows = (
        _tops(v1.keys() - v2.keys()),
        arguments,
        [name for name in _tops(v2.keys() - v1.keys()) if not name.startswith("keras.")],
    )
    parts = (f"\n[{title}]\n" + "\n".join(part) for title, part in zip(_TITLES, rows, strict=True))
    return _HEAD + "\n".join(parts) + "\n"


def _walk(module: types.ModuleType, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name in dir(module):
        # The first use of tf.compat.v1.nn.rnn_cell adds a second one at the top.
        if name.startswith("_") or prefix + name in ("compat", "rnn_cell"):
            continue
        value = getattr(module, name, None)
        if isinstance(value, types.ModuleType):
            if _API_FOLDERS.search(getattr(value, "__file__", None) or ""):
                yield prefix + name, value
                yield from _walk(value, f"{prefix}{name}.")
            elif prefix + name == "flags":
                yield prefix + name, value
        elif value is not None:
            yield prefix + name, value


def _tops(names) -> list[str]:
    """The names without those under another one of them."""
    return sorted(name for name in names if not _nearest(name.rpartition(".")[0], names))


def _other_arguments(v1: Callable, v2: Callable) -> str | None:
    old, new = _parameters(v1), _parameters(v2)
    if old is None or new is None:
        return None
    known = {p.name for p in new}
    removed = [p.name for p in old if p.name not in known]
    positional = sum(p.kind is not p.KEYWORD_ONLY for p in new)
    return " ".join([str(positional), *removed]) if removed else None


def _parameters(function: Callable) -> list[inspect.Parameter] | None:
    """The arguments, or None if any others are taken too."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters):
        return None
    return parameters


if __name__ == "__main__":
    with open(FILE, "w", encoding="utf-8") as out:
        out.write(generate())
