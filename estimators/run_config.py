"""How a run is run: `RunConfig`, and the session it needs for the devices of its strategies."""

from collections.abc import Callable, Mapping
from typing import Any

import gin

from .cluster_roles import cluster_of_tf_config, require_roles
from .strategy_kinds import kind_of

_STEPS_BETWEEN_CHECKPOINTS = 1000


@gin.configurable(module="genever")
def GPUOptions(
    allow_growth: bool = False,
    per_process_gpu_memory_fraction: float = 0.0,
    visible_device_list: str = "",
) -> Any:
    """How a session uses GPUs.

    Args:
        allow_growth: takes GPU memory as it is needed, not all at the start.
        per_process_gpu_memory_fraction: part of the memory of each GPU that may be taken, 0 to 1;
            0 leaves it to TensorFlow.
        visible_device_list: the GPUs to use, in order, such as '1,0'; '' means all.
    Returns:
        A `tf.compat.v1.GPUOptions`.
    """
    import tensorflow as tf

    return tf.compat.v1.GPUOptions(
        allow_growth=allow_growth,
        per_process_gpu_memory_fraction=per_process_gpu_memory_fraction,
        visible_device_list=visible_device_list,
    )


@gin.configurable(module="genever")
def ConfigProto(
    intra_op_parallelism_threads: int = 0,
    inter_op_parallelism_threads: int = 0,
    allow_soft_placement: bool = True,
    log_device_placement: bool = False,
    device_count: Mapping[str, int] | None = None,
    operation_timeout_in_ms: int = 0,
    gpu_options: Any = None,
) -> Any:
    """The configuration of a session.

    Args:
        intra_op_parallelism_threads: threads within one operation; 0 means one per core.
        inter_op_parallelism_threads: threads between operations; 0 means one per core.
        allow_soft_placement: puts an operation elsewhere if its device cannot run it.
        log_device_placement: logs where each operation runs.
        device_count: number of devices of a kind that the session sees, e.g. {'CPU': 2}.
        operation_timeout_in_ms: a blocking operation fails after so many milliseconds; 0 means
            that it never does.
        gpu_options: e.g. `@GPUOptions()`.
    Returns:
        A `tf.compat.v1.ConfigProto`.
    """
    import tensorflow as tf

    proto = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=intra_op_parallelism_threads,
        inter_op_parallelism_threads=inter_op_parallelism_threads,
        allow_soft_placement=allow_soft_placement,
        log_device_placement=log_device_placement,
        device_count=dict(device_count or {}),
        operation_timeout_in_ms=operation_timeout_in_ms,
        gpu_options=gpu_options,
    )
    # tf.estimator runs the graph optimiser once as well: more rounds only make the start longer.
    rewriter = proto.graph_options.rewrite_options
    rewriter.meta_optimizer_iterations = rewriter.ONE
    return proto


@gin.configurable(module="genever")
def RunConfig(
    model_dir: str | None = None,
    tf_random_seed: int | None = None,
    save_summary_steps: int | None = 100,
    save_checkpoints_steps: int | None = None,
    save_checkpoints_secs: int | None = None,
    session_config: Any = None,
    keep_checkpoint_max: int | None = 5,
    keep_checkpoint_every_n_hours: float = 10000,
    log_step_count_steps: int | None = 100,
    train_distribute: Any = None,
    device_fn: Callable[..., Any] | None = None,
    protocol: str | None = None,
    eval_distribute: Any = None,
    experimental_distribute: Any = None,
    experimental_max_worker_delay_secs: int | None = None,
    session_creation_timeout_secs: int = 7200,
    checkpoint_save_graph_def: bool = True,
) -> Any:
    """How a run is run: folder, seed, checkpoints, summaries, devices.

    Args:
        model_dir: folder of checkpoints and summaries; the command line sets it by `--model_dir`.
        tf_random_seed: seed of initial values, dropout and shuffling; by default TensorFlow's own
            fixed seed.
        save_summary_steps: a summary every so many steps; None for none.
        save_checkpoints_steps: a checkpoint every so many steps; 1000 if
            `save_checkpoints_secs` is not given either, because evaluation follows checkpoints and
            should not depend on the speed of a machine.
        save_checkpoints_secs: a checkpoint every so many seconds, instead.
        session_config: e.g. `@ConfigProto()`. What the logical CPU devices of a strategy need is
            added: without it their all-reduce waits for ever.
        keep_checkpoint_max: number of newest checkpoints that are kept; None or 0 keeps all.
        keep_checkpoint_every_n_hours: keeps one checkpoint for good every so many hours.
        log_step_count_steps: logs loss and speed every so many steps; None for never.
        train_distribute: strategy of training, e.g. `@MirroredStrategy()`.
        device_fn: takes a `tf.Operation` and returns the name of its device.
        protocol: protocol between the tasks of a cluster; 'grpc' if None.
        eval_distribute: strategy of evaluation.
        experimental_distribute: see `tf.estimator.RunConfig`.
        experimental_max_worker_delay_secs: upper limit of the delay with which workers start.
        session_creation_timeout_secs: seconds to wait for a session of a cluster.
        checkpoint_save_graph_def: writes the graph beside the checkpoints.
    Returns:
        The `tf.estimator.RunConfig`.
    Raises:
        ValueError: both checkpoint cadences are given, a strategy is not one or does not fit the
            cluster of TF_CONFIG, or `session_config` sees fewer CPU devices than the strategies
            use.
    """
    import tensorflow as tf

    if save_checkpoints_steps is not None and save_checkpoints_secs is not None:
        raise ValueError(
            f"RunConfig.save_checkpoints_steps = {save_checkpoints_steps} and "
            f"RunConfig.save_checkpoints_secs = {save_checkpoints_secs} exclude each other; "
            "remove one of them."
        )
    if save_checkpoints_steps is None and save_checkpoints_secs is None:
        save_checkpoints_steps = _STEPS_BETWEEN_CHECKPOINTS
    for argument, strategy in (
        ("train_distribute", train_distribute),
        ("eval_distribute", eval_distribute),
    ):
        _require_strategy(argument, strategy)
    _check_in_cluster(train_distribute, eval_distribute, save_checkpoints_secs)
    strategies = [train_distribute, eval_distribute]
    if experimental_distribute is not None:
        strategies += [
            experimental_distribute.train_distribute,
            experimental_distribute.eval_distribute,
        ]
    return tf.estimator.RunConfig(
        model_dir=model_dir,
        tf_random_seed=tf_random_seed,
        save_summary_steps=save_summary_steps,
        save_checkpoints_steps=save_checkpoints_steps,
        save_checkpoints_secs=save_checkpoints_secs,
        session_config=session_config_for(strategies, session_config),
        keep_checkpoint_max=keep_checkpoint_max,
        keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
        log_step_count_steps=log_step_count_steps,
        train_distribute=train_distribute,
        device_fn=device_fn,
        protocol=protocol,
        eval_distribute=eval_distribute,
        experimental_distribute=experimental_distribute,
        experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
        session_creation_timeout_secs=session_creation_timeout_secs,
        checkpoint_save_graph_def=checkpoint_save_graph_def,
    )


def session_config_for(strategies: list[Any], session_config: Any = None) -> Any:
    """Returns the session configuration with which the devices of `strategies` are seen.

    A session sees one CPU device by default; then several replicas share it and their all-reduce
    never completes.

    Args:
        strategies: distribution strategies; None entries do not count.
        session_config: a `tf.compat.v1.ConfigProto` to start from, or None.
    Returns:
        `session_config` itself where it needs no change, else a new `tf.compat.v1.ConfigProto`.
    Raises:
        ValueError: `session_config` sees fewer CPU devices than the strategies use.
    """
    import tensorflow as tf

    specs = [
        tf.DeviceSpec.from_string(device)
        for strategy in strategies
        if strategy is not None
        for device in (*strategy.extended.worker_devices, *strategy.extended.parameter_devices)
    ]
    needed = max((s.device_index + 1 for s in specs if s.device_type == "CPU"), default=0)
    # The shards of a layer lie on devices that are not among those of the strategies.
    cpu = tf.config.list_physical_devices("CPU")[0]
    needed = max(needed, len(tf.config.get_logical_device_configuration(cpu) or ()))
    if needed < 2:
        return session_config
    merged = ConfigProto()
    if session_config is not None:
        merged.CopyFrom(session_config)
    given = merged.device_count.get("CPU")
    if given is not None and given < needed:
        raise ValueError(
            f"RunConfig.session_config: device_count has {given} CPU device(s), but the strategy "
            f"uses {needed}; write ConfigProto.device_count = {{'CPU': {needed}}} or leave it out."
        )
    merged.device_count["CPU"] = given or needed
    merged.allow_soft_placement = True
    return merged


def _require_strategy(argument: str, strategy: Any) -> None:
    import tensorflow as tf

    if kind_of(strategy) == "ParameterServerStrategyV2":
        raise ValueError(
            f"RunConfig.{argument}: no Estimator can use the ParameterServerStrategy of TensorFlow "
            "2; write @ParameterServerStrategy(), which is "
            "tf.compat.v1.distribute.experimental.ParameterServerStrategy."
        )
    if strategy is None or isinstance(
        strategy, tf.distribute.Strategy | tf.compat.v1.distribute.Strategy
    ):
        return
    if callable(strategy):
        name = getattr(strategy, "__name__", "MirroredStrategy")
        hint = f"add parentheses: `RunConfig.{argument} = @{name}()`"
    else:
        hint = f"write one such as `RunConfig.{argument} = @MirroredStrategy()`"
    raise ValueError(f"RunConfig.{argument} = {strategy!r} is not a strategy; {hint}.")


def _check_in_cluster(train: Any, evaluation: Any, save_checkpoints_secs: int | None) -> None:
    cluster, _ = cluster_of_tf_config()
    kind = kind_of(train)
    if kind is not None:
        require_roles(kind, cluster)
    if not cluster:
        return
    if kind_of(evaluation) in ("MultiWorkerMirroredStrategy", "ParameterServerStrategy"):
        raise ValueError(
            f"RunConfig.eval_distribute = @{kind_of(evaluation)}() cannot work in a cluster, for "
            "evaluation runs in one process: write @MirroredStrategy(), or leave it out."
        )
    if kind == "MultiWorkerMirroredStrategy" and save_checkpoints_secs is not None:
        raise ValueError(
            f"RunConfig.save_checkpoints_secs = {save_checkpoints_secs}: the clocks of the workers "
            "of a MultiWorkerMirroredStrategy differ, and all must save at the same step; set "
            "RunConfig.save_checkpoints_steps instead."
        )
