"""Infer the Python that ran a program from the paths in its log.

Only the log counts as evidence: the Python that is active where the log is read may be a different
one, and tpustarter's own certainly is.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

from tpustarter.core import locations

_IN_PYTHON = re.compile(
    r"(?P<prefix>(?:~|/)[\w./+@~-]*?)/lib/python(?P<version>3(?:\.\d+)?)/"
    r"(?P<folder>site|dist)-packages/"
)
"""A path in a Python's site-packages, limited to characters that need no shell quoting."""
_SHARED = ("/usr", "/usr/local", "~/.local")
"""Prefixes under which Pythons of several versions install their packages."""
_COMMAND = re.compile(r"^(?P<settings>(?:[A-Z_]+=\S+ )*)PYTHON (?=-)")
_NAME = re.compile(r"\bPYTHON\b")


def find_program_python(end_of_log: str) -> str:
    """Return the Python whose packages a log names last, as a command, or "" if it names none."""
    found = list(_IN_PYTHON.finditer(end_of_log))
    if not found:
        return ""
    prefix, version = found[-1]["prefix"], found[-1]["version"]
    if found[-1]["folder"] == "dist" or prefix in _SHARED or prefix.endswith("/.local"):
        return f"python{version}"
    return f"{prefix}/bin/python"


def locate_python(python: str) -> Path | None:
    """Return the executable of a Python on this machine, or None if it is not found.

    tpustarter's own environment is excluded, because it runs no user programs, and so is an
    executable that someone else could have placed there. A shim of pyenv, asdf or mise is excluded
    too, because the Python that it starts depends on the folder.
    """
    from shutil import which  # takes long, and is not needed where there is no Python

    name = which(locations.expand_path(python)) if python else None
    found = Path(name).absolute() if name else None
    if found is None or found.parent.parent == Path(sys.prefix) or found.parent.name == "shims":
        return None
    return found if _is_trusted(found) else None


def _is_trusted(executable: Path) -> bool:
    # It will be run to examine it, and its path comes from whoever wrote the log.
    trusted = {0, os.getuid(), *(locations.find_sudo_caller() or ())[:1]}
    paths = {path for one in (executable, executable.resolve()) for path in (one, *one.parents)}
    for path in paths:
        status = path.stat()
        by_anyone = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in trusted or by_anyone:
            return False
    return True


def fill_in_python(fix: str, python: str) -> str:
    """Fill the user's Python command into a fix, or a description of it if it is unknown."""
    if python:
        return _NAME.sub(lambda _: python, fix)
    if match := _COMMAND.match(fix):
        command = f"{match['settings']}python {fix[match.end() :]}"
        return f"In the Python of this program, run `{command}`."
    return _NAME.sub("python", fix)
