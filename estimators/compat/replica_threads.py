"""State of the calling thread in the threads that build the replicas of a model.

Replaces: the constructor of `mirrored_run._MirroredReplicaThread`, on every TensorFlow (2.15 to
2.21 have it). MirroredStrategy, CentralStorageStrategy and ParameterServerStrategy call model_fn
once per replica in such threads, where thread-local state of others (gin's scopes, say) is empty.
Missing public API: a way to hand state to a replica thread.
"""

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable

import wrapt

_MODULE = "tensorflow.python.distribute.mirrored_run"

_lock = threading.Lock()
_captures: list[Callable[[], contextlib.AbstractContextManager]] = []


def carry_into_replica_threads(capture: Callable[[], contextlib.AbstractContextManager]) -> None:
    """Registers a carrier of thread-local state into replica threads.

    Args:
      capture: called in the thread that starts a replica thread, once for each; the context
        manager that it returns is entered in the replica thread around everything it runs. A
        capture that is registered twice is called once.
    """
    with _lock:
        first = not _captures
        if capture not in _captures:
            _captures.append(capture)
    if first:
        wrapt.register_post_import_hook(_patch, _MODULE)


def _patch(mirrored_run) -> None:
    thread = getattr(mirrored_run, "_MirroredReplicaThread", None)
    if thread is None:
        warnings.warn(
            "This TensorFlow starts replica threads in a way that Genever does not know: gin "
            "scopes do not reach model_fn under MirroredStrategy.",
            stacklevel=2,
        )
        return
    construct = thread.__init__

    @functools.wraps(construct)
    def construct_with_state(self, *args, **kwargs):
        construct(self, *args, **kwargs)
        # Around main_fn, and not around run: an exception here then ends in TensorFlow's own
        # handling, and the starting thread does not wait for ever.
        contexts = [capture() for capture in _captures]
        self.main_fn = functools.partial(_run_within, contexts, self.main_fn)

    thread.__init__ = construct_with_state


def _run_within(contexts, function, /, *args, **kwargs):
    with contextlib.ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        return function(*args, **kwargs)
