"""The smoke program of `make matrix` on the TensorFlow that is installed here."""

import json
import platform
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

PROGRAM = Path(__file__).with_name("smoke_program.py")


def test_estimators_train_evaluate_export_and_reload(output_of):
    found = json.loads(output_of(PROGRAM.read_text())[-1])
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["tensorflow"] == version("tensorflow")
    assert found["own"]["W"] == pytest.approx([1, 2], abs=1e-3)
    assert found["mirrored"] == pytest.approx([1, 2], abs=1e-3)
    assert found["own"]["served - predicted"] < 1e-6
