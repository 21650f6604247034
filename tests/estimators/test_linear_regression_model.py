import gin
import numpy as np
import pytest
from genever.estimators import Estimator, RunConfig, linear_regression

pytestmark = pytest.mark.core


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(500, 2)).astype("float32")
    return x, x @ np.array([1.0, 2.0], "float32") + 3


def input_fn(x, y, epochs=1):
    def read():
        import tensorflow as tf

        return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat(epochs).batch(50)

    return read


def test_it_recovers_weights_and_bias(data, tmp_path):
    gin.parse_config("""
        linear_regression.optimizer = @AdamOptimizer
        linear_regression.metrics = ['mean_absolute_error', 'label_mean']
        AdamOptimizer.learning_rate = @polynomial_decay()
        polynomial_decay.learning_rate = 0.3
        polynomial_decay.decay_steps = 300
    """)
    estimator = Estimator(linear_regression, config=RunConfig(model_dir=str(tmp_path)))
    x, y = data
    estimator.train(input_fn(x, y, None), max_steps=300)
    assert estimator.get_variable_value("linear/weights") == pytest.approx([1, 2], abs=1e-3)
    assert estimator.get_variable_value("linear/bias") == pytest.approx(3, abs=1e-3)
    metrics = estimator.evaluate(input_fn(x, y[:, None]))
    assert set(metrics) == {"mean_absolute_error", "label_mean", "loss", "global_step"}
    assert metrics["mean_absolute_error"] < 1e-3
    assert metrics["label_mean"] == pytest.approx(y.mean(), rel=1e-5)
    predicted = [row["predictions"] for row in estimator.predict(input_fn(x, y))]
    assert predicted == pytest.approx(y, abs=5e-3)


def test_the_feature_must_be_a_matrix_named_x():
    import tensorflow as tf

    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"needs a feature 'x' of shape \[batch, d\], not z"):
            linear_regression({"z": tf.zeros([3, 2])}, None, "infer")
        with pytest.raises(ValueError, match=r"feature 'x' has shape \(3,\)"):
            linear_regression({"x": tf.zeros([3])}, None, "infer")


@pytest.mark.parametrize("mode", ["train", "eval", "infer"])
@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["average_los"], "linear_regression.metrics: there is no metric 'average_los'; did you"),
        ("label_mean", r"linear_regression.metrics = 'label_mean' must be a list of names; write"),
        (["auc"], "there is no metric 'auc'; choose from average_loss, mean_squared_error"),
    ],
)
def test_mistakes(mode, metrics, message):
    import tensorflow as tf

    with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
        linear_regression({"x": tf.zeros([3, 2])}, tf.zeros([3]), mode, metrics=metrics)


def test_the_shipped_config_gives_the_same_on_two_devices(run_program):
    printed = run_program("""
from genever.launch.config import load
from genever import train_and_evaluate
import tensorflow as tf

strategy = ["RunConfig.train_distribute = @MirroredStrategy()", "MirroredStrategy.logical_cpus = 2"]
load(["linear_regression.gin"], strategy, "model")
metrics, _ = train_and_evaluate()
reader = tf.train.load_checkpoint("model")
print(reader.get_tensor("linear/weights").tolist())
print(float(reader.get_tensor("linear/bias")))
print(float(metrics["average_loss"]))
""").splitlines()
    assert eval(printed[-3]) == pytest.approx([1, 2], abs=1e-3)
    assert float(printed[-2]) == pytest.approx(3, abs=1e-3)
    assert float(printed[-1]) < 1e-6
