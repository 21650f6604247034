import inspect

import gin
import numpy as np
import pytest
from genever import estimators
from genever.input_fns import Schema

pytestmark = pytest.mark.core

SCHEMA = """
Schema.features = {
    'color': {'vocabulary': ['red', 'green', 'blue']},
    'shop': {'hash_buckets': 997},
    'month': {'num_buckets': 13},
    'age': {'boundaries': [30.0, 50.0]},
    'size': {'mean': 100.0, 'std': 20.0},
    'y': {},
}
Schema.label = 'y'
linear_columns.schema = @Schema()
dnn_columns.schema = @Schema()
dnn_columns.embedding_dimension = 4
"""


def columns(count=600):
    draw = np.random.default_rng(0)
    made = {
        "color": draw.choice(["red", "green", "blue"], count),
        "shop": draw.choice(["a", "b", "c"], count),
        "month": draw.integers(1, 13, count),
        "age": draw.uniform(20, 70, count).astype("float32"),
        "size": draw.normal(100, 20, count).astype("float32"),
    }
    score = (
        2.0 * (made["color"] == "red")
        - 2.0 * (made["shop"] == "b")
        + 1.5 * (made["month"] > 6)
        - 1.0 * (made["age"] > 50)
        + (made["size"] - 100) / 20
    )
    return made, score.astype("float32")


def input_fn(labels, names=("color", "shop", "month", "age", "size")):
    def read(mode):
        import tensorflow as tf

        features = {name: columns()[0][name] for name in names}
        data = tf.data.Dataset.from_tensor_slices((features, labels))
        return data.repeat(None if mode == "train" else 1).batch(100)

    return read


CLASSIFIERS = {
    "LinearClassifier": """
        LinearClassifier.feature_columns = @linear_columns()
        LinearClassifier.optimizer = @Ftrl
        Ftrl.learning_rate = 0.5
    """,
    "DNNClassifier": """
        DNNClassifier.feature_columns = @dnn_columns()
        DNNClassifier.hidden_units = [16]
        DNNClassifier.activation_fn = 'elu'
        DNNClassifier.optimizer = @Adam
        Adam.learning_rate = @polynomial_decay()
        polynomial_decay.learning_rate = 0.05
        polynomial_decay.decay_steps = 200
    """,
    "DNNLinearCombinedClassifier": """
        DNNLinearCombinedClassifier.linear_feature_columns = @linear_columns()
        DNNLinearCombinedClassifier.linear_optimizer = @SGD
        DNNLinearCombinedClassifier.dnn_feature_columns = @dnn_columns()
        DNNLinearCombinedClassifier.dnn_hidden_units = [8]
        DNNLinearCombinedClassifier.dnn_optimizer = @Adam
        Adam.learning_rate = 0.05
    """,
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_learn_from_gin_alone(name, tmp_path):
    gin.parse_config(SCHEMA + CLASSIFIERS[name])
    gin.bind_parameter("RunConfig.model_dir", str(tmp_path))
    gin.bind_parameter("RunConfig.tf_random_seed", 1)
    labels = (columns()[1] > 0.5).astype("float32")
    estimator = getattr(estimators, name)()
    estimator.train(input_fn(labels), max_steps=200)
    metrics = estimator.evaluate(input_fn(labels))
    assert metrics["auc"] > 0.95
    assert metrics["global_step"] == 200


@pytest.mark.parametrize("name", ["LinearRegressor", "DNNRegressor", "DNNLinearCombinedRegressor"])
def test_regressors_learn_from_gin_alone(name, tmp_path):
    gin.parse_config(
        SCHEMA
        + """
        LinearRegressor.feature_columns = @linear_columns()
        LinearRegressor.optimizer = @Adam
        DNNRegressor.feature_columns = @dnn_columns()
        DNNRegressor.hidden_units = [16]
        DNNRegressor.optimizer = @RMSprop
        DNNLinearCombinedRegressor.linear_feature_columns = @linear_columns()
        DNNLinearCombinedRegressor.linear_optimizer = @Adagrad
        Adagrad.learning_rate = 0.5
        DNNLinearCombinedRegressor.dnn_feature_columns = @dnn_columns()
        DNNLinearCombinedRegressor.dnn_hidden_units = [8]
        DNNLinearCombinedRegressor.dnn_optimizer = @Nadam
        Adam.learning_rate = 0.1
        RMSprop.learning_rate = 0.02
        Nadam.learning_rate = 0.02
    """
    )
    gin.bind_parameter("RunConfig.model_dir", str(tmp_path))
    gin.bind_parameter("RunConfig.tf_random_seed", 1)
    labels = columns()[1]
    estimator = getattr(estimators, name)()
    estimator.train(input_fn(labels), max_steps=250)
    assert estimator.evaluate(input_fn(labels))["average_loss"] < 0.1 * labels.var()


def test_the_baselines_predict_the_mean(tmp_path):
    gin.parse_config("""
        BaselineClassifier.optimizer = @Adadelta
        Adadelta.learning_rate = 10.0
        BaselineRegressor.optimizer = @Adamax
        Adamax.learning_rate = 0.1
    """)
    score = columns()[1]
    late = (score > 0.5).astype("float32")
    for name, labels in (("BaselineClassifier", late), ("BaselineRegressor", score)):
        estimator = getattr(estimators, name)(model_dir=str(tmp_path / name))
        # One feature only: with several, TensorFlow's baselines cannot initialise their bias.
        read = input_fn(labels, ["size"])
        estimator.train(read, max_steps=200)
        metrics = estimator.evaluate(read)
        assert metrics["prediction/mean"] == pytest.approx(labels.mean(), abs=0.05)


def test_arguments_are_those_of_tensorflow_in_the_same_order():
    import tensorflow as tf

    for name in [*CLASSIFIERS, *(n.replace("Classifier", "Regressor") for n in CLASSIFIERS)]:
        theirs = inspect.signature(getattr(tf.estimator, name).__init__)
        assert (
            list(inspect.signature(getattr(estimators, name)).parameters)
            == list(theirs.parameters)[1:]
        )


def test_linear_columns_follow_the_schema():
    import tensorflow as tf

    gin.parse_config(SCHEMA)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        made = {column.name: column for column in estimators.linear_columns()}
        assert list(made) == ["color", "shop", "month", "age_bucketized", "size"]
        features = {"color": ["blue", "pink"], "month": [12, 99], "age": [[30.0], [29.0]]}
        indicator = tf.feature_column.indicator_column
        columns = [indicator(made["color"]), indicator(made["month"]), made["age_bucketized"]]
        dense = tf.compat.v1.feature_column.input_layer(
            {name: tf.constant(value) for name, value in features.items()}, columns
        )
        session.run(tf.compat.v1.tables_initializer())
        age, color, month = np.split(session.run(dense), [3, 7], axis=1)
    # 30 is in the second bucket; 'pink' is out of the vocabulary; month 99 counts as the first id.
    assert age.argmax(axis=1).tolist() == [1, 0]
    assert color.argmax(axis=1).tolist() == [2, 3]
    assert month.argmax(axis=1).tolist() == [12, 0]
    assert made["size"].normalizer_fn(np.float32(120.0)).numpy() == pytest.approx(1.0)


def test_dnn_columns_are_dense():
    schema = Schema({"color": {"vocabulary": ["red", "green"]}, "size": {}, "y": {}}, label="y")
    color, size = estimators.dnn_columns(schema, embedding_dimension=3)
    assert (color.dimension, size.shape) == (3, (1,))
    indicator, _ = estimators.dnn_columns(schema, embedding_dimension=None)
    assert indicator.variable_shape.as_list()[-1] == 3


def test_an_unknown_activation():
    with pytest.raises(ValueError, match="activation 'rellu' is not a function in tf.nn"):
        estimators.DNNClassifier([4], [], activation_fn="rellu")


def own_optimizer():
    import tensorflow as tf

    return tf.compat.v1.train.AdamOptimizer()


def tf_class():
    import tensorflow as tf

    return tf.compat.v1.train.FtrlOptimizer


WIDTHS = "must be a whole number; give 1 or more"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("DNNClassifier", {"hidden_units": [0]}, rf"DNNClassifier.hidden_units = \[0\].*{WIDTHS}"),
        ("DNNRegressor", {"hidden_units": [4, -1]}, f"DNNRegressor.* the width -1 {WIDTHS}"),
        ("DNNClassifier", {"hidden_units": 4}, r"hidden_units = 4 must be a list .* write \[4\]"),
        (
            "DNNLinearCombinedClassifier",
            {"dnn_hidden_units": [0]},
            rf"DNNLinearCombinedClassifier.dnn_hidden_units = \[0\]: the width 0 {WIDTHS}",
        ),
        (
            "DNNLinearCombinedRegressor",
            {"dnn_hidden_units": [True]},
            f"DNNLinearCombinedRegressor.dnn_hidden_units = .* the width True {WIDTHS}",
        ),
        (
            "LinearClassifier",
            {"optimizer": own_optimizer()},
            "LinearClassifier.optimizer is an AdamOptimizer of tf.compat.v1.train, .*write `@Adam`",
        ),
        (
            "LinearRegressor",
            {"optimizer": estimators.GradientDescentOptimizer},
            "LinearRegressor.optimizer is a GradientDescentOptimizer of .* write `@SGD`",
        ),
        (
            "DNNClassifier",
            {"hidden_units": [4], "optimizer": tf_class()},
            "DNNClassifier.optimizer is a FtrlOptimizer of .* write `@Ftrl`",
        ),
        (
            "DNNLinearCombinedRegressor",
            {"dnn_hidden_units": [4], "linear_optimizer": estimators.MomentumOptimizer},
            "DNNLinearCombinedRegressor.linear_optimizer .* write `@SGD` and set SGD.momentum",
        ),
        (
            "DNNLinearCombinedClassifier",
            {"dnn_hidden_units": [4], "dnn_optimizer": estimators.ProximalAdagradOptimizer},
            "DNNLinearCombinedClassifier.dnn_optimizer .* write one such as `@Adam`",
        ),
        ("BaselineClassifier", {"optimizer": 3}, "BaselineClassifier.optimizer = 3 is not an opt"),
    ],
)
def test_mistakes(name, arguments, message):
    if name.startswith("Linear"):
        arguments = {"feature_columns": [], **arguments}
    elif "Combined" in name:
        arguments = {"linear_feature_columns": [], "dnn_feature_columns": [], **arguments}
    elif name.startswith("DNN"):
        arguments = {"feature_columns": [], **arguments}
    with pytest.raises(ValueError, match=message):
        getattr(estimators, name)(**arguments)


def test_a_scoped_reference_to_an_optimizer_of_tf_train():
    gin.parse_config("BaselineRegressor.optimizer = @slow/AdamOptimizer")
    with pytest.raises(ValueError, match="is an AdamOptimizer of .* write `@Adam`"):
        estimators.BaselineRegressor()


def test_a_function_that_makes_the_wrong_optimizer(tmp_path):
    estimator = estimators.BaselineRegressor(str(tmp_path), optimizer=own_optimizer)
    with pytest.raises(
        ValueError, match="BaselineRegressor.optimizer is an AdamOptimizer of .*Adam"
    ):
        estimator.train(input_fn(columns()[1], ["size"]), max_steps=1)


def test_an_embedding_without_numbers():
    with pytest.raises(ValueError, match="dnn_columns.embedding_dimension = 0 must be a whole num"):
        estimators.dnn_columns(None, embedding_dimension=0)
