"""A user's file with a syntax error is reported with line and column before it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tpustarter.core.problem import Problem
from tpustarter.rehearsal.programs import syntax_check

MISTAKES = {
    b"def step(x):\n    return (x +\n": "line 2, column 12: '(' was never closed",
    b"def f(x):\n  return x\n\ty = 1\n": "line 3, column 1: inconsistent use of tabs",
    b"print 1\n": "line 1, column 1: Missing parentheses",
    b"name = '\xff'\n": "line 1",
}
"""What stands in a file, and what is said of it by any Python from 3.10 on."""


def own_python() -> Path:
    """Return the Python of these tests."""
    return Path(sys.executable)


@pytest.mark.parametrize("content", MISTAKES)
def test_syntax_error_has_line_and_column(tmp_path: Path, content: bytes) -> None:
    """A syntax error is reported with its line, its column and the source line if there is one."""
    file = tmp_path / "train.py"
    file.write_bytes(content)
    with pytest.raises(Problem) as problem:
        syntax_check.verify_syntax(file, "train.py", own_python)

    assert problem.value.full_text.startswith("`train.py` is no Python: ")
    assert MISTAKES[content] in problem.value.full_text


def test_python_under_test_decides_about_syntax(tmp_path: Path) -> None:
    """The Python under test decides about syntax; one that is missing is ignored."""
    file = tmp_path / "train.py"
    file.write_text("match = a new statement\n")
    newer = tmp_path / "newer"
    newer.write_text("#!/bin/sh\nexit 0\n")
    newer.chmod(0o755)
    syntax_check.verify_syntax(file, "train.py", lambda: newer)

    with pytest.raises(Problem):
        syntax_check.verify_syntax(file, "train.py", lambda: tmp_path / "gone")


def test_a_file_in_order_starts_no_python(tmp_path: Path) -> None:
    """No Python is started for a correct file, or for a missing one."""
    file = tmp_path / "train.py"
    file.write_text("x = 1\n")

    def fail() -> Path:
        raise AssertionError

    syntax_check.verify_syntax(file, "train.py", fail)
    syntax_check.verify_syntax(tmp_path / "gone.py", "gone.py", fail)
