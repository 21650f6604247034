"""Which device holds which shard of a layer, and whether the session has it."""

from collections.abc import Sequence

import tensorflow as tf

from .shard_gradients import is_product_or_lookup


def shard_devices(
    configurable: str, num_shards: int | None, devices: Sequence[str] | None
) -> list[list[str]]:
    """Returns the devices of the shards, for each replica of this process.

    Args:
        configurable: whose arguments these are, e.g. `sharded_dense`.
        num_shards: number of shards, on that many devices from the replica's own device on.
        devices: one device name per shard, instead.
    Returns:
        For each replica (one without a strategy) a list of one device name per shard.
    Raises:
        ValueError: neither or both are given, a name is malformed, or two replicas would share
            a device.
    """
    if (num_shards is None) == (devices is None):
        raise ValueError(
            f"{configurable}: give either num_shards, such as 2, or devices, such as "
            f"['/cpu:0', '/cpu:1'], not {'both' if devices is not None else 'none'}."
        )
    leads = _lead_devices()
    if devices is not None:
        return _named_devices(configurable, devices, leads)
    if num_shards < 1:
        raise ValueError(f"{configurable}.num_shards = {num_shards} must be at least 1.")
    replicas = [
        [
            lead.replace(device_index=(lead.device_index or 0) + shard).to_string()
            for shard in range(num_shards)
        ]
        for lead in leads
    ]
    own = [device for replica in replicas for device in replica]
    twice = next((device for device in own if own.count(device) > 1), None)
    if twice is not None:
        raise ValueError(
            f"{configurable}.num_shards = {num_shards}: two replicas would share {twice}, because "
            f"the devices of the strategy follow each other; leave {num_shards - 1} device(s) free "
            f"after each, e.g. MirroredStrategy.devices = ['/cpu:0', '/cpu:{num_shards}']."
        )
    return replicas


def replica_index() -> int:
    """Returns which of the replicas of this process the calling code builds."""
    context = tf.distribute.get_replica_context()
    if context is None or not tf.distribute.has_strategy():
        return 0
    replica = context.replica_id_in_sync_group
    if tf.is_tensor(replica):
        replica = tf.get_static_value(replica)
    return int(replica) % len(context.strategy.extended.worker_devices)


def _lead_devices() -> list[tf.DeviceSpec]:
    if tf.distribute.has_strategy():
        names = tf.distribute.get_strategy().extended.worker_devices
    else:
        kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
        names = [f"/device:{kind}:0"]
    return [tf.DeviceSpec.from_string(name) for name in names]


def _named_devices(
    configurable: str, devices: Sequence[str], leads: list[tf.DeviceSpec]
) -> list[list[str]]:
    if isinstance(devices, str) or not devices:
        raise ValueError(
            f"{configurable}.devices = {devices!r} must be a list of device names, such as "
            "['/cpu:0', '/cpu:1']."
        )
    specs = []
    for device in devices:
        try:
            spec = tf.DeviceSpec.from_string(device)
        except (ValueError, AttributeError, TypeError):
            spec = None
        if spec is None or (spec.job is None and spec.device_type is None):
            raise ValueError(
                f"{configurable}.devices: {device!r} is not a device name; write one like "
                "'/cpu:0' or '/job:ps/task:0'."
            )
        specs.append(spec)
    if len(leads) > 1 and any(spec.job in (None, "localhost") for spec in specs):
        raise ValueError(
            f"{configurable}.devices = {list(devices)!r} would be shared by {len(leads)} replicas; "
            f"write {configurable}.num_shards = {len(devices)} instead, which takes the devices "
            "that follow the device of each replica."
        )
    if leads[0].job in (None, "localhost") and not _in_cluster():
        # Evaluation, prediction and export take place in one process, which knows no jobs.
        specs = [spec if spec.job in (None, "localhost") else tf.DeviceSpec() for spec in specs]
    return [[spec.to_string() for spec in specs]] * len(leads)


def _in_cluster() -> bool:
    """Says whether what the caller makes is assigned to a job of a cluster."""
    return tf.DeviceSpec.from_string(tf.no_op().device).job not in (None, "localhost")


class ShardDevicesHook(tf.estimator.SessionRunHook):
    """Ends a run before its first step if a device of a shard is missing.

    A session puts what should run on a missing device on another one without a word, and then
    nothing is parallel.
    """

    def after_create_session(self, session, coord):
        there = [tf.DeviceSpec.from_string(device.name) for device in session.list_devices()]
        for name in sorted({op.device for op in _shard_operations(session.graph)}):
            wanted = tf.DeviceSpec.from_string(name)
            if not any(_matches(wanted, device) for device in there):
                own = sorted(d.to_string() for d in there if d.device_type in ("CPU", "GPU"))
                cpus = 1 + (wanted.device_index or 0)
                raise ValueError(
                    f"A shard of the model should be on the device {name}, but the session has "
                    f"only {', '.join(own)}; use fewer shards, or, for more logical CPUs, write "
                    "RunConfig.session_config = @ConfigProto() and ConfigProto.device_count = "
                    f"{{'CPU': {cpus}}}."
                )


def _shard_operations(graph: tf.Graph) -> list[tf.Operation]:
    return [op for op in graph.get_operations() if op.device and is_product_or_lookup(op)]


def _matches(wanted: tf.DeviceSpec, device: tf.DeviceSpec) -> bool:
    return all(
        getattr(wanted, part) in (None, getattr(device, part))
        for part in ("job", "replica", "task", "device_type", "device_index")
    )
