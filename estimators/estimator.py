"""A model_fn with its configuration: `Estimator`."""

from collections.abc import Callable, Mapping
from typing import Any

import gin

from .gin_scope import carry_gin_scope
from .partitioners import partitioned
from .run_config import RunConfig, session_config_for
from .signatures import MODEL_FN_ARGUMENTS, expose_arguments
from .warm_start import check_warm_start, with_prefix


@gin.configurable(module="genever")
def Estimator(
    model_fn: Callable[..., Any],
    model_dir: str | None = None,
    config: Any = None,
    params: Mapping[str, Any] | None = None,
    warm_start_from: Any = None,
    partitioner: Callable[..., Any] | None = None,
) -> Any:
    """A model that can be trained, evaluated, asked and exported.

    Args:
        model_fn: function of `features`, `labels`, `mode` and, if it wants them, `params` and
            `config`, that returns a `tf.estimator.EstimatorSpec`. gin may fill its other arguments.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        params: dict handed to `model_fn` and to input_fns that take `params`.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        partitioner: cuts the variables that `model_fn` gets by `tf.compat.v1.get_variable` into
            parts, which are spread over the parameter servers, e.g.
            `@min_max_variable_partitioner()`; checkpoints stay the same.
    Returns:
        The `tf.estimator.Estimator`.
    Raises:
        ValueError: `model_fn` cannot be called or lacks an argument, the checkpoint to start from
            does not exist, or `partitioner` is no function.
    """
    import tensorflow as tf

    if not callable(model_fn):
        raise ValueError(
            f"Estimator.model_fn = {model_fn!r} is not a function; write `@name_of_model_fn` "
            "without parentheses."
        )
    carry_gin_scope()
    shown = expose_arguments(model_fn, MODEL_FN_ARGUMENTS)
    if partitioner is not None:
        shown = partitioned(shown, partitioner)
    # Under a strategy TensorFlow would rewrite model_fn with AutoGraph, on one device it does not;
    # left alone it is the same function everywhere, and its errors keep their words.
    shown = tf.autograph.experimental.do_not_convert(shown)
    config = RunConfig() if config is None else _with_device_session(config)
    warm_start_from = with_prefix(warm_start_from)
    estimator = tf.estimator.Estimator(
        model_fn=shown,
        model_dir=model_dir,
        config=config,
        params=None if params is None else dict(params),
        warm_start_from=warm_start_from,
    )
    check_warm_start("Estimator.warm_start_from", warm_start_from, estimator)
    return estimator


def _with_device_session(config: Any) -> Any:
    """Adds to a config that is not from our `RunConfig` what logical CPU devices need."""
    session_config = session_config_for(
        [config.train_distribute, config.eval_distribute], config.session_config
    )
    if session_config is config.session_config:
        return config
    return config.replace(session_config=session_config)
