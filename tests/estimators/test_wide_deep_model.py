import gin
import numpy as np
import pytest
from genever.estimators import Estimator, RunConfig, wide_deep
from genever.input_fns import Schema

pytestmark = pytest.mark.core


def input_fn(columns, labels, epochs=1, batch=200):
    def read():
        import tensorflow as tf

        data = tf.data.Dataset.from_tensor_slices((columns, labels))
        return data.repeat(epochs).batch(batch)

    return read


def trained(tmp_path, schema, columns, labels, steps=200, **arguments):
    """An Estimator of the data, trained; the other arguments are those of `wide_deep`."""
    gin.parse_config("""
        wide_deep.optimizer = @AdamOptimizer
        AdamOptimizer.learning_rate = 0.05
    """)
    gin.bind_parameter("wide_deep.schema", schema)
    for name, value in arguments.items():
        gin.bind_parameter(f"wide_deep.{name}", value)
    config = RunConfig(model_dir=str(tmp_path / "m"), tf_random_seed=1)
    estimator = Estimator(wide_deep, config=config)
    estimator.train(input_fn(columns, labels, None), max_steps=steps)
    return estimator


@pytest.fixture
def xor():
    draw = np.random.default_rng(0)
    a, b = draw.choice(["no", "yes"], (2, 1000))
    labels = (a != b).astype("int64")
    schema = Schema(
        {"a": {"vocabulary": ["no", "yes"]}, "b": {"vocabulary": ["no", "yes"]}, "y": {}}, label="y"
    )
    return schema, {"a": a, "b": b}, labels


@pytest.mark.parametrize(
    ("arguments", "accuracy"),
    [
        ({"hidden_units": []}, None),
        ({"hidden_units": [], "crosses": [["a", "b"]]}, 1.0),
        ({"hidden_units": [], "crosses": [["a", "b"]], "cross_buckets": 8}, 1.0),
        ({"hidden_units": [8], "embedding_dimension": 4}, 1.0),
    ],
    ids=["wide alone cannot", "a cross can", "a hashed cross can", "a network can"],
)
def test_exclusive_or(xor, tmp_path, arguments, accuracy):
    schema, columns, labels = xor
    estimator = trained(tmp_path, schema, columns, labels, **arguments)
    metrics = estimator.evaluate(input_fn(columns, labels))
    if accuracy is None:
        assert 0.4 < metrics["accuracy"] < 0.6
    else:
        assert metrics["accuracy"] == metrics["auc"] == metrics["precision"] == accuracy
        assert metrics["calibration"] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({"vocabulary": ["red", "green", "blue"]}, ["red", "green", "blue", "unknown"]),
        ({"vocabulary": [10, 20, 30]}, [10, 20, 30, 40]),
        ({"hash_buckets": 1000}, ["a", "b", "c", "d"]),
        ({"dtype": "int64", "hash_buckets": 1000}, [5, 6, 7, 8]),
        ({"num_buckets": 4}, [-3, 1, 2, 9]),
        ({"boundaries": [0.0, 1.0, 2.0]}, [-0.5, 0.0, 1.5, 2.0]),
    ],
)
def test_each_kind_of_category_has_weights_of_its_own(spec, values, tmp_path):
    schema = Schema({"f": spec, "y": {}}, label="y")
    rates = np.array([0.1, 0.8, 0.3, 0.6])
    which = np.repeat(np.arange(4), 100)
    labels = (np.tile(np.arange(100), 4) < np.repeat(rates * 100, 100) - 0.5).astype("float32")
    values = np.array(values)
    if values.dtype.kind == "f":
        values = values.astype("float32")
    columns = {"f": values[which]}
    estimator = trained(tmp_path, schema, columns, labels, steps=300, hidden_units=[])
    found = estimator.predict(input_fn({"f": values}, labels[:4]))
    assert [row["probabilities"] for row in found] == pytest.approx(rates, abs=0.01)


def test_numbers_are_normalised_and_wild_ones_are_clipped(tmp_path):
    draw = np.random.default_rng(0)
    x = draw.normal(1000.0, 50.0, 2000).astype("float32")
    labels = (draw.random(2000) < 1 / (1 + np.exp(-(x - 1000.0) / 50.0))).astype("float32")
    schema = Schema({"x": {"mean": 1000.0, "std": 50.0}, "y": {}}, label="y")
    estimator = trained(tmp_path, schema, {"x": x}, labels, hidden_units=[])
    assert estimator.get_variable_value("wide/numeric_weights") == pytest.approx([1.0], abs=0.15)
    wild = np.array([1250.0, 1e6], "float32")
    near, far = estimator.predict(input_fn({"x": wild}, wild))
    assert near["logits"] == pytest.approx(far["logits"])


def test_several_values_in_one_feature(tmp_path):
    draw = np.random.default_rng(0)
    tags = draw.integers(0, 6, (1000, 3))
    labels = (tags == 4).any(axis=1).astype("float32")
    numbers = draw.normal(size=(1000, 2)).astype("float32")
    schema = Schema(
        {"tags": {"num_buckets": 6, "shape": (3,)}, "numbers": {"shape": (2,)}, "y": {}}, label="y"
    )
    columns = {"tags": tags, "numbers": numbers}
    estimator = trained(tmp_path, schema, columns, labels, hidden_units=[8])
    assert estimator.evaluate(input_fn(columns, labels))["accuracy"] == 1.0
    assert estimator.get_variable_value("wide/numeric_weights").shape == (2,)


def test_examples_count_by_their_weight(tmp_path):
    labels = np.array([1, 0] * 100, "float32")
    columns = {"f": np.zeros(200, "int64"), "w": np.array([3.0, 1.0] * 100, "float32")}
    schema = Schema({"f": {"num_buckets": 1}, "w": {}, "y": {}}, label="y", weight="w")
    estimator = trained(tmp_path, schema, columns, labels, hidden_units=[])
    metrics = estimator.evaluate(input_fn(columns, labels))
    assert metrics["label_mean"] == pytest.approx(0.75)
    assert metrics["accuracy"] == pytest.approx(0.75)
    assert metrics["calibration"] == pytest.approx(1.0, abs=0.01)
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert metrics["average_loss"] == pytest.approx(entropy, abs=1e-3)
    only_inputs = {"f": columns["f"]}
    (first, *_) = estimator.predict(input_fn(only_inputs, labels))
    assert first["class_ids"] == 1


def test_the_wide_part_may_have_an_optimizer_of_its_own(xor, tmp_path):
    schema, columns, labels = xor
    gin.parse_config("""
        wide_deep.wide_optimizer = @FtrlOptimizer
        FtrlOptimizer.learning_rate = 0.1
        FtrlOptimizer.l1_regularization_strength = 1000.0
    """)
    estimator = trained(tmp_path, schema, columns, labels, hidden_units=[8], dropout=0.1)
    assert estimator.evaluate(input_fn(columns, labels))["accuracy"] == 1.0
    # So strong a penalty leaves nothing in the wide part.
    assert not estimator.get_variable_value("wide/a").any()
    assert estimator.get_variable_value("deep/a_embedding").any()


def test_column_names_need_not_be_variable_names(tmp_path):
    schema = Schema({"hours per week": {"num_buckets": 2}, "y": {}}, label="y")
    columns = {"hours per week": np.array([0, 1] * 50)}
    labels = np.array([0, 1] * 50, "float32")
    estimator = trained(tmp_path, schema, columns, labels, hidden_units=[4], steps=100)
    assert estimator.evaluate(input_fn(columns, labels))["accuracy"] == 1.0
    assert "wide/hours_per_week" in estimator.get_variable_names()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"crosses": [["a", "c"]]}, "wide_deep.crosses: 'c' is not a categorical feature; .* a, b"),
        ({"dropout": 1.0}, "wide_deep.dropout = 1.0 must be at least 0 and below 1"),
        ({"metrics": ["AUC"]}, "wide_deep.metrics: there is no metric 'AUC'; did you mean 'auc'"),
        ({"metrics": "auc"}, r"wide_deep.metrics = 'auc' must be a list of names; write \['auc'\]"),
        ({"metrics": 3}, "wide_deep.metrics = 3 must be a list of names; choose from accuracy"),
        (
            {"hidden_units": [8, 0]},
            r"wide_deep.hidden_units = \[8, 0\]: the width 0 must be a whole number; give 1 or",
        ),
        ({"hidden_units": [-4]}, "the width -4 must be a whole number"),
        ({"hidden_units": [8.0]}, "the width 8.0 must be a whole number"),
        ({"hidden_units": [True]}, "the width True must be a whole number"),
        ({"hidden_units": 8}, r"hidden_units = 8 must be a list of widths; write \[8\]"),
        ({"hidden_units": "8"}, r"hidden_units = '8' must be a list of widths, such as \[128"),
        ({"embedding_dimension": 0}, "wide_deep.embedding_dimension = 0 must be a whole number"),
        ({"embedding_dimension": 2.5}, "embedding_dimension = 2.5 must be a whole number; give 1"),
        ({"cross_buckets": 0}, "wide_deep.cross_buckets = 0 must be a whole number; give 1 or"),
        ({"cross_buckets": True}, "wide_deep.cross_buckets = True must be a whole number"),
        ({"crosses": "ab"}, "wide_deep.crosses = 'ab' must be a list of lists"),
        ({"crosses": ["a", "b"]}, "'a' is not a list of features; each cross is a list of its own"),
        ({"crosses": [["a"]]}, r"the cross \['a'\] has fewer than two features"),
        (
            {"crosses": [["a", "b", "a"]]},
            r"\['a', 'b', 'a'\] has 'a' twice; name each feature once",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_mistakes(xor, mode, arguments, message):
    import tensorflow as tf

    schema = xor[0]
    with tf.Graph().as_default():
        features = {"a": tf.constant(["no"]), "b": tf.constant(["yes"])}
        with pytest.raises(ValueError, match=message):
            wide_deep(features, tf.constant([1]), mode, schema=schema, **arguments)


@pytest.mark.parametrize("wrong", [7.0, 0.5, -1.0, np.nan])
def test_labels_other_than_0_and_1(xor, tmp_path, wrong):
    import tensorflow as tf

    schema, columns, labels = xor
    message = rf"wide_deep: the label y must be 0 or 1 in every example.*\[{wrong:g}\]"
    estimator = trained(tmp_path, schema, columns, labels, steps=1, hidden_units=[])
    labels = labels.astype("float32")
    labels[5] = wrong
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        estimator.evaluate(input_fn(columns, labels))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        estimator.train(input_fn(columns, labels), steps=5)
    assert estimator.get_variable_value("global_step") == 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["yes"], "wide_deep: the label y is a string; turn it into a number that is 0 or 1"),
        (None, "the input_fn gives no labels; it must give the label y, 0 or 1, beside"),
    ],
)
def test_labels_that_are_no_numbers(xor, labels, message):
    import tensorflow as tf

    with tf.Graph().as_default():
        features = {"a": tf.constant(["no"]), "b": tf.constant(["yes"])}
        with pytest.raises(ValueError, match=message):
            wide_deep(features, labels, "train", schema=xor[0])


@pytest.mark.parametrize(("label", "dtype"), [(1, "int32"), (True, "bool"), (0.0, "float64")])
def test_labels_of_any_dtype_count(xor, label, dtype):
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        features = {"a": tf.constant(["no"]), "b": tf.constant(["yes"])}
        labels = tf.constant([[label]], tf.as_dtype(dtype))
        spec = wide_deep(features, labels, "eval", schema=xor[0], hidden_units=[])
        session.run([tf.compat.v1.global_variables_initializer(), *_tables(tf)])
        assert session.run(spec.loss) == pytest.approx(np.log(2))


def _tables(tf):
    return tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)


def test_a_feature_that_the_input_fn_does_not_give(xor):
    import tensorflow as tf

    with (
        tf.Graph().as_default(),
        pytest.raises(
            ValueError, match="the schema has an input 'b', but the input_fn gives only a"
        ),
    ):
        wide_deep({"a": tf.constant(["no"])}, None, "infer", schema=xor[0])


@pytest.mark.slow
def test_two_replicas_learn_and_evaluate_as_one_does(run_program):
    printed = run_program("""
import gin
import numpy as np
from genever.launch.config import register
register()
from genever.estimators import Estimator, MirroredStrategy, RunConfig, wide_deep
from genever.input_fns import Schema
import tensorflow as tf

strategy = MirroredStrategy(logical_cpus=2)
gin.parse_config('''
wide_deep.optimizer = @AdamOptimizer
AdamOptimizer.learning_rate = 0.05
wide_deep.hidden_units = [8]
wide_deep.crosses = [['a', 'b']]
create_train_op.clip_gradient_norm = 1.0
create_train_op.l2 = 1e-4
''')
draw = np.random.default_rng(0)
columns = {"a": draw.choice(["n", "y"], 800), "b": draw.integers(0, 2, 800)}
labels = ((columns["a"] == "y") != (columns["b"] == 1)).astype("int64")
labels[:100] = draw.integers(0, 2, 100)
gin.bind_parameter("wide_deep.schema", Schema(
    {"a": {"vocabulary": ["n", "y"]}, "b": {"num_buckets": 2}, "y": {"dtype": "int64"}}, label="y"
))

def input_fn(mode, input_context=None):
    parts = input_context.num_replicas_in_sync if input_context else 1
    data = tf.data.Dataset.from_tensor_slices((columns, labels))
    if mode == tf.estimator.ModeKeys.TRAIN:
        data = data.repeat()
    return data.batch(100 // parts)

found = []
for both in (None, strategy):
    config = RunConfig(
        model_dir=f"m{both is None}", tf_random_seed=1, train_distribute=both, eval_distribute=both
    )
    estimator = Estimator(wide_deep, config=config)
    estimator.train(input_fn, max_steps=60)
    metrics = estimator.evaluate(input_fn)
    found.append([float(metrics[k]) for k in ("auc", "accuracy", "average_loss", "calibration")])
print(found)
labels[labels == 1] = 7
try:
    estimator.train(input_fn, steps=5)
except tf.errors.InvalidArgumentError as error:
    print("refused:", " ".join(error.message.split()))
""")
    *_, found, refused = printed.splitlines()
    one, two = eval(found)
    assert refused.startswith("refused: ")
    assert "wide_deep: the label y must be 0 or 1" in printed[printed.index("refused: ") :]
    assert one[1] > 0.9
    # Same data and same steps; the replicas start from other random numbers.
    assert two == pytest.approx(one, abs=0.01)
