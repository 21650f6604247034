import gin
import numpy as np
import pytest
from genever import estimators
from genever.estimators import AdamOptimizer, create_train_op

pytestmark = pytest.mark.core


def one_step(model, **arguments):
    """Takes one step of gradient descent with rate 1; returns the variables and the step after."""
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loss = model(tf)
        arguments.setdefault("optimizer", tf.compat.v1.train.GradientDescentOptimizer(1.0))
        train_op = create_train_op(loss, **arguments)
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(train_op)
        return {v.op.name: session.run(v) for v in tf.compat.v1.global_variables()}


def two_vectors(tf):
    """Its gradient is (3, 4) over a kernel and a bias: norm 5."""
    kernel = tf.compat.v1.get_variable("kernel", [1, 1], initializer=tf.ones_initializer())
    bias = tf.compat.v1.get_variable("bias", [1], initializer=tf.ones_initializer())
    return 3 * kernel[0, 0] + 4 * bias[0]


def table(tf):
    """Row 1 is looked up twice, with gradients that add up to (3, 4)."""
    rows = tf.compat.v1.get_variable("rows", [4, 2], initializer=tf.zeros_initializer())
    return tf.reduce_sum(tf.gather(rows, [1, 1]) * [[1.0, 1.0], [2.0, 3.0]])


def test_a_plain_step():
    after = one_step(two_vectors)
    assert after["kernel"] == pytest.approx(1 - 3)
    assert after["bias"] == pytest.approx(1 - 4)
    assert after["global_step"] == 1


def test_gradients_are_clipped_by_their_global_norm():
    after = one_step(two_vectors, clip_gradient_norm=1.0)
    assert after["kernel"] == pytest.approx(1 - 3 / 5)
    assert after["bias"] == pytest.approx(1 - 4 / 5)
    after = one_step(two_vectors, clip_gradient_norm=10.0)
    assert after["kernel"] == pytest.approx(1 - 3)


def test_sparse_gradients_are_clipped():
    # A row that was looked up several times counts once, with the sum of what it gets.
    after = one_step(table, clip_gradient_norm=0.5)
    assert after["rows"][1] == pytest.approx([-0.3, -0.4], abs=1e-6)
    assert not after["rows"][[0, 2, 3]].any()


def test_l2_shrinks_kernels_and_leaves_biases():
    gin.bind_parameter("create_train_op.l2", 0.5)
    after = one_step(two_vectors)
    assert after["kernel"] == pytest.approx(1 - 3 - 0.5 * 1)
    assert after["bias"] == pytest.approx(1 - 4)


def test_l2_counts_every_row_of_a_table():
    def model(tf):
        rows = tf.compat.v1.get_variable("rows", [3, 1], initializer=tf.ones_initializer())
        return tf.reduce_sum(tf.gather(rows, [0]))

    after = one_step(model, l2=0.25)
    assert after["rows"][:, 0] == pytest.approx([1 - 1 - 0.25, 0.75, 0.75])


def test_update_operations_run_with_the_step():
    def model(tf):
        mean = tf.compat.v1.get_variable("mean", [], trainable=False)
        tf.compat.v1.add_to_collection(
            tf.compat.v1.GraphKeys.UPDATE_OPS, tf.compat.v1.assign(mean, 7.0)
        )
        return two_vectors(tf)

    assert one_step(model)["mean"] == 7.0


def test_scopes_have_their_own_optimizers_and_the_step_counts_once():
    def model(tf):
        with tf.compat.v1.variable_scope("wide"):
            wide = tf.compat.v1.get_variable("w", [], initializer=tf.zeros_initializer())
        with tf.compat.v1.variable_scope("wider"):
            other = tf.compat.v1.get_variable("w", [], initializer=tf.zeros_initializer())
        return wide + other

    gin.parse_config("GradientDescentOptimizer.learning_rate = 10.0")
    from genever.estimators import GradientDescentOptimizer

    after = one_step(model, scope_optimizers={"wide": GradientDescentOptimizer})
    assert (after["wide/w"], after["wider/w"], after["global_step"]) == (-10, -1, 1)


def test_an_optimizer_may_be_an_uncalled_gin_reference_with_a_schedule():
    gin.parse_config("""
        GradientDescentOptimizer.learning_rate = @piecewise_constant()
        piecewise_constant.boundaries = [10]
        piecewise_constant.values = [0.5, 0.1]
    """)
    from genever.estimators import GradientDescentOptimizer

    after = one_step(two_vectors, optimizer=GradientDescentOptimizer)
    assert after["kernel"] == pytest.approx(1 - 3 * 0.5)


def test_every_optimizer_takes_a_step_downhill():
    names = [name for name in estimators.__all__ if name.endswith("Optimizer")]
    assert len(names) == 9
    gin.bind_parameter("MomentumOptimizer.momentum", 0.9)
    for name in names:
        make = getattr(estimators, name)
        after = one_step(two_vectors, optimizer=lambda make=make: make(learning_rate=0.01))
        assert after["kernel"] < 1, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"l2": -1.0}, "create_train_op.l2 = -1.0 must not be negative"),
        ({"clip_gradient_norm": 0.0}, "clip_gradient_norm = 0.0 must be positive"),
        (
            {"optimizer": "Adam"},
            "optimizer = 'Adam' is not an optimizer of tf.compat.v1.train; write `@AdamOptimizer`",
        ),
        ({"optimizer": estimators.Adam}, "the Keras optimizer Adam is not .* `@AdamOptimizer`"),
        ({"optimizer": estimators.SGD}, "optimizer SGD is not .*`@GradientDescentOptimizer`"),
        ({"optimizer": estimators.RMSprop}, "optimizer RMSprop is not .* `@RMSPropOptimizer`"),
        ({"optimizer": estimators.Nadam}, "optimizer Nadam .* write one such as `@AdamOptimizer`"),
        (
            {"optimizer": 3},
            r"optimizer = an int \(3\) is not .* write one such as `@AdamOptimizer`",
        ),
    ],
)
def test_mistakes(arguments, message):
    arguments = {"optimizer": AdamOptimizer, **arguments}
    with pytest.raises(ValueError, match=message):
        one_step(two_vectors, **arguments)


def test_a_model_without_variables():
    with pytest.raises(ValueError, match="the model has no trainable variables"):
        one_step(lambda tf: tf.constant(1.0))


@pytest.mark.parametrize(
    "name",
    [n for n in estimators.__all__ if n.endswith("Optimizer")]
    + ["SGD", "Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop"],
)
@pytest.mark.parametrize("rate", [-0.1, float("nan"), np.float32(-1)])
def test_a_negative_rate(name, rate):
    arguments = {"momentum": 0.9} if name == "MomentumOptimizer" else {}
    message = rf"{name}.learning_rate = .* must be a number that is not negative; give one such"
    with pytest.raises(ValueError, match=message):
        getattr(estimators, name)(learning_rate=rate, **arguments)
    assert getattr(estimators, name)(learning_rate=0.0, **arguments)
