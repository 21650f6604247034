"""Where a model is trained: the distribution strategies that `RunConfig` takes.

Each returns one object per gin name, because two strategies that look alike do not work together.
"""

from collections.abc import Sequence
from typing import Any

import gin

from .cluster_roles import cluster_of_tf_config, require_roles
from .devices import require_devices, split_cpu
from .gin_scope import carry_gin_scope
from .singletons import one_per_name


@gin.configurable(module="genever")
def OneDeviceStrategy(device: str) -> Any:
    """Puts variables and computation on one device.

    Args:
        device: name of the device, such as '/cpu:0' or '/gpu:1'.
    Returns:
        The `tf.distribute.OneDeviceStrategy`, one per name.
    Raises:
        ValueError: there is no such device.
    """
    import tensorflow as tf

    def make():
        require_devices("OneDeviceStrategy.device", [device])
        return tf.distribute.OneDeviceStrategy(device)

    carry_gin_scope()
    return one_per_name("OneDeviceStrategy", make, device=device)


@gin.configurable(module="genever")
def MirroredStrategy(
    devices: Sequence[str] | None = None,
    cross_device_ops: Any = None,
    logical_cpus: int | None = None,
    shards_per_replica: int = 1,
) -> Any:
    """Trains a replica of the model on each device of this machine, in step.

    Args:
        devices: names of the devices; by default all GPUs, or all CPU devices without a GPU.
        cross_device_ops: how gradients are added up, e.g. `@HierarchicalCopyAllReduce()`.
        logical_cpus: splits the CPU into so many logical devices and uses those; instead of
            `devices`, for trying out data parallelism without a GPU.
        shards_per_replica: how many consecutive devices a replica takes, for a model with sharded
            layers (`sharded_dense`): 4 devices with 2 shards are 2 replicas.
    Returns:
        The `tf.distribute.MirroredStrategy`, one per name.
    Raises:
        ValueError: both `devices` and `logical_cpus` are given, a device does not exist, the
            devices cannot be divided by `shards_per_replica`, TensorFlow has already started with
            fewer CPU devices, or NCCL is asked for on CPUs.
    """
    import tensorflow as tf

    def make():
        names = _replica_devices("MirroredStrategy", "devices", devices, logical_cpus)
        if names is None:
            # TensorFlow would take those of all tasks of a cluster, to which it has no connection.
            kinds = ("GPU", "CPU")
            found = (tf.config.list_logical_devices(kind) for kind in kinds)
            names = [device.name for device in next(filter(None, found))]
        if shards_per_replica < 1 or len(names) % shards_per_replica:
            raise ValueError(
                f"MirroredStrategy.shards_per_replica = {shards_per_replica} does not divide the "
                f"{len(names)} device(s) of the strategy; give as many devices for each replica."
            )
        names = names[::shards_per_replica]
        strategy = tf.distribute.MirroredStrategy(names, cross_device_ops)
        if isinstance(cross_device_ops, tf.distribute.NcclAllReduce):
            cpus = [d for d in strategy.extended.worker_devices if "GPU:" not in d.upper()]
            if cpus:
                raise ValueError(
                    f"MirroredStrategy.cross_device_ops: NcclAllReduce cannot run on {cpus[0]}; "
                    "write @HierarchicalCopyAllReduce() or @ReductionToOneDevice()."
                )
        return strategy

    carry_gin_scope()
    return one_per_name(
        "MirroredStrategy",
        make,
        devices=devices,
        cross_device_ops=cross_device_ops,
        logical_cpus=logical_cpus,
        shards_per_replica=shards_per_replica,
    )


@gin.configurable(module="genever")
def MultiWorkerMirroredStrategy(
    cluster_resolver: Any = None, communication_options: Any = None
) -> Any:
    """Trains a replica of the model on each device of each worker of a cluster, in step.

    In a task of a cluster it turns eager execution off for the whole process: TensorFlow's eager
    multi-worker runtime cannot be used by an Estimator's sessions, and it swallows SIGTERM.

    Args:
        cluster_resolver: a `tf.distribute.cluster_resolver.ClusterResolver`; by default TF_CONFIG.
        communication_options: hints for the all-reduce, e.g. `@CommunicationOptions()`.
    Returns:
        The `tf.distribute.MultiWorkerMirroredStrategy`, one per name. None in the task 'evaluator'
        of TF_CONFIG: it is no part of the training cluster, so it evaluates without the strategy.
    Raises:
        ValueError: the cluster has ps tasks.
    """
    import tensorflow as tf

    cluster, task = cluster_of_tf_config()
    require_roles("MultiWorkerMirroredStrategy", cluster)
    if task == "evaluator":
        return None

    def make():
        if cluster:
            tf.compat.v1.disable_eager_execution()
        return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver, communication_options)

    carry_gin_scope()
    return one_per_name(
        "MultiWorkerMirroredStrategy",
        make,
        cluster_resolver=cluster_resolver,
        communication_options=communication_options,
    )


@gin.configurable(module="genever")
def ParameterServerStrategy(cluster_resolver: Any = None) -> Any:
    """Keeps the variables on parameter servers; each worker trains at its own pace.

    It is the strategy of TensorFlow 1: the one of TensorFlow 2 does not work with an Estimator.

    Args:
        cluster_resolver: a `tf.distribute.cluster_resolver.ClusterResolver`; by default TF_CONFIG.
    Returns:
        The `tf.compat.v1.distribute.experimental.ParameterServerStrategy`, one per name. None in
        the task 'evaluator' of TF_CONFIG: it is no part of the training cluster, so it evaluates
        without the strategy.
    Raises:
        ValueError: there is a cluster, and it has no ps tasks.
    """
    import tensorflow as tf

    cluster, task = cluster_of_tf_config()
    require_roles("ParameterServerStrategy", cluster)
    if task == "evaluator":
        return None
    carry_gin_scope()
    return one_per_name(
        "ParameterServerStrategy",
        lambda: tf.compat.v1.distribute.experimental.ParameterServerStrategy(cluster_resolver),
        cluster_resolver=cluster_resolver,
    )


@gin.configurable(module="genever")
def CentralStorageStrategy(
    compute_devices: Sequence[str] | None = None,
    parameter_device: str | None = None,
    logical_cpus: int | None = None,
) -> Any:
    """Keeps the variables on one device and computes a replica on each of several devices.

    Args:
        compute_devices: names of the devices of the replicas; by default all GPUs, or the CPU.
        parameter_device: name of the device of the variables; by default the CPU, or the GPU where
            there is only one.
        logical_cpus: splits the CPU into so many logical devices and computes a replica on each;
            instead of `compute_devices`.
    Returns:
        The `tf.distribute.experimental.CentralStorageStrategy`, one per name.
    Raises:
        ValueError: both `compute_devices` and `logical_cpus` are given, a device does not exist, or
            TensorFlow has already started with fewer CPU devices.
    """
    import tensorflow as tf

    def make():
        names = _replica_devices(
            "CentralStorageStrategy", "compute_devices", compute_devices, logical_cpus
        )
        home = parameter_device
        if home is not None:
            require_devices("CentralStorageStrategy.parameter_device", [home])
        elif logical_cpus is not None:
            home = "/cpu:0"
        return tf.distribute.experimental.CentralStorageStrategy(names, home)

    carry_gin_scope()
    return one_per_name(
        "CentralStorageStrategy",
        make,
        compute_devices=compute_devices,
        parameter_device=parameter_device,
        logical_cpus=logical_cpus,
    )


@gin.configurable(module="genever")
def TPUStrategy(
    tpu_cluster_resolver: Any = None, experimental_device_assignment: Any = None
) -> Any:
    """Trains a replica of the model on each core of a TPU, in step.

    Args:
        tpu_cluster_resolver: a `tf.distribute.cluster_resolver.TPUClusterResolver`; by default the
            TPU of this machine.
        experimental_device_assignment: a `tf.tpu.experimental.DeviceAssignment`.
    Returns:
        The `tf.distribute.TPUStrategy`, one per name.
    Raises:
        ValueError: there is no TPU.
    """
    import tensorflow as tf

    def make():
        resolver = tpu_cluster_resolver
        if resolver is None:
            if not tf.config.list_physical_devices("TPU"):
                raise ValueError(
                    "TPUStrategy: this machine has no TPU; give tpu_cluster_resolver, or use "
                    "@MirroredStrategy()."
                )
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
        try:
            tf.tpu.experimental.initialize_tpu_system(resolver)
            return tf.distribute.TPUStrategy(resolver, experimental_device_assignment)
        except (IndexError, ValueError, tf.errors.NotFoundError) as error:
            raise ValueError(
                f"TPUStrategy: no TPU answers at {resolver.master()!r}; check the name that "
                "tpu_cluster_resolver gives."
            ) from error

    carry_gin_scope()
    return one_per_name(
        "TPUStrategy",
        make,
        tpu_cluster_resolver=tpu_cluster_resolver,
        experimental_device_assignment=experimental_device_assignment,
    )


def _replica_devices(
    strategy: str, argument: str, devices: Sequence[str] | None, logical_cpus: int | None
) -> Sequence[str] | None:
    """Returns the devices of the replicas that a config asks for, None where it names none."""
    if logical_cpus is not None:
        if devices is not None:
            raise ValueError(
                f"{strategy}: {argument} and logical_cpus exclude each other; remove one of them."
            )
        return split_cpu(f"{strategy}.logical_cpus", logical_cpus)
    if devices is not None:
        if not devices:
            raise ValueError(f"{strategy}.{argument} is empty; name a device such as '/cpu:0'.")
        require_devices(f"{strategy}.{argument}", devices)
    return devices
