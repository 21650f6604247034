"""Which devices there are: checks of the device names in a config, and logical CPU devices."""

from collections.abc import Sequence


def require_devices(configurable: str, devices: Sequence[str]) -> None:
    """Raises an error that names the first of `devices` that this machine does not have.

    Args:
        configurable: what to blame, e.g. `MirroredStrategy.devices`.
        devices: device names such as '/gpu:0' or '/job:localhost/task:0/device:CPU:1'.
    Raises:
        ValueError: a name is malformed or there is no such device.
    """
    import tensorflow as tf

    existing = [tf.DeviceSpec.from_string(d.name) for d in tf.config.list_logical_devices()]
    for device in devices:
        try:
            spec = tf.DeviceSpec.from_string(device)
        except (ValueError, AttributeError, TypeError):
            spec = None
        if spec is None or spec.device_type is None:
            raise ValueError(
                f"{configurable}: {device!r} is not a device name; write one like '/cpu:0'."
            )
        if spec.job not in (None, "localhost"):
            continue
        if not any(
            there.device_type == spec.device_type
            and spec.device_index in (None, there.device_index)
            for there in existing
        ):
            names = ", ".join(f"/{t.device_type.lower()}:{t.device_index}" for t in existing)
            raise ValueError(
                f"{configurable}: there is no device {device!r}; this machine has {names}."
            )


def split_cpu(configurable: str, count: int) -> list[str]:
    """Splits the CPU into logical devices and returns their names.

    Args:
        configurable: what to blame, e.g. `MirroredStrategy.logical_cpus`.
        count: number of logical CPU devices.
    Returns:
        The names '/cpu:0' ... of `count` devices.
    Raises:
        ValueError: `count` is not positive, or TensorFlow has already started with fewer devices.
    """
    import tensorflow as tf

    if count < 1:
        raise ValueError(f"{configurable} = {count!r} must be a positive number of devices.")
    cpu = tf.config.list_physical_devices("CPU")[0]
    # A CPU that nobody has split is one device.
    configured = tf.config.get_logical_device_configuration(cpu) or [None]
    if len(configured) < count:
        try:
            tf.config.set_logical_device_configuration(
                cpu, [tf.config.LogicalDeviceConfiguration()] * count
            )
        except RuntimeError as error:
            raise ValueError(
                f"{configurable} = {count}: TensorFlow has already started with "
                f"{len(tf.config.list_logical_devices('CPU'))} CPU device(s); make this strategy "
                "before anything else uses TensorFlow."
            ) from error
    return [f"/cpu:{index}" for index in range(count)]
