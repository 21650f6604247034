"""The strategies of `tf.contrib.distribute`, which counted GPUs, on those of `tf.distribute`.

Replaces: the classes of that name, gone since TensorFlow 2.0. Missing public API: today's classes
take device names, or every GPU that they see, and no number of GPUs.
"""

import tensorflow as tf

_v1 = tf.compat.v1.distribute


class MirroredStrategy(_v1.MirroredStrategy):
    """`tf.distribute.MirroredStrategy` by number of GPUs.

    Args:
      devices: device names; all visible GPUs, or the CPU, where neither this nor a number is given.
      num_gpus: so many GPUs from the first one on; 0 is the CPU.
      num_gpus_per_worker: a second name of num_gpus.
      cross_device_ops: how gradients are summed, as for `tf.distribute.MirroredStrategy`.

    Raises:
      ValueError: both device names and a number are given.
    """

    def __init__(
        self, devices=None, num_gpus=None, num_gpus_per_worker=None, cross_device_ops=None
    ):
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        if count is not None:
            if devices:
                raise ValueError(
                    "MirroredStrategy has devices and num_gpus; give one of them and not the other"
                )
            devices = [f"/gpu:{index}" for index in range(count)] or ["/cpu:0"]
        super().__init__(devices=devices, cross_device_ops=cross_device_ops)


class CollectiveAllReduceStrategy(_v1.experimental.MultiWorkerMirroredStrategy):
    """`MultiWorkerMirroredStrategy`, which is its name today.

    Args:
      num_gpus_per_worker: must be the number of visible GPUs.

    Raises:
      ValueError: another number of GPUs is visible.
    """

    def __init__(self, num_gpus_per_worker=None):
        _require_visible("CollectiveAllReduceStrategy", num_gpus_per_worker)
        super().__init__()


class ParameterServerStrategy(_v1.experimental.ParameterServerStrategy):
    """`tf.distribute.experimental.ParameterServerStrategy` by number of GPUs.

    Args:
      num_gpus_per_worker: must be the number of visible GPUs.

    Raises:
      ValueError: another number of GPUs is visible.
    """

    def __init__(self, num_gpus_per_worker=None):
        _require_visible("ParameterServerStrategy", num_gpus_per_worker)
        super().__init__()


def _require_visible(name: str, count: int | None) -> None:
    visible = len(tf.config.list_physical_devices("GPU"))
    if count is not None and count != visible:
        raise ValueError(
            f"{name}: num_gpus_per_worker is {count} and {visible} GPU(s) are visible; today's "
            "strategy takes every visible GPU, so set CUDA_VISIBLE_DEVICES to those it may use"
        )
