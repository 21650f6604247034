"""TF_CONFIG as people write it: what it means, and what is refused in a sentence."""

import json

import pytest
from genever.launch.cluster_spec import this_task

pytestmark = pytest.mark.core

CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


@pytest.fixture
def tf_config(monkeypatch):
    def write(value):
        text = value if isinstance(value, str) else json.dumps(value)
        monkeypatch.setenv("TF_CONFIG", text)

    return write


def config(kind, index=0, cluster=CLUSTER):
    return {"cluster": cluster, "task": {"type": kind, "index": index}}


def test_no_cluster_is_no_task(tf_config, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert this_task() is None
    for alone in ("", "{}", {"cluster": {}}, config("chief", cluster={"chief": ["a:1"]})):
        tf_config(alone)
        assert this_task() is None


@pytest.mark.parametrize(
    ("kind", "index", "global_index", "is_chief", "name"),
    [
        ("chief", 0, 0, True, "chief"),
        ("worker", 0, 1, False, "worker 0"),
        ("worker", 1, 2, False, "worker 1"),
    ],
)
def test_every_trainer_has_an_index_of_its_own(
    tf_config, kind, index, global_index, is_chief, name
):
    tf_config(config(kind, index))
    task = this_task()
    assert (task.global_index, task.is_chief, task.name) == (global_index, is_chief, name)
    assert task.trainers == [("chief", 0), ("worker", 0), ("worker", 1)]
    assert task.chief_address == "a:1"
    assert not task.has_evaluator


def test_the_evaluator_is_no_part_of_the_training_cluster(tf_config):
    tf_config(config("worker", 0, {**CLUSTER, "evaluator": ["e:1"]}))
    task = this_task()
    assert task.has_evaluator
    assert "evaluator" not in task.cluster
    tf_config(config("evaluator"))
    assert this_task().type == "evaluator"


def test_without_a_chief_worker_0_is_it(tf_config):
    workers = {"worker": ["a:1", "b:1"]}
    tf_config(config("worker", 0, workers))
    assert this_task().is_chief
    tf_config(config("worker", 1, workers))
    assert not this_task().is_chief
    assert this_task().chief_address == "a:1"


def test_trainers_wait_for_ps_or_else_for_each_other(tf_config):
    tf_config(config("worker", 0))
    assert this_task().peers() == {"ps 0": "d:1"}
    tf_config(config("worker", 0, {"chief": ["a:1"], "worker": ["b:1", "c:1"]}))
    assert this_task().peers() == {"chief": "a:1", "worker 1": "c:1"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{not json", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ({"cluster": ["a:1"]}, "'cluster' must be an object"),
        ({"cluster": {"chief": "a:1"}}, "'chief' must be a list of addresses"),
        ({"cluster": {"cheif": ["a:1"]}}, "no task type 'cheif'; did you mean 'chief'"),
        ({"cluster": {"chief": ["a"]}}, "'a' of 'chief' is not host:port"),
        ({"cluster": {"chief": [":1"]}}, "':1' of 'chief' is not host:port"),
        ({"cluster": {"chief": ["a:99999"]}}, "is not host:port"),
        ({"cluster": {"chief": [""]}}, "is not host:port"),
        ({"cluster": {"master": ["a:1"]}}, "write 'chief'"),
        ({"cluster": CLUSTER}, "no 'task'"),
        ({"cluster": CLUSTER, "task": {"type": "wroker"}}, "did you mean 'worker'"),
        ({"cluster": CLUSTER, "task": {"type": "worker", "index": "x"}}, "'x', no number"),
        (config("worker", 2), "this task is worker 2, but the cluster has 2"),
        (config("worker", -1), "this task is worker -1"),
        (config("chief", 0, {"chief": ["a:1", "b:1"]}), "2 chiefs"),
        (config("ps", 0, {"ps": ["a:1"]}), "nobody in the cluster trains"),
        (config("worker", 0, {"worker": ["a:1"], "ps": ["b:1"]}), "needs a chief"),
        (
            config("chief", 0, {"chief": ["a:1"], "worker": ["a:1"]}),
            "worker 0 and chief 0 both have the address a:1",
        ),
    ],
)
def test_what_cannot_work_is_refused(tf_config, value, message):
    tf_config(value)
    with pytest.raises(ValueError, match="^TF_CONFIG") as refused:
        this_task()
    assert message in str(refused.value)
