"""What a task knows of its chief, and every wait's end."""

import socket
import threading
import time

import pytest
from genever.launch.cluster_spec import Task
from genever.launch.ledger import Ledger
from genever.launch.local_cluster import free_ports
from genever.launch.peers import Chief, is_reachable, wait_for
from genever.launch.report import LogReport

pytestmark = pytest.mark.core


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def nowhere():
    return f"127.0.0.1:{free_ports(1)[0]}"


def chief(model_dir, address, max_steps=100, deadline_secs=1.0):
    task = Task({"chief": (address,), "worker": ("127.0.0.1:1",)}, "worker", 0)
    return Chief(str(model_dir), task, max_steps, LogReport(), deadline_secs)


def test_waiting_for_a_task_that_does_not_come_ends_and_names_it(listener):
    lost = nowhere()
    with pytest.raises(TimeoutError) as error:
        wait_for({"ps 0": listener, "ps 1": lost}, LogReport(), 1.0)
    assert str(error.value) == f"waited 1 s for ps 1 at {lost}, in vain"


def test_a_task_that_comes_late_is_waited_for():
    address = nowhere()
    host, port = address.split(":")

    def come():
        time.sleep(0.5)
        with socket.create_server((host, int(port))) as server:
            server.settimeout(10)
            server.accept()

    thread = threading.Thread(target=come)
    thread.start()
    wait_for({"ps 0": address}, LogReport(), 20.0)
    thread.join(10)
    assert not is_reachable(address)


def test_a_run_that_reached_max_steps_is_over_for_a_late_task(tmp_path):
    ledger = Ledger(str(tmp_path))
    assert chief(tmp_path, nowhere()).was_finished() is None
    ledger.add("started")
    assert chief(tmp_path, nowhere()).was_finished() is None
    ledger.add("ended", step=100, reason="max_steps 100 was reached")
    assert chief(tmp_path, nowhere()).was_finished() == "step 100, max_steps 100 was reached"


def test_a_run_is_not_over_where_its_chief_is_back(tmp_path, listener):
    ledger = Ledger(str(tmp_path))
    ledger.add("started")
    ledger.add("ended", step=100, reason="max_steps 100 was reached")
    assert chief(tmp_path, listener, max_steps=200).was_finished() is None


def test_a_failed_run_is_not_over(tmp_path):
    ledger = Ledger(str(tmp_path))
    ledger.add("started")
    ledger.add("ended", step=100, reason="OSError: disk", failed=True)
    assert chief(tmp_path, nowhere()).was_finished() is None


def test_the_record_of_a_run_before_fools_nobody(tmp_path, listener):
    before = Ledger(str(tmp_path))
    before.add("started")
    before.add("trained", step=50)
    before.add("ended", step=50, reason="the input ended")
    follower = chief(tmp_path, listener, deadline_secs=0.6)
    assert follower.said("trained") is None
    with pytest.raises(TimeoutError, match="waited 1 s for the chief at"):
        follower.wait_for_start()
    now = Ledger(str(tmp_path))
    now.add("started")
    assert follower.wait_for_start() == now.run
    assert follower.said("trained", "ended") is None
    now.add("stopping", reason="because")
    assert follower.said("stopping")["reason"] == "because"


def test_the_record_of_a_chief_that_was_killed_fools_nobody(tmp_path):
    Ledger(str(tmp_path)).add("started")
    with pytest.raises(TimeoutError, match="waited 1 s for the chief at"):
        chief(tmp_path, nowhere(), deadline_secs=0.6).wait_for_start()


def test_a_chief_that_failed_ends_the_others(tmp_path, listener):
    follower = chief(tmp_path, listener)
    ledger = Ledger(str(tmp_path))
    ledger.add("started")
    follower.must_live()
    ledger.add("ended", step=7, reason="ValueError: no", failed=True)
    with pytest.raises(RuntimeError, match="the chief failed at step 7: ValueError: no"):
        follower.must_live()
