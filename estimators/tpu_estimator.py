"""Training on TPUs, and the same model without one: `TPUEstimator` and its configuration."""

from collections.abc import Callable, Mapping
from typing import Any

import gin

from .gin_scope import carry_gin_scope
from .run_config import RunConfig
from .signatures import MODEL_FN_ARGUMENTS, expose_arguments
from .warm_start import check_warm_start, with_prefix

_FIELDS = (
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "device_fn",
    "protocol",
    "session_creation_timeout_secs",
    "checkpoint_save_graph_def",
)


@gin.configurable(module="genever")
def TPUEstimator(
    model_fn: Callable[..., Any],
    model_dir: str | None = None,
    config: Any = None,
    params: Mapping[str, Any] | None = None,
    use_tpu: bool = True,
    train_batch_size: int = gin.REQUIRED,
    eval_batch_size: int | None = None,
    predict_batch_size: int | None = None,
    batch_axis: Any = None,
    eval_on_tpu: bool = True,
    export_to_tpu: bool = True,
    export_to_cpu: bool = True,
    warm_start_from: Any = None,
) -> Any:
    """An Estimator that trains on TPUs, or with `use_tpu` = False the same model on CPU or GPU.

    It keeps the conventions of `tf.compat.v1.estimator.tpu.TPUEstimator`: params['batch_size'] is
    the batch of the function that gets it, params['use_tpu'] tells a model_fn where it runs, and a
    TPUEstimatorSpec may have `host_call` and `eval_metrics`. It also takes functions that know
    nothing of a TPU:

    - an input_fn without `params`, such as `@reader_input_fn`: its batches are cut anew to
      params['batch_size'], in the same order (batches of sparse tensors are taken as they are);
      one that takes `input_context` reads its host's part;
    - a model_fn without `params` or with an EstimatorSpec, such as `@linear_regression`. On a TPU
      such a model can be trained and asked, and evaluated with `eval_on_tpu` = False.

    `create_train_op` adds up gradients over the shards of a TPU by itself (CrossShardOptimizer); a
    model_fn with an optimizer of its own does so if params['use_tpu'].

    TPUs need TensorFlow 2.15, for later ones have dropped what a TPUEstimator uses. Tried is all
    that runs without a TPU: `use_tpu` = False in training, evaluation and prediction. Not tried,
    for lack of a TPU: everything with `use_tpu` = True, so the loop on the device, the input of
    several hosts, `host_call` on a TPU, and export for TPUs.

    Args:
        model_fn: function of `features`, `labels`, `mode` and, if it wants them, `params` and
            `config`, that returns a TPUEstimatorSpec or an EstimatorSpec.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        config: e.g. `@TPURunConfig()`; by default `TPURunConfig()` as gin configures it.
        params: dict handed to `model_fn` and to input_fns that take `params`; 'batch_size',
            'use_tpu' and 'context' are TPUEstimator's own.
        use_tpu: whether there is a TPU to use.
        train_batch_size: examples of a training step, of all shards together.
        eval_batch_size: the same for evaluation.
        predict_batch_size: the same for prediction.
        batch_axis: for each tensor of features and labels the dimension that is the batch.
        eval_on_tpu: evaluates on the TPU; then `EvalSpec.steps` must be given.
        export_to_tpu: exports a model for TPUs; without a TPU none is exported.
        export_to_cpu: exports a model for CPUs and GPUs.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
    Returns:
        The `tf.compat.v1.estimator.tpu.TPUEstimator`.
    Raises:
        ValueError: `use_tpu` is asked for on a TensorFlow later than 2.15 or without a TPU,
            `config` is none of a TPU, or `model_fn` is not a function.
    """
    import tensorflow as tf

    if not callable(model_fn):
        raise ValueError(
            f"TPUEstimator.model_fn = {model_fn!r} is not a function; write `@name_of_model_fn` "
            "without parentheses."
        )
    if use_tpu:
        _require_tensorflow_with_tpus()
    config = TPURunConfig() if config is None else config
    if not isinstance(config, tf.compat.v1.estimator.tpu.RunConfig):
        raise ValueError(
            f"TPUEstimator.config is a {type(config).__name__} without a TPUConfig; write "
            "@TPURunConfig(), which takes what is bound to RunConfig too."
        )
    if use_tpu:
        _require_tpu(config)
    from .tpu_adapter import TPUEstimator as Adapted
    from .tpu_adapter import model_fn_for_tpu

    carry_gin_scope()
    shown = expose_arguments(model_fn_for_tpu(model_fn), MODEL_FN_ARGUMENTS)
    warm_start_from = with_prefix(warm_start_from)
    estimator = Adapted(
        # TensorFlow would rewrite model_fn with AutoGraph on some devices and not on others.
        model_fn=tf.autograph.experimental.do_not_convert(shown),
        model_dir=model_dir,
        config=config,
        params=None if params is None else dict(params),
        use_tpu=use_tpu,
        train_batch_size=train_batch_size,
        eval_batch_size=eval_batch_size,
        predict_batch_size=predict_batch_size,
        batch_axis=batch_axis,
        eval_on_tpu=eval_on_tpu,
        export_to_tpu=export_to_tpu and use_tpu,
        export_to_cpu=export_to_cpu,
        warm_start_from=warm_start_from,
    )
    check_warm_start("TPUEstimator.warm_start_from", warm_start_from, estimator)
    return estimator


@gin.configurable(module="genever")
def TPURunConfig(
    tpu_config: Any = None,
    evaluation_master: str | None = None,
    master: str | None = None,
    cluster: Any = None,
    run_config: Any = None,
) -> Any:
    """How a run on TPUs is run; folder, seed and checkpoints are those of `RunConfig`.

    Args:
        tpu_config: e.g. `@TPUConfig()`; by default `TPUConfig()` as gin configures it.
        evaluation_master: address of the session that evaluates; by default `master`.
        master: address of the session that trains, such as 'grpc://10.0.0.2:8470'.
        cluster: e.g. `@TPUClusterResolver()`, instead of `master`.
        run_config: a `tf.estimator.RunConfig` to take the rest from; by default `RunConfig()` as
            gin configures it.
    Returns:
        The `tf.compat.v1.estimator.tpu.RunConfig`.
    Raises:
        ValueError: both `master` and `cluster` are given, or RunConfig has a strategy.
    """
    import tensorflow as tf

    if master is not None and cluster is not None:
        raise ValueError("TPURunConfig: master and cluster exclude each other; remove one of them.")
    base = RunConfig() if run_config is None else run_config
    for argument in ("train_distribute", "eval_distribute"):
        if getattr(base, argument) is not None:
            raise ValueError(
                f"RunConfig.{argument}: a TPUEstimator takes no strategy; remove this binding, or "
                "train with Estimator."
            )
    return tf.compat.v1.estimator.tpu.RunConfig(
        tpu_config=TPUConfig() if tpu_config is None else tpu_config,
        evaluation_master=evaluation_master,
        master=master,
        cluster=cluster,
        **{field: getattr(base, field) for field in _FIELDS},
    )


@gin.configurable(module="genever")
def TPUConfig(
    iterations_per_loop: int | str = 2,
    num_shards: int | None = None,
    num_cores_per_replica: int | None = None,
    per_host_input_for_training: Any = True,
    tpu_job_name: str | None = None,
    initial_infeed_sleep_secs: int | None = None,
    input_partition_dims: Any = None,
    experimental_host_call_every_n_steps: int = 1,
) -> Any:
    """What a TPU does by itself, see `tf.compat.v1.estimator.tpu.TPUConfig`.

    Args:
        iterations_per_loop: training steps on the TPU to one call of the session; or a time, such
            as '30s'. Hooks and checkpoints come between the calls.
        num_shards: replicas of the model; by default what the TPU has.
        num_cores_per_replica: cores of one replica, for a model in parts.
        per_host_input_for_training: True, False, or an `InputPipelineConfig`: who calls input_fn.
        tpu_job_name: the job of the TPU workers in the cluster, where it cannot be inferred.
        initial_infeed_sleep_secs: seconds to wait before the first batch is sent.
        input_partition_dims: how the inputs of a model in parts are cut.
        experimental_host_call_every_n_steps: steps from one `host_call` to the next.
    Returns:
        The `tf.compat.v1.estimator.tpu.TPUConfig`.
    """
    import tensorflow as tf

    return tf.compat.v1.estimator.tpu.TPUConfig(
        iterations_per_loop=iterations_per_loop,
        num_shards=num_shards,
        num_cores_per_replica=num_cores_per_replica,
        per_host_input_for_training=per_host_input_for_training,
        tpu_job_name=tpu_job_name,
        initial_infeed_sleep_secs=initial_infeed_sleep_secs,
        input_partition_dims=input_partition_dims,
        experimental_host_call_every_n_steps=experimental_host_call_every_n_steps,
    )


@gin.configurable(module="genever")
def TPUClusterResolver(
    tpu: str | None = None, zone: str | None = None, project: str | None = None
) -> Any:
    """Finds a TPU by its name or address; not tried, for lack of a TPU.

    Args:
        tpu: name of the TPU, its address such as 'grpc://10.0.0.2:8470', or 'local'; by default
            what the environment names.
        zone: zone of the TPU in Google Cloud.
        project: project of the TPU in Google Cloud.
    Returns:
        The `tf.distribute.cluster_resolver.TPUClusterResolver`.
    Raises:
        ValueError: no TPU is named.
    """
    import tensorflow as tf

    try:
        return tf.distribute.cluster_resolver.TPUClusterResolver(tpu, zone=zone, project=project)
    except ValueError as error:
        raise ValueError(
            f"TPUClusterResolver.tpu = {tpu!r} names no TPU ({error}); give its name or address."
        ) from error


def _require_tensorflow_with_tpus() -> None:
    import tensorflow as tf

    from .compat.versions import FIRST_WITHOUT_ESTIMATOR, parse

    if parse(tf.__version__) >= FIRST_WITHOUT_ESTIMATOR:
        raise ValueError(
            f"TPUEstimator.use_tpu = True needs TensorFlow 2.15, for TensorFlow {tf.__version__} "
            "has dropped what a TPUEstimator uses on TPUs: write TPUEstimator.use_tpu = False, or "
            "install TensorFlow 2.15."
        )


def _require_tpu(config: Any) -> None:
    import tensorflow as tf

    if config.master or config.cluster or tf.config.list_physical_devices("TPU"):
        return
    raise ValueError(
        "TPUEstimator.use_tpu = True: this machine has no TPU; name one by TPURunConfig.cluster = "
        "@TPUClusterResolver(), or write TPUEstimator.use_tpu = False."
    )
