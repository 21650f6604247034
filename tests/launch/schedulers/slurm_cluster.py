"""A real Slurm on this machine: controller and nodes in namespaces of their own, ended as one.

Its network has a loopback only and its processes are invisible from outside. The first of them
lives as long as a pipe is open, so that nothing is left when the test is killed.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

NODES = ("n1", "n2", "n9", "n10")
_CPUS = 4
_NETWORK = "192.0.2"  # of addresses for examples
_PROGRAMS = ("sbatch", "scontrol", "slurmctld", "slurmd", "munged", "mungekey", "unshare", "ip")
_PACKAGES = ("slurm-wlm", "munge", "util-linux", "iproute2")
_START_SECS = 60.0


def install() -> None:
    """Installs Debian's Slurm where it is missing.

    Raises:
      RuntimeError: this user or this machine cannot; says what to run.
    """
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [program for program in _PROGRAMS if not shutil.which(program, path=path)]
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *_PACKAGES]
    if os.geteuid() or not shutil.which("apt-get"):
        raise RuntimeError(f"no {', '.join(missing)} here; run as root: {' '.join(command)}")
    # In run level 1 the packages start no service.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for step in (["apt-get", "update"], command):
        done = subprocess.run(
            step, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600
        )
        if done.returncode:
            raise RuntimeError(f"`{' '.join(step)}`: {done.stderr.decode()[-2000:]}")


class SlurmCluster:
    """A cluster that runs.

    Attributes:
      nodes: the names of its nodes, in Slurm's order.
    """

    nodes = NODES

    def __init__(self, folder: Path, first: int):
        self._folder = folder
        self._enter = ["nsenter", "-t", str(first), "--mount", "--net", "--uts", "--pid"]

    def run(
        self, *command: str, cwd: str | Path = "/", timeout: float = 120.0, stdin: str | None = None
    ) -> subprocess.CompletedProcess:
        """Runs a command as a user of the cluster would on its login node."""
        return subprocess.run(
            [*self._enter, "env", "-C", str(cwd), *command],
            env={**os.environ, "SLURM_CONF": str(self._folder / "slurm.conf")},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def job(self, job_id: str) -> dict[str, str]:
        """What the controller knows of a job."""
        text = self.run("scontrol", "show", "job", job_id).stdout
        return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)

    def wait(self, job_id: str, states: Sequence[str], timeout: float) -> dict[str, str]:
        """Waits until a job is in one of these states."""
        deadline = time.monotonic() + timeout
        while True:
            job = self.job(job_id)
            if job.get("JobState") in states:
                return job
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job_id} is {job.get('JobState')}\n{self.written()}")
            time.sleep(0.5)

    def written(self) -> str:
        """The ends of what its daemons wrote."""
        logs = sorted(self._folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in logs)


@contextlib.contextmanager
def slurm_cluster(folder: Path) -> Iterator[SlurmCluster]:
    """Starts a Slurm whose state is in `folder`, and ends it with all that runs in it."""
    install()
    _write_files(folder)
    process = subprocess.Popen(
        [
            *("unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--mount-proc"),
            *("--kill-child", "bash", str(folder / "start.sh")),
        ],
        env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"},
        stdin=subprocess.PIPE,
        stdout=(folder / "start.log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        cluster = SlurmCluster(folder, _first_process(process, folder))
        _wait_for_nodes(cluster)
        yield cluster
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)


def _first_process(process: subprocess.Popen, folder: Path) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + _START_SECS
    while not (folder / "started").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(
                "the Slurm of the tests did not start; it needs root and a kernel that lets it "
                f"make namespaces\n{(folder / 'start.log').read_text()[-3000:]}"
            )
        time.sleep(0.1)
    return int(children.read_text().split()[0])


def _wait_for_nodes(cluster: SlurmCluster) -> None:
    deadline = time.monotonic() + _START_SECS
    while True:
        idle = cluster.run("sinfo", "--noheader", "--states=idle", "--format=%D").stdout.split()
        if idle == [str(len(NODES))]:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"the nodes of Slurm did not come\n{cluster.written()}")
        time.sleep(0.3)


def _write_files(folder: Path) -> None:
    for name in ("state", "munge", *NODES):
        (folder / name).mkdir(parents=True, mode=0o700)
    addresses = {node: f"{_NETWORK}.{at}" for at, node in enumerate(NODES, 1)}
    (folder / "hosts").write_text(
        f"127.0.0.1 localhost\n{_NETWORK}.100 login\n"
        + "".join(f"{a} {n}\n" for n, a in addresses.items())
    )
    nodes = "\n".join(
        f"NodeName={node} NodeHostname=login NodeAddr={address} Port={6818 + at} CPUs={_CPUS}"
        for at, (node, address) in enumerate(addresses.items())
    )
    (folder / "slurm.conf").write_text(
        textwrap.dedent(f"""\
            ClusterName=genever
            SlurmctldHost=login({_NETWORK}.100)
            SlurmctldPort=6817
            SlurmUser=root
            AuthType=auth/munge
            # A job is started again only when the credential of its first start has expired.
            AuthInfo=socket={folder}/munge/socket,cred_expire=5
            CryptoType=crypto/munge
            StateSaveLocation={folder}/state
            SlurmdSpoolDir={folder}/%n/spool
            SlurmctldPidFile={folder}/slurmctld.pid
            SlurmdPidFile={folder}/%n/slurmd.pid
            SlurmctldLogFile={folder}/slurmctld.log
            SlurmdLogFile={folder}/%n.log
            ProctrackType=proctrack/pgid
            TaskPlugin=task/none
            MpiDefault=none
            SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=5
            SelectType=select/cons_tres
            SelectTypeParameters=CR_Core
            SlurmdParameters=config_overrides
            AccountingStorageType=accounting_storage/none
            JobAcctGatherType=jobacct_gather/none
            JobCompType=jobcomp/none
            KillWait=30
            ReturnToService=2
            """)
        + f"{nodes}\nPartitionName=main Nodes=ALL Default=YES State=UP MaxTime=INFINITE\n"
    )
    slurmd = "\n".join(f"slurmd -N {node} -D >>{folder}/{node}.log 2>&1 &" for node in NODES)
    (folder / "start.sh").write_text(
        textwrap.dedent(f"""\
            set -e
            ip link set lo up
            # Names are looked up only where an address is there that does not begin with 127.
            for at in $(seq {len(NODES)}) 100; do ip address add {_NETWORK}.$at/32 dev lo; done
            hostname login
            mount --bind {folder}/hosts /etc/hosts
            export SLURM_CONF={folder}/slurm.conf
            cd {folder}/munge
            mungekey --create --keyfile key
            munged --foreground --force --key-file=$PWD/key --socket=$PWD/socket \\
              --pid-file=$PWD/pid --seed-file=$PWD/seed --log-file=$PWD/log >>../munged.log 2>&1 &
            for i in $(seq 100); do [ -S socket ] && break; sleep 0.1; done
            cd /
            slurmctld -c -D >>{folder}/slurmctld.log 2>&1 &
            """)
        + f"{slurmd}\ntouch {folder}/started\n"
        + "cat >/dev/null\n"
    )


if __name__ == "__main__":
    # Tries whether one can run here; the exit code says so.
    with tempfile.TemporaryDirectory() as place, slurm_cluster(Path(place)) as tried:
        print(f"Slurm runs here, with the nodes {', '.join(tried.nodes)}")
