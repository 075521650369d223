"""The Python that ran a program, as the paths in its log show it.

Only what a log shows is believed: the Python that is active where the log is read may be another
one, and that of this program certainly is.
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
"""A path in the packages of a Python, of characters that a shell takes as they are."""
_SHARED = ("/usr", "/usr/local", "~/.local")
"""Folders in which Pythons of several versions have their packages."""
_COMMAND = re.compile(r"^(?P<settings>(?:[A-Z_]+=\S+ )*)PYTHON (?=-)")
_NAME = re.compile(r"\bPYTHON\b")


def find_program_python(end_of_log: str) -> str:
    """Return the environment whose packages a log names last, or "" if it names none."""
    found = list(_IN_PYTHON.finditer(end_of_log))
    if not found:
        return ""
    prefix, version = found[-1]["prefix"], found[-1]["version"]
    if found[-1]["folder"] == "dist" or prefix in _SHARED or prefix.endswith("/.local"):
        return f"python{version}"
    return f"{prefix}/bin/python"


def locate_python(python: str) -> Path | None:
    """Return the executable of a Python on this machine, or None if it is not here.

    The environment of tpustarter itself runs no program of the user's, one that somebody else could
    have put there is not started, and a shim of pyenv, asdf or mise is no Python: which one it
    starts, if any, depends on the folder.
    """
    from shutil import which  # takes long, and is not needed where there is no Python

    name = which(locations.expand_path(python)) if python else None
    found = Path(name).absolute() if name else None
    if found is None or found.parent.parent == Path(sys.prefix) or found.parent.name == "shims":
        return None
    return found if _is_trusted(found) else None


def _is_trusted(executable: Path) -> bool:
    # It is started to be looked at, and whoever wrote the log has named it.
    trusted = {0, os.getuid(), *(locations.find_sudo_caller() or ())[:1]}
    paths = {path for one in (executable, executable.resolve()) for path in (one, *one.parents)}
    for path in paths:
        status = path.stat()
        by_anyone = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in trusted or by_anyone:
            return False
    return True


def fill_in_python(fix: str, python: str) -> str:
    """Fill the command of the user's Python into a fix, or words for it if it is not known."""
    if python:
        return _NAME.sub(lambda _: python, fix)
    if match := _COMMAND.match(fix):
        command = f"{match['settings']}python {fix[match.end() :]}"
        return f"In the Python of this program, run `{command}`."
    return _NAME.sub("python", fix)
