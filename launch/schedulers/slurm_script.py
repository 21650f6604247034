"""The sbatch script of a job."""

import os
import re
import shlex

from ..slurm_environment import CLUSTER, PORTS, read_ports
from .scheduler import Job
from .slurm_flags import Settings

# "slurm-12.log" is what the script of job 12 writes, "slurm-12-worker-0.log" what a task does.
PREFIX = "slurm-"

_TASK = """\
# What each task runs. The exit code of the step would be of those that srun kills as well, so each
# writes its own; and who fails lets the others save and end before srun kills them.
task() {{
    trap : TERM    # goes to the whole task; this shell waits for the command
    shift "$SLURM_PROCID"
    local own="$GENEVER_LOG-$1" code=0 waited=0
    {command} >>"$own.log" 2>&1 || code=$?
    echo "$code" >"$own.exit"
    while [ "$code" -ne 0 ] && [ "$waited" -lt {grace} ]; do
        [ "$(cat "$GENEVER_LOG"-*.exit | wc -l)" -eq "$SLURM_NTASKS" ] && break
        sleep 1
        waited=$((waited + 1))
    done
    exit "$code"
}}
"""
_END = """\
permanent=$(cat "$GENEVER_LOG"-*.exit 2>/dev/null | grep -xE '[1-9]|[1-9][0-9]|1[01][0-9]|12[0-7]' |
    head -n 1)
[ -z "$permanent" ] || code=$permanent
echo "genever: the tasks ended with exit code $code; each has its own in $GENEVER_LOG-*.exit"
"""
_REQUEUE = """\
# From 128 on it is worth another try. A job that was cancelled or has ended does not run any more.
restarts=${{SLURM_RESTART_COUNT:-0}}
state=$(squeue --noheader --format=%T --jobs="$SLURM_JOB_ID")
if [ "$code" -lt 128 ] || [ "$state" != RUNNING ]; then
    exit "$code"
elif [ "$restarts" -ge {max_requeues} ]; then
    echo "genever: requeued $restarts times already, which is --max_requeues; not once more"
else
    echo "genever: requeueing job $SLURM_JOB_ID; it goes on from its last checkpoint"
    scontrol requeue "$SLURM_JOB_ID"
fi
"""


def script(job: Job, settings: Settings) -> str:
    """Returns the script that sbatch takes.

    Raises:
      ValueError: the job cannot run on Slurm as it is asked for; names the flag.
    """
    tasks = job.tasks
    folder = log_dir(job, settings)
    if settings.nodes and int(settings.nodes.split("-")[0]) > len(tasks):
        raise ValueError(
            f"--nodes: {settings.nodes} nodes are more than the job has tasks, {len(tasks)}"
        )
    if len(read_ports(settings.ports)) < len(tasks):
        raise ValueError(
            f"--ports: {settings.ports} are fewer ports than the job has tasks, {len(tasks)}"
        )
    cluster = ",".join(f"{kind}={count}" for kind, count in job.counts.items() if count)
    names = " ".join(f"{kind}-{index}" for kind, index in tasks)
    command = shlex.join([settings.python, "-m", "genever", *job.command])
    lines = [
        "#!/bin/bash",
        *(_option(name, value) for name, value in _options(job, settings, folder)),
        "",
        f"# {folder} must be there before Slurm starts the job.",
        f"export {CLUSTER}={shlex.quote(cluster)} {PORTS}={shlex.quote(settings.ports)}",
        "export PYTHONUNBUFFERED=1",
        f'export GENEVER_LOG={shlex.quote(os.path.join(folder, PREFIX))}"$SLURM_JOB_ID"',
        "unset TF_CONFIG",
        "",
    ]
    if settings.setup:
        lines += ["set -e", *settings.setup, "set +e", ""]
    lines += [
        _TASK.format(command=command, grace=settings.grace_secs),
        'rm -f "$GENEVER_LOG"-*.exit',
        "code=0",
        f"{_srun(job, settings)} \\",
        f'    bash -c "$(declare -f task); task \\"\\$@\\"" task {names} || code=$?',
        _END.rstrip("\n"),
    ]
    if settings.requeue:
        lines.append(_REQUEUE.format(max_requeues=settings.max_requeues).rstrip("\n"))
    lines.append('exit "$code"')
    return "\n".join(lines)


def log_dir(job: Job, settings: Settings) -> str:
    """Returns where the tasks' logs go.

    Raises:
      ValueError: neither a flag nor the command says where, or Slurm cannot write there.
    """
    folder = settings.log_dir
    if folder is None:
        model_dir = job.flag("model_dir")
        if not model_dir:
            raise ValueError(
                "--log_dir is missing, and the command has no --model_dir whose folder logs could "
                "be taken; give one of them"
            )
        if "://" in model_dir:
            raise ValueError(
                f"--log_dir is missing: Slurm cannot write logs to '{model_dir}'; give a folder "
                "that all nodes see"
            )
        folder = os.path.join(os.path.abspath(model_dir), "logs")
    if re.search(r"[\\\n]", folder):
        raise ValueError(f"--log_dir: Slurm cannot write to {folder!r}; use no backslash")
    return folder


def _options(job: Job, settings: Settings, folder: str) -> list[tuple[str, str]]:
    output = os.path.join(folder, f"{PREFIX}%j.log").replace("%", "%%").replace("%%j.log", "%j.log")
    options = [
        ("job-name", job.name),
        ("ntasks", str(len(job.tasks))),
        ("output", output),
        ("open-mode", "append"),
        ("chdir", os.getcwd()),
        ("signal", f"TERM@{settings.grace_secs}"),
        ("requeue" if settings.requeue else "no-requeue", ""),
    ]
    if settings.nodes:
        options.append(("nodes", settings.nodes))
    if settings.cpus_per_task:
        options.append(("cpus-per-task", str(settings.cpus_per_task)))
    if settings.gpus_per_task:
        options.append(("gpus-per-task", settings.gpus_per_task))
    return [*options, *settings.options]


def _option(name: str, value: str) -> str:
    return f"#SBATCH --{name}={shlex.quote(value)}" if value else f"#SBATCH --{name}"


def _srun(job: Job, settings: Settings) -> str:
    words = [
        "srun",
        f"--ntasks={len(job.tasks)}",
        # By this order a rank knows who it is and where the others are.
        "--distribution=block",
        "--kill-on-bad-exit=1",
        "--wait=0",  # who is done early is no reason to kill the others
        "--mpi=none",
    ]
    if settings.cpus_per_task:
        words.append(f"--cpus-per-task={settings.cpus_per_task}")  # not inherited since 22.05
    return shlex.join(words)
