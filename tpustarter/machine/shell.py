"""How programs are typed in the shell of whoever started this one.

`uv run` (0.13.9, measured) sets `UV_RUN_RECURSION_DEPTH` and `VIRTUAL_ENV`, and puts the `bin` of
that environment first into `PATH`, which therefore says nothing about the user's own shell.
It sets `UV` to its own path. `python3 -m uv` sets `UV_INTERNAL__PARENT_INTERPRETER` to that
Python, and becomes `uv`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def uv(
    environ: Mapping[str, str], prefix: str = sys.prefix, base: str = sys.base_prefix
) -> str | None:
    """Return how uv is started, typed in a shell; None where no uv is found.

    Args:
        environ: The variables of this program.
        prefix: The environment that its Python belongs to.
        base: The Python that this was made from.
    """
    path = folders(environ, prefix)
    if environ.get("UV_INTERNAL__PARENT_INTERPRETER"):
        return uv_as_typed(environ, path)
    if shutil.which("uv", path=os.pathsep.join(path)):
        return "uv"
    python = shutil.which("python3", path=os.pathsep.join(path))
    if python and any(Path(python).parent.parent.glob("lib/python3*/*-packages/uv")):
        return "python3 -m uv"
    home = environ.get("HOME", "")
    places = [f"{one}/bin/uv" for one in (prefix, base, f"{home}/.local", f"{home}/.cargo")]
    for place in (environ.get("UV", ""), *places):
        # Unlike a Path this answers for what this user may not look at, too.
        if os.path.isfile(place) and os.access(place, os.X_OK):  # noqa: PTH113
            return shown(place, environ)
    return None


def uv_as_typed(environ: Mapping[str, str], path: Sequence[str]) -> str:
    """Return how uv was started: as a module, by its name, or by its path where none is found."""
    python, place = environ.get("UV_INTERNAL__PARENT_INTERPRETER"), environ.get("UV")
    if python:
        return f"{program(python, path, environ)} -m uv"
    if not place or shutil.which("uv", path=os.pathsep.join(path)):
        return "uv"
    return shown(place, environ)


def is_by_uv(environ: Mapping[str, str], prefix: str) -> bool:
    """Return whether `uv run` started this program."""
    return bool(environ.get("UV_RUN_RECURSION_DEPTH")) and environ.get("VIRTUAL_ENV") == prefix


def folders(environ: Mapping[str, str], prefix: str) -> list[str]:
    """Return the folders of PATH in the user's own shell."""
    first, *others = path = environ.get("PATH", os.defpath).split(os.pathsep)
    return others if is_by_uv(environ, prefix) and first == f"{prefix}/bin" else path


def program(place: str, path: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return what starts a program: its name where the shell finds it by that, else its path."""
    name = Path(place).name
    if is_found(name, path, place):
        return name
    return shown(place, environ)


def is_found(name: str, path: Sequence[str], place: str) -> bool:
    """Return whether a shell finds this very program by its name alone.

    A link from elsewhere leads to it, as pipx makes one; a Python is what its own path says,
    because a link to it may be another environment.
    """
    for folder in path:
        first = os.path.join(folder or ".", name)  # noqa: PTH118  an empty entry is this folder
        if os.access(first, os.X_OK) and not os.path.isdir(first):  # noqa: PTH112
            same = os.path.realpath(first) == os.path.realpath(place)
            return first == place or (not name.startswith("python") and same)
    return False


def shown(place: str, environ: Mapping[str, str]) -> str:
    """Return a path as it is typed; the home's name is left out, as everywhere."""
    quoted, home = shlex.quote(place), environ.get("HOME", "").rstrip("/")
    is_plain = quoted == place and home and place.startswith(f"{home}/")
    return f"~{place[len(home) :]}" if is_plain else quoted
