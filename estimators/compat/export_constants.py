"""The API name `estimator` of TensorFlow's export decorator.

Replaces: `tf_export.ESTIMATOR_API_NAME` and the `estimator` entries of `API_ATTRS` and
`API_ATTRS_V1`, gone from TensorFlow 2.16 on. The decorator on every public name of
tensorflow_estimator reads them. Missing public API: registering a further API name.
"""

_NAME = "estimator"


def apply(tf) -> None:
    """Adds the constant and the two entries."""
    from tensorflow.python.util import tf_export

    # The kind of entry that the other API names have; its class has no public name.
    entry = type(tf_export.API_ATTRS[tf_export.TENSORFLOW_API_NAME])
    tf_export.ESTIMATOR_API_NAME = _NAME
    tf_export.API_ATTRS[_NAME] = entry(f"_{_NAME}_api_names", f"_{_NAME}_api_constants")
    tf_export.API_ATTRS_V1[_NAME] = entry(f"_{_NAME}_api_names_v1", f"_{_NAME}_api_constants_v1")
