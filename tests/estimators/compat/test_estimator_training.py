"""What RunConfig makes of strategies and TF_CONFIG, by the bridge as by TensorFlow 2.15."""

import json

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import pytest
import tensorflow as tf
from tensorflow.python.distribute import estimator_training
from tensorflow.python.distribute.distribute_config import DistributeConfig

pytestmark = pytest.mark.core

CLUSTER = {"chief": ["localhost:1"], "worker": ["localhost:2"], "ps": ["localhost:3"]}


def one_device():
    return tf.distribute.OneDeviceStrategy("/cpu:0")


@pytest.fixture
def tf_config(monkeypatch):
    def set_to(cluster, task_type="worker", index=0):
        value = {"cluster": cluster, "task": {"type": task_type, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(value))

    monkeypatch.delenv("TF_CONFIG", raising=False)
    return set_to


def test_a_local_strategy_needs_no_coordinator(tf_config):
    strategy = one_device()
    config = tf.estimator.RunConfig(train_distribute=strategy)
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 0, True)
    assert (config.num_worker_replicas, config.num_ps_replicas, config.master) == (1, 0, "")
    assert config.train_distribute is strategy
    assert not estimator_training.should_run_distribute_coordinator(config)


def test_no_strategy_no_coordinator(tf_config):
    tf_config(CLUSTER)
    config = tf.estimator.RunConfig()
    assert not estimator_training.should_run_distribute_coordinator(config)
    assert (config.num_worker_replicas, config.num_ps_replicas) == (2, 1)


def test_experimental_strategies_move_to_their_places(tf_config):
    train, evaluate = one_device(), one_device()
    config = tf.estimator.RunConfig(experimental_distribute=DistributeConfig(train, evaluate))
    assert config.train_distribute is train
    assert config.eval_distribute is evaluate


@pytest.mark.parametrize("role", ["train_distribute", "eval_distribute"])
def test_a_strategy_given_twice_is_an_error(tf_config, role):
    both = {role: one_device(), "experimental_distribute": DistributeConfig(**{role: one_device()})}
    with pytest.raises(ValueError, match=role):
        tf.estimator.RunConfig(**both)


def test_a_cluster_with_a_strategy_makes_independent_workers(tf_config):
    tf_config(CLUSTER)
    config = tf.estimator.RunConfig(train_distribute=one_device())
    assert config._distribute_coordinator_mode == "independent_worker"
    assert config.cluster_spec.as_dict() == CLUSTER
    assert estimator_training.should_run_distribute_coordinator(config)


def test_a_cluster_without_a_training_strategy_is_read_as_ever(tf_config):
    tf_config(CLUSTER, "worker", 0)
    config = tf.estimator.RunConfig(eval_distribute=one_device())
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.is_chief, config.num_worker_replicas) == ("worker", False, 2)
    assert list(config.session_config.device_filters) == ["/job:ps", "/job:worker/task:0"]


def test_a_cluster_with_a_master_is_read_as_ever(tf_config):
    tf_config({"master": ["localhost:1"], "worker": ["localhost:2"]}, "master")
    config = tf.estimator.RunConfig(train_distribute=one_device())
    assert config._distribute_coordinator_mode is None
    assert not estimator_training.should_run_distribute_coordinator(config)


def test_a_remote_cluster_makes_a_standalone_client(tf_config):
    remote = DistributeConfig(one_device(), remote_cluster={"chief": ["fake:1"]})
    config = tf.estimator.RunConfig(experimental_distribute=remote)
    assert config._distribute_coordinator_mode == "standalone_client"
    assert tf.train.ClusterSpec(config.cluster_spec).as_dict() == {"chief": ["fake:1"]}
    assert estimator_training.should_run_distribute_coordinator(config)


def test_a_remote_cluster_without_a_training_strategy_is_ignored(tf_config):
    tf_config(CLUSTER, "worker", 0)
    remote = DistributeConfig(eval_distribute=one_device(), remote_cluster={"chief": ["fake:1"]})
    config = tf.estimator.RunConfig(experimental_distribute=remote)
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.num_worker_replicas) == ("worker", 2)
    assert not estimator_training.should_run_distribute_coordinator(config)


def test_two_clusters_are_an_error(tf_config):
    tf_config(CLUSTER)
    remote = DistributeConfig(one_device(), remote_cluster={"chief": ["fake:1"]})
    with pytest.raises(ValueError, match="remote_cluster"):
        tf.estimator.RunConfig(experimental_distribute=remote)


def test_train_in_a_task_of_a_cluster_is_an_error(tf_config, tmp_path):
    tf_config(CLUSTER)
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=one_device())
    estimator = tf.estimator.Estimator(lambda features, mode: None, config=config)
    with pytest.raises(ValueError, match="STANDALONE_CLIENT|train_and_evaluate"):
        estimator.train(lambda: None, steps=1)
