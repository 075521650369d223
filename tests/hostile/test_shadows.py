"""A file of the user's with the name of a module: one error that names it, however it breaks us.

A row is the name, what is in the file, and whether the program can do without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S

BROKEN = {"raises": "raise RuntimeError('mine')", "empty": "", "is none": "def (:"}
MODULES = ["click", "enum", "json", "re", "signal", "textwrap", "token"]


def learn(folder: Path, *, is_here: bool) -> subprocess.CompletedProcess[str]:
    """Run `learn` beside a folder on PYTHONPATH, or in it."""
    path = REPOSITORY if is_here else f"{folder}{os.pathsep}{REPOSITORY}"
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", "learn"],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
        env={**os.environ, "PYTHONPATH": str(path)},
        cwd=folder if is_here else folder.parent,
    )


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("how", BROKEN)
def test_file_shadowing_module_is_named(name: str, how: str, tmp_path: Path) -> None:
    """A file on PYTHONPATH that shadows a module is one error, not a traceback or bug report."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / f"{name}.py").write_text(BROKEN[how])
    done = learn(folder, is_here=False)

    assert 78 == done.returncode
    assert f"error: `{folder / name}.py`" in done.stderr
    assert 1 == done.stderr.count("error: ")
    assert "Traceback" not in done.stderr


def test_the_working_directory_is_searched_too(tmp_path: Path) -> None:
    """Under `python -m` the working directory is searched too, and a package also shadows."""
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "__init__.py").write_text("")
    done = learn(tmp_path, is_here=True)

    assert 78 == done.returncode
    assert f"error: `{tmp_path / 'json' / '__init__.py'}`" in done.stderr


def test_unimported_file_is_harmless(tmp_path: Path) -> None:
    """A name alone breaks nothing."""
    (tmp_path / "turtle.py").write_text("raise RuntimeError")

    assert 0 == learn(tmp_path, is_here=True).returncode
