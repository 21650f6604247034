"""TF_CONFIG as people write it: what it means, and what is refused in a sentence."""

import json

import pytest
from genever.launch.cluster_spec import adopt, read, this_task

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
        ({"cluster": {"chief": ["0.0.0.0:1"]}}, "not where others reach it"),
        ({"cluster": {"chief": ["a b:1"]}}, "'a b' in the address 'a b:1' of 'chief' is no host"),
        ({"cluster": {"chief": ["::1:2222"]}}, "in brackets, such as '[::1]:2222'"),
        ({"cluster": {"worker": {"0": "a:1", "2": "b:1"}}}, "numbered 0, 2; number them from 0"),
        ({"cluster": {"worker": ["a:1"], "WORKER": ["b:1"]}}, "names the task type 'worker' twice"),
        ({"clusters": CLUSTER}, "no key 'clusters'; did you mean 'cluster'"),
        ({"cluster": CLUSTER, "tasks": {"type": "chief"}}, "no key 'tasks'; did you mean 'task'"),
        ({"cluster": CLUSTER, "task": {"typ": "chief"}}, "no key 'typ' in 'task'; did you mean"),
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "indx": 1}},
            "no key 'indx' in 'task'; did you mean 'index'",
        ),
        ({"cluster": CLUSTER, "task": {"type": "worker"}}, "there are 2 of the type 'worker'"),
        ("{'cluster': {}}", "JSON wants double quotes"),
        (config("chief", 0, {"chief": ["a:1"], "master": ["b:1"]}), "'chief' twice"),
        (config("chief", 0, {"chief": ["a:1"], "evaluator": ["b:1", "c:1"]}), "2 evaluators"),
        (
            config("chief", 0, {"chief": ["localhost:1"], "worker": ["b:1"]}),
            "'localhost' means another machine on each machine, and the cluster has 'b' as well",
        ),
        ({"cluster": CLUSTER}, "no 'task'"),
        ({"cluster": CLUSTER, "task": {"type": "wroker"}}, "did you mean 'worker'"),
        (
            {"cluster": CLUSTER, "task": {"type": "worker", "index": "x"}},
            "the index of the task is 'x'; give a whole number",
        ),
        (config("worker", 2), "this task is worker 2, but the cluster has 2"),
        (config("worker", -1), "this task is worker -1"),
        (config("chief", 0, {"chief": ["a:1", "b:1"]}), "2 chiefs"),
        (config("ps", 0, {"ps": ["a:1"]}), "nobody in the cluster trains"),
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


# What people and operators write: (TF_CONFIG, (type, index, cluster), words of the corrections).
ODD = {
    "training operator": (
        {**config("worker", 1, {**CLUSTER, "evaluator": ["e:1"]}), "environment": "cloud"},
        ("worker", 1, CLUSTER),
        [],
    ),
    "Vertex AI": (
        {
            "cluster": CLUSTER,
            "task": {"type": "ps", "index": 0, "trial": "1", "cloud": "abc"},
            "job": "{}",
            "environment": "cloud",
        },
        ("ps", 0, CLUSTER),
        [],
    ),
    "TonY, without a chief": (
        config("worker", 1, {"worker": ["a:1", "b:1"], "ps": ["c:1"]}),
        ("worker", 0, {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}),
        ["worker 0 is the chief"],
    ),
    "worker 0 of ps without a chief": (
        config("worker", 0, {"worker": ["a:1"], "ps": ["c:1"]}),
        ("chief", 0, {"chief": ["a:1"], "ps": ["c:1"]}),
        ["worker 0 is the chief"],
    ),
    "a master": (
        config("master", 0, {"master": ["a:1"], "worker": ["b:1"]}),
        ("chief", 0, {"chief": ["a:1"], "worker": ["b:1"]}),
        ["'master' is what is called 'chief' today"],
    ),
    "a text as index": (
        config("worker", "1"),
        ("worker", 1, CLUSTER),
        ["the index '1' was read as the number 1"],
    ),
    "capital letters": (
        config("PS", 0, {"Chief": ["a:1"], "PS": ["d:1"]}),
        ("ps", 0, {"chief": ["a:1"], "ps": ["d:1"]}),
        ["'Chief' was read as 'chief'", "'PS' was read as 'ps'"],
    ),
    "addresses of another kind": (
        config("chief", 0, {"chief": ["grpc://a:1"], "worker": [" b:1 "]}),
        ("chief", 0, {"chief": ["a:1"], "worker": ["b:1"]}),
        ["'grpc://a:1' was read as 'a:1'", "' b:1 ' was read as 'b:1'"],
    ),
    "numbered tasks": (
        config("worker", 1, {"chief": ["a:1"], "worker": {"1": "c:1", "0": "b:1"}}),
        ("worker", 1, {"chief": ["a:1"], "worker": ["b:1", "c:1"]}),
        [],
    ),
    "a type without tasks": (
        config("chief", 0, {"chief": ["a:1"], "worker": ["b:1"], "ps": []}),
        ("chief", 0, {"chief": ["a:1"], "worker": ["b:1"]}),
        [],
    ),
    "JSON in JSON": (
        json.dumps(json.dumps(config("chief"))),
        ("chief", 0, CLUSTER),
        ["JSON within a JSON string"],
    ),
    "IPv6": (
        config("chief", 0, {"chief": ["[fd00::1]:1"], "worker": ["[fd00::2]:1"]}),
        ("chief", 0, {"chief": ["[fd00::1]:1"], "worker": ["[fd00::2]:1"]}),
        [],
    ),
    "one worker without an index": (
        {"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker"}},
        ("worker", 0, {"chief": ["a:1"], "worker": ["b:1"]}),
        [],
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_understood_and_explained(name, tf_config):
    value, (kind, index, cluster), words = ODD[name]
    text = value if isinstance(value, str) else json.dumps(value)
    task, corrections = read(text)
    assert (task.type, task.index) == (kind, index)
    assert {k: list(v) for k, v in task.cluster.items()} == cluster
    assert len(corrections) == len(words), corrections
    for line, word in zip(corrections, words, strict=True):
        assert line.startswith("TF_CONFIG") and word in line


def test_what_was_corrected_is_what_tensorflow_reads(tf_config):
    import os

    tf_config(config("MASTER", 0, {"master": ["a:1"], "worker": ["b:1"], "evaluator": ["e:1"]}))
    assert len(adopt()) == 1
    assert json.loads(os.environ["TF_CONFIG"]) == {
        "cluster": {"chief": ["a:1"], "worker": ["b:1"], "evaluator": ["e:1"]},
        "task": {"type": "chief", "index": 0},
    }
    assert adopt() == []
    assert this_task().type == "chief"
