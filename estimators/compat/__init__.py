"""`tf.estimator` on every supported TensorFlow; the only place that touches private TensorFlow API.

Importing `genever`, and so this package alone too, installs the bridge. That imports no
TensorFlow: the patches wait until something imports it. One module here is one patch, and says what
it replaces, from which TensorFlow on, and which public API is missing.
"""

import importlib
import sys
import threading
import warnings

import wrapt

from . import (
    export_constants,
    legacy_keras,
    removed_modules,
    text_format_protobuf7,
    tf_namespaces,
    tpu_stubs,
    versions,
)
from .replica_threads import carry_into_replica_threads
from .versions import MATRIX, SUPPORTED_TENSORFLOW, tensorflow_version

__all__ = [
    "MATRIX",
    "SUPPORTED_TENSORFLOW",
    "carry_into_replica_threads",
    "install",
    "tensorflow_version",
]

# Keras comes first, because it may refuse, and then nothing must have been changed.
_PATCHES = (
    legacy_keras.bind,
    text_format_protobuf7.apply,
    export_constants.apply,
    removed_modules.apply,
    tpu_stubs.apply,
    tf_namespaces.apply,
)

_lock = threading.RLock()
_installed = False


def install() -> None:
    """Brings `tf.estimator` and Keras 2 to TensorFlow 2.16 and later; does nothing on 2.15.

    May be called any number of times, from any thread, before or after `import tensorflow`.

    Raises:
      ImportError: TensorFlow is older than 2.15, or was imported before and has already bound
        `tf.keras` to Keras 3, which the Estimators of TensorFlow cannot use.
    """
    global _installed
    with _lock:
        if _installed:
            return
        version = tensorflow_version()
        if version is not None:
            versions.check(version)
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is None:
            legacy_keras.choose(version)
        elif getattr(tensorflow.__spec__, "_initializing", False):
            # Another thread is importing it: this waits until that thread is done.
            importlib.import_module("tensorflow")
        wrapt.register_post_import_hook(_after_tensorflow, "tensorflow")
        _installed = True


def _after_tensorflow(tf) -> None:
    version = versions.parse(tf.__version__)
    versions.check(version)
    if version < versions.FIRST_WITHOUT_ESTIMATOR:
        return
    for patch in _PATCHES:
        try:
            patch(tf)
        except (AttributeError, ModuleNotFoundError, TypeError) as error:
            if version <= versions.NEWEST:
                raise
            # A future TensorFlow may have moved what a patch touches; `import tensorflow` itself
            # must go on working there.
            warnings.warn(
                f"Genever could not adapt TensorFlow {tf.__version__} ({patch.__module__}: {error})"
                f"; install TensorFlow {SUPPORTED_TENSORFLOW[-1]} if tf.estimator does not work.",
                stacklevel=2,
            )
