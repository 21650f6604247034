"""Starting a training from the values of another one: `WarmStartSettings`."""

import os
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
        ckpt_to_initialize_from: a checkpoint's prefix, a model_dir, whose latest one is meant, or
            an exported model. The Estimator refuses one that does not exist.
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


def with_prefix(warm_start_from: Any) -> Any:
    """Returns what an Estimator starts from, with the folder of an export as a prefix.

    Args:
        warm_start_from: a path, a `tf.estimator.WarmStartSettings`, or None.
    Returns:
        The same, where a path that is an exported model, or its folder `variables`, is replaced by
        the prefix of its variables.
    """
    import tensorflow as tf

    if isinstance(warm_start_from, (str, os.PathLike)):
        return _prefix(os.fspath(warm_start_from))
    if isinstance(warm_start_from, tf.estimator.WarmStartSettings):
        path = os.fspath(warm_start_from.ckpt_to_initialize_from)
        return warm_start_from._replace(ckpt_to_initialize_from=_prefix(path))
    return warm_start_from


def check_warm_start(parameter: str, warm_start_from: Any, estimator: Any) -> None:
    """Refuses a checkpoint that does not exist, before hours of waiting for its first step.

    Args:
        parameter: its name in a config, e.g. 'Estimator.warm_start_from'.
        warm_start_from: what `with_prefix` gave.
        estimator: the Estimator; one whose model_dir has a checkpoint does not read another.
    Raises:
        ValueError: there is no checkpoint.
    """
    import tensorflow as tf

    if warm_start_from is None or tf.train.latest_checkpoint(estimator.model_dir):
        return
    path = warm_start_from
    if isinstance(warm_start_from, tf.estimator.WarmStartSettings):
        parameter = "WarmStartSettings.ckpt_to_initialize_from"
        path = warm_start_from.ckpt_to_initialize_from
    if not _exists(path):
        raise ValueError(
            f"{parameter} = {path!r}: there is no such checkpoint; give a model_dir that has one, "
            "a prefix such as 'model_dir/model.ckpt-1000', or an exported model."
        )


def _prefix(path: str) -> str:
    import tensorflow as tf

    for folder in (path, os.path.join(path, "variables")):
        prefix = os.path.join(folder, "variables")
        if tf.io.gfile.exists(prefix + ".index"):
            return prefix
    return path


def _exists(path: str) -> bool:
    import tensorflow as tf

    if tf.io.gfile.isdir(path):
        return tf.train.latest_checkpoint(path) is not None
    if tf.io.gfile.exists(path + ".index"):
        return True
    # The first format had one file, of the name itself; a part of a newer one is not a prefix.
    part = path.endswith((".index", ".meta")) or ".data-" in os.path.basename(path)
    return tf.io.gfile.exists(path) and not part
