"""configs/strategies/*.gin: one line switches a run to another strategy."""

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

LOAD = """
import gin
from genever.launch.config import load, resolved

FRAGMENTS = (
    "central_storage", "mirrored", "mirrored_logical_cpus", "multi_worker_mirrored", "one_device",
    "parameter_server", "tpu")
CLASSIC = '''
include 'linear_regression.gin'
include 'strategies/{}.gin'
TPUEstimator.model_fn = @linear_regression
'''
DYNAMIC = '''
from __gin__ import dynamic_registration
from genever import estimators
from genever import launch

include 'linear_regression.gin'
launch.train_and_evaluate.model_fn = @estimators.linear_regression
include 'strategies/{}.gin'
estimators.TPUEstimator.model_fn = @estimators.linear_regression
'''
for text in (CLASSIC, DYNAMIC):
    for fragment in FRAGMENTS:
        gin.clear_config()
        source = text.format(fragment)
        if fragment != "tpu":
            source = "\\n".join(line for line in source.splitlines() if "TPU" not in line)
        with open("run.gin", "w") as file:
            file.write(source)
        config = load(["run.gin"], [], "model")
        values = dict(resolved())
        print(values.get("RunConfig.train_distribute", values.get("train_and_evaluate.estimator")),
              *config.warnings)
"""

TRAIN = """
from genever import train_and_evaluate
from genever.launch.config import load

with open("run.gin", "w") as file:
    file.write("include 'linear_regression.gin'\\ninclude 'strategies/FRAGMENT.gin'\\n")
config = load(["run.gin"], [
    "TrainSpec.max_steps = 200", "CentralStorageStrategy.logical_cpus = 2"], "model")
train_and_evaluate()
import tensorflow as tf
print(tf.train.load_variable("model", "linear/weights").tolist())
print(*config.unused())
"""


def test_every_fragment_is_found_and_fits_both_ways_of_registration(run_program):
    names = [
        "@CentralStorageStrategy()",
        "@MirroredStrategy()",
        "@MirroredStrategy()",
        "@MultiWorkerMirroredStrategy()",
        "@OneDeviceStrategy()",
        "@ParameterServerStrategy()",
        "@TPUEstimator()",
    ]
    assert run_program(LOAD).splitlines()[-14:] == [*names, *names]


@pytest.mark.parametrize(
    "fragment",
    ["central_storage", "mirrored_logical_cpus", "multi_worker_mirrored", "parameter_server"],
)
def test_a_run_trains_with_the_fragment(run_program, fragment):
    source = TRAIN.replace("FRAGMENT", fragment)
    if fragment != "central_storage":
        source = source.replace(', "CentralStorageStrategy.logical_cpus = 2"', "")
    weights, unused = run_program(source).split("\n")[-3:-1]
    assert eval(weights) == pytest.approx([1, 2], abs=1e-2)
    assert unused == ""
