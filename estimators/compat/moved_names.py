"""Names that TensorFlow's inner modules had in TensorFlow 1, and that moved to others since.

Replaces: names such as `control_flow_ops.cond` and `ops.Tensor`, gone from their modules by
TensorFlow 2.15, and `tensorflow.python.layers.normalization`, whose names lead nowhere from 2.15
on. TF1 programs use them, and so does tf_slim 1.1, its last release. Missing public API: none, all
of it is public elsewhere; but the code that asks here cannot be changed.
"""

import functools
from collections.abc import Mapping

import wrapt

# By module: the old name and where it is in tensorflow.compat.v1.
_MOVED = {
    "tensorflow.python.framework.ops": {
        "IndexedSlices": "IndexedSlices",
        "Tensor": "Tensor",
    },
    "tensorflow.python.ops.array_ops": {
        "parallel_stack": "parallel_stack",
        "stack": "stack",
        "unstack": "unstack",
    },
    "tensorflow.python.ops.control_flow_ops": {
        "Assert": "Assert",
        "case": "case",
        "cond": "cond",
        "while_loop": "while_loop",
    },
    "tensorflow.python.ops.variable_scope": {"variable": "Variable"},
    "tensorflow.python.layers.normalization": {
        "BatchNorm": "layers.BatchNormalization",
        "BatchNormalization": "layers.BatchNormalization",
        "batch_norm": "layers.batch_normalization",
        "batch_normalization": "layers.batch_normalization",
    },
}


def bring_back() -> None:
    """Lets each module find its old names, whenever it is imported."""
    for name, moved in _MOVED.items():
        wrapt.register_post_import_hook(functools.partial(_patch, moved), name)


def _patch(moved: Mapping[str, str], module) -> None:
    before = vars(module).get("__getattr__")

    def find(name):
        if name in moved:
            import tensorflow.compat.v1 as tf

            return functools.reduce(getattr, moved[name].split("."), tf)
        if before is not None:
            return before(name)
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

    # Python asks it only for what the module itself does not have.
    module.__getattr__ = find
