"""The TF1 world of `genever run --tf1`: TF1 programs, tf.contrib, and who sees which TensorFlow."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from genever.estimators.compat import contrib_table
from genever.estimators.compat.contrib import (
    NotInTF1AttributeError,
    NotInTF1ImportError,
    contrib,
    follow,
    resolve,
)
from genever.estimators.compat.contrib_hparams import HParams, parse_values

pytestmark = pytest.mark.core


@pytest.fixture
def run_tf1(tmp_path):
    """Runs a TF1 program in a process of its own and returns its end."""

    def run(program, *flags, arguments=(), expect=0, timeout=240, **environment):
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "GENEVER"))}
        command = [sys.executable, "-m", "genever", "run", "--tf1", *flags, "program.py"]
        ended = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env={**kept, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert ended.returncode == expect, ended.stdout + ended.stderr
        return ended

    return run


# --- programs ------------------------------------------------------------------------------------

TWO_DEVICES = """
    import numpy as np
    import tensorflow as tf

    x = np.random.RandomState(0).rand(64, 2).astype(np.float32)
    y = x.dot([[1.0], [2.0]]) + 3.0

    features = tf.placeholder(tf.float32, [None, 2])
    labels = tf.placeholder(tf.float32, [None, 1])
    with tf.device('/cpu:0'):
        first = tf.get_variable("first", [1, 1], initializer=tf.zeros_initializer())
        left = tf.matmul(features[:, :1], first)
    with tf.device('/cpu:1'):
        second = tf.get_variable("second", [1, 1], initializer=tf.zeros_initializer())
        right = tf.matmul(features[:, 1:], second)
        bias = tf.Variable([0.0], name="bias")
    loss = tf.losses.mean_squared_error(labels, left + right + bias)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    with tf.Session(config=tf.ConfigProto(device_count={'CPU': 2})) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2000):
            session.run(train, {features: x, labels: y})
        print(*(value.item() for value in session.run([first, second, bias])))
        print(len(session.list_devices()), first.device, second.device)
"""


def test_linear_regression_on_two_devices_converges(run_tf1):
    lines = run_tf1(TWO_DEVICES).stdout.splitlines()
    assert list(map(float, lines[0].split())) == pytest.approx([1.0, 2.0, 3.0], abs=1e-3)
    assert lines[1] == "2 /device:CPU:0 /device:CPU:1"


SLIM = """
    import numpy as np
    import tensorflow as tf
    import tensorflow.contrib.slim as slim
    from tensorflow.contrib import layers
    from tensorflow.contrib.framework.python.ops import arg_scope

    tf.app.flags.DEFINE_string("hparams", "", "Overrides.")
    tf.app.flags.DEFINE_string("model_dir", "model", "Where to.")


    def input_fn():
        x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
        return tf.data.Dataset.from_tensor_slices((x, x[:, 0] * x[:, 0])).batch(16).repeat(60)


    def model_fn(features, labels, mode, params):
        training = mode == tf.estimator.ModeKeys.TRAIN
        with arg_scope([slim.fully_connected], weights_regularizer=slim.l2_regularizer(1e-5)):
            net = slim.stack(features, slim.fully_connected, params.units)
        net = layers.batch_norm(net, is_training=training, decay=0.8, updates_collections=None)
        net = layers.dropout(net, keep_prob=params.keep, is_training=training)
        net = layers.fully_connected(
            net, 1, activation_fn=None, weights_initializer=layers.xavier_initializer())
        tf.losses.mean_squared_error(labels, net[:, 0])
        loss = tf.losses.get_total_loss()
        metrics = {"near": tf.contrib.metrics.streaming_accuracy(
            tf.round(net[:, 0] * 2), tf.round(labels * 2))}
        step = layers.optimize_loss(
            loss, tf.contrib.framework.get_or_create_global_step(), params.rate, "Adam")
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, eval_metric_ops=metrics)


    def main(_):
        params = tf.contrib.training.HParams(rate=1.0, units=[4], keep=0.5)
        params.parse(tf.app.flags.FLAGS.hparams)
        estimator = tf.estimator.Estimator(
            model_fn, tf.app.flags.FLAGS.model_dir, params=params,
            config=tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=100))
        stop = tf.contrib.estimator.stop_if_no_decrease_hook(estimator, "loss", 10000)
        metrics, _ = tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(input_fn, max_steps=200, hooks=[stop]),
            tf.estimator.EvalSpec(input_fn, steps=4))
        print(metrics["loss"] < 0.02, metrics["near"] > 0.8, metrics["global_step"])


    if __name__ == "__main__":
        tf.app.run()
"""


@pytest.mark.slow
def test_contrib_layers_slim_and_hparams_train_an_estimator(run_tf1, tmp_path):
    ended = run_tf1(SLIM, arguments=["--hparams=rate=0.02,units=[16,16],keep=1"])
    assert ended.stdout == "True True 200\n"
    assert (tmp_path / "model" / "ledger.jsonl").exists()


def test_contrib_without_tf_slim_names_the_extra(run_tf1):
    program = """
        import sys
        sys.modules["tf_slim"] = None
        import tensorflow as tf
        assert tf.contrib.framework.get_or_create_global_step().name == "global_step:0"
        assert tf.contrib.training.HParams(a=1).a == 1
        try:
            from tensorflow.contrib import slim
            slim.conv2d
        except ImportError as error:
            print(error)
        tf.contrib.layers.fully_connected
    """
    ended = run_tf1(program, expect=2)
    sentence = (
        "slim and most of tf.contrib.layers, losses, metrics, framework and training live on in "
        "the package tf-slim, which is not installed: pip install 'genever[tf1]'."
    )
    assert ended.stdout == sentence + "\n"
    assert ended.stderr.splitlines()[-1].startswith("genever: error: ")
    assert ended.stderr.endswith(f"program.py:12: {sentence}\n")


def test_what_has_no_home_ends_in_a_sentence_with_its_place(run_tf1):
    program = """
        import tensorflow as tf
        print(hasattr(tf.contrib, "crf"), hasattr(tf, "contrib"))
        for name in "contrib.crf", "contrib.nothing", "examples.tutorials.mnist", "nothing":
            try:
                exec(f"from tensorflow.{name} import x")
            except ImportError as error:
                print(error)

        def train():
            return tf.contrib.opt.LazyAdamOptimizer(0.1)

        train()
    """
    ended = run_tf1(program, expect=2)
    lines = ended.stdout.splitlines()
    assert lines[0] == "False True"
    assert lines[1].startswith(
        "tf.contrib.crf ended with TensorFlow 1; it lived on in tensorflow-a"
    )
    assert lines[2] == "tf.contrib.nothing ended with TensorFlow 1; nothing replaces it."
    assert lines[3].startswith("tensorflow.examples ended with TensorFlow 1; load the data with ")
    assert lines[4] == "No module named 'tensorflow.nothing'"
    last = ended.stderr.splitlines()[-1]
    assert last.endswith(
        "program.py:11: tf.contrib.opt.LazyAdamOptimizer ended with TensorFlow 1; use "
        "tf.train.AdamOptimizer."
    )
    assert last.startswith("genever: error: /") and "Traceback" not in ended.stderr


def test_the_program_sees_tf1_and_its_libraries_see_tensorflow(run_tf1, tmp_path):
    (tmp_path / "own.py").write_text("from tensorflow import *\nkind = placeholder\n")
    # A folder of installed packages, as `pip install --user` fills it.
    user = tmp_path / "user"
    folder = subprocess.run(
        [sys.executable, "-c", "import site; print(site.getusersitepackages())"],
        env={**os.environ, "PYTHONUSERBASE": str(user)},
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.strip()
    os.makedirs(folder)
    for name in ("modern", "aged"):
        with open(os.path.join(folder, f"{name}.py"), "w") as file:
            file.write("import tensorflow as tf\nkind = hasattr(tf, 'placeholder')\n")
    program = """
        import multiprocessing, site, sys
        import tensorflow as tf
        import tensorflow.python.framework.ops as ops
        import tensorflow.keras.layers
        from tensorflow import placeholder
        from tensorflow.keras.layers import Dense
        from tensorflow.layers import dense
        from tensorflow.python.ops import control_flow_ops

        def child(queue):
            queue.put((tf.placeholder.__name__, tf.executing_eagerly()))

        if __name__ == "__main__":
            sys.path.append(site.getusersitepackages())
            import own, modern, aged
            print(own.kind is tf.placeholder is placeholder, modern.kind, aged.kind)
            real = sys.modules["tensorflow"]
            print(tf.executing_eagerly(), tf.__name__, tf.compat.v1 is real.compat.v1)
            print(tensorflow is tf, dense is tf.layers.dense, Dense is tf.keras.layers.Dense)
            print(control_flow_ops.cond is tf.cond, ops.Tensor is tf.Tensor)
            print(isinstance(tf.get_variable("a", []), tf.Variable), tf.__version__ == tf.VERSION)
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            process = context.Process(target=child, args=(queue,))
            process.start()
            print(*queue.get(timeout=120))
            process.join(60)
    """
    ended = run_tf1(program, "--tf1_package=aged", PYTHONUSERBASE=str(user))
    assert ended.stdout.splitlines() == [
        "True False True",
        "False tensorflow True",
        "True True True",
        "True True",
        "True True",
        "placeholder False",
    ]


def test_a_traceback_shows_no_frame_of_the_import_statement(run_tf1, tmp_path):
    (tmp_path / "outer.py").write_text("import inner\n")
    (tmp_path / "inner.py").write_text("raise ValueError('deep')\n")
    ended = run_tf1("import outer\n", expect=1)
    trace = [line for line in ended.stderr.splitlines() if line.startswith("  File")]
    assert [line.rsplit("/", 1)[1].split('"')[0] for line in trace] == [
        "program.py",
        "outer.py",
        "inner.py",
    ]


# --- tf.contrib ----------------------------------------------------------------------------------


def places():
    for path, module in contrib_table.MODULES.items():
        yield from ((path, home) for home in module.homes)
        yield from ((f"{path}.{n}", place) for n, place in module.names.items() if " " not in place)


def test_every_place_of_the_table_is_there_on_this_tensorflow():
    missing = []
    for name, place in places():
        try:
            resolve(place)
        except (AttributeError, ImportError) as error:
            missing.append((name, place, str(error)))
    assert missing == []


def test_every_advice_ends_a_sentence():
    for module in contrib_table.MODULES.values():
        for advice in (module.advice, *(p for p in module.names.values() if " " in p)):
            assert advice[0].islower() and not advice.endswith(".") and "\n" not in advice


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("layers.xavier_initializer", "tf_slim.layers.initializers.xavier_initializer"),
        ("layers.python.layers.batch_norm", "tf_slim.layers.layers.batch_norm"),
        ("layers.python.layers.utils", "tf_slim.layers.utils"),
        ("slim.python.slim.nets.resnet_v1", "tf_slim.nets.resnet_v1"),
        ("slim.nets.vgg.vgg_16", "tf_slim.nets.vgg.vgg_16"),
        ("framework.python.ops.arg_scope.add_arg_scope", "tf_slim.ops.arg_scope.add_arg_scope"),
        ("framework.nest.flatten_up_to", "tensorflow.python.util.nest.flatten_up_to"),
        ("framework.get_or_create_global_step", "tf.train.get_or_create_global_step"),
        ("training.python.training.hparam.HParams", ".contrib_hparams.HParams"),
        ("training.evaluate_once", "tf_slim.training.evaluation.evaluate_once"),
        ("training.checkpoints_iterator", "tf.train.checkpoints_iterator"),
        (
            "estimator.python.estimator.early_stopping.stop_if_no_decrease_hook",
            "tf.estimator.experimental.stop_if_no_decrease_hook",
        ),
        ("estimator.InMemoryEvaluatorHook", "tf.estimator.experimental.InMemoryEvaluatorHook"),
        ("estimator.BestExporter", "tf.estimator.BestExporter"),
        ("estimator.add_metrics", "tf.estimator.add_metrics"),
        ("data.shuffle_and_repeat", "tf.data.experimental.shuffle_and_repeat"),
        ("data.TextLineDataset", "tf.data.TextLineDataset"),
        (
            "lookup.index_table_from_file",
            "tensorflow.python.ops.lookup_ops.index_table_from_file",
        ),
        ("rnn.BasicLSTMCell", "tf.nn.rnn_cell.BasicLSTMCell"),
        ("rnn.python.ops.core_rnn_cell.LSTMStateTuple", "tf.nn.rnn_cell.LSTMStateTuple"),
        ("distribute.OneDeviceStrategy", "tf.distribute.OneDeviceStrategy"),
        ("metrics.streaming_auc", "tf_slim.metrics.metric_ops.streaming_auc"),
        ("tpu.TPUEstimator", "tf.estimator.tpu.TPUEstimator"),
        ("tpu.CrossShardOptimizer", "tf.tpu.CrossShardOptimizer"),
        ("learn.io.numpy_input_fn", "tf.estimator.inputs.numpy_input_fn"),
    ],
)
def test_a_name_of_contrib_is_the_very_thing_at_its_home(name, home):
    *module, last = name.split(".")
    assert getattr(follow(module), last) is resolve(home)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("seq2seq.LuongAttention", "ended with TensorFlow 1; use tf.keras.layers.Attention."),
        ("rnn.AttentionCellWrapper", "ended with TensorFlow 1; use tf.keras.layers.Attention on"),
        ("predictor", 'call tf.compat.v2.saved_model.load(folder).signatures["serving_default"].'),
        ("boosted_trees", "ended with TensorFlow 1; install ydf"),
        ("layers.xavier_initialiser", "has no such name. Did you mean 'xavier_initializer'?"),
        ("layers.sparse_column_with_keys", "categorical_column_with_vocabulary_list."),
        ("estimator.multi_class_head", "write tf.compat.v2.estimator.MultiClassHead and give it"),
        # A module that the home's file has imported is none of its names.
        ("framework.array_ops", "neither tf_slim nor tf.train has such a name."),
    ],
)
def test_other_names_say_what_to_use(name, sentence):
    module, _, last = name.rpartition(".")
    found = follow(module.split(".")) if module else contrib
    with pytest.raises(NotInTF1AttributeError) as caught:
        getattr(found, last)
    assert str(caught.value).startswith(f"tf.contrib.{name} ended with TensorFlow 1; ")
    assert sentence in str(caught.value)
    with pytest.raises(NotInTF1ImportError):
        follow(name.split("."))


def test_strategies_count_gpus_as_they_did():
    import tensorflow as tf

    strategies = contrib.distribute
    cpu = strategies.MirroredStrategy(num_gpus=0)
    assert isinstance(cpu, tf.compat.v1.distribute.MirroredStrategy)
    assert cpu.extended.worker_devices[0].endswith("CPU:0")
    assert isinstance(
        strategies.ParameterServerStrategy(num_gpus_per_worker=0),
        tf.compat.v1.distribute.experimental.ParameterServerStrategy,
    )
    with pytest.raises(ValueError, match="has devices and num_gpus; give one of them"):
        strategies.MirroredStrategy(["/cpu:0"], num_gpus=1)
    with pytest.raises(ValueError, match="num_gpus_per_worker is 7 and .* set CUDA_VISIBLE_DEV"):
        strategies.CollectiveAllReduceStrategy(7)


# --- HParams -------------------------------------------------------------------------------------


def hparams():
    return HParams(rate=0.5, steps=10, units=[8, 4], name="a", on=True, weight=None)


def test_hparams_are_attributes_and_can_be_added_and_removed():
    params = hparams()
    params.add_hparam("more", 3)
    assert (params.rate, params.units, params.more) == (0.5, [8, 4], 3)
    assert "more" in params and "less" not in params
    params.del_hparam("more")
    assert "more" not in params and not hasattr(params, "more")
    for name in ("rate", "parse", "values"):
        with pytest.raises(ValueError, match=f"the name '{name}' is taken"):
            params.add_hparam(name, 1)
    with pytest.raises(ValueError, match="'empty' is an empty list"):
        params.add_hparam("empty", [])


def test_hparams_are_parsed_from_text():
    params = hparams()
    same = params.parse("rate=1e-3, steps = 20,units=[6, 3,1],name=net one,on=false,units[1]=5")
    assert same is params
    values = {"rate": 1e-3, "steps": 20, "units": [6, 5, 1], "name": "net one", "on": False}
    assert params.values() == {**values, "weight": None}
    assert params.parse("").values() == {**values, "weight": None}
    assert params.parse("rate=2").rate == 2.0 and isinstance(params.rate, float)
    assert params.parse("name=").name == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rat=1", "there is no 'rat'; the names are name, on, rate"),
        ("rate=fast", "'rate' is of type float; got 'fast'"),
        ("steps=1.5", "'steps' is of type int; got '1.5'"),
        ("on=perhaps", "'on' is of type bool; got 'perhaps'"),
        ("units=3", "'units' is a list; write units=[3]"),
        ("rate=[1,2]", "'rate' is one value and not a list"),
        ("rate[0]=1", "'rate[0]=1' is no value of a list"),
        ("units[2]=1", "'units' has 2 values, so there is no units[2]"),
        ("rate=1,rate=2", "'rate' is given twice"),
        ("rate", "'rate' cannot be read; write name=value"),
    ],
)
def test_hparams_refuse_text_in_a_sentence(text, sentence):
    params = hparams()
    with pytest.raises(ValueError) as caught:
        params.parse(text)
    assert sentence in str(caught.value)
    assert params.values() == hparams().values()


@pytest.mark.parametrize(
    ("name", "value", "after"),
    [
        ("rate", 1, 1.0),
        ("units", (1, 2, 3), [1, 2, 3]),
        ("weight", 0.3, 0.3),
        ("name", "b", "b"),
        ("steps", 1.0, None),
        ("steps", True, None),
        ("on", 1, None),
        ("name", 1, None),
        ("rate", "1", None),
        ("rate", [1.0], None),
        ("units", 1, None),
    ],
)
def test_hparams_keep_their_types(name, value, after):
    params = hparams()
    if after is None:
        with pytest.raises(ValueError, match=f"'{name}' is"):
            params.set_hparam(name, value)
        return
    params.override_from_dict({name: value})
    assert getattr(params, name) == after
    assert type(getattr(params, name)) is type(after)


def test_hparams_go_through_json():
    params = hparams()
    params.add_hparam("function", len)
    text = params.to_json(sort_keys=True)
    assert list(json.loads(text)) == ["name", "on", "rate", "steps", "units", "weight"]
    assert hparams().parse_json('{"rate": 0.25, "units": [1]}').values()["units"] == [1]
    with pytest.raises(KeyError):
        hparams().parse_json('{"rat": 0.25}')


def test_hparams_give_a_value_or_a_default_of_its_type():
    params = hparams()
    assert params.get("rate") == 0.5
    assert params.get("rate", 0.1) == 0.5
    assert params.get("nothing", "default") == "default"
    assert params.get("nothing") is None
    with pytest.raises(ValueError, match="'rate' is of type float; got 'x'"):
        params.get("rate", "x")
    with pytest.raises(ValueError, match="is not of the type of 'units'"):
        params.get("units", 3)


def test_values_are_parsed_by_type():
    assert parse_values("a=1,b=[x,y],c[2]=true", {"a": int, "b": str, "c": bool}) == {
        "a": 1,
        "b": ["x", "y"],
        "c": {2: True},
    }
