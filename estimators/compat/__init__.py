"""`tf.estimator` on every supported TensorFlow; the only place that touches private TensorFlow API."""


def install():
    pass
