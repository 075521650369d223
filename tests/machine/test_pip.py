"""The command that installs something is one that works in that Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpustarter.machine import pip


@pytest.fixture
def python(tmp_path: Path) -> str:
    """Lay out an environment as uv makes it: without pip."""
    (tmp_path / "lib/python3.12/site-packages").mkdir(parents=True)
    return str(tmp_path / "bin/python")


@pytest.fixture(autouse=True)
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let uv be a program of the shell."""
    tool = tmp_path / "tools/uv"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    return tool


def test_without_pip_it_is_uv(python: str) -> None:
    """Whatever is done, with all that is said after it."""
    assert f"uv pip check --python {python}" == pip.command(f"{python} -m pip check")
    installed = pip.command(f'{python} -m pip install -U "jax[tpu]"')
    assert f'uv pip install --python {python} -U "jax[tpu]"' == installed


def test_a_uv_that_is_no_program_is_a_module(python: str, uv: Path) -> None:
    """As `python3 -m uv run` starts this program."""
    uv.unlink()

    command = pip.command(f"{python} -m pip install jax")
    assert f"python3 -m uv pip install --python {python} jax" == command


def test_with_pip_it_stays(python: str) -> None:
    """Also where Debian keeps it, and where nothing of that Python is to be seen."""
    command = f"{python} -m pip install jax"
    (folder,) = Path(python).parents[1].glob("lib/*/site-packages")
    (folder / "pip").mkdir()

    assert command == pip.command(command)
    (folder / "pip").rmdir()
    assert command != pip.command(command)
    (folder.parents[1] / "python3/dist-packages/pip").mkdir(parents=True)
    assert command == pip.command(command)
    assert "/no/python -m pip check" == pip.command("/no/python -m pip check")


def test_a_path_with_a_space_is_one_word(tmp_path: Path) -> None:
    """As a shell takes it."""
    (tmp_path / "my env/lib/python3.12/site-packages").mkdir(parents=True)
    python = f"'{tmp_path}/my env/bin/python'"

    assert f"uv pip check --python {python}" == pip.command(f"{python} -m pip check")


@pytest.mark.parametrize("text", ["run `python3 -m pip check` there", "pip install jax", "ls"])
def test_another_text_stays(text: str) -> None:
    """A sentence is not a command."""
    assert text == pip.command(text)
