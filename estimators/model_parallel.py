"""Model parallelism: a layer in N parts on N devices, for any model_fn."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gin


@gin.configurable(module="genever", denylist=["inputs", "units", "name"])
def sharded_dense(
    inputs: Any,
    units: int,
    num_shards: int | None = None,
    devices: Sequence[str] | None = None,
    activation: Callable[..., Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = None,
    name: str = "dense",
) -> Any:
    """A dense layer that is split into sub-models on their own devices.

    The columns of the inputs X and the rows of the weights W are cut into N pieces:

        Y = X W + b = X_1 W_1 + ... + X_N W_N + b

    Shard i holds W_i, a matrix of about d/N rows, on its own device. In each step it gets the
    columns X_i and computes X_i W_i; the device of the caller adds the N products and the bias.
    Backwards, every shard gets dL/dY and computes dL/dW_i = X_i^T dL/dY on its device, where the
    optimizer also keeps its slots (momentum and the like) and updates W_i. Only columns of X,
    products and dL/dY travel, never weights: a layer that is too large for one device is trained
    on several. It holds for every optimizer, also without `colocate_gradients_with_ops`. The
    result is that of a layer in one piece up to the rounding of the sum.

    Where the shards are:
      * `num_shards` = N: on N devices that follow each other, beginning with the device of the
        replica: '/gpu:0' ... without a strategy ('/cpu:0' ... on a machine without a GPU).
        Under `MirroredStrategy` every replica has its own N, so its devices must be N apart.
        Copies of the same shard are added up across replicas, shard by shard.
      * `devices`: one name per shard. In a cluster, ['/job:ps/task:0', '/job:ps/task:1'] computes
        each product on the parameter server that has the weights. Where the caller is part of no
        job, as in evaluation and serving, such names are left out.
    A session sees one CPU, unless `ConfigProto.device_count` says otherwise. Give
    `shard_devices_hook()` to the `training_hooks` of the `EstimatorSpec`: it stops a run that lacks
    a device; TensorFlow would silently put everything on one. Evaluation, prediction and serving
    do with fewer devices; give `portable_scaffold()` to the spec of prediction, so that an export
    names no devices.

    A checkpoint holds one variable `name/kernel` of shape [d, units] whatever the number of
    shards, which may change from run to run, and it is that of an unsharded layer of this name.

    Args:
        inputs: float, [..., d]; d must be known and at least the number of shards.
        units: number of outputs.
        num_shards: number of parts; d need not be a multiple of it, the first parts are then
            larger by one.
        devices: one device name per part, instead of `num_shards`.
        activation: function of the outputs, e.g. `tf.nn.relu`.
        use_bias: adds a bias, which lies on the device of the caller.
        kernel_initializer: by default Glorot's, for the size of the whole matrix; a tensor or
            array of shape [d, units] is cut.
        bias_initializer: zeros by default.
        name: the variable scope: `name/kernel` and `name/bias`.
    Returns:
        Float, [..., units].
    Raises:
        ValueError: d is not known or smaller than the number of shards, neither or both of
            `num_shards` and `devices` are given, or replicas would share a device.
    """
    import tensorflow as tf

    inputs = tf.convert_to_tensor(inputs)
    columns = inputs.shape[-1] if inputs.shape.rank else None
    if columns is None:
        raise ValueError(f"sharded_dense: inputs have shape {inputs.shape}; d must be known.")
    with tf.compat.v1.variable_scope(name):
        shards = sharded_variable(
            "sharded_dense",
            "kernel",
            [columns, units],
            num_shards,
            devices,
            inputs.dtype,
            kernel_initializer,
        )
        matrix = inputs if inputs.shape.rank == 2 else tf.reshape(inputs, [-1, columns])
        outputs = sum_of_products(matrix, shards)
        if use_bias:
            zeros = tf.compat.v1.zeros_initializer()
            outputs += tf.compat.v1.get_variable(
                "bias", [units], inputs.dtype, bias_initializer or zeros
            )
        if inputs.shape.rank != 2:
            outputs = tf.reshape(outputs, tf.concat([tf.shape(inputs)[:-1], [units]], axis=0))
    return outputs if activation is None else activation(outputs)


@gin.configurable(module="genever", denylist=["ids", "num_buckets", "dimension", "name"])
def sharded_embedding(
    ids: Any,
    num_buckets: int,
    dimension: int,
    num_shards: int | None = None,
    devices: Sequence[str] | None = None,
    initializer: Any = None,
    name: str = "embedding",
) -> Any:
    """An embedding table whose rows are spread over devices.

    Shard i holds the rows from about i/N to (i + 1)/N of the table on its own device and looks up
    the ids that fall there. Its gradient, `tf.IndexedSlices` of the rows that were looked up, is
    made and applied on that device, with the slots of the optimizer. Only ids, found rows and
    their gradients travel. Devices and checkpoints are those of `sharded_dense`: one variable
    `name/embeddings` of shape [num_buckets, dimension] in a checkpoint.

    Under `MultiWorkerMirroredStrategy`, whose collectives want gradients of one size, every shard
    looks up every id, so that N times as many rows travel, and all batches must be of one size.

    Args:
        ids: int32 or int64, of any shape, 0 ... num_buckets - 1.
        num_buckets: number of rows.
        dimension: numbers in a row.
        num_shards: number of parts of the table; num_buckets need not be a multiple of it.
        devices: one device name per part, instead of `num_shards`.
        initializer: by default normal with standard deviation dimension ** -0.5; a tensor or
            array of shape [num_buckets, dimension] is cut.
        name: the variable scope: `name/embeddings`.
    Returns:
        float32, [..., dimension].
    Raises:
        ValueError: there are more shards than rows, neither or both of `num_shards` and
            `devices` are given, or replicas would share a device.
    """
    import tensorflow as tf

    if initializer is None:
        initializer = tf.compat.v1.random_normal_initializer(stddev=dimension**-0.5)
    with tf.compat.v1.variable_scope(name):
        shards = sharded_variable(
            "sharded_embedding",
            "embeddings",
            [num_buckets, dimension],
            num_shards,
            devices,
            tf.float32,
            initializer,
        )
    ids = tf.convert_to_tensor(ids)
    everywhere = isinstance(tf.distribute.get_strategy(), _multi_worker_strategies())
    find = _rows_looked_up_everywhere if everywhere else _rows_where_they_are
    found = tf.reshape(
        find(tf.reshape(ids, [-1]), shards), tf.concat([tf.shape(ids), [dimension]], 0)
    )
    found.set_shape([*ids.shape, dimension])
    return found


def shard_devices_hook() -> Any:
    """Makes a hook for training that raises a ValueError, before the first step, if the session
    lacks the device of a shard.

    Returns:
        A `tf.estimator.SessionRunHook`.
    """
    from .shard_devices import ShardDevicesHook

    return ShardDevicesHook()


class Shard(NamedTuple):
    """Some rows of a variable on a device."""

    variable: Any
    device: str


def sharded_variable(
    configurable: str,
    name: str,
    shape: Sequence[int],
    num_shards: int | None,
    devices: Sequence[str] | None,
    dtype: Any,
    initializer: Any,
) -> list[Shard]:
    """Creates a variable whose rows are spread over devices; a checkpoint has it in one piece.

    Args:
        configurable: whose arguments these are, e.g. `sharded_dense`.
        name: name of the variable, within the variable scope.
        shape: shape of the whole; its first dimension is cut.
        num_shards: see `sharded_dense`.
        devices: see `sharded_dense`.
        dtype: a `tf.DType`.
        initializer: of the whole; a function is called for each shard.
    Returns:
        The shards in the order of their rows, for the replica that is being built.
    Raises:
        ValueError: there are more shards than rows, neither or both of `num_shards` and
            `devices` are given, or replicas would share a device.
    """
    import tensorflow as tf

    from .compat.shard_variables import variables_on
    from .shard_devices import replica_index, shard_devices

    replicas = shard_devices(configurable, num_shards, devices)
    count = len(replicas[0])
    if count > shape[0]:
        raise ValueError(
            f"{configurable}: {count} shards of {shape[0]} row(s); use at most {shape[0]}."
        )
    remaining = iter(zip(*replicas, strict=True))
    partitions = [count] + [1] * (len(shape) - 1)
    with variables_on(lambda: next(remaining)):
        parts = tf.compat.v1.get_variable(
            name,
            shape,
            dtype,
            initializer,
            partitioner=lambda **_: partitions,
            use_resource=True,
        )
    own = replicas[replica_index()]
    return [Shard(part, device) for part, device in zip(parts, own, strict=True)]


def sum_of_products(inputs: Any, shards: Sequence[Shard]) -> Any:
    """Returns X W = X_1 W_1 + ... + X_N W_N, each product computed on the device of its shard.

    Args:
        inputs: float, [batch, d].
        shards: of a `sharded_variable` of shape [d, units] or [d].
    Returns:
        Float, [batch, units]; [batch] for weights of shape [d].
    """
    import tensorflow as tf

    from .shard_gradients import gradients_stay

    columns = tf.split(inputs, [shard.variable.shape[0] for shard in shards], axis=1)
    products = []
    for own_columns, (variable, device) in zip(columns, shards, strict=True):
        with tf.device(device), gradients_stay():
            weights = tf.convert_to_tensor(variable)
            if weights.shape.rank == 1:
                weights = tf.reshape(weights, [-1, 1])
            products.append(tf.matmul(own_columns, weights))
    total = tf.add_n(products)
    return tf.squeeze(total, axis=1) if shards[0].variable.shape.rank == 1 else total


def _multi_worker_strategies() -> tuple[type, ...]:
    import tensorflow as tf

    return (
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.MultiWorkerMirroredStrategy,
        tf.compat.v1.distribute.experimental.MultiWorkerMirroredStrategy,
    )


def _rows_where_they_are(ids: Any, shards: Sequence[Shard]) -> Any:
    """Looks up each id in the shard that has it."""
    import tensorflow as tf

    begins = _first_rows(shards)
    shard_of = tf.searchsorted(tf.constant(begins, ids.dtype), ids, side="right") - 1
    own_ids = tf.dynamic_partition(ids, shard_of, len(shards))
    places = tf.dynamic_partition(tf.range(tf.size(ids)), shard_of, len(shards))
    rows = [
        _rows(shard, own - begin) for shard, own, begin in zip(shards, own_ids, begins, strict=True)
    ]
    return tf.dynamic_stitch(places, rows)


def _rows_looked_up_everywhere(ids: Any, shards: Sequence[Shard]) -> Any:
    """Looks up each id in every shard and takes the row of the one that has it.

    The collectives of several workers take gradients only if their number of rows is the same in
    every step on every worker, and the number of ids in one shard is not.
    """
    import tensorflow as tf

    begins, total = _first_rows(shards), sum(shard.variable.shape[0] for shard in shards)
    known = tf.debugging.Assert(
        tf.reduce_all((ids >= 0) & (ids < total)),
        [f"sharded_embedding: ids must be 0 ... {total - 1}; found:", ids],
    )
    with tf.control_dependencies([known]):
        ids = tf.identity(ids)
    found = []
    for shard, begin in zip(shards, begins, strict=True):
        last = shard.variable.shape[0] - 1
        with tf.device(shard.device):
            own = ids - begin
            inside = (own >= 0) & (own <= last)
            # A row that is looked up anyway: one more would get a step of its momentum.
            spare = tf.gather(own, tf.argmax(tf.cast(inside, tf.int32)))
            own = tf.where(inside, own, tf.clip_by_value(spare, 0, last))
        found.append(tf.where(inside[:, tf.newaxis], _rows(shard, own), 0.0))
    return tf.add_n(found)


def _first_rows(shards: Sequence[Shard]) -> list[int]:
    sizes = [shard.variable.shape[0] for shard in shards]
    return [sum(sizes[:index]) for index in range(len(sizes))]


def _rows(shard: Shard, ids: Any) -> Any:
    import tensorflow as tf

    from .shard_gradients import gradients_stay

    variable = shard.variable
    # By its handle: `tf.gather` copies a variable of a strategy as a whole first.
    with tf.device(shard.device), gradients_stay():
        return tf.raw_ops.ResourceGather(
            resource=variable.handle, indices=ids, dtype=variable.dtype
        )
