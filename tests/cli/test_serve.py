"""Tests of `tpustarter serve` as a command: its help, and the error without its package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpustarter.core.problem import ExitCode
from tpustarter.machine import pip_command

BY_UV = {"UV_RUN_RECURSION_DEPTH": "1", "VIRTUAL_ENV": sys.prefix}


@pytest.mark.parametrize(
    ("environ", "hint"),
    [
        ({**BY_UV, "UV_RUN_RECURSION_DEPTH": ""}, "run `INSTALL`"),
        (
            {**BY_UV, "TPUSTARTER_COMMAND": "started-otherwise"},
            "type the same command with `--extra serve` after `uv run`",
        ),
        (
            {"UV": "uv", "PATH": f"{sys.prefix}/bin:{os.defpath}", "VIRTUAL_ENV": ""},
            "type the same command with `--with textual-serve` after `uvx` or `uv tool run`",
        ),
    ],
)
def test_missing_package_error_names_install_command(
    environ: dict[str, str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The install command depends on how the program was started, even through a wrapper."""
    absent = "raise ModuleNotFoundError('gone', name='textual_serve')\n"
    (tmp_path / "textual_serve.py").write_text(absent)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "tpustarter", "serve"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )

    assert ("", ExitCode.CONFIGURATION) == (done.stdout, done.returncode)
    assert done.stderr.startswith("error: `textual-serve` is missing in `")
    install = pip_command.format_pip_command(f"{sys.executable} -m pip install textual-serve")
    assert done.stderr.endswith(f"hint: {hint.replace('INSTALL', install)}\n")
