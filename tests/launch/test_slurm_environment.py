"""TF_CONFIG from what Slurm tells a task: roles by rank, hosts in Slurm's order, ports by job."""

import json
import os

import pytest
from genever.launch.cluster_spec import this_task
from genever.launch.slurm_environment import (
    adopt,
    read_cluster,
    read_hosts,
    read_ports,
    read_tasks_per_node,
    tf_config,
)

pytestmark = pytest.mark.core

STEP = {
    "GENEVER_CLUSTER": "chief=1,worker=2,ps=1,evaluator=1",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "0",
    "SLURM_NODEID": "0",
    "SLURM_NTASKS": "5",
    "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_STEP_NODELIST": "n[2,10]",
    "SLURM_STEP_TASKS_PER_NODE": "3,2",
}


def step(**changes):
    return {k: v for k, v in {**STEP, **changes}.items() if v is not None}


@pytest.fixture
def environment(monkeypatch):
    for name in [n for n in os.environ if n.startswith(("SLURM_", "GENEVER_")) or n == "TF_CONFIG"]:
        monkeypatch.delenv(name)

    def put(values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    yield put
    os.environ.pop("TF_CONFIG", None)


def test_ranks_are_chief_workers_ps_evaluator():
    roles = []
    for rank in range(5):
        found = tf_config(step(SLURM_PROCID=str(rank), SLURM_NODEID="0" if rank < 3 else "1"))
        roles.append((found["task"]["type"], found["task"]["index"]))
    assert roles == [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("evaluator", 0)]


def test_all_ranks_agree_on_the_cluster():
    first = tf_config(step())["cluster"]
    last = tf_config(step(SLURM_PROCID="4", SLURM_NODEID="1"))["cluster"]
    assert first == last
    hosts = {kind: [a.partition(":")[0] for a in addresses] for kind, addresses in first.items()}
    assert hosts == {"chief": ["n2"], "worker": ["n2", "n2"], "ps": ["n10"], "evaluator": ["n10"]}
    ports = [int(a.partition(":")[2]) for addresses in first.values() for a in addresses]
    assert ports == list(range(ports[0], ports[0] + 5))


def ports_of(**changes):
    cluster = tf_config(step(**changes))["cluster"]
    return {int(a.partition(":")[2]) for addresses in cluster.values() for a in addresses}


def test_jobs_in_a_row_share_no_port():
    seen = [ports_of(SLURM_JOB_ID=str(job)) for job in range(4711, 4711 + 187)]
    assert len(set().union(*seen)) == 187 * 5
    assert all(20000 <= port < 32000 for ports in seen for port in ports)


def test_steps_of_one_job_share_no_port():
    assert not ports_of() & ports_of(SLURM_STEP_ID="1")
    assert not ports_of(SLURM_JOB_ID="4712") & ports_of(SLURM_STEP_ID="1")


def test_ports_come_from_the_range_that_is_open():
    assert ports_of(GENEVER_PORTS="5000-5004") == {5000, 5001, 5002, 5003, 5004}
    assert ports_of(GENEVER_PORTS="5000-5127", SLURM_JOB_ID="1") == set(range(5064, 5069))


def test_a_job_larger_than_a_block_has_distinct_ports():
    wide = step(
        GENEVER_CLUSTER="chief=1,worker=99",
        SLURM_STEP_NUM_TASKS="100",
        SLURM_STEP_NODELIST="n[1-10]",
        SLURM_STEP_TASKS_PER_NODE="10(x10)",
    )
    workers = tf_config(wide)["cluster"]["worker"]
    assert len({address.partition(":")[2] for address in workers}) == 99
    assert workers[-1].startswith("n10:")
    assert workers[9].startswith("n2:")


def test_older_names_of_the_variables():
    old = step(
        SLURM_STEP_NUM_TASKS=None,
        SLURM_STEP_NODELIST=None,
        SLURM_STEP_TASKS_PER_NODE=None,
        SLURM_JOB_NODELIST="n[2,10]",
        SLURM_TASKS_PER_NODE="3,2",
    )
    assert tf_config(old) == tf_config(step())


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n2,n10", ["n2", "n10"]),
        ("n[1-3,07]", ["n1", "n2", "n3", "n07"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("gpu-[1,3].cluster,login", ["gpu-1.cluster", "gpu-3.cluster", "login"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
    ],
)
def test_lists_of_hosts(text, hosts):
    assert read_hosts(text) == hosts


@pytest.mark.parametrize("text", ["", ",", "n[3-1]", "n[1-", "n[a]", "n]1", "n[]", "n[1,,2]"])
def test_no_list_of_hosts(text):
    with pytest.raises(ValueError, match="is no list of hosts as Slurm writes it"):
        read_hosts(text)


def test_tasks_per_node():
    assert read_tasks_per_node("2(x3),1") == [2, 2, 2, 1]
    with pytest.raises(ValueError, match="not as Slurm writes it"):
        read_tasks_per_node("2x3")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"'' of '' is no number of tasks; write such as"),
        ("chief=1,worker=two", "'worker=two' of 'chief=1,worker=two' is no number of tasks"),
        ("chief=1,workers=2", "there is no task type 'workers'; did you mean 'worker'"),
        ("chief=1,ps=1,ps=2", "has 'ps' twice"),
        ("worker=2,ps=1", "has no chief; a cluster has one, so write chief=1"),
        ("chief=1,evaluator=2", "has several evaluators; a cluster has one at most"),
    ],
)
def test_a_wrong_cluster_is_a_sentence(text, says):
    with pytest.raises(ValueError, match=says):
        read_cluster(text)


@pytest.mark.parametrize("text", ["80-90", "30000", "30000-20000", "60000-70000", "a-b"])
def test_no_range_of_ports(text):
    with pytest.raises(ValueError, match="is no range of ports; write the first and the last"):
        read_ports(text)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"SLURM_STEP_NUM_TASKS": "4"}, "makes 5 tasks, but srun has started 4; run srun --nt"),
        ({"SLURM_PROCID": "5"}, "SLURM_PROCID is 5, but the ranks of 5 tasks end before that"),
        ({"SLURM_PROCID": "x"}, "SLURM_PROCID is 'x', no number"),
        ({"SLURM_JOB_ID": None}, "SLURM_JOB_ID is not; start the tasks by srun"),
        ({"SLURM_STEP_TASKS_PER_NODE": "5"}, "do not fit 5 tasks: they say 2 nodes, and 5 tasks o"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x2)"}, "and 4 tasks on 2; start the tasks by one srun"),
        ({"SLURM_PROCID": "1", "SLURM_NODEID": "1"}, "rank 1 is on node 1, not 0.*=block"),
        ({"GENEVER_PORTS": "5000-5003"}, "5000-5003 has fewer ports than the job has tasks, 5"),
    ],
)
def test_an_environment_that_does_not_fit_is_a_sentence(changes, says):
    with pytest.raises(ValueError, match=says):
        tf_config(step(**changes))


def test_a_task_of_slurm_adopts_its_place(environment):
    environment(step(SLURM_PROCID="2"))
    adopt()
    task = this_task()
    assert (task.type, task.index, task.has_evaluator) == ("worker", 1, True)
    assert set(task.cluster) == {"chief", "worker", "ps"}


def test_a_cluster_of_one_trains_alone(environment):
    environment(
        step(
            GENEVER_CLUSTER="chief=1",
            SLURM_STEP_NUM_TASKS="1",
            SLURM_STEP_NODELIST="n1",
            SLURM_STEP_TASKS_PER_NODE="1",
        )
    )
    adopt()
    assert json.loads(os.environ["TF_CONFIG"])["task"] == {"type": "chief", "index": 0}
    assert this_task() is None


@pytest.mark.parametrize("missing", ["GENEVER_CLUSTER", "SLURM_PROCID"])
def test_others_are_left_alone(environment, missing):
    environment(step(**{missing: None}))
    adopt()
    assert "TF_CONFIG" not in os.environ


def test_a_tf_config_that_is_there_stays(environment):
    environment({**step(), "TF_CONFIG": '{"cluster": {}}'})
    adopt()
    assert os.environ["TF_CONFIG"] == '{"cluster": {}}'
