"""protobuf 7 has no `float_format`, which TensorFlow 2.20 passes; files stay the same."""

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import pytest
import tensorflow as tf
from genever.estimators.compat import text_format_protobuf7
from google.protobuf import text_format

pytestmark = pytest.mark.core


def test_an_empty_float_format_changes_nothing():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(0.25, name="quarter")
    message = graph.as_graph_def()
    adapted = text_format_protobuf7._TextFormat(text_format)
    assert adapted.MessageToString(message, float_format="") == text_format.MessageToString(message)
    assert adapted.Parse is text_format.Parse


def test_a_graph_is_written_as_text_and_read_back(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(0.25, name="quarter")
    tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")
    read = text_format.Parse((tmp_path / "graph.pbtxt").read_text(), tf.compat.v1.GraphDef())
    assert read.node[0].attr["value"].tensor.float_val[0] == 0.25
