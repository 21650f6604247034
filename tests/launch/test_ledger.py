"""The run ledger: append-only, readable after a kill, stamped with a run id."""

import json

import numpy as np
import pytest
from genever.launch.ledger import FILENAME, Ledger

pytestmark = pytest.mark.core


def test_records_come_back_in_order(tmp_path):
    ledger = Ledger(str(tmp_path / "m"))
    ledger.add("started", step=0)
    ledger.add("evaluated", step=np.int64(5), metrics={"loss": np.float32(0.5), "c": np.eye(2)})
    records = list(ledger.records())
    assert [record["event"] for record in records] == ["started", "evaluated"]
    assert records[1]["metrics"] == {"loss": 0.5, "c": [[1.0, 0.0], [0.0, 1.0]]}
    assert {record["run"] for record in records} == {ledger.run}


def test_a_torn_line_costs_only_itself(tmp_path):
    Ledger(str(tmp_path)).add("started", step=0)
    with open(tmp_path / FILENAME, "a") as file:
        file.write('{"run": "x", "event": "sav')
    second = Ledger(str(tmp_path))
    second.add("started", step=7)
    assert [record["step"] for record in second.records()] == [0, 7]
    lines = (tmp_path / FILENAME).read_text().splitlines()
    assert len(lines) == 3 and json.loads(lines[2])["step"] == 7


def test_last_finds_the_newest_record_with_these_details(tmp_path):
    ledger = Ledger(str(tmp_path))
    for step in (10, 20, 30):
        ledger.add("evaluated", step=step, name="a" if step < 30 else "b")
    assert ledger.last("evaluated")["step"] == 30
    assert ledger.last("evaluated", name="a")["step"] == 20
    assert ledger.last("ended") is None


def test_an_empty_folder_has_no_records(tmp_path):
    assert list(Ledger(str(tmp_path / "nowhere")).records()) == []
