"""How packages get into a Python here: with its pip, else with uv or the pip that Python brings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

from tpustarter.machine import shell

_COMMAND = re.compile(r"(?P<python>'[^']*'|\S+) -m pip (?P<verb>[a-z]+)(?= |$)")


def command(text: str) -> str:
    """Return `PYTHON -m pip VERB ...` as it works here: an environment made by uv has no pip.

    Any other text stays as it is.
    """
    asked = _COMMAND.match(text)
    if asked is None or _has_pip(*shlex.split(asked["python"])):
        return text
    uv, python, rest = shell.uv(os.environ), asked["python"], text[asked.end() :]
    if uv is None:
        return f"{python} -m ensurepip && {text}"
    return f"{uv} pip {asked['verb']} --python {python}{rest}"


def _has_pip(python: str) -> bool:
    """Return whether a Python has pip, by its files; one of which nothing is seen may have it."""
    prefix = Path(shutil.which(python) or python).expanduser().parent.parent
    folders = [*prefix.glob("lib/python3*/*-packages")]
    return not folders or any((folder / "pip").is_dir() for folder in folders)
