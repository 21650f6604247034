"""The input in rounds: what the replicas of one process consume in one step.

A round is as many batches as there are replicas; replica r takes batch `i * replicas + r`. Each
batch carries what its replica will get in the next round, so that whoever runs the steps knows of
an uneven last round before it begins: TensorFlow itself notices in the middle of it, when some
replicas have already counted their part.
"""

from typing import Any

import tensorflow as tf


def in_rounds(dataset: Any, replicas: int) -> Any:
    """Tells each replica in advance whether it has a batch in the next round.

    The dataset is read once, and may be saved and restored by tf.data.

    Args:
      dataset: a `tf.data.Dataset` of batches of any structure.
      replicas: number of batches in a round.
    Returns:
      A Dataset of `(batch, (real, examples))`, int64 scalars: whether the same replica has a batch
      in the next round, 1 or 0, and how many examples it holds. The first round is a header: its
      batches are empty, and it only tells about the round that follows. None where the dataset has
      components that cannot be made up for the header.
    """
    spec = dataset.element_spec
    try:
        nothing = _parts(tf.nest.map_structure(_empty, spec))
    except NotImplementedError:
        return None
    zero, one = tf.constant(0, tf.int64), tf.constant(1, tf.int64)

    def known(*components):
        # `map` hands the parts of a tuple over one by one.
        batch = components if isinstance(spec, tuple) else components[0]
        return _parts(batch), one, batch_size(batch)

    # After the end come as many empty batches as there are replicas, to bring out the last ones.
    end = tf.data.Dataset.from_tensors((nothing, zero, zero)).repeat(replicas)
    flags = dataset.map(known).concatenate(end)

    def delayed(waiting, arrived):
        (parts, *_), *others = waiting
        batch = tf.nest.pack_sequence_as(spec, list(parts), expand_composites=True)
        return (*others, arrived), (batch, (arrived[1], arrived[2]))

    # A batch leaves when the one of the next round for its replica has arrived.
    return flags.scan(((nothing, zero, zero),) * replicas, delayed)


def batch_size(batch: Any) -> Any:
    """Returns the number of examples of a batch, int64: the first dimension of its components."""
    for component in tf.nest.flatten(batch):
        if isinstance(component, tf.SparseTensor):
            return component.dense_shape[0]
        if isinstance(component, tf.RaggedTensor):
            return component.nrows(out_type=tf.int64)
        if isinstance(component, tf.Tensor) and component.shape.rank:
            return tf.shape(component, out_type=tf.int64)[0]
    return tf.constant(1, tf.int64)


def _parts(batch: Any) -> tuple[Any, ...]:
    """Returns the dense tensors of a batch: `scan` takes no sparse or ragged ones."""
    return tuple(tf.nest.flatten(batch, expand_composites=True))


def _empty(spec: Any) -> Any:
    """Returns a value that fits a spec: with no examples, or zeros where the size is fixed."""
    if isinstance(spec, tf.TensorSpec) and spec.dtype not in (tf.variant, tf.resource):
        rank = 1 if spec.shape.rank is None else spec.shape.rank
        sizes = [None] * rank if spec.shape.rank is None else spec.shape.as_list()
        return tf.zeros([size or 0 for size in sizes], spec.dtype)
    if isinstance(spec, tf.SparseTensorSpec) and spec.shape.rank is not None:
        shape = [size or 0 for size in spec.shape.as_list()]
        return tf.SparseTensor(
            tf.zeros([0, len(shape)], tf.int64), tf.zeros([0], spec.dtype), shape
        )
    if isinstance(spec, tf.RaggedTensorSpec) and spec.shape.rank is not None:
        inner = [size or 0 for size in spec.shape.as_list()[spec.ragged_rank + 1 :]]
        ragged = tf.zeros([0, *inner], spec.dtype)
        for _ in range(spec.ragged_rank):
            splits = tf.zeros([1], spec.row_splits_dtype)
            ragged = tf.RaggedTensor.from_row_splits(ragged, splits, validate=False)
        return ragged
    raise NotImplementedError(spec)
