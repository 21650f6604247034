"""Optimizers of `tf.compat.v1.train`, for model_fns.

A model_fn takes one un-called, `wide_deep.optimizer = @AdamOptimizer`, and makes it inside its
graph, where a learning-rate schedule finds the global step.
"""

from typing import Any

import gin

from .rates import checked_rate


@gin.configurable(module="genever")
def GradientDescentOptimizer(
    learning_rate: float,
    use_locking: bool = False,
    name: str = "GradientDescent",
) -> Any:
    """Plain gradient descent.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.GradientDescentOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.GradientDescentOptimizer(
        learning_rate=checked_rate("GradientDescentOptimizer.learning_rate", learning_rate),
        use_locking=use_locking,
        name=name,
    )


@gin.configurable(module="genever")
def MomentumOptimizer(
    learning_rate: float,
    momentum: float,
    use_locking: bool = False,
    name: str = "Momentum",
    use_nesterov: bool = False,
) -> Any:
    """Gradient descent with momentum.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        momentum: part of the last step that is kept.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
        use_nesterov: Nesterov momentum.
    Returns:
        The `tf.compat.v1.train.MomentumOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.MomentumOptimizer(
        learning_rate=checked_rate("MomentumOptimizer.learning_rate", learning_rate),
        momentum=momentum,
        use_locking=use_locking,
        name=name,
        use_nesterov=use_nesterov,
    )


@gin.configurable(module="genever")
def AdagradOptimizer(
    learning_rate: float,
    initial_accumulator_value: float = 0.1,
    use_locking: bool = False,
    name: str = "Adagrad",
) -> Any:
    """Adagrad: each weight has its own falling step size.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        initial_accumulator_value: value from which the sums of squares start.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.AdagradOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.AdagradOptimizer(
        learning_rate=checked_rate("AdagradOptimizer.learning_rate", learning_rate),
        initial_accumulator_value=initial_accumulator_value,
        use_locking=use_locking,
        name=name,
    )


@gin.configurable(module="genever")
def AdadeltaOptimizer(
    learning_rate: float = 0.001,
    rho: float = 0.95,
    epsilon: float = 1e-8,
    use_locking: bool = False,
    name: str = "Adadelta",
) -> Any:
    """Adadelta.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        rho: decay of the means of squares.
        epsilon: small number that keeps a division finite.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.AdadeltaOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.AdadeltaOptimizer(
        learning_rate=checked_rate("AdadeltaOptimizer.learning_rate", learning_rate),
        rho=rho,
        epsilon=epsilon,
        use_locking=use_locking,
        name=name,
    )


@gin.configurable(module="genever")
def AdamOptimizer(
    learning_rate: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    use_locking: bool = False,
    name: str = "Adam",
) -> Any:
    """Adam.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        beta1: decay of the mean of the gradients.
        beta2: decay of the mean of their squares.
        epsilon: small number that keeps a division finite.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.AdamOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.AdamOptimizer(
        learning_rate=checked_rate("AdamOptimizer.learning_rate", learning_rate),
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        use_locking=use_locking,
        name=name,
    )


@gin.configurable(module="genever")
def RMSPropOptimizer(
    learning_rate: float,
    decay: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-10,
    use_locking: bool = False,
    centered: bool = False,
    name: str = "RMSProp",
) -> Any:
    """RMSProp.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        decay: decay of the mean of the squares.
        momentum: part of the last step that is kept.
        epsilon: small number that keeps a division finite.
        use_locking: updates a variable under a lock.
        centered: divides by the estimated variance instead of the mean square.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.RMSPropOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.RMSPropOptimizer(
        learning_rate=checked_rate("RMSPropOptimizer.learning_rate", learning_rate),
        decay=decay,
        momentum=momentum,
        epsilon=epsilon,
        use_locking=use_locking,
        centered=centered,
        name=name,
    )


@gin.configurable(module="genever")
def FtrlOptimizer(
    learning_rate: float,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    use_locking: bool = False,
    name: str = "Ftrl",
    accum_name: str | None = None,
    linear_name: str | None = None,
    l2_shrinkage_regularization_strength: float = 0.0,
    beta: float | None = None,
) -> Any:
    """FTRL-Proximal, for wide and sparse linear models.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        learning_rate_power: power of the sum of squares, at most 0; -0.5 is that of Adagrad.
        initial_accumulator_value: value from which the sums of squares start.
        l1_regularization_strength: L1 penalty, at least 0.
        l2_regularization_strength: L2 penalty, at least 0.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
        accum_name: suffix of the slot of the sums of squares.
        linear_name: suffix of the slot of the linear terms.
        l2_shrinkage_regularization_strength: L2 penalty on the gradient only, at least 0.
        beta: added to the square roots in the step size.
    Returns:
        The `tf.compat.v1.train.FtrlOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.FtrlOptimizer(
        learning_rate=checked_rate("FtrlOptimizer.learning_rate", learning_rate),
        learning_rate_power=learning_rate_power,
        initial_accumulator_value=initial_accumulator_value,
        l1_regularization_strength=l1_regularization_strength,
        l2_regularization_strength=l2_regularization_strength,
        use_locking=use_locking,
        name=name,
        accum_name=accum_name,
        linear_name=linear_name,
        l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        beta=beta,
    )


@gin.configurable(module="genever")
def ProximalGradientDescentOptimizer(
    learning_rate: float,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    use_locking: bool = False,
    name: str = "ProximalGradientDescent",
) -> Any:
    """Gradient descent with proximal L1 and L2 penalties.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        l1_regularization_strength: L1 penalty, at least 0.
        l2_regularization_strength: L2 penalty, at least 0.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.ProximalGradientDescentOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.ProximalGradientDescentOptimizer(
        learning_rate=checked_rate("ProximalGradientDescentOptimizer.learning_rate", learning_rate),
        l1_regularization_strength=l1_regularization_strength,
        l2_regularization_strength=l2_regularization_strength,
        use_locking=use_locking,
        name=name,
    )


@gin.configurable(module="genever")
def ProximalAdagradOptimizer(
    learning_rate: float,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    use_locking: bool = False,
    name: str = "ProximalAdagrad",
) -> Any:
    """Adagrad with proximal L1 and L2 penalties.

    Args:
        learning_rate: step size; a number or a schedule such as `@cosine_decay()`.
        initial_accumulator_value: value from which the sums of squares start.
        l1_regularization_strength: L1 penalty, at least 0.
        l2_regularization_strength: L2 penalty, at least 0.
        use_locking: updates a variable under a lock.
        name: prefix of the names of its variables.
    Returns:
        The `tf.compat.v1.train.ProximalAdagradOptimizer`.
    Raises:
        ValueError: the learning rate is a negative number.
    """
    import tensorflow as tf

    return tf.compat.v1.train.ProximalAdagradOptimizer(
        learning_rate=checked_rate("ProximalAdagradOptimizer.learning_rate", learning_rate),
        initial_accumulator_value=initial_accumulator_value,
        l1_regularization_strength=l1_regularization_strength,
        l2_regularization_strength=l2_regularization_strength,
        use_locking=use_locking,
        name=name,
    )
