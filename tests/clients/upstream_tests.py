"""Runs the test files of the tensorflow/estimator repository through the bridge.

    python tests/clients/upstream_tests.py CHECKOUT [--only 'head/*'] [--timeout 900] [--v1]

CHECKOUT is your own clone, at 2.15 (`git clone --branch v2.15.0`); its test files run against the
installed tensorflow-estimator, on the installed TensorFlow, each in its own process. What may fail
stands in upstream_differences.txt. A failure that is listed neither there nor in --baseline, the
results of another TensorFlow, ends this program with exit code 1.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = Path("tensorflow_estimator", "python", "estimator")
TEST_FILE = re.compile(r"_test(_fc)?(_v[12])*\.py$")


@dataclass(frozen=True)
class Difference:
    """A line of upstream_differences.txt."""

    file: str
    test: str
    at_most: int
    reason: str

    def covers(self, file: str, test: str) -> bool:
        return fnmatch.fnmatchcase(file, self.file) and fnmatch.fnmatchcase(test, self.test)


@dataclass
class FileRun:
    """What became of one test file: the end of each test, and of the file as a whole."""

    file: str
    ends: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    log: str = ""

    def count(self, end: str) -> int:
        return sum(one == end for one in self.ends.values())

    def failures(self) -> list[str]:
        return [test for test, end in self.ends.items() if end == "failed"]


def differences(path: Path) -> list[Difference]:
    """Reads `file | test | at most | reason` lines; empty ones and # lines are skipped.

    Raises:
      ValueError: a line has another form.
    """
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 4 or not parts[2].isdigit():
            raise ValueError(f"{path}:{number}: write 'file | test | at most | reason': {line!r}")
        found.append(Difference(parts[0], parts[1], int(parts[2]), parts[3]))
    return found


def test_files(checkout: Path, only: str) -> list[str]:
    """Returns the test files below tensorflow_estimator/python/estimator that match `only`."""
    root = checkout / SOURCES
    files = (path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    return sorted(f for f in files if TEST_FILE.search(f) and fnmatch.fnmatchcase(f, only))


def run_file(checkout: Path, file: str, timeout: float, v1: bool) -> FileRun:
    """Runs one test file in its own process, for at most `timeout` seconds.

    A file that fails apart from its tests has a failure named "(start)" or "(time limit)".
    """
    run = FileRun(file)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        record, log = Path(folder, "record"), Path(folder, "log")
        record.touch()
        command = [sys.executable, str(HERE / "upstream_child.py"), str(checkout), file]
        environment = {**os.environ, "TEST_TMPDIR": folder, "GENEVER_UPSTREAM_RECORD": str(record)}
        with log.open("w") as output:
            child = subprocess.Popen(
                [*command, "v1" if v1 else "v2"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = child.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _kill_group(child)
        for line in record.read_text().splitlines():
            test, end = json.loads(line)
            # A test that fails in two places has failed, whatever comes after.
            if run.ends.get(test) != "failed":
                run.ends[test] = end
        run.log = log.read_text(errors="replace")
    cut = [test for test, end in run.ends.items() if end == "started"]
    if code is None:
        for test in cut:
            del run.ends[test]
        run.ends["(time limit)"] = "failed"
        run.log += f"\n{file}: stopped after {timeout:g} s in {', '.join(cut) or 'no test'}\n"
    elif cut:
        # The process died in this test.
        run.ends.update(dict.fromkeys(cut, "failed"))
    elif code and not run.failures():
        run.ends["(start)"] = "failed"
    run.seconds = time.monotonic() - started
    return run


def _kill_group(child: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, 9)
    child.wait(30)


def unlisted(
    run: FileRun, known: Sequence[Difference], baseline: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields each failing test of a file that nothing allows, and why."""
    used: dict[Difference, int] = {}
    for test in run.failures():
        if baseline.get(f"{run.file}::{test}") == "failed":
            continue
        entry = next((one for one in known if one.covers(run.file, test)), None)
        if entry is None:
            yield test, "not listed"
            continue
        used[entry] = used.get(entry, 0) + 1
        if used[entry] > entry.at_most:
            yield test, f"one more than the {entry.at_most} listed as: {entry.reason}"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="a clone of tensorflow/estimator at 2.15")
    parser.add_argument("--only", default="*", help="run only files that match, as 'head/*'")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one file")
    parser.add_argument("--v1", action="store_true", help="with disable_v2_behavior()")
    parser.add_argument("--jobs", type=int, default=1, help="files that run at the same time")
    parser.add_argument("--results", type=Path, help="write the end of each test to this file")
    parser.add_argument("--baseline", type=Path, help="--results of another TensorFlow")
    parser.add_argument("--known", type=Path, default=HERE / "upstream_differences.txt")
    parser.add_argument("--verbose", action="store_true", help="print the output of failed files")
    asked = parser.parse_args(arguments)
    if not (asked.checkout / SOURCES).is_dir():
        parser.error(f"{asked.checkout} has no {SOURCES}: give a clone of tensorflow/estimator")
    if not test_files(asked.checkout, asked.only):
        parser.error(f"no test file matches --only {asked.only!r}; give a pattern such as 'head/*'")
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parse_arguments(arguments)
    known = differences(asked.known)
    baseline = json.loads(asked.baseline.read_text()) if asked.baseline else {}
    files = test_files(asked.checkout, asked.only)
    checkout = asked.checkout.resolve()
    width = max(map(len, files))
    print(f"{'file':{width}}  passed  failed  skipped  seconds", flush=True)
    total = dict.fromkeys(("passed", "failed", "skipped"), 0)
    results, wrong = {}, []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for run in pool.map(lambda f: run_file(checkout, f, asked.timeout, asked.v1), files):
            counts = {end: run.count(end) for end in total}
            for end, count in counts.items():
                total[end] += count
            print(
                f"{run.file:{width}}  {counts['passed']:6}  {counts['failed']:6}"
                f"  {counts['skipped']:7}  {run.seconds:7.0f}",
                flush=True,
            )
            new = [f"{run.file}::{test} ({why})" for test, why in unlisted(run, known, baseline)]
            wrong += new
            if new or (asked.verbose and run.failures()):
                print(run.log if asked.verbose else run.log[-2000:], flush=True)
            results.update({f"{run.file}::{test}": end for test, end in run.ends.items()})
    print(
        f"{'total':{width}}  {total['passed']:6}  {total['failed']:6}  {total['skipped']:7}\n"
        f"{len(wrong)} failed that neither upstream_differences.txt nor a baseline lists"
    )
    for line in wrong:
        print("  " + line)
    if asked.results:
        asked.results.write_text(json.dumps(results, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
