import functools

import numpy as np
import pytest
from genever.estimators import (
    ConfigProto,
    Estimator,
    HierarchicalCopyAllReduce,
    ReductionToOneDevice,
    RunConfig,
    portable_scaffold,
    shard_devices_hook,
    sharded_dense,
    sharded_embedding,
)

pytestmark = pytest.mark.core

# Five columns and seven rows: no number of shards divides them.
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 5)).astype("float32")
IDS = RANDOM.integers(0, 7, size=(400, 3))
KERNEL = RANDOM.normal(size=(5, 2)).astype("float32")
TABLE = RANDOM.normal(size=(7, 2)).astype("float32")
Y = (X @ KERNEL[::-1] + TABLE[IDS].sum(axis=1) + 1).astype("float32")
BATCH = 40


def read(input_context=None, repeat=True):
    import tensorflow as tf

    replicas = input_context.num_replicas_in_sync if input_context else 1
    data = tf.data.Dataset.from_tensor_slices(({"x": X, "ids": IDS}, Y))
    return (data.repeat() if repeat else data).batch(BATCH // replicas)


def read_once():
    return read(repeat=False)


def layers(features, arguments):
    """A dense layer and an embedding; in one piece where `arguments` is None."""
    import tensorflow as tf

    if arguments is None:
        with tf.compat.v1.variable_scope("dense"):
            kernel = tf.compat.v1.get_variable("kernel", initializer=KERNEL)
            bias = tf.compat.v1.get_variable("bias", initializer=np.zeros(2, "float32"))
        with tf.compat.v1.variable_scope("embedding"):
            table = tf.compat.v1.get_variable("embeddings", initializer=TABLE)
        return tf.matmul(features["x"], kernel) + bias, tf.gather(table, features["ids"])
    dense = sharded_dense(features["x"], 2, **arguments, kernel_initializer=KERNEL)
    return dense, sharded_embedding(features["ids"], 7, 2, **arguments, initializer=TABLE)


def model(optimizer, arguments):
    def model_fn(features, labels, mode):
        import tensorflow as tf

        dense, embedded = layers(features, arguments)
        outputs = dense + tf.reduce_sum(embedded, axis=1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(
                mode, predictions={"y": outputs}, scaffold=portable_scaffold()
            )
        loss = tf.reduce_mean(tf.math.squared_difference(outputs, labels))
        v1 = tf.compat.v1.train
        made = {
            "sgd": lambda: v1.GradientDescentOptimizer(0.1),
            "momentum": lambda: v1.MomentumOptimizer(0.05, 0.9),
            "adam": lambda: v1.AdamOptimizer(0.02),
        }[optimizer]()
        train_op = made.minimize(loss, global_step=v1.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, training_hooks=[shard_devices_hook()]
        )

    return model_fn


def estimator(model_dir, optimizer, arguments, cpus=4, strategy=None, warm_start_from=None):
    config = RunConfig(
        model_dir=str(model_dir),
        tf_random_seed=1,
        session_config=ConfigProto(device_count={"CPU": cpus}),
        train_distribute=strategy,
    )
    made = model(optimizer, arguments)
    return Estimator(made, config=config, warm_start_from=warm_start_from)


def saved(model_dir):
    """All variables of the latest checkpoint."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(model_dir))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def check_same(variables, others):
    assert variables.keys() == others.keys()
    for name, value in variables.items():
        assert value == pytest.approx(others[name], abs=1e-6), name


@functools.cache
def in_one_piece(folder, optimizer):
    estimator(folder / optimizer, optimizer, None).train(read, max_steps=200)
    return saved(folder / optimizer)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("in_one_piece")


def index_of(device):
    import tensorflow as tf

    return tf.DeviceSpec.from_string(device).device_index or 0


class Placement:
    """Device by device, the operations that one training step really ran there."""

    def __init__(self):
        self.ran = {}
        self.variables = {}
        self.sparse_gradients = {}

    def hook(self):
        import tensorflow as tf

        placement, v1 = self, tf.compat.v1

        class Hook(tf.estimator.SessionRunHook):
            def before_run(self, run_context):
                options = v1.RunOptions(
                    trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True
                )
                return tf.estimator.SessionRunArgs(None, options=options)

            def after_run(self, run_context, run_values):
                for part in run_values.run_metadata.partition_graphs:
                    for node in part.node:
                        ran = placement.ran.setdefault(index_of(node.device), set())
                        ran.add((node.op, node.name))

            def end(self, session):
                for op in session.graph.get_operations():
                    if op.type == "VarHandleOp":
                        placement.variables[op.name] = index_of(op.device)
                    scope, gradient, _ = op.name.partition("_grad/")
                    if gradient and "ResourceGather" in scope:
                        devices = placement.sparse_gradients.setdefault(scope, set())
                        devices.add(index_of(op.device))

        return Hook()

    def of(self, device, *kinds):
        return sorted(name for op, name in self.ran[device] if any(kind in op for kind in kinds))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer", "arguments"),
    [
        ("sgd", {"num_shards": 4}),
        ("momentum", {"num_shards": 2}),
        ("momentum", {"devices": ["/cpu:2", "/cpu:0", "/cpu:3"]}),
        ("adam", {"num_shards": 3}),
        ("adam", {"num_shards": 1}),
    ],
)
def test_the_weights_are_those_of_one_piece(tmp_path, folder, optimizer, arguments):
    estimator(tmp_path, optimizer, arguments).train(read, max_steps=200)
    check_same(saved(tmp_path), in_one_piece(folder, optimizer))


@pytest.mark.slow
def test_the_number_of_shards_may_change_from_run_to_run(tmp_path, folder):
    for steps, arguments in (
        (50, {"num_shards": 2}),
        (100, None),
        (150, {"num_shards": 3}),
        (200, {"num_shards": 1}),
    ):
        estimator(tmp_path, "adam", arguments).train(read, max_steps=steps)
    check_same(saved(tmp_path), in_one_piece(folder, "adam"))


def test_a_shard_its_gradient_and_its_update_are_on_its_device(tmp_path):
    placement = Placement()
    estimator(tmp_path, "momentum", {"num_shards": 2}).train(
        read, max_steps=3, hooks=[placement.hook()]
    )
    for shard in (0, 1):
        for name in (f"dense/kernel/part_{shard}", f"embedding/embeddings/part_{shard}"):
            assert placement.variables[name] == shard
            assert placement.variables[f"{name}/Momentum"] == shard
        updates = placement.of(shard, "ResourceApply", "ResourceSparseApply")
        updates = [name for name in updates if "part_" in name]
        assert len(updates) == 2
        assert all(f"/part_{shard}/Resource" in name for name in updates)
        assert len(placement.of(shard, "ResourceGather")) == 1
        # One product forwards and one, with the columns of the shard, backwards.
        assert len(placement.of(shard, "MatMul")) == 2
    assert set(placement.ran) == {0, 1}
    assert sorted(placement.sparse_gradients.values(), key=min) == [{0}, {1}]


def test_one_cpu_evaluates_predicts_and_serves_what_two_devices_trained(tmp_path):
    import tensorflow as tf

    trained = estimator(tmp_path / "model", "sgd", {"num_shards": 2})
    trained.train(read, max_steps=20)
    one = estimator(tmp_path / "model", "sgd", {"num_shards": 2}, cpus=1)
    assert one.evaluate(read_once) == pytest.approx(trained.evaluate(read_once))
    values = saved(tmp_path / "model")
    expected = X @ values["dense/kernel"] + values["dense/bias"]
    expected += values["embedding/embeddings"][IDS].sum(axis=1)
    predicted = [row["y"] for row in one.predict(read_once)]
    assert np.array(predicted) == pytest.approx(expected, abs=1e-5)

    def receiver():
        features = {
            "x": tf.compat.v1.placeholder(tf.float32, [None, 5]),
            "ids": tf.compat.v1.placeholder(tf.int64, [None, 3]),
        }
        return tf.estimator.export.ServingInputReceiver(features, features)

    export = trained.export_saved_model(str(tmp_path / "export"), receiver)
    graph, strict = tf.Graph(), tf.compat.v1.ConfigProto(allow_soft_placement=False)
    with graph.as_default(), tf.compat.v1.Session(config=strict) as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], export)
        assert {node.device for node in loaded.graph_def.node} == {""}
        signature = loaded.signature_def["serving_default"]
        inputs = {signature.inputs["x"].name: X, signature.inputs["ids"].name: IDS}
        served = session.run(signature.outputs["y"].name, inputs)
    assert served == pytest.approx(expected, abs=1e-5)


def test_a_missing_device_is_named_before_the_first_step(tmp_path):
    lacking = estimator(tmp_path, "sgd", {"num_shards": 3}, cpus=2)
    message = r"shard of the model should be on the device /device:CPU:2, but .*CPU:0, .*CPU:1; use"
    with pytest.raises(ValueError, match=message):
        lacking.train(read, max_steps=1)
    assert lacking.get_variable_value("global_step") == 0


def test_inputs_of_any_rank_and_initial_values_of_the_whole():
    import tensorflow as tf

    config = ConfigProto(device_count={"CPU": 5})
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        inputs = tf.reshape(tf.constant(X[:12]), [3, 4, 5])
        made = sharded_dense(
            inputs, 2, 2, activation=tf.nn.relu, kernel_initializer=KERNEL, use_bias=False
        )
        assert made.shape.as_list() == [3, 4, 2]
        rows = sharded_embedding(IDS[0], 7, 2, 3)
        wide = sharded_dense(inputs, 500, 5, name="wide")
        session.run(tf.compat.v1.global_variables_initializer())
        relu = np.maximum(X[:12] @ KERNEL, 0).reshape(3, 4, 2)
        assert session.run(made) == pytest.approx(relu, abs=1e-5)
        assert session.run(rows).shape == (3, 2)
        # Glorot's limit for 5 inputs and 500 outputs, not for the one input of a shard.
        parts = [v for v in tf.compat.v1.trainable_variables() if v.name.startswith("wide/kernel")]
        largest = max(np.abs(session.run(part)).max() for part in parts)
        assert largest == pytest.approx((6 / 505) ** 0.5, rel=0.01)
        assert session.run(wide).shape == (3, 4, 500)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"sharded_dense: give either num_shards, such as 2, or devices.* not none"),
        ({"num_shards": 1, "devices": ["/cpu:0"]}, "sharded_dense: give either .* not both"),
        ({"num_shards": 0}, "sharded_dense.num_shards = 0 must be at least 1"),
        ({"num_shards": 6}, r"sharded_dense: 6 shards of 5 row\(s\); use at most 5"),
        ({"devices": "/cpu:0"}, "sharded_dense.devices = '/cpu:0' must be a list"),
        ({"devices": ["first"]}, "sharded_dense.devices: 'first' is not a device name"),
    ],
)
def test_mistakes(arguments, message):
    import tensorflow as tf

    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        sharded_dense(tf.zeros([3, 5]), 2, **arguments)


def test_the_number_of_columns_must_be_known():
    import tensorflow as tf

    with tf.Graph().as_default(), pytest.raises(ValueError, match="d must be known"):
        sharded_dense(tf.compat.v1.placeholder(tf.float32, [3, None]), 2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["mirrored", "others"])
def test_replicas_of_a_sharded_model(run_program, part):
    run_program(f"import runpy; runpy.run_path({__file__!r})['check_{part}']()", timeout=300)


def split_cpu_in_four():
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)


def check_mirrored():
    """Two replicas of two shards on four devices, with each way of all-reduce."""
    import pathlib

    import tensorflow as tf

    split_cpu_in_four()
    here = pathlib.Path.cwd()
    for name, reduction in (
        ("default", None),
        ("one", ReductionToOneDevice()),
        ("hierarchical", HierarchicalCopyAllReduce()),
    ):
        placement = Placement()
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:2"], reduction)
        made = estimator(here / name, "adam", {"num_shards": 2}, strategy=strategy)
        made.train(read, max_steps=10, hooks=[placement.hook()])
        # All copies are restored, or the replicas would now differ.
        made.train(read, max_steps=200)
        check_same(saved(here / name), in_one_piece(here, "adam"))
        check_placement(placement)

    start = str(here / "adam")
    mirrored = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:2"])
    for name, arguments, strategy in (
        ("alone", None, None),
        ("both", {"num_shards": 2}, mirrored),
    ):
        made = estimator(here / name, "sgd", arguments, strategy=strategy, warm_start_from=start)
        made.train(read, max_steps=10)
    check_same(saved(here / "both"), saved(here / "alone"))

    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    for arguments, message in (
        ({"num_shards": 2}, r"two replicas would share .*CPU:1, .*\['/cpu:0', '/cpu:2'\]"),
        ({"devices": ["/cpu:0", "/cpu:1"]}, "shared by 2 replicas; write .*num_shards = 2"),
    ):
        # Not a ValueError any more, once gin and AutoGraph have each added to its message.
        with pytest.raises(Exception, match=message):
            estimator(here / "bad", "sgd", arguments, strategy=strategy).train(read, max_steps=1)


def check_placement(placement):
    for replica, shard, device in ((0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 3)):
        copy = f"/replica_{replica}" if replica else ""
        for name in (f"dense/kernel/part_{shard}", f"embedding/embeddings/part_{shard}"):
            for slot in ("", "/Adam", "/Adam_1"):
                assert placement.variables[f"{name}{slot}{copy}"] == device
        updates = [
            name
            for name in placement.of(device, "ResourceApply", "ResourceScatter")
            if "part_" in name
        ]
        assert len(updates) == 3, updates
        assert all(f"part_{shard}{copy}/Resource" in name for name in updates), updates
        assert len(placement.of(device, "MatMul")) == 2
        assert len(placement.of(device, "ResourceGather")) == 1
    assert sorted(placement.sparse_gradients.values(), key=min) == [{0}, {1}, {2}, {3}]


def check_others():
    """Strategies whose replicas, if there are several, share the shards."""
    import pathlib

    import tensorflow as tf

    split_cpu_in_four()
    here = pathlib.Path.cwd()
    distribute = tf.distribute
    for name, strategy in (
        ("one", distribute.OneDeviceStrategy("/cpu:1")),
        ("central", distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:2"], "/cpu:0")),
        ("ps", tf.compat.v1.distribute.experimental.ParameterServerStrategy()),
        ("workers", distribute.MultiWorkerMirroredStrategy()),
    ):
        placement = Placement()
        made = estimator(here / name, "adam", {"num_shards": 2}, strategy=strategy)
        made.train(read, max_steps=200, hooks=[placement.hook()])
        check_same(saved(here / name), in_one_piece(here, "adam"))
        first = 1 if name == "one" else 0
        for shard in (0, 1):
            assert placement.variables[f"dense/kernel/part_{shard}"] == first + shard
            assert placement.variables[f"embedding/embeddings/part_{shard}/Adam"] == first + shard
