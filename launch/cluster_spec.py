"""The cluster that TF_CONFIG describes, and this process's task in it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..input_fns.errors import did_you_mean

TRAINERS = ("chief", "worker")
_TASK_TYPES = ("chief", "worker", "ps", "evaluator")


@dataclass(frozen=True)
class Task:
    """This process's task in a cluster.

    Attributes:
      cluster: addresses "host:port" by task type: chief, worker, ps; without the evaluator, which
        is no part of the training cluster.
      type: "chief", "worker", "ps" or "evaluator".
      index: position among the tasks of its type.
      has_evaluator: whether TF_CONFIG lists an evaluator.
    """

    cluster: Mapping[str, tuple[str, ...]]
    type: str
    index: int
    has_evaluator: bool = False

    @property
    def name(self) -> str:
        """The task as people write it, such as "worker 1"."""
        alone = self.type in ("chief", "evaluator")
        return self.type if alone else f"{self.type} {self.index}"

    @property
    def trainers(self) -> list[tuple[str, int]]:
        """The tasks that train, in the order of their global index."""
        return [(kind, i) for kind in TRAINERS for i in range(len(self.cluster.get(kind, ())))]

    @property
    def global_index(self) -> int:
        """Position among the tasks that train; chief and worker 0 are never the same."""
        return self.trainers.index((self.type, self.index))

    @property
    def is_chief(self) -> bool:
        """Whether this task saves the checkpoints: the chief, or worker 0 where there is none."""
        return bool(self.trainers) and (self.type, self.index) == self.trainers[0]

    @property
    def chief_address(self) -> str:
        """Where the chief's server listens."""
        kind, index = self.trainers[0]
        return self.cluster[kind][index]

    def peers(self) -> dict[str, str]:
        """Returns the addresses of the tasks that this one needs before it can train, by name."""
        kinds = ("ps",) if "ps" in self.cluster else TRAINERS
        found = {}
        for kind in kinds:
            for index, address in enumerate(self.cluster.get(kind, ())):
                other = Task(self.cluster, kind, index)
                if other.name != self.name:
                    found[other.name] = address
        return found


def this_task() -> Task | None:
    """Reads TF_CONFIG.

    Returns:
      The task of this process; None where it trains alone: there is no TF_CONFIG, no cluster in
      it, or only this one task.

    Raises:
      ValueError: TF_CONFIG is malformed or describes a cluster that cannot work.
    """
    text = os.environ.get("TF_CONFIG", "").strip()
    if not text:
        return None
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ValueError(f"TF_CONFIG is not JSON ({error}); correct or unset it") from None
    if not isinstance(config, dict):
        raise ValueError(f"TF_CONFIG is not a JSON object but {text[:60]!r}; correct or unset it")
    cluster = config.get("cluster") or {}
    if not cluster:
        return None
    if not isinstance(cluster, dict):
        raise ValueError(
            "TF_CONFIG: 'cluster' must be an object of task types and lists of addresses, such as "
            '{"chief": ["host:2222"], "worker": ["host2:2222"]}'
        )
    tasks = {kind: _addresses(kind, listed) for kind, listed in cluster.items()}
    if "master" in tasks:
        raise ValueError(
            "TF_CONFIG: the task type 'master' is the chief of old clusters; write 'chief'"
        )
    kind, index = _own(config.get("task"), tasks)
    _check(tasks)
    training = {k: v for k, v in tasks.items() if k != "evaluator" and v}
    task = Task(training, kind, index, has_evaluator="evaluator" in tasks or kind == "evaluator")
    if kind in TRAINERS and sum(map(len, training.values())) == 1 and not task.has_evaluator:
        return None
    return task


def _addresses(kind: str, listed: Any) -> tuple[str, ...]:
    if kind not in (*_TASK_TYPES, "master"):
        hint = did_you_mean(kind, _TASK_TYPES) or f"; use {', '.join(_TASK_TYPES)}"
        raise ValueError(f"TF_CONFIG: there is no task type '{kind}'{hint}")
    addresses = list(listed.values()) if isinstance(listed, dict) else listed
    if not isinstance(addresses, list) or not all(isinstance(a, str) for a in addresses):
        raise ValueError(f"TF_CONFIG: '{kind}' must be a list of addresses such as 'host:2222'")
    for address in addresses:
        host, colon, port = address.rpartition(":")
        if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(
                f"TF_CONFIG: the address {address!r} of '{kind}' is not host:port; write one such "
                "as 'host:2222'"
            )
    return tuple(addresses)


def _own(task: Any, tasks: Mapping[str, tuple[str, ...]]) -> tuple[str, int]:
    if not isinstance(task, dict) or "type" not in task:
        raise ValueError(
            "TF_CONFIG has a cluster and no 'task'; say which task this process is, such as "
            '"task": {"type": "worker", "index": 0}'
        )
    kind, index = task["type"], task.get("index", 0)
    try:
        index = int(index)
    except (TypeError, ValueError):
        raise ValueError(f"TF_CONFIG: the index of the task is {index!r}, no number") from None
    if kind not in _TASK_TYPES:
        hint = did_you_mean(str(kind), _TASK_TYPES) or f"; use {', '.join(_TASK_TYPES)}"
        raise ValueError(f"TF_CONFIG: there is no task type {kind!r}{hint}")
    count = len(tasks.get(kind, ()))
    # An evaluator need not be listed, for nobody calls it.
    if kind == "evaluator" and not count:
        count = 1
    if not 0 <= index < count:
        raise ValueError(
            f"TF_CONFIG: this task is {kind} {index}, but the cluster has {count} of that type, "
            "counted from 0; correct the index or the cluster"
        )
    return kind, index


def _check(tasks: Mapping[str, tuple[str, ...]]) -> None:
    if len(tasks.get("chief", ())) > 1:
        raise ValueError(f"TF_CONFIG has {len(tasks['chief'])} chiefs; a cluster has one")
    if len(tasks.get("evaluator", ())) > 1:
        raise ValueError(f"TF_CONFIG has {len(tasks['evaluator'])} evaluators; a cluster has one")
    if not tasks.get("chief") and not tasks.get("worker"):
        raise ValueError("TF_CONFIG: nobody in the cluster trains; add a 'chief'")
    if tasks.get("ps") and not tasks.get("chief"):
        raise ValueError(
            "TF_CONFIG: a cluster with ps needs a chief, which makes the variables and saves them; "
            "call one of the workers 'chief'"
        )
    seen: dict[str, str] = {}
    for kind, addresses in tasks.items():
        for index, address in enumerate(addresses):
            if address in seen:
                raise ValueError(
                    f"TF_CONFIG: {kind} {index} and {seen[address]} both have the address "
                    f"{address}; give each task its own"
                )
            seen[address] = f"{kind} {index}"
