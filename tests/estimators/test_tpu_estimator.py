"""TPUEstimator without a TPU: its conventions, and the same numbers as an Estimator."""

import importlib.metadata

import gin
import numpy as np
import pytest
from genever import estimators
from genever.estimators import Estimator, RunConfig, TPUConfig, TPUEstimator, TPURunConfig

pytestmark = pytest.mark.core

TF_2_15 = importlib.metadata.version("tensorflow").startswith("2.15.")
X = np.random.RandomState(0).uniform(-1, 1, (200, 2)).astype(np.float32)
Y = X @ np.array([1, 2], np.float32) + 3


def input_fn(batch_size=20):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(batch_size)


def tpu_linear(features, labels, mode, params, calls=None):
    """A model_fn by the book, with everything a TPUEstimatorSpec may have."""
    import tensorflow as tf

    v1 = tf.compat.v1
    weights = v1.get_variable("weights", [2], initializer=v1.zeros_initializer())
    bias = v1.get_variable("bias", [], initializer=v1.zeros_initializer())
    predicted = tf.linalg.matvec(features["x"], weights) + bias
    spec = v1.estimator.tpu.TPUEstimatorSpec
    if mode == tf.estimator.ModeKeys.PREDICT:
        return spec(mode, predictions={"y": predicted})
    loss = tf.reduce_mean(tf.math.squared_difference(predicted, labels))
    calls.append((mode, params["batch_size"], params["use_tpu"]))
    if mode == tf.estimator.ModeKeys.EVAL:

        def metric_fn(labels, predicted):
            return {"mse": v1.metrics.mean_squared_error(labels, predicted)}

        return spec(mode, loss=loss, eval_metrics=(metric_fn, [labels, predicted]))
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    if params["use_tpu"]:
        optimizer = v1.tpu.CrossShardOptimizer(optimizer)

    def host_call(losses):
        calls.append("host_call")
        return tf.reduce_mean(losses)

    return spec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, v1.train.get_global_step()),
        host_call=(host_call, [tf.reshape(loss, [1])]),
    )


def test_the_conventions_of_a_tpu_estimator(tmp_path):
    gin.parse_config(f"""
        TPUEstimator.use_tpu = False
        TPUEstimator.train_batch_size = 20
        TPUEstimator.eval_batch_size = 50
        TPUEstimator.predict_batch_size = 10
        RunConfig.model_dir = {str(tmp_path)!r}
        RunConfig.tf_random_seed = 7
        TPUConfig.iterations_per_loop = 5
    """)
    import tensorflow as tf

    calls, batches = [], []

    def model_fn(features, labels, mode, params):
        return tpu_linear(features, labels, mode, params, calls)

    def batched_input_fn(params):
        batches.append(params["batch_size"])
        return input_fn(params["batch_size"])

    estimator = TPUEstimator(model_fn)
    assert isinstance(estimator, tf.compat.v1.estimator.tpu.TPUEstimator)
    assert estimator.config.tf_random_seed == 7
    assert estimator.config.tpu_config.iterations_per_loop == 5
    estimator.train(batched_input_fn, max_steps=200)
    metrics = estimator.evaluate(batched_input_fn, steps=4)
    assert estimator.get_variable_value("weights") == pytest.approx([1, 2], abs=1e-3)
    assert metrics["mse"] < 1e-5
    prediction = next(estimator.predict(batched_input_fn))
    assert prediction["y"] == pytest.approx(Y[0], abs=1e-2)
    assert batches == [20, 50, 10]
    assert calls == [("train", 20, False), "host_call", ("eval", 50, False)]


def test_functions_that_know_no_tpu_give_the_numbers_of_an_estimator(tmp_path):
    from genever.estimators import linear_regression

    plain = Estimator(linear_regression, config=RunConfig(str(tmp_path / "plain")))
    plain.train(input_fn, max_steps=50)
    config = TPURunConfig(run_config=RunConfig(str(tmp_path / "tpu")))
    tpu = TPUEstimator(linear_regression, config=config, use_tpu=False, train_batch_size=20)
    # Batches of 8 are cut anew to 20.
    tpu.train(lambda: input_fn(8), max_steps=50)
    for name in ("linear/weights", "linear/bias"):
        assert (plain.get_variable_value(name) == tpu.get_variable_value(name)).all()

    def finite():
        import tensorflow as tf

        return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(30)

    assert tpu.evaluate(finite) == pytest.approx(plain.evaluate(finite))


@pytest.mark.slow
def test_one_gin_file_for_both(run_program):
    printed = run_program("""
import gin
from genever import train_and_evaluate
from genever.launch.config import load

with open("tpu_run.gin", "w") as file:
    file.write('''
include 'linear_regression.gin'
include 'strategies/tpu.gin'
TPUEstimator.model_fn = @linear_regression
TPUEstimator.use_tpu = False
TPUEstimator.train_batch_size = 20
TPUEstimator.eval_batch_size = 20
''')
for name, path in (("tpu", "tpu_run.gin"), ("plain", "linear_regression.gin")):
    gin.clear_config()
    load([path], ["TrainSpec.max_steps = 300"], name)
    print(train_and_evaluate()[0])
import tensorflow as tf
for variable in ("linear/weights", "linear/bias"):
    print(*(tf.train.load_variable(name, variable).tolist() for name in ("plain", "tpu")))
""").splitlines()
    tpu, plain, weights, bias = (line.replace("np.float32", "") for line in printed[-4:])
    assert plain == tpu
    one, other = eval(weights.replace("] [", "], ["))
    assert one == other == pytest.approx([1, 2], abs=1e-3)
    one, other = map(float, bias.split())
    assert one == other == pytest.approx(3, abs=1e-3)


def test_batches_are_cut_anew_and_nothing_is_lost():
    import tensorflow as tf
    from genever.estimators.tpu_adapter import batches_of

    def batches(size, whole, data):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            made = batches_of(data(), size, whole)
            element = tf.compat.v1.data.make_one_shot_iterator(made).get_next()
            found = []
            try:
                while True:
                    found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found

    def seven():
        return tf.data.Dataset.range(7).batch(2)

    assert [b.tolist() for b in batches(3, False, seven)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [b.tolist() for b in batches(3, True, seven)] == [[0, 1, 2], [3, 4, 5]]
    assert [b.tolist() for b in batches(None, False, seven)] == [[0, 1], [2, 3], [4, 5], [6]]

    def sparse():
        rows = tf.sparse.from_dense([[1, 0], [0, 2]])
        return tf.data.Dataset.from_tensors(rows)

    (one,) = batches(5, False, sparse)
    assert one.values.tolist() == [1, 2]


def test_each_host_reads_its_part():
    from genever.estimators.tpu_adapter import with_params

    class Host:
        def current_input_fn_deployment(self):
            return "/job:worker/task:1", 1, 4, 2

    seen = []

    def sharded(input_context):
        seen.append((input_context.input_pipeline_id, input_context.num_input_pipelines))
        seen.append(input_context.get_per_replica_batch_size(80))

    with_params(sharded)({"batch_size": 20, "context": Host()}, "train", None)
    assert seen == [(1, 4), 20]


def test_gradients_are_added_up_over_the_shards_of_a_tpu_only():
    import tensorflow as tf
    from genever.estimators import GradientDescentOptimizer, create_train_op
    from genever.estimators.tpu_shards import building_for_tpu

    def operations(on_tpu, **arguments):
        with tf.Graph().as_default() as graph, building_for_tpu(on_tpu):
            w = tf.compat.v1.get_variable("w", [])
            optimizer = GradientDescentOptimizer(learning_rate=0.1)
            create_train_op(w * 2, optimizer, **arguments)
            return [op.type for op in graph.get_operations()]

    assert operations(True).count("CrossReplicaSum") == 1
    assert "CrossReplicaSum" not in operations(False)
    for arguments in (
        {"accumulate_steps": 2},
        {"clip_gradient_norm": 1.0},
        {"gradient_dtype": "bfloat16"},
    ):
        (name,) = arguments
        with pytest.raises(ValueError, match=f"create_train_op.{name} does not work on a TPU"):
            operations(True, **arguments)


def test_a_plain_spec_becomes_one_of_a_tpu():
    import tensorflow as tf
    from genever.estimators.tpu_adapter import model_fn_for_tpu

    model_fn = model_fn_for_tpu(estimators.linear_regression)
    with tf.Graph().as_default():
        tf.compat.v1.train.get_or_create_global_step()
        features = {"x": tf.constant(X)}
        arguments = (features, tf.constant(Y))
        trained = model_fn(*arguments, "train", {"use_tpu": True}, None)
        assert type(trained).__name__ == "TPUEstimatorSpec"
        assert trained.train_op is not None
        with tf.compat.v1.variable_scope("", reuse=True):
            asked = model_fn(features, None, "infer", {"use_tpu": True}, None)
            assert list(asked.predictions) == ["predictions"]
            with pytest.raises(ValueError, match="TPUEstimator.eval_on_tpu = False"):
                model_fn(*arguments, "eval", {"use_tpu": True}, None)


def test_what_is_missing_for_a_tpu_is_said_at_once():
    message = ": this machine has no TPU; name one" if TF_2_15 else " needs TensorFlow 2.15, for"
    with pytest.raises(ValueError, match=f"TPUEstimator.use_tpu = True{message}"):
        TPUEstimator(tpu_linear, train_batch_size=8)


def test_mistakes():
    with pytest.raises(ValueError, match="TPUEstimator.model_fn = 3 is not a function; write `@"):
        TPUEstimator(3, train_batch_size=8)
    with pytest.raises(ValueError, match="config is a RunConfig without a TPUConfig; write @TPUR"):
        TPUEstimator(tpu_linear, config=RunConfig(), train_batch_size=8, use_tpu=False)
    with pytest.raises(ValueError, match="TPURunConfig: master and cluster exclude each other"):
        TPURunConfig(master="grpc://here", cluster=object())
    gin.parse_config("RunConfig.train_distribute = @MirroredStrategy()")
    with pytest.raises(ValueError, match="RunConfig.train_distribute: a TPUEstimator takes no str"):
        TPURunConfig()
    with pytest.raises(ValueError, match="TPUClusterResolver.tpu = '' names no TPU"):
        estimators.TPUClusterResolver("")
    assert TPUConfig(iterations_per_loop="30s").iterations_per_loop == "30s"
