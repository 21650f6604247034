"""Wide & deep: a linear model that remembers, and a neural network that generalises."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import gin

from .feature_ids import Ids, categories, cross, numbers
from .metrics import (
    BINARY_METRICS,
    BinaryMetric,
    binary_classification_metrics,
    check_metrics,
)
from .training import create_train_op
from .whole_numbers import check_whole, check_widths


def _adagrad() -> Any:
    import tensorflow as tf

    return tf.compat.v1.train.AdagradOptimizer(0.05)


@gin.configurable(module="genever", denylist=["features", "labels", "mode"])
def wide_deep(
    features: Any,
    labels: Any,
    mode: str,
    schema: Any = gin.REQUIRED,
    hidden_units: Sequence[int] = (128, 64),
    embedding_dimension: int = 16,
    crosses: Sequence[Sequence[str]] = (),
    cross_buckets: int = 10000,
    dropout: float = 0.0,
    optimizer: Any = _adagrad,
    wide_optimizer: Any = None,
    metrics: Sequence[BinaryMetric] = (
        "auc",
        "accuracy",
        "precision",
        "recall",
        "average_loss",
        "label_mean",
        "calibration",
    ),
) -> Any:
    """A model_fn of a wide & deep binary classifier.

    The wide part has one weight for each category of each feature and cross, and one for each
    number; the deep part is a network on embeddings of the categories and on the numbers. Its
    variables lie in the scopes `wide` and `deep`.

    Args:
        features: dict of the inputs of the schema, name -> tensor [batch, ...], and the weight of
            each example if the schema has one.
        labels: 0 or 1, [batch] or [batch, 1].
        mode: a `tf.estimator.ModeKeys`.
        schema: the `Schema` of the data, e.g. `@Schema()`.
        hidden_units: widths of the layers of the network; empty for a purely wide model.
        embedding_dimension: numbers in the embedding of a category.
        crosses: features, categorical or with boundaries, whose combinations get weights of their
            own in the wide part, e.g. [['origin', 'hour']].
        cross_buckets: weights of a cross at most; more combinations than that share them.
        dropout: part of the network's activations that is dropped while training, 0 to 1.
        optimizer: un-called reference such as `@AdamOptimizer`, or an instance; Adagrad with rate
            0.05 by default.
        wide_optimizer: optimizer of the wide part, e.g. `@FtrlOptimizer`; None means `optimizer`.
        metrics: names of `binary_classification_metrics`.
    Returns:
        The `tf.estimator.EstimatorSpec`; predictions: 'logits' and 'probabilities' of class 1,
        float32, [batch], and 'class_ids', int64, [batch].
    Raises:
        ValueError: a size is not a whole number of at least 1, a cross is not of two or more
            categorical features, a metric is unknown, or `dropout` is not in 0 ... 1.
        tf.errors.InvalidArgumentError: in training or evaluation, a label is neither 0 nor 1.
    """
    import tensorflow as tf

    if not 0 <= dropout < 1:
        raise ValueError(f"wide_deep.dropout = {dropout} must be at least 0 and below 1.")
    check_widths("wide_deep.hidden_units", hidden_units)
    check_whole("wide_deep.embedding_dimension", embedding_dimension)
    check_whole("wide_deep.cross_buckets", cross_buckets)
    _check_crosses(crosses)
    # Here and not at the first evaluation, which may be hours later.
    check_metrics("wide_deep.metrics", metrics, BINARY_METRICS)
    training = mode == tf.estimator.ModeKeys.TRAIN
    ids = categories(schema, features)
    dense = numbers(schema, features)
    crossed = _crossed(ids, crosses, cross_buckets)

    logits = _wide({**ids, **crossed}, dense)
    if hidden_units:
        rate = dropout if training else 0.0
        logits += _deep(ids, dense, hidden_units, embedding_dimension, rate)
    probabilities = tf.sigmoid(logits)

    if mode == tf.estimator.ModeKeys.PREDICT:
        return _prediction(mode, logits, probabilities)

    labels = tf.reshape(_zero_or_one(labels, schema), tf.shape(logits))
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    weights = None
    loss = tf.reduce_mean(losses)
    if schema.weight is not None:
        weights = tf.reshape(tf.cast(features[schema.weight.name], tf.float32), tf.shape(logits))
        loss = tf.math.divide_no_nan(tf.reduce_sum(losses * weights), tf.reduce_sum(weights))

    if not training:
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            eval_metric_ops=binary_classification_metrics(
                metrics, labels, probabilities, losses, weights
            ),
        )
    scopes = {} if wide_optimizer is None else {"wide": wide_optimizer}
    train_op = create_train_op(loss, optimizer, scope_optimizers=scopes)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def _zero_or_one(labels: Any, schema: Any) -> Any:
    """The labels as float32; a step with any other label than 0 or 1 fails."""
    import tensorflow as tf

    # Without quotes, before which TensorFlow's message of a failed assertion has backslashes.
    name = "the label" if schema.label is None else f"the label {schema.label.name}"
    if labels is None:
        raise ValueError(
            f"wide_deep: the input_fn gives no labels; it must give {name}, 0 or 1, beside the "
            "features."
        )
    labels = tf.convert_to_tensor(labels)
    if labels.dtype == tf.string:
        raise ValueError(f"wide_deep: {name} is a string; turn it into a number that is 0 or 1.")
    labels = tf.cast(labels, tf.float32)
    known = tf.equal(labels, 0.0) | tf.equal(labels, 1.0)
    check = tf.debugging.Assert(
        tf.reduce_all(known),
        [
            f"wide_deep: {name} must be 0 or 1 in every example; other values:",
            tf.boolean_mask(labels, ~known),
        ],
    )
    with tf.control_dependencies([check]):
        return tf.identity(labels)


def _check_crosses(crosses: Any) -> None:
    if isinstance(crosses, str) or not isinstance(crosses, Sequence):
        raise ValueError(
            f"wide_deep.crosses = {crosses!r} must be a list of lists, such as "
            "[['origin', 'hour']]."
        )
    for names in crosses:
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ValueError(
                f"wide_deep.crosses = {list(crosses)!r}: {names!r} is not a list of features; each "
                "cross is a list of its own, such as [['origin', 'hour']]."
            )
        if len(names) < 2:
            raise ValueError(
                f"wide_deep.crosses: the cross {list(names)!r} has fewer than two features; name "
                "two or more, or remove it: each feature has weights without a cross."
            )
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise ValueError(
                f"wide_deep.crosses: the cross {list(names)!r} has {twice!r} twice; name each "
                "feature once."
            )


def _prediction(mode: str, logits: Any, probabilities: Any) -> Any:
    import tensorflow as tf

    export = tf.estimator.export
    outputs = {
        "logits": logits,
        "probabilities": probabilities,
        "class_ids": tf.cast(logits >= 0, tf.int64),
    }
    both = tf.stack([1.0 - probabilities, probabilities], axis=1)
    names = tf.tile([["0", "1"]], [tf.shape(logits)[0], 1])
    return tf.estimator.EstimatorSpec(
        mode,
        predictions=outputs,
        export_outputs={
            "serving_default": export.PredictOutput(outputs),
            "predict": export.PredictOutput(outputs),
            "classification": export.ClassificationOutput(scores=both, classes=names),
            "regression": export.RegressionOutput(probabilities),
        },
    )


def _crossed(ids: Mapping[str, Ids], crosses: Sequence[Sequence[str]], most: int) -> dict[str, Ids]:
    made = {}
    for names in crosses:
        for name in names:
            if name not in ids:
                raise ValueError(
                    f"wide_deep.crosses: {name!r} is not a categorical feature; choose from "
                    f"{', '.join(ids)}."
                )
            if ids[name].values.shape[1] != 1:
                raise ValueError(
                    f"wide_deep.crosses: {name!r} has several values in each example and cannot "
                    "be crossed."
                )
        made["_x_".join(names)] = cross([ids[name] for name in names], most)
    return made


def _rows(table: Any, ids: Any) -> Any:
    """Looks up rows; of a table in parts only those travel, where a gather would join it first."""
    import tensorflow as tf

    return tf.compat.v1.nn.embedding_lookup(table, ids, partition_strategy="div")


def _wide(ids: Mapping[str, Ids], dense: Any) -> Any:
    """The linear part: float32, [batch]."""
    import tensorflow as tf

    zeros = tf.compat.v1.zeros_initializer()
    with tf.compat.v1.variable_scope("wide"):
        terms = []
        for name, feature in ids.items():
            table = tf.compat.v1.get_variable(_name(name), [feature.size, 1], tf.float32, zeros)
            terms.append(tf.reduce_sum(_rows(table, feature.values), axis=[1, 2]))
        if dense is not None:
            weights = tf.compat.v1.get_variable(
                "numeric_weights", [dense.shape[1]], tf.float32, zeros
            )
            terms.append(tf.linalg.matvec(dense, weights))
        return tf.add_n(terms) + tf.compat.v1.get_variable("bias", [], tf.float32, zeros)


def _deep(
    ids: Mapping[str, Ids],
    dense: Any,
    hidden_units: Sequence[int],
    embedding_dimension: int,
    dropout: float,
) -> Any:
    """The network: float32, [batch]."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.variable_scope("deep"):
        inputs = [] if dense is None else [dense]
        spread = v1.random_normal_initializer(stddev=embedding_dimension**-0.5)
        for name, feature in ids.items():
            table = v1.get_variable(
                f"{_name(name)}_embedding", [feature.size, embedding_dimension], tf.float32, spread
            )
            inputs.append(tf.reduce_mean(_rows(table, feature.values), axis=1))
        layer = tf.concat(inputs, axis=1)
        for number, units in enumerate((*hidden_units, 1)):
            with v1.variable_scope("logits" if number == len(hidden_units) else f"hidden_{number}"):
                kernel = v1.get_variable(
                    "kernel", [layer.shape[1], units], tf.float32, v1.glorot_uniform_initializer()
                )
                bias = v1.get_variable("bias", [units], tf.float32, v1.zeros_initializer())
                layer = tf.matmul(layer, kernel) + bias
            if number < len(hidden_units):
                layer = tf.nn.relu(layer)
                if dropout:
                    layer = tf.nn.dropout(layer, rate=dropout)
    return tf.squeeze(layer, axis=1)


def _name(feature: str) -> str:
    """A variable name takes fewer characters than the name of a column does."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", feature)
