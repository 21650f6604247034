"""What `genever lint` says of a name is true of the installed versions."""

import builtins
import importlib
import importlib.metadata
import importlib.util
import sys

import numpy
import pytest
import tensorflow as tf
from genever.estimators.compat import contrib, contrib_table
from genever.launch import lint_contrib, lint_rules, tf1_names
from genever.launch.lint_rules import RULES, Rule, Verdict, version

pytestmark = pytest.mark.core

TENSORFLOW = version(".".join(tf.__version__.split(".")[:2]))
NUMPY = version(".".join(numpy.__version__.split(".")[:2]))
NAMES = tf1_names.load()

# These can be named on every TensorFlow, but work on TPUs of TensorFlow 2.15 alone.
TPU_NAMES = "tf.compat.v1.tpu.experimental.", "tf.compat.v1.estimator.tpu.experimental."


def has(root, dotted):
    """Whether `root` has what a dotted name says."""
    for part in filter(None, dotted.split(".")):
        try:
            root = getattr(root, part)
        except AttributeError:
            return False
    return True


def importable(name):
    """Whether a module, or a name of a module, can be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        module, _, attribute = name.rpartition(".")
        return bool(module) and importable(module) and has(sys.modules[module], attribute)
    return True


def breaks(versions, installed):
    """Whether the installed version is one of a rule's; every one is if the rule names none."""
    first, _, last = versions.partition("-")
    return (not first or installed >= version(first)) and (not last or installed <= version(last))


def names(prefix, *verdicts):
    return [
        pytest.param(name.removesuffix(".*"), rule, id=name)
        for rule in RULES
        if rule.verdict in verdicts and rule.when is None
        for name in lint_rules._expand(rule.names)
        if name.startswith(prefix)
    ]


@pytest.mark.parametrize("name, rule", names("tf.", Verdict.BRIDGED, Verdict.CHECK, Verdict.TF1))
def test_a_bridged_name_is_there(name, rule):
    assert has(tf, name.removeprefix("tf."))


@pytest.mark.parametrize("name, rule", names("tf.", Verdict.CHANGE))
def test_a_name_that_must_be_changed_is_not_there(name, rule):
    if rule.python or name.startswith(TPU_NAMES):
        assert has(tf, name.removeprefix("tf."))
    else:
        assert has(tf, name.removeprefix("tf.")) is not breaks(rule.tensorflow, TENSORFLOW)


@pytest.mark.parametrize("name, rule", names(("tensorflow.python.", "gin.tf"), Verdict.BRIDGED))
def test_a_bridged_module_can_be_imported(name, rule):
    assert importable(name)


def test_tpu_embeddings_need_tensorflow_2_15():
    for name in ("Adagrad", "Adam", "Ftrl", "StochasticGradientDescent"):
        parameters = getattr(tf.compat.v1.tpu.experimental, f"{name}Parameters")
        if TENSORFLOW == (2, 15):
            assert parameters(0.1).learning_rate == 0.1
        else:
            with pytest.raises(NotImplementedError, match="needs TensorFlow 2.15"):
                parameters(0.1)


def test_the_parameter_server_strategy_of_tf2_is_refused():
    strategy = tf.distribute.experimental.ParameterServerStrategy.__new__(
        tf.distribute.experimental.ParameterServerStrategy
    )
    with pytest.raises(ValueError, match="ParameterServerStrategy"):
        tf.estimator.RunConfig(train_distribute=strategy)


def test_private_modules_are_gone_from_the_version_on_that_the_table_says():
    wrong = []
    for rule in lint_rules._gone_modules():
        name = rule.names.removesuffix(".*")
        gone = breaks(rule.tensorflow, TENSORFLOW)
        if importable(name) is gone:
            wrong.append(name)
    assert wrong == []


def test_what_has_the_place_of_a_private_module_is_there():
    for rule in lint_rules._gone_modules():
        instead = rule.cure.partition("write ")[2].split()[0].rstrip(",")
        if instead.startswith("tf."):
            assert has(tf, instead.removeprefix("tf.")), rule
        elif instead.startswith(("tensorflow.", "tensorflow_estimator.")):
            assert importable(instead), rule


@pytest.mark.parametrize("name, rule", names("numpy.", Verdict.CHANGE))
@pytest.mark.filterwarnings("ignore")
def test_a_name_of_numpy_is_gone_in_the_versions_that_the_rule_says(name, rule):
    attribute = name.removeprefix("numpy.")
    try:
        there = hasattr(numpy, attribute)
    except Exception:  # some removed names raise what is no AttributeError
        there = False
    # NumPy took np.long and np.bool back; what NumPy 1.23 lacked it never had in these versions.
    assert there is not breaks(rule.numpy, NUMPY)


@pytest.mark.parametrize(
    "name, rule",
    [
        row
        for row in names("", Verdict.CHANGE)
        if row.values[0].partition(".")[0]
        not in ("tf", "tensorflow", "tensorflow_core", "numpy", "google", "tensorboard", "?", "gin")
    ],
)
def test_a_name_of_python_is_gone_in_the_versions_that_the_rule_says(name, rule):
    module, _, attribute = name.partition(".")
    if module == "builtins":
        there = hasattr(builtins, attribute)
    elif not attribute:
        # Installed packages may bring back what Python has not.
        there = module in sys.stdlib_module_names
    else:
        there = hasattr(importlib.import_module(module), attribute)
    assert there is not breaks(rule.python, sys.version_info[:2])


def test_tensorboard_comes_with_tensorflow_up_to_2_20():
    (rule,) = [rule for rule in RULES if rule.names == "tensorboard.*"]
    required = importlib.metadata.requires("tensorflow")
    assert any(r.startswith("tensorboard") for r in required) is not breaks(
        rule.tensorflow, TENSORFLOW
    )


def test_a_name_of_tf1_is_in_tf_compat_v1_alone():
    assert len(NAMES.only_v1) > 600
    for name in NAMES.only_v1:
        assert has(tf.compat.v1, name), name
        assert not has(tf, name), name


def test_a_name_of_tf2_is_in_tf_alone():
    assert len(NAMES.only_v2) > 200
    there = [name for name in NAMES.only_v2 if has(tf, name)]
    # TensorFlow 2.15 has not all of them yet.
    assert len(there) > 0.98 * len(NAMES.only_v2)
    for name in there:
        assert not has(tf.compat.v1, name), name
        assert has(tf.compat.v2, name), name


def test_the_file_of_names_is_that_of_the_installed_tensorflow():
    generated = tf1_names.parse(tf1_names.generate())
    assert generated.only_v1 == NAMES.only_v1
    assert generated.arguments == NAMES.arguments
    assert generated.only_v2 <= NAMES.only_v2
    if TENSORFLOW >= (2, 21):
        with open(tf1_names.FILE, encoding="utf-8") as file:
            assert tf1_names.generate() == file.read()


@pytest.mark.parametrize("part", [*contrib_table.MODULES, "nosuchthing"])
def test_what_is_said_of_contrib_is_what_tf1_programs_find(part):
    try:
        there = bool(contrib.follow([part]))
    except contrib.NotInTF1Error:
        there = False
    assert lint_contrib.advice(f"tf.contrib.{part}")[0] is there
    for name, place in contrib_table.MODULES.get(part, contrib_table.Module()).names.items():
        living, cure = lint_contrib.advice(f"tf.contrib.{part}.{name}")
        assert living is (" " not in place)
        assert living or place in cure


def test_what_only_objects_of_tf1_have():
    dataset = tf.data.Dataset.range(1)
    assert not hasattr(dataset, "make_one_shot_iterator")
    assert hasattr(tf.compat.v1.data.Dataset.range(1), "make_one_shot_iterator")
    assert not hasattr(tf.zeros([1]).shape[0], "value")


def test_versions_in_words():
    assert Rule("x", Verdict.CHANGE, "", "2.16").breaks() == "from TensorFlow 2.16 on"
    assert Rule("x", Verdict.CHANGE, "", "2.20-2.20", protobuf="7").breaks() == (
        "on TensorFlow 2.20 and from protobuf 7 on"
    )
    assert Rule("x", Verdict.CHANGE, "", "2.16-2.18", python="3.12").breaks() == (
        "on TensorFlow 2.16 to 2.18 and from Python 3.12 on"
    )
    assert Rule("x", Verdict.CHANGE, "").breaks() == "on every supported version"
