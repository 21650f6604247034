"""Starting a training from the values of another one: `WarmStartSettings`."""

from collections.abc import Mapping, Sequence
from typing import Any

import gin


@gin.configurable(module="genever")
def WarmStartSettings(
    ckpt_to_initialize_from: str = gin.REQUIRED,
    vars_to_warm_start: str | Sequence[str] = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> Any:
    """Which variables of a new training start from which values of a checkpoint.

    Used as `Estimator.warm_start_from = @WarmStartSettings()`. A model_dir that has a checkpoint
    goes on from that instead.

    Args:
        ckpt_to_initialize_from: a checkpoint's prefix, or a model_dir, whose latest one is meant.
        vars_to_warm_start: regular expression of the trainable variables, or a list of such for
            all variables.
        var_name_to_vocab_info: name -> `tf.estimator.VocabInfo`, for embeddings whose vocabulary
            has changed.
        var_name_to_prev_var_name: name -> name in the checkpoint, where they differ.
    Returns:
        The `tf.estimator.WarmStartSettings`.

    Source: https://www.tensorflow.org/api_docs/python/tf/estimator/WarmStartSettings
    """
    import tensorflow as tf

    return tf.estimator.WarmStartSettings(
        ckpt_to_initialize_from=ckpt_to_initialize_from,
        vars_to_warm_start=vars_to_warm_start,
        var_name_to_vocab_info=dict(var_name_to_vocab_info or {}),
        var_name_to_prev_var_name=dict(var_name_to_prev_var_name or {}),
    )
