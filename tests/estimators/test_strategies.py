import gin
import pytest
from genever import estimators
from genever.estimators import (
    CentralStorageStrategy,
    MirroredStrategy,
    OneDeviceStrategy,
    ParameterServerStrategy,
    RunConfig,
    TPUStrategy,
)

pytestmark = pytest.mark.core


def test_one_object_per_gin_name():
    gin.parse_config("""
        RunConfig.train_distribute = @a/MirroredStrategy()
        RunConfig.eval_distribute = @a/MirroredStrategy()
        a/MirroredStrategy.devices = ['/cpu:0']
        a/MirroredStrategy.cross_device_ops = @ReductionToOneDevice()
    """)
    first, second = RunConfig(), RunConfig()
    assert first.train_distribute is first.eval_distribute
    assert first.train_distribute is second.train_distribute
    with gin.config_scope("b"):
        assert MirroredStrategy() is not first.train_distribute
    gin.clear_config()
    assert MirroredStrategy(devices=["/cpu:0"]) is not first.train_distribute


def test_other_arguments_make_another_object():
    assert MirroredStrategy(devices=["/cpu:0"]) is MirroredStrategy(devices=["/cpu:0"])
    assert MirroredStrategy(devices=["/cpu:0"]) is not MirroredStrategy()


def test_they_are_the_strategies_of_tensorflow():
    import tensorflow as tf

    distribute = tf.distribute
    assert isinstance(OneDeviceStrategy("/cpu:0"), distribute.OneDeviceStrategy)
    assert isinstance(MirroredStrategy(), distribute.MirroredStrategy)
    assert isinstance(CentralStorageStrategy(), distribute.experimental.CentralStorageStrategy)
    assert isinstance(
        ParameterServerStrategy(),
        tf.compat.v1.distribute.experimental.ParameterServerStrategy,
    )


def test_multi_worker_alone_is_one_replica(run_program):
    assert run_program("""
import gin
from genever.estimators import CommunicationOptions, MultiWorkerMirroredStrategy
gin.parse_config("MultiWorkerMirroredStrategy.communication_options = @CommunicationOptions()")
gin.parse_config("CommunicationOptions.implementation = 'RING'")
import tensorflow as tf
strategy = MultiWorkerMirroredStrategy()
print(isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy))
print(strategy is MultiWorkerMirroredStrategy(), strategy.num_replicas_in_sync)
""").splitlines() == ["True", "True 1"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: OneDeviceStrategy("/gpu:9"),
            r"OneDeviceStrategy.device: there is no device '/gpu:9'; this machine has /cpu:0",
        ),
        (
            lambda: MirroredStrategy(devices=["/cpu:0", "/cpu:7"]),
            "MirroredStrategy.devices: there is no device '/cpu:7'; this machine has /cpu:0",
        ),
        (
            lambda: MirroredStrategy(devices=["first"]),
            "MirroredStrategy.devices: 'first' is not a device name",
        ),
        (lambda: MirroredStrategy(devices=[]), "MirroredStrategy.devices is empty"),
        (
            lambda: MirroredStrategy(devices=["/cpu:0"], logical_cpus=2),
            "devices and logical_cpus exclude each other",
        ),
        (lambda: MirroredStrategy(logical_cpus=0), "logical_cpus = 0 must be a positive number"),
        (
            lambda: MirroredStrategy(cross_device_ops=estimators.NcclAllReduce()),
            "NcclAllReduce cannot run on .*CPU:0",
        ),
        (
            lambda: CentralStorageStrategy(parameter_device="/gpu:5"),
            "CentralStorageStrategy.parameter_device: there is no device '/gpu:5'",
        ),
        (
            lambda: CentralStorageStrategy(compute_devices=["/cpu:0"], logical_cpus=2),
            "CentralStorageStrategy: compute_devices and logical_cpus exclude each other",
        ),
        (
            lambda: CentralStorageStrategy(compute_devices=[]),
            "CentralStorageStrategy.compute_devices is empty",
        ),
        (
            lambda: MirroredStrategy(devices=["/gpu:0", "/gpu:1"]),
            "MirroredStrategy.devices: there is no device '/gpu:0'; this machine has /cpu:0",
        ),
        (
            lambda: estimators.CommunicationOptions(implementation="NCCL"),
            "implementation = 'NCCL' needs GPUs, and this machine has none; write 'RING'",
        ),
        (
            lambda: estimators.CommunicationOptions(bytes_per_pack=-1),
            "CommunicationOptions.bytes_per_pack = -1 must be a whole number; give 0 or more",
        ),
        (
            lambda: estimators.HierarchicalCopyAllReduce(num_packs=1.5),
            "HierarchicalCopyAllReduce.num_packs = 1.5 must be a whole number; give 0 or more",
        ),
        (TPUStrategy, "TPUStrategy: this machine has no TPU"),
        (
            lambda: estimators.CommunicationOptions(implementation="ring"),
            "CommunicationOptions.implementation = 'ring' must be one of AUTO, NCCL, RING",
        ),
    ],
)
def test_what_this_machine_does_not_have(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_tpu_that_does_not_answer():
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
    with pytest.raises(ValueError, match="TPUStrategy: no TPU answers at ''; check"):
        TPUStrategy(resolver)


def test_the_cpu_cannot_be_split_after_tensorflow_has_started():
    import tensorflow as tf

    tf.config.list_logical_devices()
    with pytest.raises(ValueError, match="logical_cpus = 2: TensorFlow has already started with 1"):
        MirroredStrategy(logical_cpus=2)


_LINEAR = """
import gin
import numpy as np
import genever
from genever.launch.config import register
register()
gin.parse_config('''
RunConfig.model_dir = "model"
RunConfig.tf_random_seed = 1
%s
Estimator.model_fn = @linear_regression
create_train_op.clip_gradient_norm = %s
''')
from genever.estimators import Estimator
import tensorflow as tf

x = np.random.default_rng(0).normal(size=(400, 2)).astype("float32")
y = x @ np.array([1, 2], "float32") + 3

def input_fn(mode, input_context=None):
    parts = input_context.num_replicas_in_sync if input_context else 1
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    if mode == tf.estimator.ModeKeys.TRAIN:
        data = data.repeat()
    return data.batch(40 // parts, drop_remainder=True)

estimator = Estimator()
estimator.train(input_fn, max_steps=%d)
print(estimator.get_variable_value("linear/weights").tolist())
print(float(estimator.get_variable_value("linear/bias")))
print(float(estimator.evaluate(input_fn)["average_loss"]))
"""

_MIRRORED = """
RunConfig.train_distribute = @MirroredStrategy()
RunConfig.eval_distribute = @MirroredStrategy()
MirroredStrategy.logical_cpus = 2
MirroredStrategy.cross_device_ops = @HierarchicalCopyAllReduce()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [
        _MIRRORED,
        "RunConfig.train_distribute = @CentralStorageStrategy()",
        """
RunConfig.train_distribute = @CentralStorageStrategy()
CentralStorageStrategy.logical_cpus = 2
""",
    ],
    ids=["mirrored", "central_storage", "central_storage_of_two"],
)
def test_training_finds_w_and_b(run_program, strategy):
    weights, bias, loss = run_program(_LINEAR % (strategy, None, 300)).splitlines()[-3:]
    assert eval(weights) == pytest.approx([1, 2], abs=1e-3)
    assert float(bias) == pytest.approx(3, abs=1e-3)
    assert float(loss) < 1e-6


@pytest.mark.slow
def test_clipping_is_that_of_the_whole_batch_on_every_number_of_replicas(run_program):
    one = run_program(_LINEAR % ("", 0.5, 5)).splitlines()[-3:]
    two = run_program(_LINEAR % (_MIRRORED + "RunConfig.model_dir = 'two'", 0.5, 5))
    two = two.splitlines()[-3:]
    assert eval(two[0]) == pytest.approx(eval(one[0]), abs=1e-6)
    # Five clipped steps of length 0.1 · 0.5 each, nearly in one direction.
    moved = sum(w**2 for w in [*eval(one[0]), float(one[1])]) ** 0.5
    assert moved == pytest.approx(0.25, abs=5e-3)
