"""How many examples a step takes: read from the iterators of the finished graph.

Works for any input_fn that returns a `tf.data.Dataset`, on one device and on several replicas.
"""

import tensorflow as tf

_NEXT = ("IteratorGetNext", "IteratorGetNextSync")


def batch_sizes() -> list[tf.Tensor]:
    """Returns a scalar int32 for each replica's batch in the default graph.

    Empty where the input does not come from a Dataset, or where its elements are no batches.
    """
    graph = tf.compat.v1.get_default_graph()
    sizes = []
    for op in graph.get_operations():
        if op.type not in _NEXT:
            continue
        batched = [output for output in op.outputs if output.shape.rank]
        if batched:
            with graph.as_default(), tf.device(op.device):
                sizes.append(tf.shape(batched[0])[0])
    return sizes


class CountHook(tf.compat.v1.train.SessionRunHook):
    """Counts the batches and the examples of one evaluation.

    Attributes:
      batches: how many batches were evaluated, over all replicas.
      examples: how many examples they held; None where the graph does not tell.
    """

    def begin(self):
        self._sizes = batch_sizes()
        self.batches = 0
        self.examples = 0 if self._sizes else None

    def before_run(self, run_context):
        return tf.compat.v1.train.SessionRunArgs(self._sizes)

    def after_run(self, run_context, run_values):
        sizes = [int(size) for size in run_values.results]
        self.batches += sum(size > 0 for size in sizes) if sizes else 1
        if self.examples is not None:
            self.examples += sum(sizes)
