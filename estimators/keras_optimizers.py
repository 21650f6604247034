"""Optimizers of Keras 2, for canned Estimators.

Write one un-called, `DNNClassifier.optimizer = @Adam`: the Estimator makes it inside its graph,
where a learning-rate schedule finds the global step.
"""

from typing import Any

import gin

from .rates import checked_rate


def _keras_optimizers() -> Any:
    import tensorflow as tf

    # Only the legacy classes of Keras 2.11 and later work in a graph with sessions.
    return getattr(tf.keras.optimizers, "legacy", tf.keras.optimizers)


@gin.configurable(module="genever")
def SGD(
    learning_rate: float = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    name: str = "SGD",
) -> Any:
    """Gradient descent, with momentum if wanted.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        momentum: part of the last step that is kept.
        nesterov: Nesterov momentum.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.SGD`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().SGD(
        learning_rate=checked_rate("SGD.learning_rate", learning_rate),
        momentum=momentum,
        nesterov=nesterov,
        name=name,
    )


@gin.configurable(module="genever")
def Adadelta(
    learning_rate: float = 0.001,
    rho: float = 0.95,
    epsilon: float = 1e-7,
    name: str = "Adadelta",
) -> Any:
    """Adadelta.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        rho: decay of the means of squares.
        epsilon: small number that keeps a division finite.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.Adadelta`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Adadelta(
        learning_rate=checked_rate("Adadelta.learning_rate", learning_rate),
        rho=rho,
        epsilon=epsilon,
        name=name,
    )


@gin.configurable(module="genever")
def Adagrad(
    learning_rate: float = 0.001,
    initial_accumulator_value: float = 0.1,
    epsilon: float = 1e-7,
    name: str = "Adagrad",
) -> Any:
    """Adagrad: each weight has its own falling step size.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        initial_accumulator_value: value from which the sums of squares start.
        epsilon: small number that keeps a division finite.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.Adagrad`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Adagrad(
        learning_rate=checked_rate("Adagrad.learning_rate", learning_rate),
        initial_accumulator_value=initial_accumulator_value,
        epsilon=epsilon,
        name=name,
    )


@gin.configurable(module="genever")
def Adam(
    learning_rate: float = 0.001,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    amsgrad: bool = False,
    name: str = "Adam",
) -> Any:
    """Adam.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        beta_1: decay of the mean of the gradients.
        beta_2: decay of the mean of their squares.
        epsilon: small number that keeps a division finite.
        amsgrad: keeps the greatest mean of squares.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.Adam`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Adam(
        learning_rate=checked_rate("Adam.learning_rate", learning_rate),
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        amsgrad=amsgrad,
        name=name,
    )


@gin.configurable(module="genever")
def Adamax(
    learning_rate: float = 0.001,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    name: str = "Adamax",
) -> Any:
    """Adamax, the variant of Adam on the infinity norm.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        beta_1: decay of the mean of the gradients.
        beta_2: decay of the mean of their squares.
        epsilon: small number that keeps a division finite.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.Adamax`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Adamax(
        learning_rate=checked_rate("Adamax.learning_rate", learning_rate),
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        name=name,
    )


@gin.configurable(module="genever")
def Nadam(
    learning_rate: float = 0.001,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    name: str = "Nadam",
) -> Any:
    """Adam with Nesterov momentum.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        beta_1: decay of the mean of the gradients.
        beta_2: decay of the mean of their squares.
        epsilon: small number that keeps a division finite.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.Nadam`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Nadam(
        learning_rate=checked_rate("Nadam.learning_rate", learning_rate),
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        name=name,
    )


@gin.configurable(module="genever")
def RMSprop(
    learning_rate: float = 0.001,
    rho: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-7,
    centered: bool = False,
    name: str = "RMSprop",
) -> Any:
    """RMSprop.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        rho: decay of the means of squares.
        momentum: part of the last step that is kept.
        epsilon: small number that keeps a division finite.
        centered: divides by the estimated variance instead of the mean square.
        name: prefix of the names of its variables.
    Returns:
        The `tf.keras.optimizers.legacy.RMSprop`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().RMSprop(
        learning_rate=checked_rate("RMSprop.learning_rate", learning_rate),
        rho=rho,
        momentum=momentum,
        epsilon=epsilon,
        centered=centered,
        name=name,
    )


@gin.configurable(module="genever")
def Ftrl(
    learning_rate: float = 0.001,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    name: str = "Ftrl",
    l2_shrinkage_regularization_strength: float = 0.0,
    beta: float = 0.0,
) -> Any:
    """FTRL-Proximal, for wide and sparse linear models.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        learning_rate_power: power of the sum of squares, at most 0; -0.5 is that of Adagrad.
        initial_accumulator_value: value from which the sums of squares start.
        l1_regularization_strength: L1 penalty, at least 0.
        l2_regularization_strength: L2 penalty, at least 0.
        name: prefix of the names of its variables.
        l2_shrinkage_regularization_strength: L2 penalty on the gradient only, at least 0.
        beta: added to the square roots in the step size.
    Returns:
        The `tf.keras.optimizers.legacy.Ftrl`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    return _keras_optimizers().Ftrl(
        learning_rate=checked_rate("Ftrl.learning_rate", learning_rate),
        learning_rate_power=learning_rate_power,
        initial_accumulator_value=initial_accumulator_value,
        l1_regularization_strength=l1_regularization_strength,
        l2_regularization_strength=l2_regularization_strength,
        name=name,
        l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        beta=beta,
    )
