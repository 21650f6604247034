"""tensorflow-ranking from PyPI, whose own metadata asks for TensorFlow older than 2.16."""

import json

import pytest

pytestmark = [pytest.mark.core, pytest.mark.slow]

PROGRAM = """
import json

import genever
import numpy as np
import tensorflow as tf
import tensorflow_ranking as tfr
from tensorflow_serving.apis import input_pb2

LISTS, ITEMS = 200, 6


def value(number):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[number]))


random = np.random.RandomState(0)
with tf.io.TFRecordWriter("lists.tfrecord") as writer:
    for _ in range(LISTS):
        query = input_pb2.ExampleListWithContext()
        for price, stars in random.uniform(-1, 1, (ITEMS, 2)):
            relevance = np.clip(round(2 * stars - price + 1), 0, 4)
            features = {"price": price, "stars": stars, "relevance": relevance}
            query.examples.add().CopyFrom(tf.train.Example(features=tf.train.Features(
                feature={name: value(number) for name, number in features.items()})))
        writer.write(query.SerializeToString())

columns = {name: tf.feature_column.numeric_column(name, default_value=0.0)
           for name in ("price", "stars")}
label = tf.feature_column.numeric_column("relevance", default_value=-1.0)


def input_fn(epochs=1):
    lists = tfr.data.build_ranking_dataset(
        "lists.tfrecord", tfr.data.ELWC, batch_size=20, list_size=ITEMS, num_epochs=epochs,
        shuffle=False, context_feature_spec={},
        example_feature_spec=tf.feature_column.make_parse_example_spec([*columns.values(), label]))
    return lists.map(lambda features: (features, tf.squeeze(features.pop("relevance"), 2)))


ranker = tfr.estimator.make_dnn_ranking_estimator(
    columns, hidden_units=[32, 16], loss="approx_ndcg_loss", model_dir="model",
    listwise_inference=True)
ranker.train(input_fn, max_steps=1)
first = ranker.evaluate(input_fn)
ranker.train(lambda: input_fn(None), max_steps=200)
last = ranker.evaluate(input_fn)
scores = np.array(list(ranker.predict(input_fn)))
best_item = np.argmax(scores, axis=1)
by_rule = []
for features, _ in input_fn():
    rule = 2 * features["stars"] - features["price"]
    by_rule += np.argmax(np.squeeze(rule, 2), axis=1).tolist()
print(json.dumps({
    "first": {name: float(number) for name, number in first.items()},
    "last": {name: float(number) for name, number in last.items()},
    "shape": scores.shape, "best found": float(np.mean(best_item == by_rule)),
}))
"""


def test_a_ranking_model_trains_evaluates_and_ranks(output_of):
    # The package shuffles and sets its weights without a seed: the bounds are wide.
    found = json.loads(output_of(PROGRAM)[-1])
    first, last = found["first"], found["last"]
    assert (first["global_step"], last["global_step"]) == (1, 200)
    # The loss is the negative of an approximate NDCG: -1 is the best there is.
    assert -1 <= last["loss"] < first["loss"] < 0
    assert last["loss"] < -0.95
    assert 0.99 < last["metric/ndcg_5"] <= 1
    assert 0.99 < last["metric/mrr"] <= 1
    assert found["shape"] == [200, 6]
    assert found["best found"] > 0.8
