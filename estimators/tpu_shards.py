"""Whether the model that is being built runs on a TPU, whose shards add up their gradients."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

_on_tpu = contextvars.ContextVar("on_tpu", default=False)


@contextlib.contextmanager
def building_for_tpu(on_tpu: bool) -> Iterator[None]:
    """Within it a model_fn is called for a TPU, or not."""
    token = _on_tpu.set(on_tpu)
    try:
        yield
    finally:
        _on_tpu.reset(token)


def across_shards(optimizer: Any) -> Any:
    """Returns an optimizer that adds up gradients over the shards of a TPU; itself elsewhere.

    Args:
        optimizer: a `tf.compat.v1.train.Optimizer`.
    """
    import tensorflow as tf

    # Elsewhere CrossReplicaSum has no kernel.
    return tf.compat.v1.tpu.CrossShardOptimizer(optimizer) if _on_tpu.get() else optimizer


def refuse_on_tpu(setting: str, why: str) -> None:
    """Raises an error that names a setting which does not work on a TPU, if that is meant.

    Args:
        setting: what was asked for, as a config writes it.
        why: the reason and the cure.
    Raises:
        ValueError: the model is being built for a TPU.
    """
    if _on_tpu.get():
        raise ValueError(f"{setting} does not work on a TPU: {why}.")
