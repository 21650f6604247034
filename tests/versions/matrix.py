"""`make matrix`: runs smoke_program.py on each supported TensorFlow, one line for each.

    python tests/versions/matrix.py [--only 2.20]

Every TensorFlow has its own virtual environment, .venv-matrix-*, which is kept for the next time.
Pythons are looked for on PATH; MATRIX_PYTHONS may name further interpreters, separated by spaces.
Exits 1 if a run fails. A row for which no Python is found is not run, and says so.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALL_SECONDS = 1200
RUN_SECONDS = 300
# TensorFlow, and the Pythons for it, the best first. 2.15 and 2.21 have a whole suite of their own.
ROWS = (
    ("2.16", ("3.12", "3.11", "3.10")),
    ("2.17", ("3.12", "3.11", "3.10")),
    ("2.18", ("3.12", "3.11", "3.10")),
    ("2.19", ("3.12", "3.11", "3.10")),
    ("2.20", ("3.13", "3.12", "3.11", "3.10")),
    ("2.21", ("3.10",)),
    ("2.21", ("3.13",)),
)
COLUMNS = ("tensorflow", "python", "numpy", "protobuf", "tf_keras")


def find_pythons() -> dict[str, str]:
    """Returns minor version -> interpreter, for those that run and can make environments."""
    names = os.environ.get("MATRIX_PYTHONS", "").split()
    names += [sys.executable, "python3"] + [f"python3.{minor}" for minor in range(10, 14)]
    program = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    found: dict[str, str] = {}
    for name in names:
        try:
            ended = subprocess.run(
                [name, "-c", program], capture_output=True, text=True, timeout=60
            )
        except OSError:
            continue
        if ended.returncode == 0:
            found.setdefault(ended.stdout.strip(), name)
    return found


def environment(tensorflow: str, minor: str, python: str) -> str:
    """Returns the interpreter of the environment, made anew where setup.py is newer than it.

    Raises:
      subprocess.CalledProcessError: pip failed; its output tells why.
    """
    folder = ROOT / f".venv-matrix-tf{tensorflow}-py{minor}"
    inside = str(folder / "bin" / "python")
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "setup.py").stat().st_mtime:
        wanted = [f"tensorflow=={tensorflow}.*", "--editable", str(ROOT)]
        for command in (
            [python, "-m", "venv", "--clear", str(folder)],
            [inside, "-m", "pip", "install", "-qq", "--upgrade", "pip"],
            [inside, "-m", "pip", "install", "-qq", *wanted],
        ):
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS
            )
        stamp.touch()
    return inside


def smoke(python: str) -> dict:
    """Runs the smoke program and returns what it prints.

    Raises:
      subprocess.CalledProcessError: it failed; its output tells why.
    """
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run(
            [python, str(HERE / "smoke_program.py")],
            cwd=folder,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            check=True,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )
    return json.loads(ended.stdout.splitlines()[-1])


def line(cells) -> str:
    return "  ".join(f"{cell:<10}" for cell in cells)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="a TensorFlow version such as 2.20")
    only = parser.parse_args().only
    rows = [row for row in ROWS if only in (None, row[0])]
    if not rows:
        parser.error(f"--only {only}: write one of {', '.join(sorted({r[0] for r in ROWS}))}")
    pythons = find_pythons()
    print(line((*COLUMNS, "result")), flush=True)
    failed = missing = 0
    for tensorflow, minors in rows:
        minor = next((one for one in minors if one in pythons), None)
        if minor is None:
            missing += 1
            need = " or ".join(minors)
            result = f"not run: no Python {need} found; name one in MATRIX_PYTHONS"
            print(line((tensorflow, *"----", result)), flush=True)
            continue
        try:
            versions = smoke(environment(tensorflow, minor, pythons[minor]))["versions"]
            print(line((*(versions[name] for name in COLUMNS), "ok")), flush=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(line((tensorflow, minor, *"---", f"FAILED: {error}")), flush=True)
            print(_text(error.stdout) + _text(error.stderr), flush=True)
    print(f"{len(rows) - failed - missing} ok, {failed} failed, {missing} not run")
    return 1 if failed else 0


def _text(output: str | bytes | None) -> str:
    # A time limit hands over bytes even where text was asked for.
    text = output.decode(errors="replace") if isinstance(output, bytes) else output or ""
    return text[-4000:]


if __name__ == "__main__":
    sys.exit(main())
