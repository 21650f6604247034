"""One task of a training cluster: its server, its strategy, and an Estimator that trains in it.

Missing public API: the worker context by which MonitoredTrainingSession learns which task it is
in, the fields of RunConfig that say the same, and whether a strategy has started a server itself.
tensorflow_estimator drops saving listeners under MultiWorkerMirroredStrategy; here they are called.

Imports TensorFlow, so it is imported only by functions that have it.
"""

import contextlib
import copy
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
import wrapt
from tensorflow.python.distribute import distribute_coordinator

from .estimator_training import _copy_for_task

# A server lives as long as its process: TensorFlow cannot stop one.
_servers: dict[tuple[str, int], Any] = {}


def is_multi_worker(strategy: Any) -> bool:
    """Whether a strategy keeps the replicas of several tasks in step."""
    return type(strategy).__name__ in (
        "CollectiveAllReduceStrategy",
        "CollectiveAllReduceStrategyV1",
        "MultiWorkerMirroredStrategy",
        "_CollectiveAllReduceStrategyExperimental",
    )


def serve(
    cluster: Mapping[str, Sequence[str]],
    task_type: str,
    task_id: int,
    session_config: Any = None,
    protocol: str | None = None,
) -> None:
    """Starts the server of a task, with the whole session configuration.

    Args:
      cluster: addresses by task type.
      task_type: type of this task.
      task_id: index of this task.
      session_config: a `tf.compat.v1.ConfigProto`, or None.
      protocol: 'grpc' if None.

    Raises:
      ValueError: the port is in use.
    """
    if (task_type, task_id) in _servers:
        return
    try:
        _servers[task_type, task_id] = tf.distribute.Server(
            tf.train.ClusterSpec({kind: list(tasks) for kind, tasks in cluster.items()}),
            job_name=task_type,
            task_index=task_id,
            config=session_config or tf.compat.v1.ConfigProto(allow_soft_placement=True),
            protocol=protocol or "grpc",
        )
    except tf.errors.UnknownError as error:
        address = cluster[task_type][task_id]
        raise ValueError(
            f"the server of {task_type} {task_id} cannot listen at {address}: is its port in use, "
            "perhaps because this task runs already? Give another in TF_CONFIG"
        ) from error


@contextlib.contextmanager
def training_task(
    estimator: Any, cluster: Mapping[str, Sequence[str]], task_type: str, task_id: int
) -> Iterator[tuple[Any, list[Any]]]:
    """Makes this process a training task of a cluster.

    Args:
      estimator: the user's Estimator, which is left as it is.
      cluster: addresses by task type: chief, worker, ps.
      task_type: 'chief' or 'worker'.
      task_id: index of this task.

    Yields:
      (an Estimator to train, hooks that its training needs).
    """
    config = estimator.config
    strategy = config.train_distribute
    if strategy is None:
        serve(cluster, task_type, task_id, config.session_config, config.protocol)
        session_config = estimator._session_config
        if session_config is not None and not session_config.device_filters:
            # TensorFlow adds them to a session configuration of its own only; without them a task
            # waits for all others, and for those that have ended.
            own = copy.copy(estimator)
            own._session_config = tf.compat.v1.ConfigProto()
            own._session_config.CopyFrom(session_config)
            own._session_config.device_filters.extend(
                ["/job:ps", f"/job:{task_type}/task:{task_id}"]
            )
            estimator = own
        yield estimator, []
        return
    spec = tf.train.ClusterSpec({kind: list(tasks) for kind, tasks in cluster.items()})
    session_config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    if config.session_config is not None:
        session_config.CopyFrom(config.session_config)
    # Under a strategy nobody else adds the filters, so a task would wait for all the others.
    strategy.configure(session_config, spec, task_type, task_id)
    if not getattr(strategy.extended, "_std_server_started", False):
        serve(cluster, task_type, task_id, session_config, config.protocol)
    context = distribute_coordinator._WorkerContext(
        strategy, spec, task_type, task_id, session_config, config.protocol or "grpc"
    )
    hooks = []
    with context:
        own = _copy_for_task(estimator, train=strategy)
        # A copy shares the user's session_config; this one knows the cluster.
        own._session_config = own._config._session_config = session_config
        if is_multi_worker(strategy):
            # By the name of its class tensorflow_estimator chooses a loop without listeners.
            own._train_distribution = wrapt.ObjectProxy(strategy)
            if not context.is_chief:
                hooks.append(SaveAlongHook(config.save_checkpoints_steps))
        try:
            yield own, hooks
        finally:
            if is_multi_worker(strategy) and not context.is_chief:
                folder = f"{own.model_dir}/tmp_{task_type}_{task_id}"
                shutil.rmtree(folder, ignore_errors=True)


def session_config_of(estimator: Any) -> Any:
    """Returns with which session configuration an Estimator trains, or None."""
    return estimator._session_config


def for_one_process(estimator: Any) -> Any:
    """Returns a copy of an Estimator of a cluster that evaluates and exports in this process.

    Args:
      estimator: the user's Estimator, which is left as it is.
    """
    own = _copy_for_task(estimator)
    config = own._config
    config._cluster_spec = tf.train.ClusterSpec({})
    config._master = config._evaluation_master = ""
    config._num_ps_replicas = 0
    # The setter that puts variables on the ps is not for a session without them.
    own._device_fn = config.device_fn
    return own


def replace_model_fn(estimator: Any, model_fn: Any) -> Any:
    """Returns a shallow copy of an Estimator, of the same class, with another model_fn.

    Missing public API: an Estimator is made with its model_fn for good, and a new one would lose
    what a subclass holds.

    Args:
      estimator: the Estimator, which is left as it is.
      model_fn: takes features, labels, mode, params and config.
    """
    own = copy.copy(estimator)
    own._model_fn = tf.autograph.experimental.do_not_convert(model_fn)
    return own


class SaveAlongHook(tf.compat.v1.train.SessionRunHook):
    """Reads the variables when the chief saves them, where reading one takes all workers.

    Variables that are averaged when they are read (batch normalisation's) make the chief's
    checkpoint wait for a read in every other worker. What is written goes to a folder of its own
    and away again.

    Args:
      save_steps: the chief's steps between checkpoints.
    """

    def __init__(self, save_steps: int | None):
        self._save_steps = save_steps
        self._saver = None

    def begin(self):
        on_read = tf.VariableSynchronization.ON_READ
        if not self._save_steps or not any(
            getattr(variable, "synchronization", None) == on_read
            for variable in tf.compat.v1.global_variables()
        ):
            return
        self._folder = tempfile.mkdtemp(prefix="genever-")
        self._saver = tf.compat.v1.train.CheckpointSaverHook(
            self._folder, save_steps=self._save_steps, save_graph_def=False
        )
        self._saver.begin()

    def after_create_session(self, session, coord):
        if self._saver:
            self._saver.after_create_session(session, coord)

    def before_run(self, run_context):
        return self._saver.before_run(run_context) if self._saver else None

    def after_run(self, run_context, run_values):
        if self._saver:
            self._saver.after_run(run_context, run_values)

    def end(self, session):
        if self._saver:
            self._saver.end(session)
            shutil.rmtree(self._folder, ignore_errors=True)
