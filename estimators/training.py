"""From a loss to a train_op: gradients, L2 penalty, accumulation, clipping, update ops."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import gin

from .optimizer_kinds import not_of_tf_train
from .tpu_shards import across_shards, refuse_on_tpu
from .whole_numbers import check_whole


@gin.configurable(module="genever", denylist=["loss", "optimizer", "scope_optimizers"])
def create_train_op(
    loss: Any,
    optimizer: Any,
    clip_gradient_norm: float | None = None,
    l2: float = 0.0,
    scope_optimizers: Mapping[str, Any] | None = None,
    accumulate_steps: int = 1,
    gradient_dtype: Literal["float32", "bfloat16"] = "float32",
) -> Any:
    """Makes the train_op of a model_fn.

    With `accumulate_steps` = k the train_op adds up the gradients of k batches before it updates
    the variables with their mean: k batches of b examples train as one of k * b does, in less
    memory, and replicas exchange gradients only once in k batches. The global step counts updates,
    not batches, so that max_steps, learning-rate schedules and checkpoints by steps mean what they
    mean with the large batch. The loss that is shown is that of one batch.

    Under MirroredStrategy, CentralStorageStrategy and MultiWorkerMirroredStrategy the batch of an
    update is that of all replicas; with parameter servers each worker adds up its own.

    Args:
        loss: float32 scalar tensor.
        optimizer: a `tf.compat.v1.train.Optimizer`, or a function without arguments that makes one,
            such as the gin reference `@AdamOptimizer`.
        clip_gradient_norm: scales all gradients together so that their global norm is at most this;
            the norm is that of the gradients of the whole batch, also with several replicas.
        l2: adds l2 / 2 times the sum of the squares of all kernels, embeddings and weights (not
            biases) to what is minimised, not to the loss that is shown.
        scope_optimizers: other optimizers for the variables whose names start with these scopes.
        accumulate_steps: batches to an update. What is added up is not saved: an update that is
            not complete when the training ends is dropped.
        gradient_dtype: 'bfloat16' rounds dense gradients to 8 bits of precision, before they are
            added up over replicas or sent to parameter servers: half the bytes. Each variable is
            still updated in its own dtype. Gradients of looked-up tables stay as they are.
    Returns:
        The operation that takes one step, runs the update operations of the graph (batch
        normalisation) and raises the global step by one with each update.
    Raises:
        ValueError: an optimizer is not one of `tf.compat.v1.train` or cannot work with
            `gradient_dtype`, a number is out of its range, or nothing can be trained.
    """
    import tensorflow as tf

    check_whole("create_train_op.accumulate_steps", accumulate_steps)
    if gradient_dtype not in ("float32", "bfloat16"):
        raise ValueError(
            f"create_train_op.gradient_dtype = {gradient_dtype!r} must be 'float32' or 'bfloat16'."
        )
    if l2 < 0:
        raise ValueError(f"create_train_op.l2 = {l2} must not be negative.")
    if clip_gradient_norm is not None and clip_gradient_norm <= 0:
        raise ValueError(
            f"create_train_op.clip_gradient_norm = {clip_gradient_norm} must be positive; "
            "use None for no clipping."
        )
    if accumulate_steps > 1:
        refuse_on_tpu(
            "create_train_op.accumulate_steps", "use a larger TPUEstimator.train_batch_size"
        )
    if clip_gradient_norm is not None:
        refuse_on_tpu(
            "create_train_op.clip_gradient_norm", "each shard would be clipped alone; remove it"
        )
    if gradient_dtype != "float32":
        refuse_on_tpu("create_train_op.gradient_dtype", "the optimizer adds up there; remove it")
    variables = tf.compat.v1.trainable_variables()
    if not variables:
        raise ValueError("create_train_op: the model has no trainable variables.")
    if l2:
        penalties = [tf.nn.l2_loss(v) for v in variables if is_regularised(v)]
        if penalties:
            loss = loss + l2 * tf.add_n(penalties)

    groups = [(across_shards(make_optimizer(optimizer)), [])]
    scopes = {}
    for scope, other in (scope_optimizers or {}).items():
        scopes[scope.rstrip("/") + "/"] = len(groups)
        groups.append((across_shards(make_optimizer(other)), []))
    for variable in variables:
        index = next((i for s, i in scopes.items() if variable.name.startswith(s)), 0)
        groups[index][1].append(variable)

    groups = [(opt, opt.compute_gradients(loss, owned)) for opt, owned in groups if owned]
    groups = [(opt, [(g, v) for g, v in pairs if g is not None]) for opt, pairs in groups]
    groups = [(opt, pairs) for opt, pairs in groups if pairs]
    if not groups:
        raise ValueError("create_train_op: the loss depends on no trainable variable.")
    step = tf.compat.v1.train.get_or_create_global_step()

    def update(gradients):
        return _apply(_with(gradients, groups), step, clip_gradient_norm, gradient_dtype)

    gradients = [gradient for _, pairs in groups for gradient, _ in pairs]
    updates = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(updates):
        if accumulate_steps == 1:
            return update(gradients)
        from .accumulation import accumulate

        return accumulate(gradients, accumulate_steps, update)


def make_optimizer(optimizer: Any) -> Any:
    """Returns the optimizer that `optimizer` is or makes.

    Args:
        optimizer: a `tf.compat.v1.train.Optimizer` or a function without arguments that makes one.
    Returns:
        The `tf.compat.v1.train.Optimizer`.
    Raises:
        ValueError: it is something else.
    """
    import tensorflow as tf

    made = optimizer
    if isinstance(made, Callable) and not isinstance(made, tf.compat.v1.train.Optimizer):
        made = made()
    if not isinstance(made, tf.compat.v1.train.Optimizer):
        raise not_of_tf_train(made)
    return made


def is_regularised(variable: Any) -> bool:
    """Says whether the L2 penalty counts a variable: kernels and weights, not biases or scales."""
    rank = variable.shape.rank or 0
    whole = re.sub(r"/part_\d+$", "", variable.op.name)  # a partitioner's part of a variable
    last = whole.rsplit("/", 1)[-1]
    return rank >= 2 or (rank == 1 and any(word in last for word in ("kernel", "weight")))


def _apply(groups: list, step: Any, clip_gradient_norm: float | None, dtype: str) -> Any:
    """Applies the gradients of all groups and raises the global step by one."""
    import tensorflow as tf

    if dtype == "bfloat16":
        from .compat.narrow_gradients import WideningOptimizer, refuse_nccl

        refuse_nccl(tf.distribute.get_strategy())
        groups = [(WideningOptimizer(opt), pairs) for opt, pairs in groups]
    if clip_gradient_norm is not None:
        groups = _clip(groups, clip_gradient_norm, dtype)
    if dtype == "bfloat16":
        groups = [(opt, [(_narrow(g), v) for g, v in pairs]) for opt, pairs in groups]
    first, *others = groups
    applied = [opt.apply_gradients(pairs) for opt, pairs in others]
    with tf.control_dependencies(applied):
        return first[0].apply_gradients(first[1], global_step=step)


def _with(gradients: list, groups: list) -> list:
    """The groups with other gradients, in the same order."""
    remaining = iter(gradients)
    return [(opt, [(next(remaining), v) for _, v in pairs]) for opt, pairs in groups]


def _narrow(gradient: Any) -> Any:
    import tensorflow as tf

    # Rows of tables are gathered, and TensorFlow gathers no bfloat16 numbers.
    sparse = isinstance(gradient, tf.IndexedSlices)
    return gradient if sparse else tf.cast(gradient, tf.bfloat16)


def _clip(groups: list, norm: float, dtype: str) -> list:
    """Clips the gradients of all groups by their common global norm."""
    import tensorflow as tf

    gradients = [gradient for _, pairs in groups for gradient, _ in pairs]
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    if replicas > 1:
        # The norm of the batch is that of the sum; every replica then hands in its equal part.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        sent = [tf.cast(g, tf.bfloat16) for g in gradients] if dtype == "bfloat16" else gradients
        total = tf.distribute.get_replica_context().merge_call(_sum_over_replicas, sent)
        total = [tf.cast(t, g.dtype) for t, g in zip(total, gradients, strict=True)]
        gradients, _ = tf.clip_by_global_norm(total, norm)
        gradients = [gradient / replicas for gradient in gradients]
    else:
        gradients, _ = tf.clip_by_global_norm([_each_row_once(g) for g in gradients], norm)
    return _with(gradients, groups)


def _each_row_once(gradient: Any) -> Any:
    """Adds up what several lookups of a row give it: only so is its norm that of the gradient."""
    import tensorflow as tf

    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, places = tf.unique(gradient.indices)
    sums = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(sums, rows, gradient.dense_shape)


def _sum_over_replicas(strategy: Any, *gradients: Any) -> list:
    import tensorflow as tf

    # ReplicaContext.all_reduce wraps this in a custom gradient, which loses mirrored variables.
    pairs = [(gradient, gradient) for gradient in gradients]
    return strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, pairs)
