"""Modules that TensorFlow had up to 2.15, found again by import.

Replaces, from TensorFlow 2.16 on: `tensorflow.python.distribute.estimator_training` (own functions,
see estimator_training.py), three modules of `tensorflow.python.tpu` (see tpu_stubs.py), and the
import paths `tensorflow.estimator`, `tensorflow.compat.v1.estimator`,
`tensorflow.compat.v2.estimator` and `tensorflow.python.estimator`, which lead to
tensorflow_estimator as they did. Missing public API: TensorFlow has none of them any more.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from . import tpu_stubs
from .tf_namespaces import API_V1, API_V2

_ESTIMATOR_TRAINING = "tensorflow.python.distribute.estimator_training"

# Import path -> the package of tensorflow_estimator that it leads to.
_API_PATHS = {
    "tensorflow.estimator": API_V2,
    "tensorflow.compat.v1.estimator": API_V1,
    "tensorflow.compat.v2.estimator": API_V2,
}
_SOURCE_PATHS = {"tensorflow.python.estimator": "tensorflow_estimator.python.estimator"}
# The one module that has another name in tensorflow_estimator.
_RENAMED = {"tensorflow_estimator.python.estimator.keras": "keras_lib"}


def apply(tf) -> None:
    """Appends the finder, at the end: it is asked only for what TensorFlow does not have."""
    if not any(isinstance(finder, _RemovedModules) for finder in sys.meta_path):
        sys.meta_path.append(_RemovedModules(tf.__version__))


class _RemovedModules(importlib.abc.MetaPathFinder):
    def __init__(self, tensorflow_version: str):
        self._version = tensorflow_version

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("tensorflow."):
            return None
        if fullname == _ESTIMATOR_TRAINING:
            return importlib.machinery.ModuleSpec(fullname, _EstimatorTraining())
        if fullname in tpu_stubs.MODULES:
            return importlib.machinery.ModuleSpec(fullname, tpu_stubs.Loader(self._version))
        if fullname in _API_PATHS:
            return importlib.machinery.ModuleSpec(fullname, _SameModule(_API_PATHS[fullname]))
        for old, new in _SOURCE_PATHS.items():
            if fullname == old or fullname.startswith(old + "."):
                return _source_spec(fullname, new + fullname[len(old) :])
        return None


def _source_spec(fullname: str, target: str):
    if target in _RENAMED:
        target = f"{target.rpartition('.')[0]}.{_RENAMED[target]}"
    found = importlib.util.find_spec(target)
    if found is None:
        return None
    if found.submodule_search_locations is None:
        return importlib.machinery.ModuleSpec(fullname, _SameModule(target))
    return importlib.machinery.ModuleSpec(fullname, _Shell(target), is_package=True)


class _EstimatorTraining(importlib.abc.Loader):
    """Fills the module with the bridge's own functions."""

    def exec_module(self, module):
        from . import estimator_training

        module.__doc__ = estimator_training.__doc__
        for name in estimator_training.__all__:
            setattr(module, name, getattr(estimator_training, name))


class _SameModule(importlib.abc.Loader):
    """Makes a second import path lead to the very same module, not to a copy of its classes."""

    def __init__(self, target: str):
        self._target = target

    def exec_module(self, module):
        name = module.__name__
        sys.modules[name] = importlib.import_module(self._target)
        # Without these, import would find the submodules on the path of the target and load them
        # a second time.
        for loaded in [key for key in sys.modules if key.startswith(self._target + ".")]:
            sys.modules.setdefault(name + loaded[len(self._target) :], sys.modules[loaded])


class _Shell(importlib.abc.Loader):
    """A package without files: what it holds is looked up in the target and in this finder."""

    def __init__(self, target: str):
        self._target = target

    def exec_module(self, module):
        target = importlib.import_module(self._target)
        module.__doc__ = target.__doc__
        module.__getattr__ = lambda name: getattr(target, name)
        module.__dir__ = lambda: dir(target)
