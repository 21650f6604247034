"""`tf.io.write_graph` with protobuf 7 on TensorFlow 2.20.

Replaces: the `text_format` that TensorFlow's `graph_io` uses. TensorFlow 2.20 allows protobuf 7,
but passes it the argument `float_format`, which protobuf 7 no longer has, so that every
`Estimator.train` fails when it writes graph.pbtxt; repaired in TensorFlow 2.21. Missing public API:
a way to change how `tf.io.write_graph` calls protobuf.
"""

import inspect

from . import versions

_REPAIRED = (2, 21)


def apply(tf) -> None:
    """Puts a text_format that drops the empty `float_format` into `graph_io`, where needed."""
    if versions.parse(tf.__version__) >= _REPAIRED:
        return
    from google.protobuf import text_format
    from tensorflow.python.framework import graph_io

    if "float_format" not in inspect.signature(text_format.MessageToString).parameters:
        graph_io.text_format = _TextFormat(text_format)


class _TextFormat:
    """protobuf's text_format whose `MessageToString` still accepts an empty `float_format`."""

    def __init__(self, text_format):
        self._text_format = text_format

    def __getattr__(self, name):
        return getattr(self._text_format, name)

    def MessageToString(self, message, *args, float_format=None, **kwargs):
        if float_format:
            kwargs["float_format"] = float_format
        return self._text_format.MessageToString(message, *args, **kwargs)
