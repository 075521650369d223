"""`tpustarter serve` as it is typed: its help, and what it says where its package is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpustarter.core.problem import ExitCode
from tpustarter.machine import pip_command


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("tpustarter", "run `INSTALL`"),
        (
            "python3 -m uv run tpustarter",
            "type the same command with `--extra serve` after `uv run`",
        ),
    ],
)
def test_missing_package_error_names_install_command(
    command: str, hint: str, tmp_path: Path
) -> None:
    """By the command that was typed, which stands in no hint twice."""
    absent = "raise ModuleNotFoundError('gone', name='textual_serve')\n"
    (tmp_path / "textual_serve.py").write_text(absent)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "tpustarter", "serve"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths, "TPUSTARTER_COMMAND": command},
    )

    assert ("", ExitCode.CONFIGURATION) == (done.stdout, done.returncode)
    assert done.stderr.startswith("error: `textual-serve` is missing in `")
    install = pip_command.format_pip_command(f"{sys.executable} -m pip install textual-serve")
    assert done.stderr.endswith(f"hint: {hint.replace('INSTALL', install)}\n")
