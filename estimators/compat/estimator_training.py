"""What tensorflow_estimator asks of TensorFlow when an Estimator has a distribution strategy.

Replaces: `tensorflow.python.distribute.estimator_training`, gone from TensorFlow 2.16 on; the
coordinator that it drives is still there. Missing public API: the coordinator itself, and the
fields of RunConfig and Estimator that say which task this process is.

Imported only when tensorflow_estimator asks for it, so TensorFlow is there.
"""

import copy

import tensorflow as tf
from tensorflow.python.distribute import (
    distribute_coordinator,
    distribute_coordinator_context,
    multi_worker_util,
)

__all__ = [
    "estimator_evaluate",
    "estimator_train",
    "init_run_config",
    "should_run_distribute_coordinator",
    "train_and_evaluate",
]

_STANDALONE = distribute_coordinator.CoordinatorMode.STANDALONE_CLIENT
_INDEPENDENT = distribute_coordinator.CoordinatorMode.INDEPENDENT_WORKER

# Their training loop in tensorflow_estimator takes no listeners.
_WITHOUT_LISTENERS = (
    "CollectiveAllReduceStrategy",
    "CollectiveAllReduceStrategyV1",
    "MultiWorkerMirroredStrategy",
)


def init_run_config(config, tf_config: dict) -> None:
    """Completes a RunConfig that has strategies: which ones, and who coordinates the tasks.

    Args:
      config: the RunConfig under construction; `experimental_distribute` is moved into its
        `train_distribute` and `eval_distribute`.
      tf_config: the parsed TF_CONFIG.

    Raises:
      ValueError: a strategy is given twice, or the cluster is.
    """
    _take_experimental_strategies(config)
    # A remote cluster trains with train_distribute; without it TensorFlow 2.15 ignores the cluster.
    remote = config.train_distribute and getattr(
        config._experimental_distribute, "remote_cluster", None
    )
    cluster = tf_config.get("cluster") or {}
    if remote and cluster:
        raise ValueError(
            "RunConfig got experimental_distribute.remote_cluster, but TF_CONFIG has a cluster "
            "too: give the cluster in one of the two."
        )
    if remote:
        config._distribute_coordinator_mode = _STANDALONE
    elif cluster and "master" not in cluster and config.train_distribute:
        config._distribute_coordinator_mode = _INDEPENDENT
    else:
        config._distribute_coordinator_mode = None
        config._init_distributed_setting_from_environment_var(tf_config)
        config._maybe_overwrite_session_config_for_distributed_training()
        return
    # Until the coordinator tells each task what it is, the config reads as that of one process.
    config._init_distributed_setting_from_environment_var({})
    config._cluster_spec = multi_worker_util.normalize_cluster_spec(remote or cluster)


def _take_experimental_strategies(config) -> None:
    experimental = config._experimental_distribute
    for role in ("train_distribute", "eval_distribute"):
        strategy = getattr(experimental, role, None)
        if strategy is None:
            continue
        if getattr(config, role) is not None:
            raise ValueError(
                f"RunConfig got {role} and experimental_distribute.{role}: give one of the two."
            )
        setattr(config, f"_{role}", strategy)


def should_run_distribute_coordinator(config) -> bool:
    """Whether `train_and_evaluate` of this config is a matter of the coordinator."""
    mode = getattr(config, "_distribute_coordinator_mode", None)
    return mode in (_STANDALONE, _INDEPENDENT) and bool(config.cluster_spec)


def train_and_evaluate(estimator, train_spec, eval_spec, executor_cls) -> None:
    """Plays this process's part in a cluster: trains, evaluates, or serves variables.

    Args:
      estimator: the user's Estimator, which is left as it is.
      train_spec: a `tf.estimator.TrainSpec`.
      eval_spec: a `tf.estimator.EvalSpec`.
      executor_cls: the class in tensorflow_estimator whose instances evaluate until training ends.
    """

    def train(strategy):
        own = _copy_for_task(estimator, train=strategy)
        listeners = train_spec.saving_listeners
        if listeners and type(strategy).__name__ in _WITHOUT_LISTENERS:
            tf.compat.v1.logging.warning(
                "TrainSpec.saving_listeners are not called under MultiWorkerMirroredStrategy in a "
                "cluster: tf.estimator cannot do it."
            )
            listeners = None
        own.train(
            train_spec.input_fn,
            hooks=list(train_spec.hooks),
            max_steps=train_spec.max_steps,
            saving_listeners=listeners,
        )

    def evaluate(strategy):
        own = _copy_for_task(estimator, evaluate=strategy)
        executor_cls(
            estimator=own, train_spec=train_spec, eval_spec=eval_spec
        )._start_continuous_evaluation()

    _coordinate(estimator, train, estimator.config.train_distribute, evaluate)


def estimator_train(estimator, train_distributed_fn, hooks):
    """Runs `Estimator.train` on a remote cluster.

    Args:
      estimator: the user's Estimator, which is left as it is.
      train_distributed_fn: called as (estimator, strategy, hooks).
      hooks: session hooks, run by the chief alone.

    Returns:
      The copy of the Estimator that was trained.
    """
    strategy = estimator.config.train_distribute
    _require_remote_client("train", estimator.config, strategy)

    def train(task_strategy):
        own = _copy_for_task(estimator, train=task_strategy)
        train_distributed_fn(own, task_strategy, _hooks_of_this_task(hooks))
        return own

    return _coordinate(estimator, train, strategy)


def estimator_evaluate(estimator, evaluate_distributed_fn, hooks):
    """Runs `Estimator.evaluate` on a remote cluster; arguments as for `estimator_train`.

    Returns:
      The metrics.
    """
    strategy = estimator.config.eval_distribute
    _require_remote_client("evaluate", estimator.config, strategy)

    def evaluate(task_strategy):
        own = _copy_for_task(estimator, evaluate=task_strategy)
        return evaluate_distributed_fn(own, task_strategy, _hooks_of_this_task(hooks))

    return _coordinate(estimator, evaluate, strategy)


def _require_remote_client(call: str, config, strategy) -> None:
    if config._distribute_coordinator_mode != _STANDALONE:
        raise ValueError(
            f"Estimator.{call} does not run in a task of a TF_CONFIG cluster with a strategy: "
            "call train_and_evaluate, or remove the cluster from TF_CONFIG."
        )
    if strategy.extended.experimental_between_graph:
        raise ValueError(
            f"Estimator.{call} on a remote cluster needs a strategy that builds one graph for all "
            f"tasks, and {type(strategy).__name__} builds one for each: call train_and_evaluate."
        )
    if "evaluator" in config.cluster_spec.jobs:
        raise ValueError(
            f"Estimator.{call} has no use for the job `evaluator` of remote_cluster: remove it, or "
            "call train_and_evaluate."
        )


def _coordinate(estimator, run, strategy, evaluate=None):
    config = estimator.config
    standalone = config._distribute_coordinator_mode == _STANDALONE
    return distribute_coordinator.run_distribute_coordinator(
        run,
        strategy,
        eval_fn=evaluate,
        eval_strategy=config.eval_distribute,
        mode=config._distribute_coordinator_mode,
        # An independent worker finds cluster and task in TF_CONFIG; with the cluster given, the
        # coordinator would not look there for the task.
        cluster_spec=config.cluster_spec if standalone else None,
        session_config=config.session_config,
    )


def _hooks_of_this_task(hooks) -> list:
    context = distribute_coordinator_context.get_current_worker_context()
    return list(hooks or []) if context is None or context.is_chief else []


def _copy_for_task(estimator, train=None, evaluate=None):
    """A copy of the Estimator whose config says which task of the cluster it runs in.

    Args:
      estimator: the Estimator to copy.
      train: the strategy of this task for training; the user's one stays if not given.
      evaluate: the same for evaluation.
    """
    config = estimator.config
    # Strategies cannot always be copied, and those of the task are configured copies anyway.
    kept = {
        id(strategy): strategy
        for strategy in (config.train_distribute, config.eval_distribute)
        if strategy is not None
    }
    own = copy.deepcopy(estimator, kept)
    config = own._config
    config._distribute_coordinator_mode = None
    if train is not None:
        own._train_distribution = config._train_distribute = train
    if evaluate is not None:
        own._eval_distribution = config._eval_distribute = evaluate
    context = distribute_coordinator_context.get_current_worker_context()
    if context is not None:
        _describe_task(config, context)
    return own


def _describe_task(config, context) -> None:
    if context.task_type == "evaluator":
        # The evaluator is no part of the training cluster, as in a run without strategies.
        config._cluster_spec = tf.train.ClusterSpec({})
        config._num_worker_replicas = config._num_ps_replicas = 0
        config._global_id_in_cluster = None
        config._is_chief = False
    else:
        tasks = context.cluster_spec.as_dict() if context.cluster_spec else {}
        config._cluster_spec = context.cluster_spec or tf.train.ClusterSpec({})
        config._num_worker_replicas = context.num_workers or 1
        config._num_ps_replicas = len(tasks.get("ps", ()))
        config._is_chief = context.is_chief
        config._global_id_in_cluster = (context.task_id or 0) + (
            len(tasks.get("chief", ())) if context.task_type == "worker" else 0
        )
    config._master = context.master_target
    # A task that builds the graph for all others has no type of its own.
    if context.task_type:
        config._task_type, config._task_id = context.task_type, context.task_id
