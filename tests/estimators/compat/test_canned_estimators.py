"""Canned Estimators with feature columns, on Keras 2 optimizers and metrics."""

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import numpy as np
import pytest
import tensorflow as tf

pytestmark = pytest.mark.core

RANDOM = np.random.RandomState(3)
AGE = RANDOM.uniform(0, 10, 400).astype(np.float32)
COLOR = RANDOM.choice([b"red", b"green", b"blue"], 400)
LABEL = ((AGE > 5) & (COLOR != b"blue")).astype(np.int64)


def input_fn(epochs=1):
    features = {"age": AGE, "color": COLOR}
    return tf.data.Dataset.from_tensor_slices((features, LABEL)).repeat(epochs).batch(50)


def wide_columns():
    age = tf.feature_column.numeric_column("age")
    color = tf.feature_column.categorical_column_with_vocabulary_list(
        "color", ["red", "green", "blue"]
    )
    buckets = tf.feature_column.bucketized_column(age, [2.5, 5.0, 7.5])
    return [buckets, color, tf.feature_column.crossed_column([buckets, color], 100)]


def deep_columns():
    age, color = tf.feature_column.numeric_column("age"), wide_columns()[1]
    return [
        age,
        tf.feature_column.embedding_column(color, 4),
        tf.feature_column.indicator_column(color),
    ]


def run_config(folder):
    return tf.estimator.RunConfig(str(folder), tf_random_seed=7, save_summary_steps=1000)


def test_linear_classifier_learns_a_crossed_rule(tmp_path):
    classifier = tf.estimator.LinearClassifier(wide_columns(), config=run_config(tmp_path))
    before = classifier.evaluate(input_fn)
    # All weights are zero: every example has the loss log(2).
    assert before["loss"] == pytest.approx(np.log(2), abs=1e-5)
    assert before["label/mean"] == pytest.approx(LABEL.mean(), abs=1e-6)
    classifier.train(lambda: input_fn(20))
    after = classifier.evaluate(input_fn)
    assert after["global_step"] == 160
    assert after["accuracy"] == 1.0
    assert after["auc"] == pytest.approx(1.0, abs=1e-6)
    assert "linear/linear_model/color/weights" in classifier.get_variable_names()


def test_wide_and_deep_classifier_is_served_as_it_predicts(tmp_path):
    classifier = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide_columns(),
        dnn_feature_columns=deep_columns(),
        dnn_hidden_units=[16, 8],
        dnn_optimizer=tf.keras.optimizers.legacy.Adam(0.01),
        config=run_config(tmp_path),
    )
    classifier.train(lambda: input_fn(20))
    assert classifier.evaluate(input_fn)["accuracy"] > 0.97
    predicted = np.array([row["probabilities"] for row in classifier.predict(input_fn)])

    parsing = tf.feature_column.make_parse_example_spec(deep_columns())
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(parsing)
    folder = classifier.export_saved_model(str(tmp_path / "export"), receiver).decode()
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "age": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
                    "color": tf.train.Feature(bytes_list=tf.train.BytesList(value=[color])),
                }
            )
        ).SerializeToString()
        for age, color in zip(AGE, COLOR, strict=True)
    ]
    serve = tf.saved_model.load(folder).signatures["predict"]
    served = serve(examples=tf.constant(examples))["probabilities"].numpy()
    np.testing.assert_allclose(served, predicted, atol=1e-6)


def test_v1_classifier_with_v1_optimizer(tmp_path):
    regressor = tf.compat.v1.estimator.LinearRegressor(
        [tf.feature_column.numeric_column("age")],
        optimizer=tf.compat.v1.train.FtrlOptimizer(0.5),
        config=run_config(tmp_path),
    )

    def ages():
        return tf.data.Dataset.from_tensor_slices(({"age": AGE}, 2 * AGE + 1)).batch(50)

    regressor.train(lambda: ages().repeat(100))
    weight = regressor.get_variable_value("linear/linear_model/age/weights")
    np.testing.assert_allclose(weight, [[2.0]], atol=0.05)


def test_keras_model_becomes_an_estimator(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="only")])
    model.compile("sgd", "mse")
    estimator = tf.keras.estimator.model_to_estimator(model, config=run_config(tmp_path))
    x = RANDOM.uniform(-1, 1, (200, 2)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0]], np.float32) + 3

    def pairs():
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat(100).batch(10)

    estimator.train(pairs)
    assert estimator.evaluate(lambda: pairs().take(20))["loss"] < 1e-3


def test_tf1_layers_are_keras_2(tmp_path):
    tf.keras.utils.set_random_seed(7)  # Keras draws initial values on its own

    def model_fn(features, labels, mode):
        hidden = tf.compat.v1.layers.dense(features, 8, tf.nn.relu)
        hidden = tf.compat.v1.layers.batch_normalization(
            hidden, momentum=0.9, training=mode == tf.estimator.ModeKeys.TRAIN
        )
        logits = tf.compat.v1.layers.dense(hidden, 1)[:, 0]
        loss = tf.compat.v1.losses.mean_squared_error(labels, logits)
        updates = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            step = tf.compat.v1.train.AdamOptimizer(0.05).minimize(
                loss, tf.compat.v1.train.get_or_create_global_step()
            )
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model_fn, config=run_config(tmp_path))

    def ages():
        data = tf.data.Dataset.from_tensor_slices((AGE[:, None] / 10, AGE / 10))
        return data.repeat(40).batch(50)

    estimator.train(ages)
    assert estimator.evaluate(ages, steps=8)["loss"] < 0.01
    assert "batch_normalization/moving_mean" in estimator.get_variable_names()
