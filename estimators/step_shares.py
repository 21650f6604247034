"""Where the time of a step goes: shares of input, communication and compute.

Imports TensorFlow, so it is imported only by functions that have it.
"""

import collections
import re
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import tensorflow as tf

# One step alone may be an odd one.
_TRACES = 3
_INPUT = re.compile(r"Iterator\w*GetNext\w*|MultiDeviceIterator\w+|Queue\w*Dequeue\w*")
_COMMUNICATION = re.compile(r"_?Collective\w+|_?Nccl\w+|_(Host)?(Send|Recv)|RecvTensor")
_SUMS = ("Add", "AddN", "AddV2", "ConcatV2")
_TYPE = re.compile(r" = (\w+)\(")
_TASK = re.compile(r"^/job:[^/]+/replica:\d+/task:\d+")


class Shares(NamedTuple):
    """Parts of the wall time of a step, each from 0 to 1; together 1.

    Attributes:
        input: waiting for the next batch, while nothing else went on.
        communication: exchanging values between devices and tasks, or waiting for that, while
            nothing was computed.
        compute: one operation or more was computing.
        rest: nothing of this; the work of the session between operations.
    """

    input: float
    communication: float
    compute: float
    rest: float


class StepSharesHook(tf.compat.v1.train.SessionRunHook):
    """Traces three steps now and then, and tells where their time goes.

    One line: the median time of a step since the line before (not of the traced ones, which are
    slower), and the shares of the traced steps. A step is a call of the train_op. What goes on at
    the same time counts once: as compute if anything computes, else as communication, else as
    input. So input and communication are what a faster input or network could save at most. Where
    some operations run on other tasks (parameter servers), waiting for those is communication.

    Tried on CPUs. On GPUs the shares are those of the kernels that TensorFlow's tracer reports.

    Args:
        say: called with each line.
        first_step: number of the first step that is traced, counted from the start of the session;
            by then the start is over.
        every_steps: steps between lines.
        min_secs: seconds between lines at least, so that they cost little.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        first_step: int = 20,
        every_steps: int = 100,
        min_secs: float = 10.0,
    ):
        self._say = say
        self._first_step = first_step
        self._every_steps = every_steps
        self._min_secs = min_secs

    def begin(self):
        self._sums = sums_of_devices(tf.compat.v1.get_default_graph())

    def after_create_session(self, session, coord):
        self._step = 0
        self._next = self._first_step
        self._told = None
        self._traces = []
        self._times = collections.deque(maxlen=1000)

    def before_run(self, run_context):
        self._step += 1
        early = self._told is not None and time.monotonic() < self._told + self._min_secs
        self._traced = self._step >= self._next and not early
        self._began = time.monotonic()
        if not self._traced:
            return None
        options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
        return tf.compat.v1.train.SessionRunArgs(None, options=options)

    def after_run(self, run_context, run_values):
        if not self._traced:
            # The first call of a session prepares it.
            if self._step > 1:
                self._times.append(time.monotonic() - self._began)
            return
        self._traces.append(run_values.run_metadata.step_stats)
        if len(self._traces) < _TRACES:
            return
        traces, self._traces = self._traces, []
        self._told = time.monotonic()
        self._next = self._step + self._every_steps
        usual = statistics.median(self._times) if self._times else self._told - self._began
        self._times.clear()
        shares = [one for one in (shares_of(t, usual, self._sums) for t in traces) if one]
        if shares:
            means = {
                name: statistics.mean(getattr(s, name) for s in shares) for name in Shares._fields
            }
            parts = ", ".join(f"{name} {part:.0%}" for name, part in means.items())
            self._say(f"time of a step: {usual * 1000:.1f} ms; {parts}")


def sums_of_devices(graph: Any) -> frozenset[str]:
    """Returns the names of the operations that add up, or join, values of several devices."""
    return frozenset(
        op.name
        for op in graph.get_operations()
        if op.type in _SUMS and len({i.device for i in op.inputs if i.device}) > 1
    )


def shares_of(step_stats: Any, secs: float, sums: Iterable[str] = ()) -> Shares | None:
    """Returns where the time of a traced step went.

    Args:
        step_stats: the `StepStats` of a run with FULL_TRACE.
        secs: the usual time of a step in seconds, for the wait for other tasks.
        sums: names of operations that add up values of several devices.
    Returns:
        The shares; None where nothing was traced.
    """
    stats = [device for device in step_stats.dev_stats if device.node_stats]
    own = _own_task(stats)
    remote = any(_task(device.device) not in (own, "") for device in stats)
    spans = {"input": [], "communication": [], "compute": []}
    for device in stats:
        # The clock of another machine tells nothing here.
        if _task(device.device) not in (own, ""):
            continue
        for node in device.node_stats:
            start, end = _interval(node)
            spans[_kind(node, sums)].append((start, end))
    everything = [span for kind in spans.values() for span in kind]
    if not everything:
        return None
    wall = max(end for _, end in everything) - min(start for start, _ in everything)
    if remote:
        wall = max(wall, secs * 1e9)
    if wall <= 0:
        return None
    compute = _length(spans["compute"])
    busy = _length(spans["compute"] + spans["communication"])
    all_kinds = _length(everything)
    communication, waiting = busy - compute, all_kinds - busy
    rest = wall - all_kinds
    if remote:
        communication, rest = communication + rest, 0
    return Shares(waiting / wall, communication / wall, compute / wall, rest / wall)


def _own_task(stats: list) -> str:
    """The task that reads the input: this one."""
    for device in stats:
        if any(_INPUT.fullmatch(_type(node)) for node in device.node_stats):
            return _task(device.device)
    return _task(stats[0].device) if stats else ""


def _task(device: str) -> str:
    found = _TASK.match(device)
    return found[0] if found else ""


def _type(node: Any) -> str:
    found = _TYPE.search(node.timeline_label)
    return found[1] if found else node.node_name


def _kind(node: Any, sums: Iterable[str]) -> str:
    kind = _type(node)
    if _INPUT.fullmatch(kind):
        return "input"
    copied = "memcpy" in f"{node.node_name} {node.timeline_label}".lower()
    if copied or node.node_name in sums or _COMMUNICATION.fullmatch(kind):
        return "communication"
    return "compute"


def _interval(node: Any) -> tuple[int, int]:
    """Start and end in nanoseconds."""
    start = node.all_start_nanos or node.all_start_micros * 1000
    length = node.op_end_rel_nanos or node.op_end_rel_micros * 1000
    return start, start + max(length, 0)


def _length(spans: list[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total
