"""TPUEstimator's conventions for functions that do not know them: batches and specs.

Imports TensorFlow, so it is imported only by functions that have it.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from .tpu_shards import building_for_tpu

_tpu = tf.compat.v1.estimator.tpu


# tensorflow_estimator lets only a class of this name override methods of an Estimator.
class TPUEstimator(_tpu.TPUEstimator):
    """A TPUEstimator whose input_fns need not take `params`."""

    def train(self, input_fn, *args, **kwargs):
        return super().train(with_params(input_fn), *args, **kwargs)

    def evaluate(self, input_fn, *args, **kwargs):
        return super().evaluate(with_params(input_fn), *args, **kwargs)

    def predict(self, input_fn, *args, **kwargs):
        return super().predict(with_params(input_fn), *args, **kwargs)


def with_params(input_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an input_fn that takes `params` and gives batches of params['batch_size'].

    Args:
        input_fn: function that returns a `tf.data.Dataset` of batches. One that takes `params` is
            returned as it is. On a TPU, one that takes `input_context` reads the part of the host
            that calls it.
    """
    taken = inspect.signature(input_fn).parameters
    if "params" in taken:
        return input_fn

    def call(params, mode, config, input_context=None):
        host = params.get("context")
        if host is not None:
            _, index, pipelines, _ = host.current_input_fn_deployment()
            input_context = tf.distribute.InputContext(pipelines, index, pipelines)
        given = {"mode": mode, "config": config, "input_context": input_context}
        data = input_fn(**{name: value for name, value in given.items() if name in taken})
        return batches_of(data, params.get("batch_size"), whole=host is not None)

    return call


def batches_of(data: Any, size: int | None, whole: bool) -> Any:
    """Cuts the batches of a dataset anew; the examples and their order stay.

    Args:
        data: a `tf.data.Dataset`. It is left as it is where it is no dataset of dense batches.
        size: examples in a batch; None leaves the dataset as it is.
        whole: drops the rest that fills no batch, so that all shapes are known.
    Returns:
        The dataset.
    """
    if size is None or not isinstance(data, tf.data.Dataset):
        return data
    specs = tf.nest.flatten(data.element_spec)
    if not all(isinstance(spec, tf.TensorSpec) and spec.shape.rank for spec in specs):
        return data
    if all(spec.shape[0] == size for spec in specs):
        return data
    return data.rebatch(size, drop_remainder=whole)


def model_fn_for_tpu(model_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a model_fn as TPUEstimator wants it.

    It takes `params`, and on a TPU it returns a TPUEstimatorSpec, also where `model_fn` does not.

    Args:
        model_fn: a model_fn that returns a `tf.estimator.EstimatorSpec` or a TPUEstimatorSpec.
    """
    taken = inspect.signature(model_fn).parameters

    def call(features, labels, mode, params, config):
        given = {
            "features": features,
            "labels": labels,
            "mode": mode,
            "params": params,
            "config": config,
        }
        on_tpu = bool(params.get("use_tpu"))
        with building_for_tpu(on_tpu):
            spec = model_fn(**{name: value for name, value in given.items() if name in taken})
        if on_tpu and isinstance(spec, tf.estimator.EstimatorSpec):
            return spec_for_tpu(spec)
        return spec

    return call


def spec_for_tpu(spec: Any) -> Any:
    """Makes a TPUEstimatorSpec of an EstimatorSpec.

    Raises:
        ValueError: it is one of evaluation, whose metrics were made inside the model.
    """
    if spec.mode == tf.estimator.ModeKeys.EVAL:
        raise ValueError(
            "TPUEstimator.model_fn returned an EstimatorSpec, whose metrics a TPU cannot count: "
            "write TPUEstimator.eval_on_tpu = False, which evaluates on the CPU, or return a "
            "TPUEstimatorSpec with eval_metrics."
        )
    given: Mapping[str, Any] = (
        {"loss": spec.loss, "train_op": spec.train_op, "training_hooks": spec.training_hooks}
        if spec.mode == tf.estimator.ModeKeys.TRAIN
        else {"predictions": spec.predictions, "export_outputs": spec.export_outputs}
    )
    return _tpu.TPUEstimatorSpec(spec.mode, **given)
