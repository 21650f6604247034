"""SavedModels of a run: when they are written, and what they take in."""

from collections.abc import Callable, Mapping
from typing import Any

import gin

from .folder_names import check_folder_name


@gin.configurable(module="genever")
def serving_input_receiver_fn(schema: Any) -> Callable[[], Any]:
    """Makes the receiver of serialized `tf.Example`s for an exported model.

    Args:
        schema: the `Schema` of the data; its label and weight are not asked for.
    Returns:
        A function without arguments that returns a `tf.estimator.export.ServingInputReceiver`
        with one input `examples`: string, [batch].
    """

    def receive():
        import tensorflow as tf

        spec = schema.parsing_spec(label=False)
        examples = tf.compat.v1.placeholder(tf.string, [None], name="examples")
        return tf.estimator.export.ServingInputReceiver(
            tf.io.parse_example(examples, spec), {"examples": examples}
        )

    return receive


@gin.configurable(module="genever")
def FinalExporter(
    name: str,
    serving_input_receiver_fn: Callable[[], Any],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
) -> Any:
    """Exports once, at the end of training, to `model_dir/export/name`.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: what the model takes in, e.g. `@serving_input_receiver_fn()`.
        assets_extra: files to copy: path in assets.extra -> path of the file.
        as_text: writes the graph as text.
    Returns:
        The `tf.estimator.FinalExporter`.
    Raises:
        ValueError: `name` is not the name of one folder.
    """
    import tensorflow as tf

    check_folder_name("FinalExporter.name", name)
    return tf.estimator.FinalExporter(name, serving_input_receiver_fn, assets_extra, as_text)


@gin.configurable(module="genever")
def LatestExporter(
    name: str,
    serving_input_receiver_fn: Callable[[], Any],
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
) -> Any:
    """Exports after every evaluation, to `model_dir/export/name`.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: what the model takes in, e.g. `@serving_input_receiver_fn()`.
        assets_extra: files to copy: path in assets.extra -> path of the file.
        as_text: writes the graph as text.
        exports_to_keep: number of newest exports that are kept; None keeps all.
    Returns:
        The `tf.estimator.LatestExporter`.
    Raises:
        ValueError: `name` is not the name of one folder.
    """
    import tensorflow as tf

    check_folder_name("LatestExporter.name", name)
    return tf.estimator.LatestExporter(
        name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep
    )


@gin.configurable(module="genever")
def BestExporter(
    name: str = "best_exporter",
    serving_input_receiver_fn: Callable[[], Any] | None = None,
    event_file_pattern: str | None = "eval/*.tfevents.*",
    compare_fn: Callable[..., bool] | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    metric: str | None = None,
    higher_is_better: bool | None = None,
) -> Any:
    """Exports after an evaluation that is better than all before, to `model_dir/export/name`.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: what the model takes in, e.g. `@serving_input_receiver_fn()`.
        event_file_pattern: event files of earlier evaluations, below model_dir, from which the best
            one so far is read; a named evaluation writes to 'eval_NAME'. None reads none.
        compare_fn: function of `best_eval_result` and `current_eval_result` (dicts of metrics) that
            says whether the current one is better; instead of `metric`.
        assets_extra: files to copy: path in assets.extra -> path of the file.
        as_text: writes the graph as text.
        exports_to_keep: number of newest exports that are kept; None keeps all.
        metric: name of the metric to compare; 'loss' if `compare_fn` is not given either.
        higher_is_better: whether a greater metric is the better one; needed for every metric but
            those with 'loss' or 'error' in their name.
    Returns:
        The `tf.estimator.BestExporter`.
    Raises:
        ValueError: both `compare_fn` and `metric` are given, `higher_is_better` is missing, or
            `name` is not the name of one folder.
    """
    import tensorflow as tf

    check_folder_name("BestExporter.name", name)
    if compare_fn is not None and (metric is not None or higher_is_better is not None):
        raise ValueError(
            "BestExporter: compare_fn excludes metric and higher_is_better; remove one of them."
        )
    arguments = {
        "name": name,
        "serving_input_receiver_fn": serving_input_receiver_fn,
        "event_file_pattern": event_file_pattern,
        "assets_extra": assets_extra,
        "as_text": as_text,
        "exports_to_keep": exports_to_keep,
    }
    if compare_fn is not None:
        return tf.estimator.BestExporter(compare_fn=compare_fn, **arguments)

    metric = metric or "loss"
    if higher_is_better is None:
        if "loss" not in metric and "error" not in metric:
            raise ValueError(
                f"BestExporter.higher_is_better is missing for the metric {metric!r}; "
                "write True or False."
            )
        higher_is_better = False
    from .best_by_metric import BestByMetric

    return BestByMetric(metric, higher_is_better, **arguments)
