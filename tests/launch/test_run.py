"""`genever run`: a program in it is the program that python runs, with tf.estimator below it."""

import json
import os
import socket
import subprocess
import sys
import zipapp

import pytest
import tensorflow as tf

pytestmark = pytest.mark.core

# Says everything that a program can see of how it was started, then ends as its argument says.
SHOW = '''\
"""A docstring."""
import sys

print(sys.argv, sys.path[0], __name__, __file__, __package__, __doc__, type(__loader__).__name__)
print(__spec__ and __spec__.name, sorted(vars()), sys.modules["__main__"].__dict__ is globals())
print(sys.stdin.read(), "tensorflow" in sys.modules)


def fail():
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("boom") from error


end = sys.argv[1] if len(sys.argv) > 1 else "return"
if end.isdigit():
    sys.exit(int(end))
if end == "text":
    sys.exit("some text")
if end == "fail":
    fail()
if end == "interrupt":
    raise KeyboardInterrupt
if end == "import":
    import no_such_module
'''


def start(command, cwd, *, stdin="some input\n", timeout=240, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "GENEVER"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**kept, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def genever_run(*arguments, cwd, expect=0, **settings):
    ended = start(["-m", "genever", "run", *arguments], cwd, **settings)
    assert ended.returncode == expect, ended.stdout + ended.stderr
    return ended


def seen(ended):
    """What a process showed, without the frames in which python -m finds the module."""
    lines = ended.stderr.splitlines()
    kept = [line for line in lines if "runpy" not in line and "importlib" not in line]
    return ended.returncode, ended.stdout, kept


def assert_same(command, cwd, **settings):
    """`genever run X` shows what `python X` shows."""
    python = start(command, cwd, **settings)
    genever = start(["-m", "genever", "run", *command], cwd, **settings)
    assert seen(genever) == seen(python)
    return python


@pytest.mark.parametrize(
    ("end", "code"),
    [("return", 0), ("7", 7), ("text", 1), ("fail", 1), ("import", 1), ("interrupt", -2)],
)
def test_a_script_starts_and_ends_as_with_python(tmp_path, end, code):
    (tmp_path / "show.py").write_text(SHOW)
    assert assert_same(["show.py", end, "--help", "-m", "--tf1"], tmp_path).returncode == code


def test_a_script_elsewhere_finds_its_neighbours(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "neighbour.py").write_text("def fail():\n    raise OSError('far')\n")
    script = "import neighbour, sys\nprint(sys.argv, sys.path[0])\nneighbour.fail()\n"
    (tmp_path / "project" / "main.py").write_text(script)
    (tmp_path / "link.py").symlink_to(tmp_path / "project" / "main.py")
    assert_same(["project/main.py", "a"], tmp_path)
    assert_same(["./link.py"], tmp_path)


def test_a_syntax_error_is_shown_as_with_python(tmp_path):
    (tmp_path / "wrong.py").write_text("x = 1\ny = (\n")
    assert assert_same(["wrong.py"], tmp_path).returncode == 1


@pytest.mark.parametrize("end", ["return", "7", "fail"])
def test_modules_packages_folders_and_zip_files_start_as_with_python(tmp_path, end):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import sys\nprint(sys.argv[0], sys.path[0])\n")
    (package / "__main__.py").write_text(SHOW)
    (package / "part.py").write_text(SHOW)
    zipapp.create_archive(package, tmp_path / "program.pyz")
    for program in (["-m", "package"], ["-m", "package.part"], ["package"], ["program.pyz"]):
        ended = assert_same([*program, end], tmp_path)
        assert ended.returncode == (int(end) if end.isdigit() else end == "fail")


def test_an_error_while_a_package_is_imported_is_the_programs(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("import nothing_like_this\n")
    (tmp_path / "broken" / "part.py").write_text("")
    ended = genever_run("-m", "broken.part", cwd=tmp_path, expect=1)
    assert ended.stderr.splitlines()[1].endswith('__init__.py", line 1, in <module>')
    assert ended.stderr.endswith("ModuleNotFoundError: No module named 'nothing_like_this'\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.py"], "there is no file 'nowhere.py'; write SCRIPT or -m MODULE"),
        (["-m", "nowhere.at_all"], "there is no module 'nowhere.at_all' here or among the install"),
        (["-m", "empty"], "'empty' is a package without a module __main__"),
        (["empty"], "there is no __main__.py in '"),
        (["-m", "_json"], "the module '_json' is not written in Python"),
        ([], "'run' needs a program: SCRIPT [args] or -m MODULE [args]"),
        (["--tf1"], "'run' needs a program: SCRIPT [args] or -m MODULE [args]"),
        (["--tf2", "x.py"], "Unknown command line flag 'tf2'"),
        (["--tf1_package=x", "empty.py"], "--tf1_package has a meaning only with --tf1"),
    ],
)
def test_a_program_that_is_not_there_is_a_mistake(tmp_path, arguments, sentence):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "__init__.py").write_text("")
    (tmp_path / "empty.py").write_text("")
    ended = genever_run(*arguments, cwd=tmp_path, expect=2)
    assert ended.stderr.startswith(f"genever: error: {sentence}")
    assert len(ended.stderr.splitlines()) == 1


def test_exit_handlers_and_threads_still_find_main(tmp_path):
    program = """
        import atexit, pickle, sys, threading, time

        class Kept:
            pass

        def later(place):
            time.sleep(0.2)
            print(place, type(pickle.loads(pickle.dumps(Kept()))) is Kept, flush=True)

        atexit.register(later, "at exit")
        threading.Thread(target=later, args=("thread",)).start()
        sys.excepthook = lambda kind, value, trace: print("hook", value, trace.tb_lineno)
        raise ValueError("seen by the hook")
    """
    (tmp_path / "late.py").write_text("\n".join(line[8:] for line in program.split("\n")))
    for command in (["late.py"], ["-m", "late"]):
        genever = genever_run(*command, cwd=tmp_path, expect=1)
        assert genever.stdout == "hook seen by the hook 14\nthread True\nat exit True\n"


ABSL = """
from absl import app, flags

flags.DEFINE_integer("steps", 3, "How many.", lower_bound=1)
flags.DEFINE_bool("tf1", False, "A name that genever has too.")


def main(argv):
    print(argv, flags.FLAGS.steps, flags.FLAGS.tf1)
    return 5


app.run(main)
"""

ARGPARSE = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, required=True)
print(parser.parse_args())
"""


@pytest.mark.parametrize(
    "command",
    [
        ["flags.py", "--steps=4", "--tf1", "rest"],
        ["flags.py", "--steps=0"],
        ["flags.py", "--stepz=1"],
        ["flags.py", "--help"],
        ["arguments.py", "--rate", "0.1"],
        ["arguments.py", "-h"],
        ["arguments.py"],
    ],
)
def test_flags_belong_to_the_program(tmp_path, command):
    (tmp_path / "flags.py").write_text(ABSL)
    (tmp_path / "arguments.py").write_text(ARGPARSE)
    assert_same(command, tmp_path)


# As such programs are: absl flags, tf.estimator throughout, no word of Genever.
PROGRAM = """
import numpy as np
import tensorflow as tf

flags = tf.compat.v1.flags
flags.DEFINE_string("model_dir", None, "Where to.")
flags.DEFINE_integer("steps", 40, "How far.")


def input_fn():
    x = np.arange(32, dtype=np.float32) / 16
    return tf.data.Dataset.from_tensor_slices(({"x": x}, 2 * x)).batch(8).repeat(20)


def model_fn(features, labels, mode):
    weight = tf.compat.v1.get_variable("weight", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(weight * features["x"] - labels))
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.3)
    step = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def main(_):
    estimator = tf.estimator.Estimator(
        model_fn,
        flags.FLAGS.model_dir,
        tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=20),
    )
    ended = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn, max_steps=flags.FLAGS.steps),
        tf.estimator.EvalSpec(input_fn, steps=2, throttle_secs=0),
    )
    same = tf.estimator.train_and_evaluate is tf.compat.v1.estimator.train_and_evaluate
    print(same, ended and (sorted(ended[0]), ended[1]))


if __name__ == "__main__":
    tf.compat.v1.app.run()
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.slow
def test_the_driver_is_genevers_and_can_be_switched_off(program):
    weights = []
    for flag in ("--driver", "--nodriver"):
        ended = genever_run(flag, "program.py", f"--model_dir={flag[2:]}", cwd=program)
        assert ended.stdout == "True (['global_step', 'loss'], [])\n"
        weights.append(tf.train.load_variable(str(program / flag[2:]), "weight"))
    assert weights[0] == pytest.approx(2.0, abs=1e-3)
    assert weights[0].tobytes() == weights[1].tobytes()

    records = (program / "driver" / "ledger.jsonl").read_text().splitlines()
    events = [(record["event"], record.get("step")) for record in map(json.loads, records)]
    assert ("evaluated", 20) in events and ("evaluated", 40) in events
    assert events[-1] == ("ended", 40)
    assert not (program / "nodriver" / "ledger.jsonl").exists()


@pytest.mark.slow
def test_a_cluster_is_left_to_tensorflow_and_a_line_says_so(program):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    cluster = {"cluster": {"chief": [address]}, "task": {"type": "chief", "index": 0}}
    config = json.dumps(cluster)
    ended = genever_run("program.py", "--model_dir=model", cwd=program, TF_CONFIG=config)
    assert (
        "TF_CONFIG describes a cluster, which Genever's train_and_evaluate does not" in ended.stderr
    )
    assert ended.stdout == "True None\n"
    assert tf.train.load_variable(str(program / "model"), "global_step") == 40
    assert not (program / "model" / "ledger.jsonl").exists()


@pytest.mark.slow
def test_a_gin_config_that_the_program_has_locked_does_not_matter(program):
    (program / "locked.py").write_text(
        "import gin\n\n\n@gin.configurable\ndef f(x):\n    return x\n\n\n"
        "gin.parse_config('f.x = 1')\ngin.finalize()\nimport program\n"
        "program.tf.compat.v1.app.run(program.main)\n"
    )
    ended = genever_run("locked.py", "--model_dir=model", "--steps=20", cwd=program)
    assert ended.stdout == "True (['global_step', 'loss'], [])\n"
    assert (program / "model" / "config.gin").read_text().endswith("f.x = 1\n")


CHILDREN = """
import multiprocessing
import subprocess
import sys

bridged = "genever" in sys.modules  # in a child, before anything here imports it


def child(queue, with_tensorflow):
    name = ""
    if with_tensorflow:
        import tensorflow as tf

        name = tf.estimator.train_and_evaluate.__module__, tf.estimator.Estimator.__name__
    queue.put((bridged, name, __name__, sys.argv[1:]))


if __name__ == "__main__":
    for method, with_tensorflow in (("spawn", True), ("forkserver", False), ("fork", False)):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue, with_tensorflow))
        process.start()
        print(method, *queue.get(timeout=120))
        process.join(60)
    look = "import sys; print('genever' in sys.modules, sys.path[1:2], sys.flags.isolated)"
    for flags in ([], ["-I"]):
        subprocess.run([sys.executable, *flags, "-c", look], timeout=60)
"""


def test_child_processes_have_the_bridge_before_their_first_line(tmp_path):
    (tmp_path / "children.py").write_text(CHILDREN)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import os\nos.environ['HIDDEN'] = 'ran'\n")
    inherited = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, (str(hidden), inherited)))
    ended = genever_run("children.py", "x", cwd=tmp_path, PYTHONPATH=path)
    lines = ended.stdout.splitlines()
    assert lines[:3] == [
        "spawn True ('tensorflow_estimator.python.estimator.training', 'EstimatorV2') "
        "__mp_main__ ['x']",
        "forkserver True  __mp_main__ ['x']",
        "fork True  __main__ ['x']",
    ]
    # The folder of the hook is gone again, and what it hid is in its place.
    assert f"True ['{hidden}'] 0" in lines
    # An isolated Python listens to no environment.
    assert any(line.startswith("False ") and line.endswith(" 1") for line in lines)
