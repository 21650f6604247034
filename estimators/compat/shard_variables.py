"""Variables of a distribution strategy on devices that the strategy does not know.

Replaces, on every TensorFlow (2.15 to 2.21): the placement of variables by strategies, which ignore
`tf.device`; their refusal of partitioners; and the saving of mirrored slices of a variable, of
which TensorFlow knows one copy only; and the all-reduce of `MirroredStrategy` for shards: its
collectives run between the devices of the strategy only, and in a session they fail or wait for
ever when a sparse gradient has another number of rows than in the step before. Missing public API:
the device of a variable under a strategy, for which this hands the strategy's variable creator
its `colocate_with` argument; a saveable of a sliced variable; the `cross_device_ops` in use.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import (
    collective_all_reduce_strategy,
    cross_device_ops,
    distribute_utils,
    mirrored_strategy,
    numpy_dataset,
)
from tensorflow.python.training.saving import saveable_object, saveable_object_util

_lock = threading.Lock()


@contextlib.contextmanager
def variables_on(next_devices: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Puts the variables that are created in this scope on given devices, under any strategy.

    Args:
      next_devices: called for each variable; returns names of devices, one for each replica of this
        process. Where the replicas share their variables, the first counts.
    """
    extended = tf.distribute.get_strategy().extended
    mirrored = isinstance(extended, mirrored_strategy.MirroredExtended)
    if mirrored:
        _restore_all_copies_of_a_slice()
        _reduce_by_shard(extended)

    def create(next_creator, **kwargs):
        devices = next_devices()
        if not tf.distribute.has_strategy():
            with tf.device(devices[0]):
                return next_creator(**kwargs)
        place = _Placement(devices) if mirrored else numpy_dataset.SingleDevice(devices[0])
        return next_creator(**{**kwargs, "colocate_with": place})

    allowed = extended._allow_variable_partition
    extended._allow_variable_partition = lambda: True
    try:
        with tf.variable_creator_scope(create):
            yield
    finally:
        extended._allow_variable_partition = allowed


class _Placement:
    """What a mirrored strategy asks the variable with which another one is to be colocated."""

    def __init__(self, devices: Sequence[str]):
        self._devices = tuple(devices)


def _reduce_by_shard(extended: Any) -> None:
    """Makes a strategy of one process reduce each shard among the devices of that shard."""
    if isinstance(extended, collective_all_reduce_strategy.CollectiveAllReduceExtended):
        return  # only its own collectives reach the other processes
    chosen = extended._cross_device_ops
    if not isinstance(chosen, _ByShard | tf.distribute.ReductionToOneDevice):
        extended._cross_device_ops = _ByShard(chosen, extended.worker_devices)


class _ByShard(tf.distribute.CrossDeviceOps):
    """Reduces together what goes to the same devices, by means of another `CrossDeviceOps`."""

    def __init__(self, chosen: tf.distribute.CrossDeviceOps, leads: Sequence[str]):
        super().__init__()
        self._chosen = chosen
        self._to_one = tf.distribute.ReductionToOneDevice()
        self._leads = tuple(leads)

    def _suited(self, value: Any, devices: Sequence[str]) -> tf.distribute.CrossDeviceOps:
        """A collective works on the devices of the strategy, and on slices of one length, only."""
        if isinstance(self._chosen, cross_device_ops.CollectiveAllReduce):
            parts = getattr(value, "values", (value,))
            if devices != self._leads or any(isinstance(p, tf.IndexedSlices) for p in parts):
                return self._to_one
        return self._chosen

    def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
        suited = self._suited(
            per_replica_value, tuple(cross_device_ops.get_devices_from(destinations))
        )
        return suited.reduce_implementation(reduce_op, per_replica_value, destinations, options)

    def batch_reduce_implementation(self, reduce_op, value_destination_pairs, options):
        groups = {}
        for index, (value, destinations) in enumerate(value_destination_pairs):
            devices = tuple(cross_device_ops.get_devices_from(destinations))
            groups.setdefault((self._suited(value, devices), devices), []).append(index)
        reduced = [None] * len(value_destination_pairs)
        for (suited, _), indices in groups.items():
            pairs = [value_destination_pairs[index] for index in indices]
            values = suited.batch_reduce_implementation(reduce_op, pairs, options)
            for index, value in zip(indices, values, strict=True):
                reduced[index] = value
        return reduced

    def broadcast_implementation(self, tensor, destinations):
        return self._chosen.broadcast_implementation(tensor, destinations)

    def _gather_implementation(self, per_replica_value, destinations, axis, options):
        return self._chosen._gather_implementation(per_replica_value, destinations, axis, options)


class _MirroredSlice(saveable_object.SaveableObject):
    """One slice of a variable; all its copies are restored."""

    def __init__(self, variable: Any, name: str):
        primary, *_ = self._copies = variable.values

        def read():
            with tf.device(primary.device):
                value = primary.read_value()
            with tf.device("/device:CPU:0"):
                return tf.identity(value)

        slice_spec = variable._get_save_slice_info().spec
        spec = saveable_object.SaveSpec(
            read, slice_spec, name, dtype=primary.dtype, device=primary.device
        )
        super().__init__(variable, [spec], name)

    def restore(self, restored_tensors: list, restored_shapes: list | None) -> Any:
        (tensor,) = restored_tensors
        if restored_shapes is not None:
            tensor = tf.reshape(tensor, restored_shapes[0])
        assigned = []
        for copy in self._copies:
            with tf.device(copy.device):
                assigned.append(copy.assign(tf.identity(tensor), read_value=False))
        return tf.group(*assigned)


def _restore_all_copies_of_a_slice() -> None:
    original = saveable_object_util.saveable_objects_for_op

    def saveable_objects_for_op(op, name):
        if isinstance(op, list | tuple):
            op = [_MirroredSlice(v, name) if _is_mirrored_slice(v) else v for v in op]
        yield from original(op, name)

    saveable_objects_for_op.of_genever = True
    with _lock:
        if not hasattr(saveable_object_util.saveable_objects_for_op, "of_genever"):
            saveable_object_util.saveable_objects_for_op = saveable_objects_for_op


def _is_mirrored_slice(variable: Any) -> bool:
    return (
        distribute_utils.is_distributed_variable(variable)
        and variable._get_save_slice_info() is not None
    )
