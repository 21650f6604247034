"""The checkpoints of a model_dir."""


def latest(model_dir: str) -> str | None:
    """Returns the path of the latest checkpoint, or None where there is none."""
    import tensorflow as tf

    return tf.train.latest_checkpoint(model_dir)


def step_of(checkpoint: str) -> int:
    """Returns the global step that a checkpoint holds."""
    import tensorflow as tf

    return int(tf.train.load_checkpoint(checkpoint).get_tensor("global_step"))
