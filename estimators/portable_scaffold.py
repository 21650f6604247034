"""What lets a model of several devices be served on a machine with one."""

from typing import Any


def portable_scaffold() -> Any:
    """Makes the scaffold of a prediction whose export names no devices.

    Give it to the `tf.estimator.EstimatorSpec` of prediction when all variables exist:

        tf.estimator.EstimatorSpec(mode, predictions=..., scaffold=portable_scaffold())

    `Estimator.predict` still computes on the devices that the model_fn names.

    Returns:
        A `tf.compat.v1.train.Scaffold`.
    """
    import tensorflow as tf

    class Saver(tf.compat.v1.train.Saver):
        def export_meta_graph(self, *args, **kwargs):
            return super().export_meta_graph(*args, **{**kwargs, "clear_devices": True})

    return tf.compat.v1.train.Scaffold(saver=Saver(sharded=True))
