"""What an Estimator keeps to itself.

Missing public API: what an Estimator was told to start from; it is read where something else than
the Estimator builds the graph.
"""

from typing import Any


def warm_start_settings(estimator: Any) -> Any:
    """Returns the `tf.estimator.WarmStartSettings` of an Estimator, or None."""
    return estimator._warm_start_settings
