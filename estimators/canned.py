"""The Estimators that TensorFlow brings along, by their own names and arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import gin

from .gin_scope import carry_gin_scope
from .optimizer_kinds import for_canned
from .run_config import RunConfig
from .warm_start import check_warm_start, with_prefix
from .whole_numbers import check_widths


@gin.configurable(module="genever")
def LinearClassifier(
    feature_columns: Sequence[Any],
    model_dir: str | None = None,
    n_classes: int = 2,
    weight_column: str | None = None,
    label_vocabulary: Sequence[str] | None = None,
    optimizer: Any = "Ftrl",
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    sparse_combiner: str = "sum",
) -> Any:
    """A linear classifier.

    Args:
        feature_columns: list of `tf.feature_column`s, e.g. `@linear_columns()`.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        n_classes: number of classes.
        weight_column: name of the feature that weighs each example.
        label_vocabulary: the labels, where they are strings.
        optimizer: un-called reference such as `@Ftrl`, or a name such as 'Ftrl'.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        sparse_combiner: how several values of a feature are combined: 'sum', 'mean' or 'sqrtn'.
    Returns:
        The `tf.estimator.LinearClassifier`.
    Raises:
        ValueError: the optimizer is not one of Keras or the checkpoint to start from does not
            exist.
    """
    return _make(
        "LinearClassifier",
        config,
        feature_columns=feature_columns,
        model_dir=model_dir,
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        optimizer=optimizer,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        sparse_combiner=sparse_combiner,
    )


@gin.configurable(module="genever")
def LinearRegressor(
    feature_columns: Sequence[Any],
    model_dir: str | None = None,
    label_dimension: int = 1,
    weight_column: str | None = None,
    optimizer: Any = "Ftrl",
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    sparse_combiner: str = "sum",
) -> Any:
    """A linear regression.

    Args:
        feature_columns: list of `tf.feature_column`s, e.g. `@linear_columns()`.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        label_dimension: numbers in the label of an example.
        weight_column: name of the feature that weighs each example.
        optimizer: un-called reference such as `@Ftrl`, or a name such as 'Ftrl'.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        sparse_combiner: how several values of a feature are combined: 'sum', 'mean' or 'sqrtn'.
    Returns:
        The `tf.estimator.LinearRegressor`.
    Raises:
        ValueError: the optimizer is not one of Keras or the checkpoint to start from does not
            exist.
    """
    return _make(
        "LinearRegressor",
        config,
        feature_columns=feature_columns,
        model_dir=model_dir,
        label_dimension=label_dimension,
        weight_column=weight_column,
        optimizer=optimizer,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        sparse_combiner=sparse_combiner,
    )


@gin.configurable(module="genever")
def DNNClassifier(
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    model_dir: str | None = None,
    n_classes: int = 2,
    weight_column: str | None = None,
    label_vocabulary: Sequence[str] | None = None,
    optimizer: Any = "Adagrad",
    activation_fn: str | Callable[..., Any] = "relu",
    dropout: float | None = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    batch_norm: bool = False,
) -> Any:
    """A neural network that classifies.

    Args:
        hidden_units: widths of the hidden layers.
        feature_columns: list of `tf.feature_column`s, e.g. `@dnn_columns()`.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        n_classes: number of classes.
        weight_column: name of the feature that weighs each example.
        label_vocabulary: the labels, where they are strings.
        optimizer: un-called reference such as `@Adagrad`, or a name such as 'Adagrad'.
        activation_fn: activation of the hidden layers: a function or a name in `tf.nn`.
        dropout: part of the activations that is dropped while training, 0 to 1.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        batch_norm: normalises each hidden layer over the batch.
    Returns:
        The `tf.estimator.DNNClassifier`.
    Raises:
        ValueError: a layer is no whole number wide, the optimizer is not one of Keras, or the
            checkpoint to start from does not exist.
    """
    return _make(
        "DNNClassifier",
        config,
        hidden_units=hidden_units,
        feature_columns=feature_columns,
        model_dir=model_dir,
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        optimizer=optimizer,
        activation_fn=_activation(activation_fn),
        dropout=dropout,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        batch_norm=batch_norm,
    )


@gin.configurable(module="genever")
def DNNRegressor(
    hidden_units: Sequence[int],
    feature_columns: Sequence[Any],
    model_dir: str | None = None,
    label_dimension: int = 1,
    weight_column: str | None = None,
    optimizer: Any = "Adagrad",
    activation_fn: str | Callable[..., Any] = "relu",
    dropout: float | None = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    batch_norm: bool = False,
) -> Any:
    """A neural network of a regression.

    Args:
        hidden_units: widths of the hidden layers.
        feature_columns: list of `tf.feature_column`s, e.g. `@dnn_columns()`.
        model_dir: folder of checkpoints and summaries, if `config` names none.
        label_dimension: numbers in the label of an example.
        weight_column: name of the feature that weighs each example.
        optimizer: un-called reference such as `@Adagrad`, or a name such as 'Adagrad'.
        activation_fn: activation of the hidden layers: a function or a name in `tf.nn`.
        dropout: part of the activations that is dropped while training, 0 to 1.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        batch_norm: normalises each hidden layer over the batch.
    Returns:
        The `tf.estimator.DNNRegressor`.
    Raises:
        ValueError: a layer is no whole number wide, the optimizer is not one of Keras, or the
            checkpoint to start from does not exist.
    """
    return _make(
        "DNNRegressor",
        config,
        hidden_units=hidden_units,
        feature_columns=feature_columns,
        model_dir=model_dir,
        label_dimension=label_dimension,
        weight_column=weight_column,
        optimizer=optimizer,
        activation_fn=_activation(activation_fn),
        dropout=dropout,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        batch_norm=batch_norm,
    )


@gin.configurable(module="genever")
def DNNLinearCombinedClassifier(
    model_dir: str | None = None,
    linear_feature_columns: Sequence[Any] | None = None,
    linear_optimizer: Any = "Ftrl",
    dnn_feature_columns: Sequence[Any] | None = None,
    dnn_optimizer: Any = "Adagrad",
    dnn_hidden_units: Sequence[int] | None = None,
    dnn_activation_fn: str | Callable[..., Any] = "relu",
    dnn_dropout: float | None = None,
    n_classes: int = 2,
    weight_column: str | None = None,
    label_vocabulary: Sequence[str] | None = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    batch_norm: bool = False,
    linear_sparse_combiner: str = "sum",
) -> Any:
    """A linear model and a neural network that classify together.

    Args:
        model_dir: folder of checkpoints and summaries, if `config` names none.
        linear_feature_columns: `tf.feature_column`s of the linear part, e.g. `@linear_columns()`.
        linear_optimizer: optimizer of the linear part, e.g. `@Ftrl`.
        dnn_feature_columns: `tf.feature_column`s of the network, e.g. `@dnn_columns()`.
        dnn_optimizer: optimizer of the network, e.g. `@Adagrad`.
        dnn_hidden_units: widths of the hidden layers.
        dnn_activation_fn: activation of the hidden layers: a function or a name in `tf.nn`.
        dnn_dropout: part of the activations that is dropped while training, 0 to 1.
        n_classes: number of classes.
        weight_column: name of the feature that weighs each example.
        label_vocabulary: the labels, where they are strings.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        batch_norm: normalises each hidden layer over the batch.
        linear_sparse_combiner: how several values of a feature are combined: 'sum', 'mean' or
            'sqrtn'.
    Returns:
        The `tf.estimator.DNNLinearCombinedClassifier`.
    Raises:
        ValueError: a layer is no whole number wide, the optimizer is not one of Keras, or the
            checkpoint to start from does not exist.
    """
    return _make(
        "DNNLinearCombinedClassifier",
        config,
        model_dir=model_dir,
        linear_feature_columns=linear_feature_columns,
        linear_optimizer=linear_optimizer,
        dnn_feature_columns=dnn_feature_columns,
        dnn_optimizer=dnn_optimizer,
        dnn_hidden_units=dnn_hidden_units,
        dnn_activation_fn=_activation(dnn_activation_fn),
        dnn_dropout=dnn_dropout,
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        batch_norm=batch_norm,
        linear_sparse_combiner=linear_sparse_combiner,
    )


@gin.configurable(module="genever")
def DNNLinearCombinedRegressor(
    model_dir: str | None = None,
    linear_feature_columns: Sequence[Any] | None = None,
    linear_optimizer: Any = "Ftrl",
    dnn_feature_columns: Sequence[Any] | None = None,
    dnn_optimizer: Any = "Adagrad",
    dnn_hidden_units: Sequence[int] | None = None,
    dnn_activation_fn: str | Callable[..., Any] = "relu",
    dnn_dropout: float | None = None,
    label_dimension: int = 1,
    weight_column: str | None = None,
    config: Any = None,
    warm_start_from: Any = None,
    loss_reduction: str = "sum_over_batch_size",
    batch_norm: bool = False,
    linear_sparse_combiner: str = "sum",
) -> Any:
    """A linear model and a neural network of one regression.

    Args:
        model_dir: folder of checkpoints and summaries, if `config` names none.
        linear_feature_columns: `tf.feature_column`s of the linear part, e.g. `@linear_columns()`.
        linear_optimizer: optimizer of the linear part, e.g. `@Ftrl`.
        dnn_feature_columns: `tf.feature_column`s of the network, e.g. `@dnn_columns()`.
        dnn_optimizer: optimizer of the network, e.g. `@Adagrad`.
        dnn_hidden_units: widths of the hidden layers.
        dnn_activation_fn: activation of the hidden layers: a function or a name in `tf.nn`.
        dnn_dropout: part of the activations that is dropped while training, 0 to 1.
        label_dimension: numbers in the label of an example.
        weight_column: name of the feature that weighs each example.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        warm_start_from: checkpoint or `tf.estimator.WarmStartSettings` to start training from.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
        batch_norm: normalises each hidden layer over the batch.
        linear_sparse_combiner: how several values of a feature are combined: 'sum', 'mean' or
            'sqrtn'.
    Returns:
        The `tf.estimator.DNNLinearCombinedRegressor`.
    Raises:
        ValueError: a layer is no whole number wide, the optimizer is not one of Keras, or the
            checkpoint to start from does not exist.
    """
    return _make(
        "DNNLinearCombinedRegressor",
        config,
        model_dir=model_dir,
        linear_feature_columns=linear_feature_columns,
        linear_optimizer=linear_optimizer,
        dnn_feature_columns=dnn_feature_columns,
        dnn_optimizer=dnn_optimizer,
        dnn_hidden_units=dnn_hidden_units,
        dnn_activation_fn=_activation(dnn_activation_fn),
        dnn_dropout=dnn_dropout,
        label_dimension=label_dimension,
        weight_column=weight_column,
        warm_start_from=warm_start_from,
        loss_reduction=loss_reduction,
        batch_norm=batch_norm,
        linear_sparse_combiner=linear_sparse_combiner,
    )


@gin.configurable(module="genever")
def BaselineClassifier(
    model_dir: str | None = None,
    n_classes: int = 2,
    weight_column: str | None = None,
    label_vocabulary: Sequence[str] | None = None,
    optimizer: Any = "Ftrl",
    config: Any = None,
    loss_reduction: str = "sum_over_batch_size",
) -> Any:
    """Predicts the mean of the labels, whatever the features.

    Args:
        model_dir: folder of checkpoints and summaries, if `config` names none.
        n_classes: number of classes.
        weight_column: name of the feature that weighs each example.
        label_vocabulary: the labels, where they are strings.
        optimizer: un-called reference such as `@Ftrl`, or a name such as 'Ftrl'.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
    Returns:
        The `tf.estimator.BaselineClassifier`.
    Raises:
        ValueError: the optimizer is not one of Keras.
    """
    return _make(
        "BaselineClassifier",
        config,
        model_dir=model_dir,
        n_classes=n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        optimizer=optimizer,
        loss_reduction=loss_reduction,
    )


@gin.configurable(module="genever")
def BaselineRegressor(
    model_dir: str | None = None,
    label_dimension: int = 1,
    weight_column: str | None = None,
    optimizer: Any = "Ftrl",
    config: Any = None,
    loss_reduction: str = "sum_over_batch_size",
) -> Any:
    """Predicts the mean of the labels, whatever the features.

    Args:
        model_dir: folder of checkpoints and summaries, if `config` names none.
        label_dimension: numbers in the label of an example.
        weight_column: name of the feature that weighs each example.
        optimizer: un-called reference such as `@Ftrl`, or a name such as 'Ftrl'.
        config: a `tf.estimator.RunConfig`; by default `RunConfig()` as gin configures it.
        loss_reduction: 'sum_over_batch_size' or 'sum'.
    Returns:
        The `tf.estimator.BaselineRegressor`.
    Raises:
        ValueError: the optimizer is not one of Keras.
    """
    return _make(
        "BaselineRegressor",
        config,
        model_dir=model_dir,
        label_dimension=label_dimension,
        weight_column=weight_column,
        optimizer=optimizer,
        loss_reduction=loss_reduction,
    )


def _make(name: str, config: Any, **arguments: Any) -> Any:
    import tensorflow as tf

    for argument, value in arguments.items():
        if argument.endswith("hidden_units") and value is not None:
            check_widths(f"{name}.{argument}", value)
        elif argument.endswith("optimizer"):
            arguments[argument] = for_canned(f"{name}.{argument}", value)
        elif argument == "warm_start_from":
            arguments[argument] = with_prefix(value)
    carry_gin_scope()
    estimator = getattr(tf.estimator, name)(
        config=RunConfig() if config is None else config, **arguments
    )
    check_warm_start(f"{name}.warm_start_from", arguments.get("warm_start_from"), estimator)
    return estimator


def _activation(activation: str | Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow as tf

    if callable(activation):
        return activation
    found = getattr(tf.nn, activation, None)
    if not callable(found):
        raise ValueError(
            f"activation {activation!r} is not a function in tf.nn; write a name such as 'relu'."
        )
    return found
