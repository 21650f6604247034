import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a fresh interpreter, where nothing is imported yet, and returns its end."""

    def run(program, timeout=180, **environment):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program))
        inherited = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
        if "PYTHONPATH" in environment:
            folders = (environment["PYTHONPATH"], os.environ.get("PYTHONPATH", ""))
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
        return subprocess.run(
            [sys.executable, str(file)],
            cwd=tmp_path,
            env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture
def output_of(run_python):
    """As run_python, but the program must succeed, and the lines that it prints are returned."""

    def run(program, timeout=180, **environment):
        ended = run_python(program, timeout, **environment)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return ended.stdout.splitlines()

    return run
