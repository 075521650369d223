"""Commands as a user's shell understands them."""

from __future__ import annotations

from pathlib import Path

from tpustarter.machine import shell


def make_program(folder: Path, name: str) -> str:
    """Make a program that can be run, and return its path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_shell_looks_past_folders_without_program(tmp_path: Path) -> None:
    """The shell skips folders without the program, and the first one found wins."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "folders" / "uv").mkdir(parents=True)
    first, second = (make_program(tmp_path / name, "uv") for name in ("first", "second"))
    folders = [str(tmp_path / name) for name in ("empty", "folders", "first", "second")]

    assert "uv" == shell.format_program(first, folders, {})
    assert second == shell.format_program(second, folders, {})


def test_link_to_program_counts_except_to_python(tmp_path: Path) -> None:
    """A link to a program is the program, but a link to a Python may be another environment."""
    for name in ("uv", "python3"):
        place = make_program(tmp_path / "real", name)
        (tmp_path / "links").mkdir(exist_ok=True)
        (tmp_path / "links" / name).symlink_to(place)
        expected = name if name == "uv" else f"~/real/{name}"
        found = shell.format_program(place, [str(tmp_path / "links")], {"HOME": str(tmp_path)})

        assert expected == found
