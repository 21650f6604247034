"""The cluster that TF_CONFIG describes, and this process's task in it."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..input_fns.errors import did_you_mean

TRAINERS = ("chief", "worker")
_TASK_TYPES = ("chief", "worker", "ps", "evaluator")
_KEYS = ("cluster", "task")


@dataclass(frozen=True)
class Task:
    """This process's task in a cluster.

    Attributes:
      cluster: addresses "host:port" by task type: chief, worker, ps; without the evaluator, which
        is no part of the training cluster.
      type: "chief", "worker", "ps" or "evaluator".
      index: position among the tasks of its type.
      has_evaluator: whether there is an evaluator.
      evaluator_address: its address; "" where TF_CONFIG does not list it.
    """

    cluster: Mapping[str, tuple[str, ...]]
    type: str
    index: int
    has_evaluator: bool = False
    evaluator_address: str = ""

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
    """Reads TF_CONFIG; see `read`."""
    return read(os.environ.get("TF_CONFIG", ""))[0]


def adopt() -> list[str]:
    """Puts TF_CONFIG as TensorFlow understands it into the environment.

    Returns:
      A line for each correction.

    Raises:
      ValueError: it describes a cluster that cannot work.
    """
    text = os.environ.get("TF_CONFIG", "")
    task, corrections = read(text)
    if corrections and task is not None:
        cluster = {kind: list(addresses) for kind, addresses in task.cluster.items()}
        if task.has_evaluator and task.evaluator_address:
            cluster["evaluator"] = [task.evaluator_address]
        own = {"type": task.type, "index": task.index}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": own})
    return corrections


def read(text: str) -> tuple[Task | None, list[str]]:
    """Reads a TF_CONFIG as people, operators and cloud services write it.

    Args:
      text: the value of the environment variable.

    Returns:
      (the task of this process, a line for each correction that was made). The task is None where
      the process trains alone: there is no cluster, or only this one task in it.

    Raises:
      ValueError: it is malformed, or describes a cluster that would hang or train in silos.

    Source: https://www.tensorflow.org/guide/distributed_training#set_up_tf_config_environment_variable
    """
    corrections: list[str] = []
    config = _parsed(text, corrections)
    cluster = config.get("cluster") or {}
    if not cluster:
        _refuse_misspelt(config, _KEYS, "")
        return None, corrections
    if not isinstance(cluster, dict):
        raise ValueError(
            "TF_CONFIG: 'cluster' must be an object of task types and lists of addresses, such as "
            '{"chief": ["host:2222"], "worker": ["host2:2222"]}'
        )
    tasks: dict[str, tuple[str, ...]] = {}
    for written, listed in cluster.items():
        kind = _kind(written, corrections)
        if kind in tasks:
            raise ValueError(f"TF_CONFIG names the task type '{kind}' twice; join the two lists")
        tasks[kind] = _addresses(kind, listed, corrections)
    tasks = {kind: addresses for kind, addresses in tasks.items() if addresses}
    kind, index = _own(config, tasks, corrections)
    tasks, kind, index = _with_chief(tasks, kind, index, corrections)
    _check(tasks)
    evaluator = tasks.get("evaluator", ("",))[0]
    training = {k: tasks[k] for k in ("chief", "worker", "ps") if k in tasks}
    has_evaluator = "evaluator" in tasks or kind == "evaluator"
    task = Task(training, kind, index, has_evaluator, evaluator)
    if kind in TRAINERS and sum(map(len, training.values())) == 1 and not has_evaluator:
        return None, corrections
    return task, corrections


def _parsed(text: str, corrections: list[str]) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        config = json.loads(text)
        if isinstance(config, str):
            config = json.loads(config)
            corrections.append("TF_CONFIG is JSON within a JSON string; what is inside was taken")
    except ValueError as error:
        hint = "; JSON wants double quotes" if "'" in text and '"' not in text else ""
        raise ValueError(f"TF_CONFIG is not JSON ({error}){hint}; correct or unset it") from None
    if not isinstance(config, dict):
        raise ValueError(f"TF_CONFIG is not a JSON object but {text[:60]!r}; correct or unset it")
    return config


def _refuse_misspelt(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Raises where a key looks like one that is missing: the task would train on its own."""
    for key in given:
        if key in known:
            continue
        hint = did_you_mean(key.lower(), [k for k in known if k not in given])
        if hint:
            raise ValueError(f"TF_CONFIG: there is no key '{key}'{where}{hint}")


def _kind(written: Any, corrections: list[str]) -> str:
    kind = str(written).strip().lower()
    if kind == "master":
        _once(corrections, "TF_CONFIG: 'master' is what is called 'chief' today; read as that")
        return "chief"
    if kind not in _TASK_TYPES:
        hint = did_you_mean(kind, _TASK_TYPES) or f"; use {', '.join(_TASK_TYPES)}"
        raise ValueError(f"TF_CONFIG: there is no task type '{written}'{hint}")
    if kind != written:
        _once(corrections, f"TF_CONFIG: the task type '{written}' was read as '{kind}'")
    return kind


def _once(corrections: list[str], line: str) -> None:
    if line not in corrections:
        corrections.append(line)


def _addresses(kind: str, listed: Any, corrections: list[str]) -> tuple[str, ...]:
    if isinstance(listed, dict):
        if sorted(listed) != sorted(map(str, range(len(listed)))):
            raise ValueError(
                f"TF_CONFIG: the tasks of '{kind}' are numbered {', '.join(sorted(listed))}; "
                "number them from 0 on without a gap, or give a list"
            )
        listed = [listed[str(index)] for index in range(len(listed))]
    if not isinstance(listed, list) or not all(isinstance(a, str) for a in listed):
        raise ValueError(f"TF_CONFIG: '{kind}' must be a list of addresses such as 'host:2222'")
    return tuple(_address(kind, address, corrections) for address in listed)


def _address(kind: str, written: str, corrections: list[str]) -> str:
    address = written.strip().removeprefix("grpc://").rstrip("/")
    if address != written:
        corrections.append(f"TF_CONFIG: the address {written!r} was read as '{address}'")
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise ValueError(
            f"TF_CONFIG: the address {address!r} of '{kind}' is not host:port; write one such as "
            "'host:2222'"
        )
    if any(character.isspace() or character in "/@," for character in host):
        raise ValueError(f"TF_CONFIG: {host!r} in the address {address!r} of '{kind}' is no host")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(
            f"TF_CONFIG: the address {address!r} of '{kind}' has a colon in its host; write an "
            "IPv6 address in brackets, such as '[::1]:2222'"
        )
    if host in ("0.0.0.0", "[::]"):
        raise ValueError(
            f"TF_CONFIG: the address {address!r} of '{kind}' is where a server listens, not where "
            "others reach it; write the name of the host"
        )
    return address


def _own(
    config: Mapping[str, Any], tasks: Mapping[str, tuple[str, ...]], corrections: list[str]
) -> tuple[str, int]:
    task = config.get("task")
    if not isinstance(task, dict) or "type" not in task:
        _refuse_misspelt(config, _KEYS, "")
        if isinstance(task, dict):
            _refuse_misspelt(task, ("type", "index"), " in 'task'")
        raise ValueError(
            "TF_CONFIG has a cluster and no 'task' with a 'type'; say which task this process is, "
            'such as "task": {"type": "worker", "index": 0}'
        )
    kind = _kind(task["type"], corrections)
    count = len(tasks.get(kind, ()))
    # An evaluator need not be listed, for nobody calls it.
    if kind == "evaluator" and not count:
        count = 1
    if "index" not in task:
        _refuse_misspelt(task, ("type", "index"), " in 'task'")
        if count > 1:
            raise ValueError(
                f"TF_CONFIG: 'task' has no 'index', and there are {count} of the type '{kind}'; "
                "say which one this process is"
            )
    written = task.get("index", 0)
    if isinstance(written, bool) or not str(written).strip().lstrip("-").isdecimal():
        raise ValueError(
            f"TF_CONFIG: the index of the task is {written!r}; give a whole number from 0 on"
        )
    index = int(written)
    if isinstance(written, str):
        corrections.append(f"TF_CONFIG: the index '{written}' was read as the number {index}")
    if not 0 <= index < count:
        raise ValueError(
            f"TF_CONFIG: this task is {kind} {index}, but the cluster has {count} of that type, "
            "counted from 0; correct the index or the cluster"
        )
    return kind, index


def _with_chief(
    tasks: dict[str, tuple[str, ...]], kind: str, index: int, corrections: list[str]
) -> tuple[dict[str, tuple[str, ...]], str, int]:
    """Makes worker 0 the chief of a cluster that has ps and no chief."""
    if "ps" not in tasks or "chief" in tasks or "worker" not in tasks:
        return tasks, kind, index
    first, *others = tasks["worker"]
    corrections.append(
        "TF_CONFIG has ps and no chief, which makes the variables and saves them: worker 0 is the "
        "chief, and the other workers count from 0 again"
    )
    tasks = {**tasks, "chief": (first,), "worker": tuple(others)}
    if kind == "worker":
        kind, index = ("chief", 0) if index == 0 else ("worker", index - 1)
    return {k: v for k, v in tasks.items() if v}, kind, index


def _check(tasks: Mapping[str, tuple[str, ...]]) -> None:
    if len(tasks.get("chief", ())) > 1:
        raise ValueError(f"TF_CONFIG has {len(tasks['chief'])} chiefs; a cluster has one")
    if len(tasks.get("evaluator", ())) > 1:
        raise ValueError(f"TF_CONFIG has {len(tasks['evaluator'])} evaluators; a cluster has one")
    if not tasks.get("chief") and not tasks.get("worker"):
        raise ValueError("TF_CONFIG: nobody in the cluster trains; add a 'chief'")
    seen: dict[str, str] = {}
    for kind, addresses in tasks.items():
        for index, address in enumerate(addresses):
            if address in seen:
                raise ValueError(
                    f"TF_CONFIG: {kind} {index} and {seen[address]} both have the address "
                    f"{address}; give each task its own"
                )
            seen[address] = f"{kind} {index}"
    hosts = {address.rpartition(":")[0] for a in tasks.values() for address in a}
    here = hosts & {"localhost", "127.0.0.1", "[::1]"}
    if here and hosts - {"localhost", "127.0.0.1", "[::1]"}:
        raise ValueError(
            f"TF_CONFIG: '{min(here)}' means another machine on each machine, and the cluster has "
            f"'{min(hosts - here)}' as well; write the name of the host"
        )
