"""What a run trains and evaluates on: `TrainSpec` and `EvalSpec`."""

from collections.abc import Callable, Sequence
from typing import Any

import gin

from .folder_names import check_folder_name
from .signatures import INPUT_FN_ARGUMENTS, expose_arguments


@gin.configurable(module="genever")
def TrainSpec(
    input_fn: Callable[..., Any],
    max_steps: int | None = None,
    hooks: Sequence[Any] | None = None,
    saving_listeners: Sequence[Any] | None = None,
) -> Any:
    """The training part of a run.

    Args:
        input_fn: function that returns a `tf.data.Dataset` of features and labels.
        max_steps: number of steps after which training ends; None trains until the input ends.
        hooks: `tf.estimator.SessionRunHook` objects.
        saving_listeners: `tf.estimator.CheckpointSaverListener` objects.
    Returns:
        The `tf.estimator.TrainSpec`.
    Raises:
        ValueError: `input_fn` is not a function.
    """
    import tensorflow as tf

    return tf.estimator.TrainSpec(
        input_fn=_input_fn("TrainSpec", input_fn),
        max_steps=max_steps,
        hooks=hooks,
        saving_listeners=saving_listeners,
    )


@gin.configurable(module="genever")
def EvalSpec(
    input_fn: Callable[..., Any],
    steps: int | None = None,
    name: str | None = None,
    hooks: Sequence[Any] | None = None,
    exporters: Any = None,
    start_delay_secs: int | None = None,
    throttle_secs: int | None = None,
) -> Any:
    """One evaluation of a run.

    Args:
        input_fn: function that returns a `tf.data.Dataset` of features and labels.
        steps: number of batches; None evaluates all data. `tf.estimator` stops after 100 batches
            by default, so that its metrics depend on the batch size; here they are exact.
        name: name of the evaluation, where there are several.
        hooks: `tf.estimator.SessionRunHook` objects.
        exporters: an exporter or a list of them, e.g. `@BestExporter()`.
        start_delay_secs: only for drop-in use; evaluation does not go by the clock.
        throttle_secs: only for drop-in use; evaluation does not go by the clock.
    Returns:
        The `tf.estimator.EvalSpec`.
    Raises:
        ValueError: `input_fn` is not a function, or `name` is not the name of one folder.
    """
    import tensorflow as tf
    from absl import logging

    if name:
        check_folder_name("EvalSpec.name", name)
    for argument, seconds in (
        ("start_delay_secs", start_delay_secs),
        ("throttle_secs", throttle_secs),
    ):
        if seconds is not None:
            logging.warning(
                "EvalSpec.%s = %s has no effect: evaluation goes by steps; set "
                "train_and_evaluate.eval_every_steps instead.",
                argument,
                seconds,
            )
    return tf.estimator.EvalSpec(
        input_fn=_input_fn("EvalSpec", input_fn),
        steps=steps,
        name=name,
        hooks=hooks,
        exporters=exporters,
        start_delay_secs=start_delay_secs or 0,
        throttle_secs=throttle_secs or 0,
    )


def _input_fn(spec: str, input_fn: Any) -> Callable[..., Any]:
    if not callable(input_fn):
        raise ValueError(
            f"{spec}.input_fn = {input_fn!r} is not a function; write `@name_of_input_fn` "
            "without parentheses."
        )
    return expose_arguments(input_fn, INPUT_FN_ARGUMENTS)
