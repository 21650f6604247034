"""Runs one test file of tensorflow/estimator: `upstream_child.py CHECKOUT FILE v1|v2`.

Supplies what Python has dropped since the file was written, and writes the end of each test to the
file named in GENEVER_UPSTREAM_RECORD as it happens, so that a time limit loses none.
"""

import collections
import importlib.abc
import importlib.util
import inspect
import json
import os
import runpy
import sys
import unittest
from pathlib import Path

import genever  # noqa: F401  (the bridge comes before TensorFlow)

# Names of unittest that Python 2, or Python up to 3.11, had.
ALIASES = {
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assert_": "assertTrue",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertNotAlmostEquals": "assertNotAlmostEqual",
    "assertRegexpMatches": "assertRegex",
    "assertNotRegexpMatches": "assertNotRegex",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertItemsEqual": "assertCountEqual",
}
ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def supply_dropped_names() -> None:
    for old, new in ALIASES.items():
        if not hasattr(unittest.TestCase, old):
            setattr(unittest.TestCase, old, getattr(unittest.TestCase, new))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = lambda function: ArgSpec(*inspect.getfullargspec(function)[:4])


def record_ends(path: str) -> None:
    """Every result class calls these methods of the one base class."""

    def note(test, end):
        with open(path, "a") as file:
            file.write(json.dumps([test.id().removeprefix("__main__."), end]) + "\n")

    def recording(method, end):
        original = getattr(unittest.TestResult, method)

        def record(self, test, *rest):
            note(test, end)
            return original(self, test, *rest)

        setattr(unittest.TestResult, method, record)

    recording("startTest", "started")
    recording("addSuccess", "passed")
    recording("addFailure", "failed")
    recording("addError", "failed")
    recording("addSkip", "skipped")
    recording("addExpectedFailure", "passed")
    recording("addUnexpectedSuccess", "failed")

    original = unittest.TestResult.addSubTest

    def add_sub_test(self, test, subtest, error):
        if error is not None:
            note(test, "failed")
        return original(self, test, subtest, error)

    unittest.TestResult.addSubTest = add_sub_test


class TestOnlyModules(importlib.abc.MetaPathFinder):
    """Finds in the checkout what the wheel leaves out: modules that only tests import."""

    def __init__(self, checkout: Path):
        self._checkout = checkout

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("tensorflow_estimator."):
            return None
        file = self._checkout.joinpath(*fullname.split(".")).with_suffix(".py")
        return importlib.util.spec_from_file_location(fullname, file) if file.is_file() else None


def main() -> None:
    checkout, file, behaviour = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    supply_dropped_names()
    record_ends(os.environ["GENEVER_UPSTREAM_RECORD"])
    sys.meta_path.append(TestOnlyModules(checkout))
    if behaviour == "v1":
        import tensorflow as tf

        tf.compat.v1.disable_v2_behavior()
    # Beside the test files lie modules such as gc.py, which must not hide those of Python.
    sys.path[0] = os.getcwd()
    path = checkout / "tensorflow_estimator" / "python" / "estimator" / file
    sys.argv = [str(path)]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
