"""Which gin name a strategy object would have, whoever made it and of whichever TensorFlow API."""

from typing import Any


def kind_of(strategy: Any) -> str | None:
    """Returns gin's name of the strategy, such as 'MirroredStrategy'.

    Args:
        strategy: a `tf.distribute.Strategy` of either API version, or None.
    Returns:
        The name; None for None and for a strategy that gin has no name for, and
        'ParameterServerStrategyV2' for the one that no Estimator can use.
    """
    import tensorflow as tf

    new, old = tf.distribute, tf.compat.v1.distribute
    # Between the class of TensorFlow 2 and that of TensorFlow 1 there is no inheritance.
    classes = {
        "ParameterServerStrategyV2": [
            new.ParameterServerStrategy,
            new.experimental.ParameterServerStrategy,
        ],
        "ParameterServerStrategy": [old.experimental.ParameterServerStrategy],
        "MultiWorkerMirroredStrategy": [
            new.MultiWorkerMirroredStrategy,
            new.experimental.MultiWorkerMirroredStrategy,
            old.experimental.MultiWorkerMirroredStrategy,
        ],
        "MirroredStrategy": [new.MirroredStrategy, old.MirroredStrategy],
        "CentralStorageStrategy": [
            new.experimental.CentralStorageStrategy,
            old.experimental.CentralStorageStrategy,
        ],
        "OneDeviceStrategy": [new.OneDeviceStrategy, old.OneDeviceStrategy],
        "TPUStrategy": [
            new.TPUStrategy,
            new.experimental.TPUStrategy,
            old.experimental.TPUStrategy,
        ],
    }
    for name, kinds in classes.items():
        if isinstance(strategy, tuple(kinds)):
            return name
    return None
