"""`genever inspect`: what a checkpoint holds, and which of it are an optimizer's slots."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence

# How tf.train.Checkpoint (Keras, tf.Module) names a value and a slot of it.
_OBJECT = re.compile(r"(?P<path>.*)/\.ATTRIBUTES/VARIABLE_VALUE")
_OBJECT_SLOT = re.compile(r"(?P<path>.*)/\.OPTIMIZER_SLOT/(?P<optimizer>.*)/(?P<slot>[^/]+)")

# What an optimizer keeps once for all variables.
_SHARED = re.compile(
    r"(^|/)(beta[12]_power|beta_[12]|decay|learning_rate|iter|momentum|rho)(_\d+)?$"
)


@dataclasses.dataclass(frozen=True)
class Entry:
    """One value of a checkpoint.

    Attributes:
      name: its name in the checkpoint.
      shape: its shape.
      dtype: its dtype's name, as in "float32".
      size: its size in bytes; None for strings, whose length the index does not tell.
      slot_of: the variable that it is a slot of; "" for a variable, "optimizer" for what an
        optimizer keeps once for all variables.
      slot: the slot's name, as in "Adam_1" or "accumulator".
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    size: int | None
    slot_of: str = ""
    slot: str = ""


def entries(checkpoint: str) -> tuple[str, list[Entry]]:
    """Reads what a checkpoint holds.

    Args:
      checkpoint: a checkpoint's prefix, as in "runs/1/model.ckpt-200"; a model_dir, whose latest
        checkpoint is meant; or the folder of a SavedModel.

    Returns:
      (prefix, entries by name).

    Raises:
      ValueError: there is no checkpoint, or it is damaged; the message says where.
    """
    import tensorflow as tf

    prefix = _prefix(checkpoint)
    try:
        reader = tf.train.load_checkpoint(prefix)
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"checkpoint '{prefix}' cannot be read: {reason}") from error
    shapes = reader.get_variable_to_shape_map()
    dtypes = reader.get_variable_to_dtype_map()
    slots = _slots(shapes)
    found = []
    for name in sorted(shapes):
        dtype = dtypes[name]
        size = None if dtype == tf.string else math.prod(shapes[name]) * dtype.size
        owner, slot = slots.get(name, ("", ""))
        found.append(Entry(name, tuple(shapes[name]), dtype.name, size, owner, slot))
    return prefix, found


def _prefix(checkpoint: str) -> str:
    import os

    import tensorflow as tf

    inside = os.path.join(checkpoint, "variables", "variables")
    if os.path.isfile(f"{inside}.index"):
        return inside
    if os.path.isdir(checkpoint):
        latest = tf.train.latest_checkpoint(checkpoint)
        if latest is None:
            raise ValueError(f"'{checkpoint}' holds no checkpoint; name a model_dir or a prefix")
        return latest
    prefix = re.sub(r"\.(index|meta|data-\d+-of-\d+)$", "", checkpoint)
    if not os.path.isfile(f"{prefix}.index"):
        folder = os.path.dirname(prefix) or "."
        there = sorted(
            name.removesuffix(".index")
            for name in (os.listdir(folder) if os.path.isdir(folder) else ())
            if name.endswith(".index")
        )
        hint = f"; there are {', '.join(there)}" if there else ""
        raise ValueError(f"there is no checkpoint '{prefix}'{hint}")
    return prefix


def _slots(shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[str, str]]:
    """Returns {entry: (variable, slot)} for all entries that belong to an optimizer."""
    found: dict[str, tuple[str, str]] = {}
    for name in shapes:
        owner = _object_slot(name) or _named_slot(name, shapes)
        if owner:
            found[name] = owner
        elif _SHARED.search(_plain(name)) and not shapes[name]:
            found[name] = ("optimizer", _plain(name).rsplit("/", 1)[-1])
    return found


def _plain(name: str) -> str:
    match = _OBJECT.fullmatch(name)
    return match["path"] if match else name


def _object_slot(name: str) -> tuple[str, str] | None:
    match = _OBJECT_SLOT.fullmatch(_plain(name))
    return (f"{match['path']}/.ATTRIBUTES/VARIABLE_VALUE", match["slot"]) if match else None


def _named_slot(name: str, shapes: Mapping[str, Sequence[int]]) -> tuple[str, str] | None:
    """Finds the variable of a slot named `variable/slot` or `scope/variable/slot`.

    The first is how tf.compat.v1.train optimizers name slots, the second Keras 2 optimizers.
    """
    owner, _, slot = name.rpartition("/")
    while owner:
        if owner in shapes and owner != name and list(shapes[owner]) == list(shapes[name]):
            return owner, slot
        _, _, owner = owner.partition("/")
    return None


def table(found: Iterable[Entry]):
    """Returns the entries as a table to print: variables first, each with its slots below it."""
    from rich.table import Table

    found = list(found)
    slots: dict[str, list[Entry]] = {}
    for entry in found:
        slots.setdefault(entry.slot_of, []).append(entry)
    shown = Table()
    for column in ("variable", "shape", "dtype"):
        shown.add_column(column, overflow="fold")
    shown.add_column("bytes", justify="right")
    for entry in slots.get("", []):
        _row(shown, entry.name, entry)
        for slot in slots.get(entry.name, []):
            _row(shown, f"  slot {slot.slot}: {slot.name}", slot)
    for entry in slots.get("optimizer", []):
        _row(shown, f"optimizer: {entry.name}", entry)
    return shown


def _row(shown, text: str, entry: Entry) -> None:
    size = "" if entry.size is None else f"{entry.size:,}"
    shown.add_row(text, str(list(entry.shape)), entry.dtype, size)


def _sum(found: Sequence[Entry]) -> str:
    own = [entry for entry in found if not entry.slot_of]
    rest = [entry for entry in found if entry.slot_of]
    return (
        f"{len(own)} variables, {sum(e.size or 0 for e in own):,} bytes; "
        f"{len(rest)} of optimizers, {sum(e.size or 0 for e in rest):,} bytes"
    )


def show(checkpoint: str, form: str) -> None:
    """Prints what a checkpoint holds.

    Args:
      checkpoint: as for `entries`.
      form: "table" or "json".
    """
    prefix, found = entries(checkpoint)
    if form == "json":
        import json

        rows = [dataclasses.asdict(entry) for entry in found]
        print(json.dumps({"checkpoint": prefix, "entries": rows}, indent=1))
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(prefix, markup=False, soft_wrap=True)
    # A file has no width: a name that is cut or folded could not be found again.
    console.print(table(found), width=None if console.is_terminal else 240)
    console.print(_sum(found))
