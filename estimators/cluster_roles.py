"""Which tasks of a cluster a strategy needs, and which it cannot use."""

import json
import os
from collections.abc import Mapping, Sequence

TRAINERS = ("master", "chief", "worker")
_ONE_PROCESS = (
    "CentralStorageStrategy",
    "MirroredStrategy",
    "OneDeviceStrategy",
    "TPUStrategy",
)


def require_roles(strategy_name: str | None, cluster: Mapping[str, Sequence[str]]) -> None:
    """Refuses a training strategy that the tasks of a cluster cannot run.

    Args:
        strategy_name: gin's name of the strategy that trains, or None.
        cluster: addresses by task type, as in TF_CONFIG; empty where this process trains alone.
    Raises:
        ValueError: says which role is missing or useless, and what to write instead.
    """
    ps = len(cluster.get("ps", ()))
    trainers = sum(len(cluster.get(role, ())) for role in TRAINERS)
    if strategy_name is None and trainers > 1 and not ps:
        raise ValueError(
            f"the cluster of TF_CONFIG has {trainers} tasks that train and no ps, so that without "
            "a strategy each would train a model of its own: write RunConfig.train_distribute = "
            "@MultiWorkerMirroredStrategy(), or add 'ps' to the cluster."
        )
    if strategy_name == "MultiWorkerMirroredStrategy" and ps:
        raise ValueError(
            f"MultiWorkerMirroredStrategy keeps its variables in the workers, but the cluster of "
            f"TF_CONFIG has {ps} ps: remove them from the cluster, or write "
            "@ParameterServerStrategy()."
        )
    if strategy_name == "ParameterServerStrategy" and trainers and not ps:
        raise ValueError(
            "ParameterServerStrategy keeps its variables on ps tasks, but the cluster of TF_CONFIG "
            "has none: add 'ps' to the cluster, or write @MultiWorkerMirroredStrategy()."
        )
    if strategy_name in _ONE_PROCESS and (trainers > 1 or ps):
        other = "ParameterServerStrategy" if ps else "MultiWorkerMirroredStrategy"
        raise ValueError(
            f"{strategy_name} trains in one process, but the cluster of TF_CONFIG has {trainers} "
            f"that train and {ps} ps: write @{other}(), or unset TF_CONFIG."
        )


def cluster_of_tf_config() -> tuple[dict[str, list[str]], str | None]:
    """Reads the environment variable TF_CONFIG.

    Returns:
        (addresses by task type, the type of this process's task); ({}, None) without a cluster.
    Raises:
        ValueError: it is not a JSON object of objects.
    """
    text = os.environ.get("TF_CONFIG", "").strip() or "{}"
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is not JSON ({error}); correct or unset it.") from None
    if not isinstance(config, dict):
        raise ValueError(f"TF_CONFIG is not a JSON object but {text[:60]!r}; correct or unset it.")
    cluster, task = config.get("cluster") or {}, config.get("task") or {}
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        raise ValueError(
            "TF_CONFIG: 'cluster' and 'task' must be JSON objects, such as "
            '{"cluster": {"chief": ["host:2222"]}, "task": {"type": "chief", "index": 0}}.'
        )
    return (cluster, task.get("type")) if cluster else ({}, None)
