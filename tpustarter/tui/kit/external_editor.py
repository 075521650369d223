"""The user's text editor: the configured one, or the first of `EDITORS` that is installed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from textual.app import SuspendNotSupported

EDITORS = ("nano", "vim", "vi")
"""Editors to try after `$VISUAL` and `$EDITOR`; nano comes first because it shows its keys."""


def find_editor() -> list[str] | None:
    """Return the command of the configured or an installed editor, or None if there is none."""
    configured = [os.environ.get(name, "") for name in ("VISUAL", "EDITOR")]
    commands = [*filter(None, map(_words, configured)), *([name] for name in EDITORS)]
    return next((words for words in commands if shutil.which(words[0])), None)


def describe_leaving(command: list[str]) -> str:
    """Explain how to save and leave an editor."""
    name = Path(command[0]).name
    if name in ("vi", "vim", "nvim", "view"):
        return (
            "In vi, press i to type. To come back, press Esc, then type :wq and Enter, which saves "
            "the file. With :q! and Enter you come back without saving."
        )
    known = {
        "nano": "In nano, Ctrl+O and Enter save the file, and Ctrl+X comes back here.",
        "emacs": "In Emacs, Ctrl+X Ctrl+S saves the file, and Ctrl+X Ctrl+C comes back here.",
    }
    return known.get(name, "Save the file and close it there to come back here.")


def run_editor(
    command: list[str], path: Path, suspend: Callable[[], AbstractContextManager[None]]
) -> str:
    """Open a file and wait until the editor is closed; return an error message, or ""."""
    message = ""
    try:
        with suspend():
            try:
                subprocess.run([*command, str(path)], check=False)
            except OSError as error:  # caught inside `suspend`, so that the screen comes back
                message = f"cannot start {command[0]}: {error.strerror}"
    except SuspendNotSupported:
        message = "this terminal cannot open an editor"
    return message


def _words(command: str) -> list[str]:
    """Split a command into words; return no words if the shell syntax is invalid."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
