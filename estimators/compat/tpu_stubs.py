"""The TPU modules that tensorflow_estimator imports, without their TPUs.

Replaces: `tensorflow.python.tpu.tpu_embedding`, `session_support` and `tpu_embedding_gradient`, and
the embedding parameters of `tf.compat.v1.tpu.experimental`, gone from TensorFlow 2.16 on.
`tf.estimator` imports the modules whether a TPU is there or not. `TPUEstimator(use_tpu=False)`
works with these; whatever needs a TPU raises one sentence. Missing public API: TensorFlow has
nothing that runs a TPUEstimator on TPUs any more.
"""

import importlib.abc

_EMBEDDING = "tensorflow.python.tpu.tpu_embedding"

MODULES = (
    _EMBEDDING,
    "tensorflow.python.tpu.session_support",
    "tensorflow.python.tpu.tpu_embedding_gradient",
)

# tensorflow_estimator asks whether a value is an instance of one of these.
_PARAMETERS = (
    "AdagradParameters",
    "AdamParameters",
    "FtrlParameters",
    "MomentumParameters",
    "ProximalAdagradParameters",
    "RMSPropParameters",
    "StochasticGradientDescentParameters",
)


class TPURemovedError(NotImplementedError, AttributeError):
    """A name needs a TPU and TensorFlow 2.15; an AttributeError too, so that hasattr says no."""


def _sentence(name: str, version: str) -> str:
    return (
        f"{name} needs TensorFlow 2.15: TensorFlow {version} has no Estimators on TPUs and no TPU "
        "embeddings for them, so use TPUEstimator(use_tpu=False) or TensorFlow 2.15."
    )


class Loader(importlib.abc.Loader):
    """Makes one of the stub modules."""

    def __init__(self, tensorflow_version: str):
        self._version = tensorflow_version

    def exec_module(self, module):
        short = module.__name__.rpartition(".")[2]

        def missing(name):
            if name.startswith("__"):
                raise AttributeError(name)
            raise TPURemovedError(_sentence(f"{short}.{name}", self._version))

        module.__getattr__ = missing
        if module.__name__ == _EMBEDDING:
            for name in _PARAMETERS:
                setattr(module, name, _parameters(name, self._version))


def _parameters(name: str, version: str) -> type:
    def refuse(self, *args, **kwargs):
        raise TPURemovedError(_sentence(name, version))

    return type(name, (), {"__init__": refuse, "__module__": _EMBEDDING})


def apply(tf) -> None:
    """Gives `tf.compat.v1.tpu.experimental` back the names of TensorFlow 2.15, which raise."""
    from tensorflow.python.tpu import tpu_embedding

    experimental = tf.compat.v1.tpu.experimental
    for name in (
        "AdagradParameters",
        "AdamParameters",
        "FtrlParameters",
        "StochasticGradientDescentParameters",
    ):
        if not hasattr(experimental, name):
            setattr(experimental, name, getattr(tpu_embedding, name))
