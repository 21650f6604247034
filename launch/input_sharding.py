"""Which part of the input each training task reads."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from ..estimators.first_batch import digest
from .cluster_spec import Task

_NEXT = ("IteratorGetNext", "IteratorGetNextSync")


def sharded(input_fn: Callable, task: Task | None, strategy: Any) -> Callable:
    """Gives an input_fn that takes `input_context` that of its task.

    A strategy hands it over itself; between tasks that train without one nobody else does.

    Args:
      input_fn: the input function.
      task: the task that reads, or None.
      strategy: the training strategy, or None.

    Returns:
      `input_fn`, with its context.
    """
    if task is None or strategy is not None or not takes_context(input_fn):
        return input_fn
    context = tf.distribute.InputContext(
        num_input_pipelines=len(task.trainers),
        input_pipeline_id=task.global_index,
        num_replicas_in_sync=1,
    )
    return functools.partial(input_fn, input_context=context)


def takes_context(input_fn: Callable) -> bool:
    """Says whether an input_fn can be told which part of the input to read."""
    try:
        return "input_context" in inspect.signature(input_fn).parameters
    except (TypeError, ValueError):
        return False


class FirstBatchHook(tf.compat.v1.train.SessionRunHook):
    """Takes a digest of the first batch, by which tasks that read the same input are found.

    Args:
      record: is given the digest.
    """

    def __init__(self, record: Callable[[str], None]):
        self._record = record
        self._done = False

    def begin(self):
        self._batch = [
            output
            for op in tf.compat.v1.get_default_graph().get_operations()
            if op.type in _NEXT
            for output in op.outputs
            if output.dtype.is_numpy_compatible and output.dtype != tf.variant
        ]

    def before_run(self, run_context):
        if self._done or not self._batch:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._batch)

    def after_run(self, run_context, run_values):
        if self._done or not self._batch:
            return
        self._done = True
        self._record(f"{digest(run_values.results):08x}")


def same_input(digest: str, digests: Mapping[str, str]) -> list[str]:
    """Returns the tasks of `digests` whose first batches have this digest."""
    return [name for name, other in digests.items() if other == digest]
