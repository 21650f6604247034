import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]


def test_the_gin_scope_reaches_model_fn_in_replica_threads(run_program):
    printed = run_program("""
import threading
import gin
from genever.estimators import Estimator, MirroredStrategy, RunConfig
import tensorflow as tf

seen = []

@gin.configurable
def rate(value=0.0):
    return value

def model_fn(features, labels, mode):
    seen.append((gin.current_scope_str(), rate(), threading.current_thread().name))
    w = tf.compat.v1.get_variable("w", [])
    loss = tf.square(w - labels)[0]
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(rate())
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

def input_fn():
    return tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat()

gin.parse_config("rate.value = 0.1\\nouter/rate.value = 0.2\\nouter/inner/rate.value = 0.3")
config = RunConfig(train_distribute=MirroredStrategy(logical_cpus=2), model_dir="model")
with gin.config_scope("outer"), gin.config_scope("inner"):
    Estimator(model_fn, config=config).train(input_fn, steps=1)
print([s[:2] for s in seen], len({s[2] for s in seen}) == 2, "MainThread" in {s[2] for s in seen})
print(repr(gin.current_scope_str()))
""").splitlines()
    assert printed[-2] == "[('outer/inner', 0.3), ('outer/inner', 0.3)] True False"
    assert printed[-1] == "''"
