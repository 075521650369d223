"""The command that installs packages into a local Python, using its own pip, uv, or ensurepip."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

from tpustarter.machine import shell

_COMMAND = re.compile(r"(?P<python>'[^']*'|\S+) -m pip (?P<verb>[a-z]+)(?= |$)")


def format_pip_command(text: str) -> str:
    """Return `PYTHON -m pip VERB ...` in a form that works: an environment made by uv has no pip.

    Any other text is returned unchanged.
    """
    asked = _COMMAND.match(text)
    if asked is None or _has_pip(*shlex.split(asked["python"])):
        return text
    uv, python, rest = shell.find_uv_command(os.environ), asked["python"], text[asked.end() :]
    if uv is None:
        return f"{python} -m ensurepip && {text}"
    return f"{uv} pip {asked['verb']} --python {python}{rest}"


def _has_pip(python: str) -> bool:
    # A Python whose package folders are not found is assumed to have pip.
    prefix = Path(shutil.which(python) or python).expanduser().parent.parent
    folders = [*prefix.glob("lib/python3*/*-packages")]
    return not folders or any((folder / "pip").is_dir() for folder in folders)
