"""The command that installs something is one that works in that Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpustarter.machine import pip_command, shell


@pytest.fixture
def python(tmp_path: Path) -> str:
    """Lay out an environment as uv makes it: without pip."""
    (tmp_path / "lib/python3.12/site-packages").mkdir(parents=True)
    return str(tmp_path / "bin/python")


@pytest.fixture(autouse=True)
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let uv be a program of the shell, and nothing else be there."""
    for name in ("UV", "UV_INTERNAL__PARENT_INTERPRETER", "UV_RUN_RECURSION_DEPTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(
        shell.find_uv_command, "__defaults__", (f"{tmp_path}/own", f"{tmp_path}/base")
    )
    tool = tmp_path / "tools/uv"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    return tool


def test_missing_pip_is_replaced_by_uv(python: str) -> None:
    """If pip is missing, uv replaces it in every command, with all arguments."""
    assert f"uv pip check --python {python}" == pip_command.format_pip_command(
        f"{python} -m pip check"
    )
    installed = pip_command.format_pip_command(f'{python} -m pip install -U "jax[tpu]"')
    assert f'uv pip install --python {python} -U "jax[tpu]"' == installed


def test_uv_without_program_is_module(
    python: str, uv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its program, uv is run as a module of the Python that started this program."""
    other = uv.with_name("python3")
    uv.rename(other)
    monkeypatch.setenv("UV_INTERNAL__PARENT_INTERPRETER", str(other))

    command = pip_command.format_pip_command(f"{python} -m pip install jax")
    assert f"python3 -m uv pip install --python {python} jax" == command
    monkeypatch.setenv("PATH", "/nowhere")
    command = pip_command.format_pip_command(f"{python} -m pip install jax")
    assert f"{other} -m uv pip install --python {python} jax" == command


def test_python_with_uv_is_named_otherwise_uv_path(python: str, uv: Path) -> None:
    """The command uses a Python that has uv, else uv's own path, else `ensurepip`."""
    shell_python = uv.with_name("python3")
    uv.rename(shell_python)
    module = shell_python.parents[1] / "lib/python3/dist-packages/uv"
    module.mkdir(parents=True)
    asked = f"{python} -m pip install jax"

    assert f"python3 -m uv pip install --python {python} jax" == pip_command.format_pip_command(
        asked
    )
    module.rmdir()
    assert f"{python} -m ensurepip && {asked}" == pip_command.format_pip_command(asked)
    beside = shell_python.parents[1] / "base/bin/uv"
    beside.parent.mkdir(parents=True)
    shell_python.rename(beside)
    assert f"{beside} pip install --python {python} jax" == pip_command.format_pip_command(asked)


def test_existing_pip_command_stays(python: str) -> None:
    """A pip command that works stays, also on Debian or if the Python can't be seen."""
    command = f"{python} -m pip install jax"
    (folder,) = Path(python).parents[1].glob("lib/*/site-packages")
    (folder / "pip").mkdir()

    assert command == pip_command.format_pip_command(command)
    (folder / "pip").rmdir()
    assert command != pip_command.format_pip_command(command)
    (folder.parents[1] / "python3/dist-packages/pip").mkdir(parents=True)
    assert command == pip_command.format_pip_command(command)
    assert "/no/bin/python -m pip check" == pip_command.format_pip_command(
        "/no/bin/python -m pip check"
    )


def test_a_path_with_a_space_is_one_word(tmp_path: Path) -> None:
    """A path with a space is quoted as one word for the shell."""
    (tmp_path / "my env/lib/python3.12/site-packages").mkdir(parents=True)
    python = f"'{tmp_path}/my env/bin/python'"

    assert f"uv pip check --python {python}" == pip_command.format_pip_command(
        f"{python} -m pip check"
    )


@pytest.mark.parametrize("text", ["run `python3 -m pip check` there", "pip install jax", "ls"])
def test_other_text_stays(text: str) -> None:
    """A sentence is not a command."""
    assert text == pip_command.format_pip_command(text)
