"""The runner of TensorFlow's own Estimator tests, on a small checkout made here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.core

RUNNER = Path(__file__).with_name("upstream_tests.py")
OLD_NAMES = """
import inspect
import unittest
from tensorflow_estimator.python.estimator import only_for_tests
from tensorflow_estimator.python.estimator import model_fn

class OldNames(unittest.TestCase):
    def test_aliases(self):
        self.assertEquals(only_for_tests.THREE, 3)
        self.assertItemsEqual([1, 2], [2, 1])
        self.assertRaisesRegexp(ValueError, "literal", int, "x")
        self.assertEquals(inspect.getargspec(lambda a, *b: 0).args, ["a"])

    def test_estimator_comes_from_the_wheel(self):
        self.assertIn("site-packages", model_fn.__file__)

    @unittest.skip("not here")
    def test_skipped(self):
        pass

if __name__ == "__main__":
    unittest.main()
"""
FAILING = """
import unittest

class Head(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad_label(self):
        self.assertEqual(1, 2)

    def test_bad_part(self):
        for part in (1, 2):
            with self.subTest(part=part):
                self.assertEqual(part, 1)

if __name__ == "__main__":
    unittest.main()
"""
HANGING = """
import time
import unittest

class Slow(unittest.TestCase):
    def test_a(self):
        pass

    def test_b(self):
        time.sleep(300)

if __name__ == "__main__":
    unittest.main()
"""


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "checkout" / "tensorflow_estimator" / "python" / "estimator"
    (root / "head").mkdir(parents=True)
    (root / "only_for_tests.py").write_text("THREE = 3\n")
    (root / "old_names_test.py").write_text(OLD_NAMES)
    (root / "head" / "head_test.py").write_text(FAILING)
    (root / "head" / "hanging_test_v1.py").write_text(HANGING)
    return tmp_path / "checkout"


def run(checkout, *arguments):
    ended = subprocess.run(
        [sys.executable, str(RUNNER), str(checkout), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
    )
    rows = {}
    for line in ended.stdout.splitlines():
        parts = line.split()
        if len(parts) >= 4 and all(part.isdigit() for part in parts[1:4]):
            rows[parts[0]] = tuple(map(int, parts[1:4]))
    return ended, rows


def test_files_run_with_the_names_that_python_dropped(checkout):
    ended, rows = run(checkout, "--only", "old_names*")
    assert rows == {"old_names_test.py": (2, 0, 1), "total": (2, 0, 1)}, ended.stdout
    assert ended.returncode == 0


def test_only_failures_that_nobody_lists_are_an_error(checkout, tmp_path):
    known = tmp_path / "known.txt"
    results = tmp_path / "results.json"
    ended, rows = run(checkout, "--only", "head/head*", "--results", str(results))
    assert rows["head/head_test.py"] == (1, 2, 0)
    assert ended.returncode == 1
    assert "head/head_test.py::Head.test_bad_label (not listed)" in ended.stdout
    assert json.loads(results.read_text()) == {
        "head/head_test.py::Head.test_good": "passed",
        "head/head_test.py::Head.test_bad_label": "failed",
        "head/head_test.py::Head.test_bad_part": "failed",
    }

    known.write_text("# reasons\nhead/*.py | *bad* | 1 | one of them is expected\n")
    ended, _ = run(checkout, "--only", "head/head*", "--known", str(known))
    assert ended.returncode == 1
    assert "Head.test_bad_part (one more than the 1 listed as: one of them" in ended.stdout

    known.write_text("head/head_test.py | Head.test_bad_label | 1 | wrong\n")
    ended, _ = run(
        checkout, "--only", "head/head*", "--known", str(known), "--baseline", str(results)
    )
    assert ended.returncode == 0, ended.stdout


def test_a_file_that_hangs_is_stopped_and_keeps_its_counts(checkout):
    ended, rows = run(checkout, "--only", "head/hanging*", "--timeout", "10")
    assert rows["head/hanging_test_v1.py"] == (1, 1, 0)
    assert "stopped after 10 s in Slow.test_b" in ended.stdout
    assert ended.returncode == 1


def test_another_folder_is_refused_in_one_sentence(tmp_path):
    ended, _ = run(tmp_path)
    assert ended.returncode == 2
    assert "give a clone of tensorflow/estimator" in ended.stderr
