"""How replicas add up their gradients: the all-reduce of a strategy."""

from collections.abc import Callable
from typing import Any, Literal

import gin

from .singletons import one_per_name
from .whole_numbers import check_whole


@gin.configurable(module="genever")
def NcclAllReduce(num_packs: int = 1) -> Any:
    """All-reduce between NVIDIA GPUs by NCCL, see `tf.distribute.NcclAllReduce`.

    Args:
        num_packs: gradients are packed into so many tensors first; 0 packs nothing.
    Returns:
        The `tf.distribute.NcclAllReduce`, one per name.
    Raises:
        ValueError: `num_packs` is not a whole number of at least 0.
    """
    import tensorflow as tf

    check_whole("NcclAllReduce.num_packs", num_packs, least=0)
    return one_per_name(
        "NcclAllReduce", lambda: tf.distribute.NcclAllReduce(num_packs), num_packs=num_packs
    )


@gin.configurable(module="genever")
def HierarchicalCopyAllReduce(num_packs: int = 1) -> Any:
    """All-reduce by copies along a hierarchy, see `tf.distribute.HierarchicalCopyAllReduce`.

    Args:
        num_packs: gradients are packed into so many tensors first; 0 packs nothing.
    Returns:
        The `tf.distribute.HierarchicalCopyAllReduce`, one per name.
    Raises:
        ValueError: `num_packs` is not a whole number of at least 0.
    """
    import tensorflow as tf

    check_whole("HierarchicalCopyAllReduce.num_packs", num_packs, least=0)
    return one_per_name(
        "HierarchicalCopyAllReduce",
        lambda: tf.distribute.HierarchicalCopyAllReduce(num_packs),
        num_packs=num_packs,
    )


@gin.configurable(module="genever")
def ReductionToOneDevice(
    reduce_to_device: str | None = None, accumulation_fn: Callable[..., Any] | None = None
) -> Any:
    """Adds everything up on one device and copies it back.

    Args:
        reduce_to_device: name of that device; by default the first device of the destination.
        accumulation_fn: takes a list of tensors and returns one; by default `tf.add_n`.
    Returns:
        The `tf.distribute.ReductionToOneDevice`, one per name.
    """
    import tensorflow as tf

    return one_per_name(
        "ReductionToOneDevice",
        lambda: tf.distribute.ReductionToOneDevice(reduce_to_device, accumulation_fn),
        reduce_to_device=reduce_to_device,
        accumulation_fn=accumulation_fn,
    )


@gin.configurable(module="genever")
def CommunicationOptions(
    bytes_per_pack: int = 0,
    timeout_seconds: float | None = None,
    implementation: Literal["AUTO", "NCCL", "RING"] = "AUTO",
) -> Any:
    """Hints for all-reduces between machines.

    Args:
        bytes_per_pack: gradients are packed into chunks of about so many bytes; 0 lets TensorFlow
            choose.
        timeout_seconds: a collective of an eager program fails after so many seconds.
        implementation: 'AUTO', 'RING' (gRPC) or 'NCCL'.
    Returns:
        The `tf.distribute.experimental.CommunicationOptions`, one per name.
    Raises:
        ValueError: unknown `implementation`, `bytes_per_pack` is negative, or NCCL is asked for on
            a machine without GPUs.
    """
    import tensorflow as tf

    kinds = {kind.name: kind for kind in tf.distribute.experimental.CommunicationImplementation}
    if implementation not in kinds:
        raise ValueError(
            f"CommunicationOptions.implementation = {implementation!r} must be one of "
            f"{', '.join(sorted(kinds))}."
        )
    check_whole("CommunicationOptions.bytes_per_pack", bytes_per_pack, least=0)
    if implementation == "NCCL" and not tf.config.list_physical_devices("GPU"):
        # TensorFlow would take the ring without a word.
        raise ValueError(
            "CommunicationOptions.implementation = 'NCCL' needs GPUs, and this machine has none; "
            "write 'RING' or 'AUTO'."
        )
    return one_per_name(
        "CommunicationOptions",
        lambda: tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack, timeout_seconds, kinds[implementation]
        ),
        bytes_per_pack=bytes_per_pack,
        timeout_seconds=timeout_seconds,
        implementation=implementation,
    )
