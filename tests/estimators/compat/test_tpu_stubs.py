"""TPU names: the CPU path of TPUEstimator works, what needs a TPU says so in one sentence."""

import importlib.metadata

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.core

TF_2_15 = importlib.metadata.version("tensorflow").startswith("2.15.")


def test_tpu_estimator_without_tpu_trains_and_evaluates(tmp_path):
    tpu = tf.compat.v1.estimator.tpu

    def model_fn(features, labels, mode, params):
        v1 = tf.compat.v1
        w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(tf.square(features * w - labels))
        step = v1.train.GradientDescentOptimizer(0.1).minimize(
            loss, v1.train.get_or_create_global_step()
        )
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    def input_fn(params):
        x = np.linspace(-1, 1, 40, dtype=np.float32)
        return tf.data.Dataset.from_tensor_slices((x, 3 * x)).repeat().batch(params["batch_size"])

    estimator = tpu.TPUEstimator(
        model_fn=model_fn,
        config=tpu.RunConfig(model_dir=str(tmp_path)),
        use_tpu=False,
        train_batch_size=20,
        eval_batch_size=20,
    )
    estimator.train(input_fn, max_steps=200)
    assert estimator.get_variable_value("w") == pytest.approx(3, abs=1e-3)
    assert estimator.evaluate(input_fn, steps=2)["loss"] < 1e-4


def needs_2_15(call):
    if TF_2_15:
        call()
        return
    with pytest.raises(NotImplementedError) as caught:
        call()
    assert str(caught.value).endswith(
        f" needs TensorFlow 2.15: TensorFlow {tf.__version__} has no Estimators on TPUs and no TPU "
        "embeddings for them, so use TPUEstimator(use_tpu=False) or TensorFlow 2.15."
    )


def test_embedding_parameters_raise_the_sentence():
    needs_2_15(lambda: tf.compat.v1.tpu.experimental.AdamParameters(0.1))
    needs_2_15(lambda: tf.compat.v1.tpu.experimental.StochasticGradientDescentParameters(0.1))


def test_names_of_the_removed_modules_raise_the_sentence():
    from tensorflow.python.tpu import session_support, tpu_embedding, tpu_embedding_gradient

    needs_2_15(lambda: tpu_embedding.TPUEmbedding)
    needs_2_15(lambda: session_support.start_worker_watchdog)
    needs_2_15(lambda: tpu_embedding_gradient.create_dummy_table_variables)
    assert hasattr(tpu_embedding, "FeatureConfig") == TF_2_15
    assert not isinstance(1, tpu_embedding.AdagradParameters)
