"""The other tasks of a cluster: whether they are there, and what the chief has told them."""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .cluster_spec import Task
from .ledger import Ledger
from .preemption import LOST_PEER, PREEMPTION
from .report import LogReport

# A task whose server has not answered for so long is lost for those that keep step with it.
LOST_AFTER_SECS = 10.0
_POLL_SECS = 0.5
_SAY_EVERY_SECS = 30.0
# A task that has not noticed the end of the training by itself is ended after so long.
_AFTER_END_SECS = 45.0
# After the end of a run a task that is started waits so long for a chief that trains on.
_LATE_START_SECS = 30.0


def is_reachable(address: str, timeout_secs: float = 2.0) -> bool:
    """Says whether a server listens at host:port."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_secs):
            return True
    except OSError:
        return False


def roll_call(task: Task) -> list[str]:
    """Returns a line for each task of a cluster: its address, and what answers there now."""
    lines = []
    places = [(kind, at) for kind, tasks in task.cluster.items() for at in range(len(tasks))]
    for kind, index in places:
        address = task.cluster[kind][index]
        own = (kind, index) == (task.type, task.index)
        name = Task(task.cluster, kind, index).name
        lines.append(f"  {name:<10} {address:<24} {_answer(address, own)}")
    if task.has_evaluator:
        own = " (this process)" if task.type == "evaluator" else ""
        lines.append(f"  evaluator  is called by nobody{own}")
    return lines


def _answer(address: str, own: bool) -> str:
    host = address.rpartition(":")[0].strip("[]")
    try:
        # Name servers may take their time: a thread ends the wait, not the call.
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(_resolve(host)), daemon=True)
        thread.start()
        thread.join(5.0)
        name = found[0] if found else "the name server does not answer"
    except RuntimeError as error:
        name = str(error)
    listens = is_reachable(address) if name == "found" else False
    if name != "found":
        return name
    if own:
        return "this process; " + ("the port is in use already" if listens else "the port is free")
    return "listens" if listens else "nobody listens yet"


def _resolve(host: str) -> str:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return "no such host"
    return "found"


def wait_until(
    done: Callable[[], bool],
    what: Callable[[], str],
    report: LogReport,
    deadline_secs: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Waits until `done` is true.

    Args:
      done: asked now and then.
      what: says for what it waits, such as "ps 0 at host:2222".
      report: is told what it waits for, now and then.
      deadline_secs: how long it waits.
      meanwhile: called now and then; what it raises ends the wait.

    Raises:
      TimeoutError: it took longer.
    """
    start = said = time.monotonic()
    while not done():
        if PREEMPTION.asked:
            raise PREEMPTION.error()
        meanwhile()
        now = time.monotonic()
        if now - start > deadline_secs:
            raise TimeoutError(f"waited {deadline_secs:.0f} s for {what()}, in vain")
        if now - said > _SAY_EVERY_SECS:
            said = now
            left = deadline_secs - (now - start)
            more = f", {left:.0f} s more at most" if left < float("inf") else ""
            report.say(f"waiting for {what()}{more}")
        time.sleep(_POLL_SECS)


def wait_for(
    peers: Mapping[str, str],
    report: LogReport,
    deadline_secs: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    """Waits until the servers of other tasks listen.

    Args:
      peers: their addresses by name, such as {"ps 0": "host:2222"}.
      report: is told whom it waits for.
      deadline_secs: how long it waits.
      meanwhile: called now and then; what it raises ends the wait.

    Raises:
      TimeoutError: names the tasks that did not come.
    """
    missing = dict(peers)

    def done() -> bool:
        for name in [name for name, address in missing.items() if is_reachable(address)]:
            del missing[name]
        return not missing

    def what() -> str:
        return ", ".join(f"{name} at {address}" for name, address in missing.items())

    wait_until(done, what, report, deadline_secs, meanwhile)


class Chief:
    """The chief as another task sees it: by its ledger, and by its server.

    Args:
      model_dir: where the ledger is.
      task: the task that looks.
      max_steps: the global step at which training ends, or None.
      report: is told what it waits for.
      deadline_secs: how long the chief may be away.
    """

    def __init__(
        self,
        model_dir: str,
        task: Task,
        max_steps: int | None,
        report: LogReport,
        deadline_secs: float,
    ):
        self._ledger = Ledger(model_dir)
        self._address = task.chief_address if task.trainers else None
        self._max_steps = max_steps
        self._report = report
        self._deadline_secs = deadline_secs
        self._seen = time.monotonic()
        self._probed = 0.0
        # Runs that had ended when this task started are not the one that it belongs to.
        self._past = {r["run"] for r in self._ledger.records() if r.get("event") == "ended"}

    def was_finished(self) -> str | None:
        """Returns why the run is over for a task that starts now, or None while it is not.

        A run that reached max_steps is over; after one that ended for another reason, a chief may
        be about to train on, which is waited for a short while.
        """
        ended = self._ledger.last("ended")
        started = self._ledger.last("started")
        if not ended or not _is_good(ended) or started["run"] != ended["run"]:
            return None
        reached = self._max_steps is not None and (ended.get("step") or 0) >= self._max_steps
        wait = 0.0 if reached else _LATE_START_SECS
        start = time.monotonic()
        while True:
            if self.is_there() or self._ledger.last("started")["run"] != ended["run"]:
                return None
            if time.monotonic() - start >= wait:
                return f"step {ended.get('step')}, {ended.get('reason')}"
            time.sleep(_POLL_SECS)

    def wait_for_start(self) -> str:
        """Waits until the chief has started, and returns the id of its run.

        The run may have ended by then: see `has_ended`.
        """

        def started() -> bool:
            # A record alone may be of a chief that was killed.
            if self._started() is None:
                return False
            return self._address is None or self.is_there() or self.has_ended()

        wait_until(
            started,
            lambda: "the chief" + (f" at {self._address}" if self._address else ""),
            self._report,
            self._deadline_secs,
        )
        return self.run()

    def wait_for_another(self, run: str) -> None:
        """Waits until the chief is in another run than this one."""
        wait_until(
            lambda: self.run() != run and self.is_there(),
            lambda: f"the chief at {self._address} to start again",
            self._report,
            self._deadline_secs,
        )

    def run(self) -> str:
        """Returns the id of the run that the chief is in."""
        return self._started()["run"]

    def said(self, *events: str) -> dict[str, Any] | None:
        """Returns what the chief wrote last about any of these events in its run, or None."""
        started = self._started()
        if started is None:
            return None
        found = None
        for record in self._ledger.records():
            if record.get("run") == started["run"] and record.get("event") in events:
                found = record
        return found

    def has_ended(self) -> bool:
        """Whether training has come to its end, so that there will be no other checkpoint."""
        ended = self.said("ended")
        return self.said("trained") is not None or (ended is not None and _is_good(ended))

    def was_preempted(self) -> bool:
        """Whether the chief has saved and ended because it was asked to."""
        ended = self.said("ended")
        return bool(ended and ended.get("preempted"))

    def wait_while_away(self) -> None:
        """Waits where the chief is gone: what is trained without it would be lost."""
        if self.is_there() or self.has_ended():
            return
        wait_until(
            lambda: self.is_there() or self.has_ended(),
            lambda: f"the chief at {self._address}, which saves the checkpoints",
            self._report,
            self._deadline_secs,
        )

    def must_live(self) -> None:
        """Raises where the chief has failed, or has been away for longer than the deadline."""
        ended = self.said("ended")
        if ended and ended.get("failed"):
            raise RuntimeError(f"the chief failed at step {ended.get('step')}: {ended['reason']}")
        now = time.monotonic()
        if self._address is None or now - self._probed < _SAY_EVERY_SECS / 3:
            return
        self._probed = now
        if self.is_there():
            self._seen = now
        elif now - self._seen > self._deadline_secs:
            raise TimeoutError(
                f"the chief at {self._address} has been away for {self._deadline_secs:.0f} s"
            )

    def is_there(self) -> bool:
        """Whether the chief's server listens."""
        return self._address is not None and is_reachable(self._address)

    def _started(self) -> dict[str, Any] | None:
        started = self._ledger.last("started")
        return started if started and started["run"] not in self._past else None


def _is_good(ended: Mapping[str, Any]) -> bool:
    return not ended.get("failed") and not ended.get("preempted")


class Watch:
    """Ends this process when another task is lost: TensorFlow would wait for it for ever.

    Args:
      lost: called now and then; returns who is lost, or None.
      ledger: where the reason is written.
      report: is told the reason.
      is_over: whether the training has come to its end; then this process has a while to find out
        by itself, and ends well.
    """

    def __init__(
        self,
        lost: Callable[[], str | None],
        ledger: Ledger,
        report: LogReport,
        is_over: Callable[[], bool] = lambda: False,
    ):
        self._lost = lost
        self._is_over = is_over
        self._ledger = ledger
        self._report = report
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exception) -> None:
        self._over.set()
        self._thread.join(30.0)

    def _run(self) -> None:
        over_since = None
        while not self._over.wait(1.0):
            try:
                who = self._lost()
                if over_since is None and self._is_over():
                    over_since = time.monotonic()
            except OSError:
                continue  # the ledger could not be read this time
            if over_since is not None and time.monotonic() - over_since > _AFTER_END_SECS:
                # A session whose servers are gone would be waited for without an end.
                self._ledger.add("stopped", reason="the training ended without this task")
                self._report.say("training has ended without this task, which could not reach it")
                sys.stdout.flush()
                os._exit(0)
            if who is None or self._over.is_set():
                continue
            reason = f"{who}; start all tasks again, they go on from the last checkpoint"
            self._ledger.add("ended", reason=reason, preempted=True)
            self._report.warn(reason)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(LOST_PEER)


class Away:
    """Finds out which of some addresses nobody has listened at for a while.

    Args:
      addresses: by name of the task.
      patience_secs: for how long.
    """

    def __init__(self, addresses: Mapping[str, str], patience_secs: float):
        self._addresses = addresses
        self._patience_secs = patience_secs
        self._seen = dict.fromkeys(addresses, time.monotonic())

    def names(self) -> list[str]:
        """Looks now, and returns those that have been away for too long."""
        for name, address in self._addresses.items():
            if is_reachable(address):
                self._seen[name] = time.monotonic()
        now = time.monotonic()
        return [name for name, seen in self._seen.items() if now - seen > self._patience_secs]
