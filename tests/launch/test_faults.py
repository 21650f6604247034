"""A sample of the fault suite: clusters whose tasks are killed come to their end all the same."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fault_suite  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("mode", fault_suite.MODES)
def test_a_cluster_survives_the_loss_of_its_tasks(mode):
    kills = fault_suite.main(mode, kills=2, seed=7, per_round=2)
    assert len(kills) == 2
    for kill in kills:
        assert kill.get("lost", 0) <= fault_suite.SAVED_EVERY
