"""The attributes `tf.estimator`, `tf.compat.v1.estimator` and `tf.compat.v2.estimator`.

Replaces: the same attributes, gone from TensorFlow 2.16 on. They load tensorflow_estimator at their
first use, as before. Missing public API: adding a namespace to TensorFlow.
"""

import sys

import wrapt

API_V1 = "tensorflow_estimator.python.estimator.api._v1.estimator"
API_V2 = "tensorflow_estimator.python.estimator.api._v2.estimator"


def apply(tf) -> None:
    """Sets the three attributes, and those of `tensorflow.compat.v1` and v2 when imported."""
    _add(tf, API_V2)
    _add(tf.compat.v1, API_V1)
    _add(tf.compat.v2, API_V2)
    # `import tensorflow.compat.v1` makes a second module from the file of tf.compat.v1.
    for which, api in (("v1", API_V1), ("v2", API_V2)):
        wrapt.register_post_import_hook(
            lambda module, api=api: _add(sys.modules[module.__name__], api),
            f"tensorflow.compat.{which}",
        )


def _add(module, api: str) -> None:
    # TensorFlow's own lazy module: a plain one would not be replaced in the parent once it is
    # loaded, and would have to be loaded at once.
    from tensorflow.python.util.lazy_loader import LazyLoader

    if "estimator" in vars(module):
        return
    module.estimator = LazyLoader("estimator", vars(module), api)
    names = getattr(module, "__all__", None)
    if isinstance(names, list) and "estimator" not in names:
        names.append("estimator")
