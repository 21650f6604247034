import inspect

import gin
import pytest
from genever.estimators import ConfigProto, GPUOptions, RunConfig

pytestmark = pytest.mark.core


def test_checkpoints_go_by_steps_unless_seconds_are_asked_for():
    config = RunConfig()
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (1000, None)
    config = RunConfig(save_checkpoints_secs=30)
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs) == (None, 30)


def test_both_cadences_are_refused():
    with pytest.raises(ValueError, match="save_checkpoints_steps = 5 and .*secs = 6 exclude"):
        RunConfig(save_checkpoints_steps=5, save_checkpoints_secs=6)


def test_arguments_are_those_of_tensorflow_in_the_same_order():
    import tensorflow as tf

    ours = list(inspect.signature(RunConfig).parameters)
    theirs = list(inspect.signature(tf.estimator.RunConfig.__init__).parameters)[1:]
    assert ours == theirs


def test_gin_values_reach_the_config():
    gin.parse_config("""
        RunConfig.tf_random_seed = 7
        RunConfig.keep_checkpoint_max = 2
        RunConfig.session_config = @ConfigProto()
        ConfigProto.intra_op_parallelism_threads = 1
        ConfigProto.device_count = {'CPU': 3}
        ConfigProto.gpu_options = @GPUOptions()
        GPUOptions.allow_growth = True
    """)
    config = RunConfig()
    assert config.tf_random_seed == 7
    assert config.keep_checkpoint_max == 2
    assert config.session_config.intra_op_parallelism_threads == 1
    assert config.session_config.device_count["CPU"] == 3
    assert config.session_config.allow_soft_placement
    assert config.session_config.gpu_options.allow_growth


def test_a_session_config_without_strategy_is_left_as_it_is():
    proto = ConfigProto(log_device_placement=True, gpu_options=GPUOptions())
    assert RunConfig(session_config=proto).session_config == proto


def test_a_strategy_without_parentheses_is_named():
    gin.parse_config("RunConfig.train_distribute = @MirroredStrategy")
    with pytest.raises(ValueError, match="add parentheses: .*train_distribute = @MirroredStrategy"):
        RunConfig()
    gin.clear_config()
    with pytest.raises(ValueError, match="eval_distribute = 'mirrored' is not a strategy"):
        RunConfig(eval_distribute="mirrored")


def test_the_session_sees_the_logical_cpus_of_its_strategies(run_program):
    printed = run_program("""
from genever.estimators import ConfigProto, Estimator, MirroredStrategy, RunConfig
import tensorflow as tf

strategy = MirroredStrategy(logical_cpus=3)
alone = RunConfig(train_distribute=strategy).session_config
print(alone.device_count["CPU"], alone.allow_soft_placement)
merged = RunConfig(
    eval_distribute=strategy,
    session_config=tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2),
).session_config
print(merged.device_count["CPU"], merged.allow_soft_placement, merged.inter_op_parallelism_threads)
more = RunConfig(train_distribute=strategy, session_config=ConfigProto(device_count={"CPU": 4}))
print(more.session_config.device_count["CPU"])
plain = tf.estimator.RunConfig(train_distribute=strategy)
fixed = Estimator(lambda features, mode: None, config=plain).config.session_config
print(fixed.device_count["CPU"])
try:
    RunConfig(train_distribute=strategy, session_config=ConfigProto(device_count={"CPU": 2}))
except ValueError as error:
    print(error)
""").splitlines()
    assert printed[:4] == ["3 True", "3 True 2", "4", "3"]
    assert printed[4].startswith(
        "RunConfig.session_config: device_count has 2 CPU device(s), but the strategy uses 3"
    )
