"""The flags of `genever launch slurm`, and what they mean."""

import os
import re
import sys
from dataclasses import dataclass

from absl import flags

from ..slurm_environment import DEFAULT_PORTS, read_ports

_TIME = r"\d+|\d+:\d\d(:\d\d)?|\d+-\d+(:\d\d(:\d\d)?)?|UNLIMITED"
_WORD = r"[A-Za-z0-9][\w.,@+-]*"


@dataclass(frozen=True)
class Settings:
    """What a script says beside the job.

    Attributes:
      options: what follows #SBATCH in lines of their own, unquoted: (option, value).
      nodes: "2" or "2-4", or None to let Slurm choose.
      cpus_per_task: CPUs of each task, or None for Slurm's default.
      gpus_per_task: such as "1" or "a100:1", or None.
      log_dir: where what the tasks write goes; None for the folder `logs` of model_dir.
      python: the interpreter that has Genever.
      setup: shell lines to run first.
      requeue: whether to go on after a preemption or a lost task.
      max_requeues: how often.
      grace_secs: seconds that a task has to save and end.
      ports: range of ports that the tasks listen on.
    """

    options: tuple[tuple[str, str], ...]
    nodes: str | None
    cpus_per_task: int | None
    gpus_per_task: str | None
    log_dir: str | None
    python: str
    setup: tuple[str, ...]
    requeue: bool
    max_requeues: int
    grace_secs: int
    ports: str


def define_flags(values: flags.FlagValues) -> None:
    """Adds the flags of Slurm to those of `launch`."""

    def text(name: str, help_text: str, default: str | None = None) -> None:
        flags.DEFINE_string(name, default, help_text, flag_values=values)

    text("nodes", "How many nodes, such as 2 or 2-4 (default: as Slurm places the tasks).")
    text("partition", "The partition to run in (default: Slurm's).")
    text("account", "Whom to charge (default: Slurm's).")
    text("time", "The time limit, such as 30 (minutes), 8:00:00 or 2-12:00:00.")
    flags.DEFINE_integer(
        "cpus_per_task", None, "CPUs of each task.", lower_bound=1, flag_values=values
    )
    text("mem", "Memory of each node, such as 16G; 0 is all of it.")
    text("gpus_per_task", "GPUs of each task, such as 1 or a100:1; ps and evaluator get them too.")
    flags.DEFINE_multi_string(
        "sbatch",
        [],
        "Another option of sbatch, such as --qos=long. Repeatable.",
        flag_values=values,
    )
    text("log_dir", "Where what the tasks write goes (default: the folder logs of --model_dir).")
    text("python", "The interpreter that has Genever (default: this one; python after --setup).")
    flags.DEFINE_multi_string(
        "setup",
        [],
        "A shell line to run first, such as 'module load cuda'. Repeatable.",
        flag_values=values,
    )
    flags.DEFINE_bool(
        "requeue", True, "Goes on after preemption or the loss of a task.", flag_values=values
    )
    flags.DEFINE_integer(
        "max_requeues", 20, "How often it goes on.", lower_bound=0, flag_values=values
    )
    flags.DEFINE_integer(
        "grace_secs",
        150,
        "SIGTERM comes so many seconds before the end of --time, more than --grace_secs of train, "
        "120; a task that fails leaves the others so long to save and end.",
        lower_bound=1,
        upper_bound=65535,
        flag_values=values,
    )
    text(
        "ports", "The range of ports that tasks listen on, which a firewall guards.", DEFAULT_PORTS
    )


def settings(values: flags.FlagValues) -> Settings:
    """Reads the flags.

    Raises:
      ValueError: one is wrong; names it.
    """
    _check(values, "nodes", r"[1-9]\d*(-[1-9]\d*)?", "number of nodes; write such as 2 or 2-4")
    _check(values, "partition", _WORD, "name of a partition")
    _check(values, "account", _WORD, "name of an account")
    _check(values, "time", _TIME, "time; write minutes, 8:00:00 or 2-12:00:00 (days-hours)")
    _check(values, "mem", r"0|[1-9]\d*[KMGT]?", "amount of memory; write such as 16G or 500M")
    gpus = "number of GPUs; write such as 1 or a100:1"
    _check(values, "gpus_per_task", r"([A-Za-z]\w*:)?[1-9]\d*", gpus)
    try:
        read_ports(values["ports"].value)
    except ValueError as error:
        raise ValueError(f"--ports: {error}") from None
    nodes = values["nodes"].value
    if nodes and "-" in nodes and int(nodes.split("-")[0]) > int(nodes.split("-")[1]):
        raise ValueError(f"--nodes: '{nodes}' ends before it begins")
    options = [
        (name, values[name].value)
        for name in ("partition", "account", "time", "mem")
        if values[name].value is not None
    ]
    for option in values["sbatch"].value:
        match = re.fullmatch(r"--([a-z][a-z-]*)(?:=([^\n]*))?", option)
        if not match:
            raise ValueError(
                f"--sbatch: {option!r} is no option of sbatch; write such as --sbatch=--qos=long"
            )
        options.append((match[1], match[2] or ""))
    setup = values["setup"].value
    python = values["python"].value or ("python" if setup else sys.executable)
    if os.sep in python:
        # Not the file that a link points at, which would be outside of its virtual environment.
        python = os.path.abspath(python)
    log_dir = values["log_dir"].value
    return Settings(
        options=tuple(options),
        nodes=nodes,
        cpus_per_task=values["cpus_per_task"].value,
        gpus_per_task=values["gpus_per_task"].value,
        log_dir=None if log_dir is None else os.path.abspath(log_dir),
        python=python,
        setup=tuple(setup),
        requeue=values["requeue"].value,
        max_requeues=values["max_requeues"].value,
        grace_secs=values["grace_secs"].value,
        ports=values["ports"].value,
    )


def _check(values: flags.FlagValues, name: str, pattern: str, what: str) -> None:
    value = values[name].value
    if value is not None and not re.fullmatch(pattern, value):
        raise ValueError(f"--{name}: {value!r} is no {what}")
