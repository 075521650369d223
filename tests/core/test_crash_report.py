"""Errors of the program itself: exit code 70, and no secret is shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BREAK = """
import sys
sys.modules["detect_secrets"] = None  # as where a package is missing
from tpustarter.core import problem
from tpustarter import __main__, cli
def broken(**_):
    raise {error}
cli.cli = broken
__main__.main()
"""
TOKEN = "abcdefgh12345678ABCDEFGH"


@pytest.mark.parametrize(
    "error", [f'ValueError("{TOKEN}")', f'problem.Problem("cannot use `{TOKEN}`")']
)
def test_unredactable_report_is_not_shown(error: str, tmp_path: Path) -> None:
    """Neither message nor stack is shown, since both could hold secrets."""
    program = BREAK.format(error=error)
    done = subprocess.run(
        [sys.executable, "-c", program, "check"],
        env={**os.environ, "TPUSTARTER_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 70 == done.returncode
    assert "tpustarter itself broke" in done.stderr
    assert "is this installation complete?" in done.stderr
    assert TOKEN not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.rglob("bug-*") if TOKEN in path.read_text()]
