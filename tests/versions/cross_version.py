"""Checkpoints and SavedModels of one TensorFlow, read by another, in both directions.

    python tests/versions/cross_version.py PYTHON_A PYTHON_B

Both are interpreters of environments that have Genever. Each writes what cross_version_program.py
trains and exports, and the other one reads it: the bytes of every variable must be the same, and
metrics and predictions equal to 1e-6. Exits 1 where they are not.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = Path(__file__).with_name("cross_version_program.py")
SECONDS = 400


def run(python: str, task: str, folder: str) -> str:
    """Runs the program and returns the last line that it prints.

    Raises:
      RuntimeError: it failed; its last lines tell why.
    """
    ended = subprocess.run(
        [python, str(PROGRAM), task, folder],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if ended.returncode:
        raise RuntimeError(f"{python}: {task} failed:\n{ended.stderr[-3000:]}")
    return (ended.stdout.splitlines() or [""])[-1]


def tensorflow_of(python: str) -> str:
    program = "from importlib.metadata import version; print(version('tensorflow'))"
    return subprocess.check_output([python, "-c", program], text=True, timeout=60).strip()


def one_way(writer: str, reader: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        run(writer, "write", folder)
        return json.loads(run(reader, "read", folder))


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    first, second = sys.argv[1:]
    versions = {python: tensorflow_of(python) for python in (first, second)}
    ways = [(first, second), (second, first)]
    failed = False
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(one_way, *way) for way in ways]
        for (writer, reader), way in zip(ways, started, strict=True):
            arrow = f"{versions[writer]} -> {versions[reader]}"
            try:
                for model, counts in way.result().items():
                    print(
                        f"{arrow}  {model:6}  {counts['variables']} variables of the checkpoint, "
                        f"{counts['exported']} of the SavedModel: the same bytes",
                        flush=True,
                    )
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"{arrow}  FAILED: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
