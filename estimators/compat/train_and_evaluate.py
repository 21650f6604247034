"""Another `tf.estimator.train_and_evaluate`, under all its names.

Replaces: the function in tensorflow_estimator, on every TensorFlow, before `tf.estimator` and
`tf.compat.v1.estimator` take it from there. Missing public API: setting it in one namespace leaves
it as it was in the others.
"""

import functools
import json
import os
from collections.abc import Callable
from typing import Any

import wrapt

_MODULE = "tensorflow_estimator.python.estimator.training"

_replaced = False


def replace_train_and_evaluate(replacement: Callable, otherwise: Callable[[], None]) -> None:
    """Lets `tf.estimator.train_and_evaluate` call `replacement`, except where a cluster trains.

    Args:
      replacement: takes (estimator, train_spec, eval_spec).
      otherwise: is called before TensorFlow's own is used for a cluster.
    """
    global _replaced
    if _replaced:
        return
    _replaced = True

    def patch(training) -> None:
        original = training.train_and_evaluate

        @functools.wraps(original)
        def train_and_evaluate(estimator, train_spec, eval_spec):
            if _is_for_a_cluster(estimator):
                otherwise()
                return original(estimator, train_spec, eval_spec)
            return replacement(estimator, train_spec, eval_spec)

        training.train_and_evaluate = train_and_evaluate

    wrapt.register_post_import_hook(patch, _MODULE)


def _is_for_a_cluster(estimator: Any) -> bool:
    try:
        cluster = json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster")
    except (ValueError, AttributeError):
        return True  # TensorFlow says what is wrong with TF_CONFIG
    # RunConfig has no public name for a cluster that was given as remote_cluster.
    remote = getattr(getattr(estimator, "config", None), "_distribute_coordinator_mode", None)
    return bool(cluster or remote)
