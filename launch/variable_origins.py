"""Where each variable of a training that starts got its value from."""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from .ledger import Ledger
from .report import LogReport

_RESTORES = ("RestoreV2", "LoadAndRemapMatrix")
_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class Origin:
    """The origin of one variable's value.

    Attributes:
      name: the variable.
      checkpoint: the checkpoint that its initializer reads; "" for an ordinary initializer.
      source: the tensor's name in that checkpoint.
    """

    name: str
    checkpoint: str = ""
    source: str = ""


def origins(variables: Sequence[tf.Variable]) -> list[Origin]:
    """Reads from the graph what the initializers of variables do.

    Warm start and `init_from_checkpoint` put a read of a checkpoint in the place of a variable's
    initializer.
    """
    found = []
    for variable in variables:
        read = _read_of(variable.initializer)
        name = variable.op.name
        found.append(Origin(name, *read) if read else Origin(name))
    return found


def _read_of(operation: tf.Operation) -> tuple[str, str] | None:
    """Returns (checkpoint, tensor name) of the first read of a checkpoint behind an operation."""
    seen, waiting = set(), [operation]
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        if op.type in _RESTORES:
            path, name = (_text(op.inputs[i]) for i in (0, 1))
            return path, name
        waiting += [tensor.op for tensor in op.inputs]
    return None


def _text(tensor: tf.Tensor) -> str:
    value = tf.get_static_value(tensor)
    value = value.ravel()[0] if value is not None and value.size else b"?"
    return value.decode() if isinstance(value, bytes) else str(value)


class OriginHook(tf.compat.v1.train.SessionRunHook):
    """Reports, once at the start of a new training, which variables were warm-started.

    Says nothing where every variable has its own initializer: that is the ordinary start. The
    ledger gets the origin of each variable.

    Args:
      report: what is told.
      ledger: the run's ledger.
    """

    def __init__(self, report: LogReport, ledger: Ledger):
        self._report = report
        self._ledger = ledger

    def begin(self):
        variables = [v for v in tf.compat.v1.global_variables() if "/replica_" not in v.op.name]
        found = origins(variables)
        warm = [origin for origin in found if origin.checkpoint]
        if not warm:
            return
        self._ledger.add(
            "warm_started",
            variables={
                origin.name: f"{origin.source} of {origin.checkpoint}"
                if origin.checkpoint
                else "its own initializer"
                for origin in found
            },
        )
        shapes = {v.op.name: v.shape.as_list() for v in variables if v.shape.rank is not None}
        for checkpoint in dict.fromkeys(origin.checkpoint for origin in warm):
            own = [origin for origin in warm if origin.checkpoint == checkpoint]
            self._report.say(f"warm start: {len(own)} of {len(found)} variables from {checkpoint}")
            for origin in own:
                if origin.source != origin.name:
                    self._report.say(f"  {origin.name} is {origin.source} there")
            self._say_unmatched(found, own, checkpoint, shapes)

    def _say_unmatched(self, found, own, checkpoint, shapes) -> None:
        try:
            there = tf.train.load_checkpoint(checkpoint).get_variable_to_shape_map()
        except (tf.errors.OpError, ValueError):
            return  # the restore itself will say what is wrong with it
        fresh = [origin.name for origin in found if not origin.checkpoint]
        why = []
        for name in fresh:
            if name not in there:
                why.append(f"{name} (not in it)")
            elif list(there[name]) != shapes.get(name):
                why.append(f"{name} ({list(there[name])} there, {shapes.get(name)} here)")
            else:
                why.append(f"{name} (not asked for)")
        used = {origin.source for origin in own}
        here = {origin.name for origin in found}
        unused = sorted(name for name in there if name not in used and name not in here)
        self._say_list("from their own initializers", why)
        self._say_list("in the checkpoint and not in the model", unused)

    def _say_list(self, what: str, names: Sequence[str]) -> None:
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            self._report.say(f"  {what}: {', '.join(names[:_SHOWN])}{more}")
