"""Genever: gin-configured training, evaluation, prediction and export of `tf.estimator` models.

Importing this package installs the bridge that gives `tf.estimator` back to TensorFlow 2.16 and
later; TensorFlow itself is imported only when something needs it.
"""

import lazy_loader

from .estimators import compat

compat.install()

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["estimators", "input_fns", "launch"],
    submod_attrs={"launch": ["train_and_evaluate"]},
)
