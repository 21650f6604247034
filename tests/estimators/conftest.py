"""What all tests of this room share: a clean gin, and Python programs as processes."""

import subprocess
import sys

import gin
import pytest


@pytest.fixture(autouse=True)
def clean_gin():
    from genever.launch.config import register

    gin.clear_config()
    register()
    yield
    gin.clear_config()


@pytest.fixture
def run_program(tmp_path):
    """Runs Python source in a fresh process and returns what it printed."""

    def run(source: str, timeout: int = 150) -> str:
        program = tmp_path / "program.py"
        program.write_text(source)
        done = subprocess.run(
            [sys.executable, str(program)],
            cwd=tmp_path,
            timeout=timeout,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run
