"""`write FOLDER` trains, saves and exports; `read FOLDER`, under another TensorFlow, compares.

cross_version.py runs it. For each model the writer leaves beside the model what it holds: the bytes
of every variable, the metrics and the predictions.
"""

import json
import pickle
import re
import sys
from pathlib import Path

import genever  # noqa: F401  (the bridge comes before TensorFlow)
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
ROWS = 200
STEPS = 40
RANDOM = np.random.RandomState(0)
COLORS = ["red", "green", "blue"]
COLOR = RANDOM.choice(COLORS, ROWS)
SIZE = RANDOM.uniform(-1, 1, (ROWS, 2)).astype(np.float32)
LABEL = ((SIZE.sum(axis=1) > 0) & (COLOR != "blue")).astype(np.int64)[:, None]


def rows(epochs=1):
    features = {"color": COLOR[:, None], "size": SIZE}
    return tf.data.Dataset.from_tensor_slices((features, LABEL)).repeat(epochs).batch(20)


def columns():
    color = tf.feature_column.categorical_column_with_vocabulary_list("color", COLORS)
    return color, tf.feature_column.numeric_column("size", shape=(2,))


def receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {
            "color": v1.placeholder(tf.string, [None, 1], name="color"),
            "size": v1.placeholder(tf.float32, [None, 2], name="size"),
        }
    )()


def own_model_fn(features, labels, mode):
    """The TF1 way: partitioned and normalised layers, an optimizer with slots, a moving average."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    color, size = columns()
    inputs = v1.feature_column.input_layer(
        features, [size, tf.feature_column.embedding_column(color, 4)]
    )
    with v1.variable_scope("deep", partitioner=v1.fixed_size_partitioner(2)):
        hidden = v1.layers.dense(inputs, 8, tf.nn.relu)
    hidden = v1.layers.batch_normalization(hidden, training=training)
    logits = v1.layers.dense(hidden, 1)
    probability = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"probabilities": probability})
    loss = v1.losses.sigmoid_cross_entropy(labels, logits)
    step = v1.train.get_or_create_global_step()
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train = v1.train.AdamOptimizer(0.01).minimize(loss, step)
    with tf.control_dependencies([train]):
        train = average.apply(v1.trainable_variables())
    metrics = {"auc": v1.metrics.auc(labels, probability)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def own(folder):
    return tf.estimator.Estimator(own_model_fn, config=config(folder))


def canned(folder):
    color, size = columns()
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[color, size],
        linear_optimizer=tf.keras.optimizers.legacy.Ftrl(0.1),
        dnn_feature_columns=[size, tf.feature_column.embedding_column(color, 4)],
        dnn_optimizer=tf.keras.optimizers.legacy.Adam(0.01),
        dnn_hidden_units=[8],
        config=config(folder),
    )


def keras(folder):
    size = tf.keras.Input(2, name="size")
    hidden = tf.keras.layers.BatchNormalization()(tf.keras.layers.Dense(4, "relu")(size))
    model = tf.keras.Model(size, tf.keras.layers.Dense(1, "sigmoid", name="probabilities")(hidden))
    model.compile(tf.keras.optimizers.legacy.Adam(0.01), "binary_crossentropy")
    return tf.keras.estimator.model_to_estimator(model, config=config(folder))


OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
MODELS = {"own": own, "canned": canned, "keras": keras}


def config(folder):
    return tf.estimator.RunConfig(str(folder), tf_random_seed=7, save_summary_steps=1000)


class Restored(v1.train.SessionRunHook):
    """Keeps the variables as the session has them before its first step."""

    def after_create_session(self, session, coord):
        self.variables = raw(session)


def raw(session):
    """Returns dtype, shape and bytes of every global variable of a session, by name."""
    by_name = {variable.op.name: variable for variable in v1.global_variables()}
    values = session.run(by_name)
    return {name: frozen(value) for name, value in values.items()}


def frozen(value):
    if value.dtype == object:
        return "string", value.shape, pickle.dumps(value.tolist(), protocol=4)
    return str(value.dtype), value.shape, value.tobytes()


def checkpoint_variables(path):
    reader = tf.train.load_checkpoint(path)
    return {
        name: frozen(np.asarray(reader.get_tensor(name)))
        for name in reader.get_variable_to_shape_map()
    }


def exported_variables(folder):
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, [tf.saved_model.SERVING], folder)
        return raw(session)


def predicted(estimator):
    found = list(estimator.predict(rows))
    key = "probabilities" if "probabilities" in found[0] else next(iter(found[0]))
    return np.array([row[key] for row in found])


def served(folder):
    function = tf.saved_model.load(folder).signatures
    function = function["predict" if "predict" in function else "serving_default"]
    given = {"color": tf.constant(COLOR[:, None]), "size": tf.constant(SIZE)}
    names = function.structured_input_signature[1]
    outputs = function(**{name: given[name] for name in names})
    key = "probabilities" if "probabilities" in outputs else next(iter(outputs))
    return outputs[key].numpy()


def metrics(estimator):
    return {name: float(value) for name, value in estimator.evaluate(rows).items()}


def write(folder):
    for name, make in MODELS.items():
        estimator = make(folder / name)
        estimator.train(lambda: rows(None), max_steps=STEPS)
        serving = receiver
        if name == "keras":

            def serving():
                size = v1.placeholder(tf.float32, [None, 2], name="size")
                return tf.estimator.export.build_raw_serving_input_receiver_fn({"size": size})()

        export = estimator.export_saved_model(str(folder / f"{name}-export"), serving)
        export = tf.compat.as_str(export)
        left = {
            "export": export,
            "checkpoint": checkpoint_variables(estimator.latest_checkpoint()),
            "exported variables": exported_variables(export),
            "metrics": metrics(estimator),
            "predicted": predicted(estimator),
            "served": served(export),
        }
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(left, protocol=4))


def read(folder):
    counts = {}
    for name, make in MODELS.items():
        left = pickle.loads((folder / f"{name}.pickle").read_bytes())
        estimator = make(folder / name)
        checkpoint = checkpoint_variables(estimator.latest_checkpoint())
        same(f"{name}: checkpoint", checkpoint, left["checkpoint"])
        now = metrics(estimator)
        assert now.keys() == left["metrics"].keys(), (name, now, left["metrics"])
        for metric, value in now.items():
            close(f"{name}: {metric}", value, left["metrics"][metric])
        # After evaluate: an Estimator of a Keras model that has predicted cannot evaluate, on 2.15.
        close(f"{name}: predictions", predicted(estimator), left["predicted"])
        exported = exported_variables(left["export"])
        same(f"{name}: SavedModel", exported, left["exported variables"])
        close(f"{name}: served", served(left["export"]), left["served"])

        restored = Restored()
        estimator.train(lambda: rows(None), hooks=[restored], max_steps=STEPS + 10)
        in_session = as_saved(restored.variables)
        if OBJECT_GRAPH in checkpoint:
            # The names in a checkpoint of objects are not those of the variables.
            del checkpoint[OBJECT_GRAPH]
            in_session, checkpoint = by_value(in_session), by_value(checkpoint)
        same(f"{name}: restored for training", in_session, checkpoint)
        assert estimator.latest_checkpoint().endswith(f"-{STEPS + 10}"), name
        counts[name] = {"variables": len(checkpoint), "exported": len(exported)}
    print(json.dumps(counts))


def as_saved(variables):
    """Puts partitions together: a checkpoint holds a partitioned variable, or slot, as one."""
    whole = {}
    for name, (dtype, shape, data) in sorted(variables.items()):
        name = re.sub("/part_[0-9]+", "", name)
        before = whole.get(name)
        if before is not None:
            shape, data = (before[1][0] + shape[0], *shape[1:]), before[2] + data
        whole[name] = dtype, shape, data
    return whole


def by_value(variables):
    return dict(enumerate(sorted(variables.values())))


def same(what, found, expected):
    assert found.keys() == expected.keys(), (what, found.keys() ^ expected.keys())
    different = [name for name in found if found[name] != expected[name]]
    assert not different, (what, different)


def close(what, found, expected):
    difference = np.abs(np.asarray(found) - expected).max()
    assert difference <= 1e-6, (what, difference)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
