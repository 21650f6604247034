import pytest


@pytest.mark.slow
def test_a_short_run_on_the_flights_is_better_than_logistic_regression(run_program):
    printed = run_program("""
import os
from genever.launch.config import load
from genever import train_and_evaluate

load(["flights_wide_deep.gin"], ["STEPS = 1000"], "model")
metrics, exports = train_and_evaluate()
print(float(metrics["auc"]), float(metrics["calibration"]), int(metrics["global_step"]))
print([os.path.isdir(path) for path in exports if path])
""")
    auc, calibration, step = map(float, printed.splitlines()[-2].split())
    # benchmarks/flights_auc.py: logistic regression on the same features has 0.708.
    assert auc > 0.71
    assert calibration == pytest.approx(1.0, abs=0.1)
    assert step == 1000
    assert printed.splitlines()[-1] == "[True, True]"
