import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture(scope="session")
def command():
    """The command line, to compare with: `command("study", "ask", …)` gives what it prints."""
    program = os.environ.get("ICEE") or ROOT / "target" / "debug" / "icee"
    if not pathlib.Path(program).exists():
        pytest.skip("there is no icee to compare with; build it with `cargo build`, or say where it is: ICEE=…")

    def run(*words, folder):
        done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
