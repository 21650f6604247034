"""The cluster as Slurm describes it: each task of a job step finds its TF_CONFIG in SLURM_*.

The ranks of the step are, in this order: the chief, the workers, the parameter servers, the
evaluator. GENEVER_CLUSTER says how many there are of each; `genever launch slurm` exports it.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence

from ..input_fns.errors import did_you_mean

CLUSTER = "GENEVER_CLUSTER"
PORTS = "GENEVER_PORTS"
# Below the ports that Linux gives to connections that ask for none.
DEFAULT_PORTS = "20000-31999"

_ORDER = ("chief", "worker", "ps", "evaluator")
# So many ports are a job's own, at least; two jobs in a row never share one.
_BLOCK = 64
_STEP = 61  # keeps a second step of a job away from the jobs that follow it


def adopt() -> None:
    """Sets TF_CONFIG in the environment of a task that Slurm has started for Genever.

    Where there is a TF_CONFIG already, or no GENEVER_CLUSTER, or no task of Slurm, it does nothing.

    Raises:
      ValueError: the environment contradicts itself; says in what.
    """
    if os.environ.get("TF_CONFIG", "").strip():
        return
    if os.environ.get(CLUSTER, "").strip() and os.environ.get("SLURM_PROCID", "").strip():
        os.environ["TF_CONFIG"] = json.dumps(tf_config(os.environ))


def tf_config(environment: Mapping[str, str]) -> dict:
    """Returns the TF_CONFIG of this task.

    Args:
      environment: its environment variables.

    Raises:
      ValueError: one of them is missing or wrong, or they do not fit together.
    """
    counts = read_cluster(environment.get(CLUSTER, ""))
    tasks = [(kind, index) for kind in _ORDER for index in range(counts.get(kind, 0))]
    _, started = _number(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
    if started != len(tasks):
        raise ValueError(
            f"{CLUSTER} is '{environment[CLUSTER]}', which makes {len(tasks)} tasks, but srun has "
            f"started {started}; run srun --ntasks={len(tasks)}"
        )
    name, rank = _number(environment, "SLURM_PROCID")
    if rank >= len(tasks):
        raise ValueError(f"{name} is {rank}, but the ranks of {len(tasks)} tasks end before that")
    hosts = _hosts_of_ranks(environment, len(tasks), rank)
    ports = _ports(environment, len(tasks))
    cluster: dict[str, list[str]] = {}
    for (kind, _), host, port in zip(tasks, hosts, ports, strict=True):
        cluster.setdefault(kind, []).append(f"{host}:{port}")
    kind, index = tasks[rank]
    return {"cluster": cluster, "task": {"type": kind, "index": index}}


def read_cluster(text: str) -> dict[str, int]:
    """Reads how many tasks there are of each type from text such as "chief=1,worker=2,ps=1".

    Raises:
      ValueError: it is not of this form, or no cluster can be so.
    """
    counts: dict[str, int] = {}
    for part in text.split(","):
        kind, equals, count = (word.strip() for word in part.partition("="))
        if not equals or not count.isdecimal():
            raise ValueError(
                f"{CLUSTER}: '{part.strip()}' of '{text}' is no number of tasks; write such as "
                "'chief=1,worker=2,ps=1,evaluator=1'"
            )
        if kind not in _ORDER:
            hint = did_you_mean(kind, _ORDER) or f"; the types are {', '.join(_ORDER)}"
            raise ValueError(f"{CLUSTER}: there is no task type '{kind}'{hint}")
        if kind in counts:
            raise ValueError(f"{CLUSTER}: '{text}' has '{kind}' twice; write it once")
        counts[kind] = int(count)
    if counts.get("chief") != 1:
        raise ValueError(f"{CLUSTER}: '{text}' has no chief; a cluster has one, so write chief=1")
    if counts.get("evaluator", 0) > 1:
        raise ValueError(f"{CLUSTER}: '{text}' has several evaluators; a cluster has one at most")
    return counts


def read_hosts(text: str) -> list[str]:
    """Reads a list of hosts such as "n[1-3,07],login", in its own order.

    Raises:
      ValueError: it is no such list.
    """
    found: list[str] = []
    # A comma within brackets belongs to the numbers.
    for part in re.findall(r"(?:[^,\[\]]|\[[^\[\]]*\])+|[,\[\]]", text):
        if part == ",":
            continue
        names = [""]
        for piece in re.findall(r"\[[^\]]*\]|[^\[\]]+|[\[\]]", part):
            inside = [piece]
            if piece[0] in "[]":
                inside = [n for numbers in piece[1:-1].split(",") for n in _range(numbers, text)]
            names = [name + more for name in names for more in inside]
        found += names
    if not found:
        raise _no_hosts(text)
    return found


def _range(numbers: str, text: str) -> list[str]:
    """Reads "7", "07" or "07-12"; leading zeros say how long the numbers are."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", numbers.strip())
    first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
    if int(last) < int(first):
        raise _no_hosts(text)
    return [str(n).zfill(len(first)) for n in range(int(first), int(last) + 1)]


def _no_hosts(text: str) -> ValueError:
    return ValueError(f"'{text}' is no list of hosts as Slurm writes it, such as n[1-3,07]")


def read_tasks_per_node(text: str) -> list[int]:
    """Reads how many tasks each node has, from text such as "2(x3),1".

    Raises:
      ValueError: it is no such text.
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if not match:
            raise ValueError(
                f"SLURM_STEP_TASKS_PER_NODE is '{text}', which is not as Slurm writes it: 2(x3),1"
            )
        found += [int(match[1])] * int(match[2] or 1)
    return found


def _hosts_of_ranks(environment: Mapping[str, str], tasks: int, rank: int) -> list[str]:
    """Returns the host of every rank; ranks fill one node after the other."""
    where, nodes = _text(environment, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")
    name, per_node = _text(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
    hosts, counts = read_hosts(nodes), read_tasks_per_node(per_node)
    if len(hosts) != len(counts) or sum(counts) != tasks:
        raise ValueError(
            f"{where} '{nodes}' and {name} '{per_node}' do not fit {tasks} tasks: they say "
            f"{len(hosts)} nodes, and {sum(counts)} tasks on {len(counts)}; start the tasks by one "
            "srun"
        )
    node_of = [at for at, count in enumerate(counts) for _ in range(count)]
    said = environment.get("SLURM_NODEID", "").strip()
    if said and said != str(node_of[rank]):
        raise ValueError(
            f"SLURM_NODEID says that rank {rank} is on node {said}, not {node_of[rank]}, so the "
            "ranks do not fill one node after the other; run srun --distribution=block"
        )
    return [hosts[at] for at in node_of]


def _ports(environment: Mapping[str, str], tasks: int) -> Sequence[int]:
    """Returns a port for every rank, from the job's own part of the range.

    Ranks of different nodes have different ports too, because some Slurms have several nodes on one
    machine.
    """
    ports = read_ports(environment.get(PORTS, "").strip() or DEFAULT_PORTS)
    if len(ports) < tasks:
        raise ValueError(
            f"{PORTS}: the range {ports[0]}-{ports[-1]} has fewer ports than the job has tasks, "
            f"{tasks}; widen it (--ports)"
        )
    _, job = _number(environment, "SLURM_JOB_ID", "SLURM_JOBID")
    step = environment.get("SLURM_STEP_ID", "").strip()
    # Steps of one job may run side by side.
    number = job + (int(step) * _STEP if step.isdecimal() else 0)
    block = min(max(_BLOCK, tasks), len(ports))
    first = number % (len(ports) // block) * block
    return ports[first : first + tasks]


def read_ports(text: str) -> range:
    """Reads a range of ports such as "20000-31999".

    Raises:
      ValueError: it is no such range.
    """
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1024 <= first <= last < 65536:
        raise ValueError(
            f"'{text}' is no range of ports; write the first and the last of 1024 to 65535, such "
            f"as {DEFAULT_PORTS}"
        )
    return range(first, last + 1)


def _text(environment: Mapping[str, str], *names: str) -> tuple[str, str]:
    """Returns the first of these variables that is set: its name and its value."""
    for name in names:
        value = environment.get(name, "").strip()
        if value:
            return name, value
    raise ValueError(
        f"{CLUSTER} is set and {names[0]} is not; start the tasks by srun, as the script of "
        "`genever launch slurm` does"
    )


def _number(environment: Mapping[str, str], *names: str) -> tuple[str, int]:
    name, value = _text(environment, *names)
    if not value.isdecimal():
        raise ValueError(f"{name} is '{value}', no number; start the tasks by srun")
    return name, int(value)
