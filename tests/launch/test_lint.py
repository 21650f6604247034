"""`genever lint` on snippets, on what must not be found, and on a whole legacy project."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from genever.launch import lint as lint_module
from genever.launch.lint_rules import Target, Verdict

pytestmark = pytest.mark.core

BRIDGED, CHECK, TF1, CHANGE = (verdict.name for verdict in Verdict)


@pytest.fixture
def findings(tmp_path):
    """Writes files and returns what is found in them, as (line, name, verdict)."""

    def find(code, name="program.py", target=None, **others):
        (tmp_path / name).write_text(textwrap.dedent(code))
        for other, text in others.items():
            (tmp_path / f"{other}.py").write_text(textwrap.dedent(text))
        report = lint_module.lint([str(tmp_path)], target)
        return [
            (f.line, f.name, f.verdict.name)
            for f in report.findings
            if f.path.startswith(str(tmp_path / name))
        ]

    return find


FOUND = {
    "plain names of TF1": (
        """\
        import tensorflow as tf
        x = tf.placeholder(tf.float32)
        with tf.Session() as session:
            session.run(tf.train.AdamOptimizer(0.1).minimize(tf.get_variable("w", [])))
        """,
        [
            (2, "tf.placeholder", TF1),
            (3, "tf.Session", TF1),
            (4, "tf.get_variable", TF1),
            (4, "tf.train.AdamOptimizer", TF1),
        ],
    ),
    "the same names through tf.compat.v1 are well": (
        """\
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()
        x = tf.placeholder(tf.float32)
        optimizer = tf.train.AdamOptimizer(0.1)
        """,
        [],
    ),
    "tf.estimator by every way": (
        """\
        import tensorflow as tf
        from tensorflow import estimator
        from tensorflow.estimator import RunConfig as Config
        import tensorflow.compat.v1.estimator as est
        import tensorflow_estimator as tfe

        def make():
            return estimator.Estimator(None, config=Config(model_dir="x"))

        other = tfe.estimator.Estimator
        v1 = tf.compat.v1
        linear = v1.estimator.LinearClassifier([])
        """,
        [
            (2, "tf.estimator", BRIDGED),
            (3, "tf.estimator.RunConfig", BRIDGED),
            (4, "tf.compat.v1.estimator", BRIDGED),
            (5, "tensorflow_estimator", BRIDGED),
            (8, "tf.estimator.Estimator", BRIDGED),
            (8, "tf.estimator.RunConfig", BRIDGED),
            (10, "tensorflow_estimator.estimator.Estimator", BRIDGED),
            (12, "tf.compat.v1.estimator.LinearClassifier", BRIDGED),
        ],
    ),
    "arguments that only TF1 takes": (
        """\
        import tensorflow as tf
        def f(x):
            y = tf.nn.dropout(x, keep_prob=0.5) + tf.nn.dropout(x, rate=0.5)
            z = tf.reduce_sum(y, axis=1, keep_dims=True) + tf.reduce_sum(y, 1, True)
            with tf.name_scope(None, "scope", [x]):
                return z
        """,
        [(3, "tf.nn.dropout", TF1), (4, "tf.reduce_sum", TF1), (5, "tf.name_scope", TF1)],
    ),
    "what objects of TF1 have": (
        """\
        import tensorflow as tf
        def input_fn(x):
            width = x.get_shape()[1].value + x.shape[0].value
            return tf.data.Dataset.from_tensors(x).make_one_shot_iterator().get_next()
        """,
        [
            (3, ".shape[].value", TF1),
            (4, ".make_one_shot_iterator", TF1),
        ],
    ),
    "tf.contrib with and without a home": (
        """\
        import tensorflow as tf
        from tensorflow.contrib import slim
        import tensorflow.contrib.boosted_trees
        x = slim.conv2d(None, 3)
        hparams = tf.contrib.training.HParams(a=1)
        tf.contrib.nosuchthing.f()
        """,
        [
            (2, "tf.contrib.slim", TF1),
            (3, "tf.contrib.boosted_trees", CHANGE),
            (4, "tf.contrib.slim.conv2d", TF1),
            (5, "tf.contrib.training.HParams", TF1),
            (6, "tf.contrib.nosuchthing.f", CHANGE),
        ],
    ),
    "boosted trees and TPUs": (
        """\
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        tree = tf.estimator.BoostedTreesClassifier([], 1)
        tpu = tf1.estimator.tpu.TPUEstimator(f, config=c)
        tpu = tf1.estimator.tpu.TPUEstimator(f, use_tpu=True)
        cpu = tf1.estimator.tpu.TPUEstimator(f, use_tpu=False)
        both = tf1.estimator.tpu.TPUEstimator(f, use_tpu=FLAGS.use_tpu)
        table = tf1.tpu.experimental.AdagradParameters(0.1)
        """,
        [
            (3, "tf.estimator.BoostedTreesClassifier", CHANGE),
            (4, "tf.compat.v1.estimator.tpu.TPUEstimator", CHANGE),
            (5, "tf.compat.v1.estimator.tpu.TPUEstimator", CHANGE),
            (6, "tf.compat.v1.estimator.tpu.TPUEstimator", BRIDGED),
            (7, "tf.compat.v1.estimator.tpu.TPUEstimator", BRIDGED),
            (8, "tf.compat.v1.tpu.experimental.AdagradParameters", CHANGE),
        ],
    ),
    "strategies that an Estimator cannot have": (
        """\
        import tensorflow as tf
        tf.config.set_logical_device_configuration(cpu, [c, c])
        strategy = tf.distribute.MirroredStrategy()
        ps = tf.distribute.ParameterServerStrategy(resolver)
        config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
        """,
        [
            (3, "tf.distribute.MirroredStrategy", CHECK),
            (4, "tf.distribute.ParameterServerStrategy", CHANGE),
            (5, "tf.estimator.RunConfig", CHECK),
        ],
    ),
    "Keras 2": (
        """\
        import tensorflow as tf
        x = tf.compat.v1.layers.dense(y, 3)
        cell = tf.compat.v1.nn.rnn_cell.LSTMCell(3)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        columns = tf.keras.layers.DenseFeatures([])
        estimator = tf.keras.estimator.model_to_estimator(model)
        tf.keras.utils.set_random_seed(1)
        """,
        [
            (2, "tf.compat.v1.layers.dense", BRIDGED),
            (3, "tf.compat.v1.nn.rnn_cell.LSTMCell", BRIDGED),
            (4, "tf.keras", BRIDGED),
            (5, "tf.keras.layers.DenseFeatures", BRIDGED),
            (6, "tf.keras.estimator.model_to_estimator", BRIDGED),
            (7, "tf.keras.utils.set_random_seed", CHANGE),
        ],
    ),
    "private modules": (
        """\
        from tensorflow.python.estimator import run_config
        from tensorflow.python.distribute import estimator_training
        from tensorflow.python.tpu import tpu_embedding, tpu_estimator
        from tensorflow.python.training.tracking import base as tracking
        from tensorflow.python.ops import array_ops
        from tensorflow.python.keras import layers
        """,
        [
            (1, "tensorflow.python.estimator.run_config", BRIDGED),
            (2, "tensorflow.python.distribute.estimator_training", BRIDGED),
            (3, "tensorflow.python.tpu.tpu_embedding", CHANGE),
            (3, "tensorflow.python.tpu.tpu_estimator", CHANGE),
            (4, "tensorflow.python.training.tracking.base", CHANGE),
            (6, "tensorflow.python.keras", CHECK),
        ],
    ),
    "gin.tf": (
        "import gin\nimport gin.tf.external_configurables\n",
        [
            (2, "gin.tf.external_configurables", BRIDGED),
        ],
    ),
    "gin.tf before the bridge": ("import gin.tf\nimport genever\n", [(1, "gin.tf", CHANGE)]),
    "NumPy": (
        """\
        import numpy as np
        from numpy import float as real
        x = np.zeros(3, np.bool) + np.int(3) * np.Inf
        """,
        [
            (2, "numpy.float", CHANGE),
            (3, "numpy.Inf", CHANGE),
            (3, "numpy.bool", CHANGE),
            (3, "numpy.int", CHANGE),
        ],
    ),
    "the standard library": (
        """\
        import collections, imp, inspect
        from collections import Mapping
        from distutils.version import LooseVersion
        inspect.getargspec(print)
        isinstance(1, collections.Iterable)
        """,
        [
            (1, "imp", CHANGE),
            (2, "collections.Mapping", CHANGE),
            (3, "distutils.version.LooseVersion", CHANGE),
            (4, "inspect.getargspec", CHANGE),
            (5, "collections.Iterable", CHANGE),
        ],
    ),
    "Python 2 that can be parsed": (
        """\
        import cPickle
        for key, value in table.iteritems():
            print(unicode(key), xrange(3), table.has_key(1))
        """,
        [
            (1, "cPickle", CHANGE),
            (2, ".iteritems", CHANGE),
            (3, ".has_key", CHANGE),
            (3, "unicode", CHANGE),
            (3, "xrange", CHANGE),
        ],
    ),
    "TF2 names in a file for --tf1": (
        """\
        import tensorflow as tf
        tf.enable_resource_variables()
        tf.summary.create_file_writer("x")
        """,
        [
            (2, "tf.enable_resource_variables", TF1),
            (3, "tf.summary.create_file_writer", CHANGE),
        ],
    ),
    "a descriptor of an old protoc": (
        """\
        from google.protobuf import descriptor as _descriptor
        _A = _descriptor.Descriptor(name="A", serialized_start=1)
        _B = _descriptor.Descriptor(name="B", serialized_start=2)
        """,
        [(2, "google.protobuf.descriptor.Descriptor", CHANGE)],
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_breaks_is_found_with_its_line(findings, case):
    code, expected = FOUND[case]
    assert findings(code) == expected


NOT_FOUND = {
    "strings and comments": """\
        import tensorflow as tf
        # tf.Session() and tf.contrib.layers
        text = "tf.placeholder np.float print x"
        def f():
            "tf.Session"
        """,
    "parameters": """\
        import tensorflow as tf
        def f(tf):
            return tf.Session()
        g = lambda tf: tf.placeholder(1)
        """,
    "local names": """\
        import tensorflow as tf
        import numpy as np
        def f(make):
            tf = make()
            return tf.Session()
        def g(items):
            return [np.float for np in items]
        class A:
            tf = None
            value = tf.Session
        """,
    "attributes of other objects": """\
        import mylib
        from . import tf
        from .. import compat as np
        mylib.tf.Session()
        tf.Session()
        np.float(1)
        self.estimator.BoostedTreesClassifier()
        model.layers.dense()
        """,
    "builtins that the file defines": """\
        try:
            unicode
        except NameError:
            unicode = str
        def reduce(x):
            return unicode(x)
        reduce(1)
        """,
    "six": "import six\nfor k, v in six.iteritems({}):\n    six.moves.xrange(3)\n",
    "another way for today's versions": """\
        try:
            import cPickle as pickle
        except ImportError:
            import pickle
        try:
            import tensorflow.compat.v1 as tf
        except ImportError:
            import tensorflow as tf
        try:
            from tensorflow.contrib.framework import nest
        except (ImportError, AttributeError):
            nest = tf.nest
        pickle.dumps(nest.flatten(tf.placeholder(tf.float32)))
        """,
    "tests of the version": """\
        import sys
        import six
        import tensorflow as tf
        if sys.version_info[0] < 3:
            import ConfigParser as configparser
        else:
            import configparser
        if six.PY2:
            text = unicode
        if hasattr(tf, "contrib"):
            layers = tf.contrib.layers
        if tf.__version__.startswith("1."):
            tf.enable_eager_execution()
            Session = tf.Session
        else:
            Session = tf.compat.v1.Session
        def placeholder(shape, table):
            items = table.iteritems() if hasattr(table, "iteritems") else table.items()
            if tf.__version__ >= "2":
                return tf.compat.v1.placeholder(tf.float32, shape)
            return tf.placeholder(tf.float32, shape)
        def softmax(x):
            try:
                return tf.nn.softmax(x, dim=1)
            except TypeError:
                return tf.nn.softmax(x, axis=1)
        def iterator(dataset):
            try:
                return dataset.make_one_shot_iterator()
            except AttributeError:
                return tf.compat.v1.data.make_one_shot_iterator(dataset)
        """,
    "the best of several branches": """\
        import tensorflow as tf
        if mode:
            import tensorflow.compat.v1 as tf
        tf.Session()
        """,
    "a strategy without an Estimator": """\
        import tensorflow as tf
        strategy = tf.distribute.ParameterServerStrategy(resolver)
        """,
    "an alias of a name that is well": """\
        import tensorflow as tf
        tf = tf.compat.v1
        tf.Session()
        """,
}


@pytest.mark.parametrize("case", NOT_FOUND)
def test_what_is_well_is_not_found(findings, case):
    assert findings(NOT_FOUND[case]) == []


def test_modules_of_the_project_hide_those_of_python_2(findings):
    assert findings("import commands\nimport Queue\n", commands="") == [(2, "Queue", CHANGE)]


def test_a_condition_is_asked_of_the_whole_project(findings):
    strategy = "import tensorflow as tf\ns = tf.distribute.ParameterServerStrategy(r)\n"
    use = "import tensorflow as tf\ntf.estimator.Estimator(f)\n"
    assert findings(strategy, estimators=use) == [
        (2, "tf.distribute.ParameterServerStrategy", CHECK)
    ]


@pytest.mark.parametrize(
    "line, reason",
    [
        ("print 'x'", "Python 2"),
        ("try: f()\nexcept IOError, error: pass", "Python 2"),
        ("x = 0777", "Python 2"),
        ("raise ValueError, 'x'", "Python 2"),
        ("x = (1", "not Python"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_finding(tmp_path, line, reason):
    path = tmp_path / "old.py"
    path.write_text(f"import os\n{line}\n")
    (finding,) = lint_module.lint([str(path)]).findings
    assert finding.verdict is Verdict.CHANGE
    assert finding.cure.startswith(reason)
    assert finding.line == 2 + line.count("\n")


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"\0\1\2", b"# coding: nonsense\n"])
def test_a_file_that_cannot_be_decoded_is_a_finding(tmp_path, content):
    path = tmp_path / "binary.py"
    path.write_bytes(content)
    (finding,) = lint_module.lint([str(path)]).findings
    assert finding.verdict is Verdict.CHANGE


def test_gin_files_are_read(findings):
    code = """\
        import gin.tf.external_configurables
        # tf.train.MomentumOptimizer
        Model.optimizer = @tf.train.AdamOptimizer
        Model.text = "tf.train.AdagradOptimizer"
        Model.dtype = %tf.float32
        Model.layer = @tf.contrib.layers.fully_connected
        """
    assert findings(code, "run.gin") == [
        (1, "gin.tf.external_configurables", BRIDGED),
        (3, "tf.train.AdamOptimizer", BRIDGED),
        (6, "tf.contrib.layers.fully_connected", TF1),
    ]


def test_imports_of_gin_files_are_followed(findings):
    code = """\
        from __gin__ import dynamic_registration
        import tensorflow as tf
        import tensorflow.compat.v1 as tf1
        Model.optimizer = @tf.train.AdamOptimizer
        Other.optimizer = @tf1.train.AdamOptimizer
        """
    assert findings(code, "run.gin") == [(4, "tf.train.AdamOptimizer", TF1)]


def test_notebooks_are_read_by_cell(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["tf.Session()"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf"]},
        {"cell_type": "code", "source": ["!ls\n", "\n", "tf.Session()\n"]},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (finding,) = lint_module.lint([str(path)]).findings
    assert (finding.path, finding.line, finding.name) == (f"{path}#cell3", 3, "tf.Session")
    path.write_text("{}")
    (finding,) = lint_module.lint([str(path)]).findings
    assert finding.verdict is Verdict.CHANGE


def test_folders_that_hold_no_source_of_the_project_are_left_out(tmp_path):
    for folder in (".venv", ".git", "build", "node_modules", "__pycache__", "mine/.hidden", "own"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("import imp\n")
    (tmp_path / "own" / "pyvenv.cfg").touch()
    (tmp_path / "mine" / "b.py").write_text("import imp\n")
    report = lint_module.lint([str(tmp_path)])
    assert [f.path for f in report.findings] == [str(tmp_path / "mine" / "b.py")]
    assert report.files == 1


@pytest.mark.parametrize(
    "code, tensorflow, python, expected",
    [
        ("import tensorflow_estimator\n", (2, 15), None, []),
        ("import tensorflow_estimator\n", (2, 16), None, [BRIDGED]),
        ("import imp\n", None, (3, 11), []),
        ("import imp\n", None, (3, 12), [CHANGE]),
        ("import numpy\nnumpy.Inf\n", (2, 15), None, []),
        ("import numpy\nnumpy.Inf\n", (2, 21), None, [CHANGE]),
        ("import numpy\nnumpy.bool\n", (2, 21), (3, 13), []),
        ("import numpy\nnumpy.bool\n", (2, 15), (3, 11), [CHANGE]),
        ("import tensorboard\n", (2, 20), None, []),
        ("import tensorboard\n", (2, 21), None, [CHANGE]),
        ("import tensorflow as tf\ntf.Session\n", (2, 15), (3, 10), [TF1]),
        ("import tensorflow as tf\ntf.io.write_graph\n", (2, 21), None, []),
        ("import tensorflow as tf\ntf.io.write_graph\n", (2, 20), None, [BRIDGED]),
        (
            "import tensorflow as tf\ntf.keras.utils.set_random_seed(1)\n",
            (2, 17),
            (3, 11),
            [BRIDGED],
        ),
        (
            "import tensorflow as tf\ntf.keras.utils.set_random_seed(1)\n",
            (2, 17),
            (3, 12),
            [CHANGE],
        ),
        (
            "import tensorflow as tf\ntf.keras.utils.set_random_seed(1)\n",
            (2, 19),
            (3, 12),
            [BRIDGED],
        ),
    ],
)
def test_a_target_leaves_out_what_does_not_break_there(
    findings, code, tensorflow, python, expected
):
    found = findings(code, target=Target(tensorflow, python))
    assert [verdict for _, _, verdict in found] == expected


def genever_lint(*arguments, cwd):
    program = (
        "import sys\nfrom genever.launch.command_line import run\n"
        "code = run(['genever', 'lint', *sys.argv[1:]])\n"
        "assert 'tensorflow' not in sys.modules\nsys.exit(code)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture
def project(tmp_path):
    """A legacy project: a TF1 model, an input pipeline, a trainer, a config and an old script."""
    files = {
        "model/__init__.py": "",
        "model/net.py": """\
            import tensorflow as tf
            import tensorflow.contrib.slim as slim


            def net(x, training):
                x = slim.fully_connected(x, 10)
                x = tf.layers.dropout(x, training=training)
                return tf.layers.dense(x, 1)
            """,
        "model/trees.py": """\
            import tensorflow as tf


            def build(columns):
                return tf.estimator.BoostedTreesRegressor(columns, n_batches_per_layer=1)
            """,
        "input/pipeline.py": """\
            import numpy as np
            import tensorflow.compat.v1 as tf


            def input_fn(batch):
                x = np.arange(10).astype(np.float)
                return tf.data.Dataset.from_tensor_slices(x).batch(batch)
            """,
        "train.py": """\
            import gin.tf.external_configurables
            import tensorflow.compat.v1 as tf
            from model.net import net


            def main(_):
                estimator = tf.estimator.Estimator(net)
                tf.estimator.train_and_evaluate(estimator, None, None)


            if __name__ == "__main__":
                tf.app.run(main)
            """,
        "run.gin": "net.optimizer = @tf.train.AdamOptimizer\n",
        "old.py": "print 'done'\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def test_a_legacy_project_is_reported_by_file_and_line(project):
    ended = genever_lint(".", cwd=project)
    assert ended.returncode == 1, ended.stderr
    places = [line.split(" — ") for line in ended.stdout.splitlines() if " — " in line]
    assert [(place, breaks, rest.partition(":")[0]) for place, breaks, rest in places] == [
        ("old.py:1: the file", "breaks on every supported version", "must be changed"),
        ("run.gin:1: tf.train.AdamOptimizer", "breaks from TensorFlow 2.16 on", "bridged"),
        ("train.py:1: gin.tf.external_configurables", "breaks from TensorFlow 2.16 on", "bridged"),
        (
            "train.py:7: tf.compat.v1.estimator.Estimator",
            "breaks from TensorFlow 2.16 on",
            "bridged",
        ),
        (
            "train.py:8: tf.compat.v1.estimator.train_and_evaluate",
            "breaks from TensorFlow 2.16 on",
            "bridged",
        ),
        ("input/pipeline.py:6: numpy.float", "breaks from NumPy 1.24 on", "must be changed"),
        (
            "model/net.py:2: tf.contrib.slim",
            "breaks on every supported version",
            "needs genever run --tf1",
        ),
        (
            "model/net.py:6: tf.contrib.slim.fully_connected",
            "breaks on every supported version",
            "needs genever run --tf1",
        ),
        (
            "model/net.py:7: tf.layers.dropout",
            "breaks on every supported version",
            "needs genever run --tf1",
        ),
        (
            "model/net.py:8: tf.layers.dense",
            "breaks on every supported version",
            "needs genever run --tf1",
        ),
        (
            "model/trees.py:5: tf.estimator.BoostedTreesRegressor",
            "breaks on every supported version",
            "must be changed",
        ),
    ]
    assert [line.strip() for line in ended.stdout.split("\n\n")[-1].splitlines()] == [
        "7 files read, 11 places:",
        "3 must be changed",
        "4 needs genever run --tf1",
        "0 to be checked",
        "4 bridged",
    ]


def test_json_for_tools_says_the_same(project):
    ended = genever_lint("--format=json", "model/trees.py", "train.py", cwd=project)
    assert ended.returncode == 1
    report = json.loads(ended.stdout)
    assert report["files"] == 2
    assert report["summary"]["must be changed"] == 1
    (tree,) = [f for f in report["findings"] if f["verdict"] == "must be changed"]
    assert (tree["path"], tree["line"]) == ("model/trees.py", 5)
    assert tree["name"] == "tf.estimator.BoostedTreesRegressor"


def test_exit_code_0_when_nothing_must_be_changed(project):
    ended = genever_lint("model/net.py", "train.py", cwd=project)
    assert ended.returncode == 0
    assert "start it with `genever run --tf1 SCRIPT`" in ended.stdout
    ended = genever_lint("--tensorflow=2.15", "--python=3.10", "train.py", cwd=project)
    assert (ended.returncode, ended.stdout) == (0, "1 file read: nothing breaks\n")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["nowhere"], "nowhere does not exist"),
        (["notes.txt"], "notes.txt is no .py, .gin, .ipynb file"),
        ([], "lint needs a file or a folder"),
        (["--tensorflow=1.15", "."], "value should be one of"),
        (["--form=json", "."], "Unknown command line flag 'form'"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_2(project, arguments, sentence):
    (project / "notes.txt").touch()
    ended = genever_lint(*arguments, cwd=project)
    assert ended.returncode == 2
    assert ended.stderr.startswith("genever: error: ")
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_of_the_first_line_alone_sees_no_trace(project):
    (project / "long.py").write_text("import tensorflow as tf\n" + "tf.Session(a)\n" * 50_000)
    command = f"'{sys.executable}' -m genever lint --format=json . | head -1"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=project, capture_output=True, text=True, timeout=120
    )
    assert (ended.stdout, ended.stderr) == ("{\n", "")


def test_the_same_name_is_one_line_with_its_other_lines(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import tensorflow as tf\n" + "tf.Session()\n" * 12)
    report = lint_module.lint([str(path)])
    (line,) = [line for line in report.text().splitlines() if "tf.Session" in line]
    assert line.startswith(f"{path}:2: tf.Session")
    assert line.endswith("(also lines 3, 4, 5, 6, 7, 8, 9, 10 and 3 more)")
    assert report.count()[Verdict.TF1] == 12
