"""How this program was started, and texts with the command that starts it again.

Texts are written with `tpustarter` alone, and so they stand in files and JSON. Where a person
reads them, `as_typed` puts in what works in this folder: `python3 -m uv run tpustarter check`.

`uv run` (0.13.9, measured) sets `UV_RUN_RECURSION_DEPTH` and `VIRTUAL_ENV`, and puts the `bin` of
that environment first into `PATH`, which therefore says nothing about the user's own shell.
It sets `UV` to its own path. `python3 -m uv` sets `UV_INTERNAL__PARENT_INTERPRETER` to that
Python, and becomes `uv`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

NAME = "tpustarter"
VARIABLE = "TPUSTARTER_COMMAND"
"""Outranks what is found out; for a wrapper of one's own, and for tests."""

_VERBS = "check|explain|learn|rehearse|report|run|serve|setup|tpu(?!`)|trc"
"""A part of the program that does nothing by itself, `tpustarter tpu`, is spoken of by its name."""
_GAP = r"[\s\x01\x02]+"
"""Between two words: space, the end of a line, and what marks that a search has found a word."""
_COMMAND = rf"(?<![\w./~-]){NAME}(?={_GAP}(?:(?:{_VERBS})\b|-))|(?<=`){NAME}(?=`)"
"""The name where it begins a command, and not where a sentence speaks of the program."""
_WHOLE = rf"(?:\buv{_GAP}run(?:{_GAP}--project{_GAP}(?:'[^']*'|\S+))?|-m){_GAP}{NAME}\b"
"""The end of a command that says already how the program is started."""


@cache
def command() -> str:
    """Return what starts this program again, typed where it was started."""
    given = os.environ.get(VARIABLE, "")
    return given if given.isprintable() and given.strip() else find(os.environ, sys.argv[0])


@cache
def command_anywhere() -> str:
    """Return what starts this program again, typed in whichever folder."""
    given = os.environ.get(VARIABLE, "")
    return command() if given.strip() else find(os.environ, sys.argv[0], anywhere=True)


def as_typed(text: str) -> str:
    """Return a text whose commands work here, typed as they stand; for people only.

    Done twice it does the same as once, also where a wrapping has parted a command in between.
    """
    if NAME not in text or command() == NAME:
        return text
    typed = _GAP.join(map(re.escape, command().split()))
    pattern = rf"(?P<stays>{typed}|{_WHOLE})|{_COMMAND}"
    return re.sub(pattern, lambda found: found["stays"] or command(), text)


def find(
    environ: Mapping[str, str], started: str, prefix: str = sys.prefix, *, anywhere: bool = False
) -> str:
    """Return the command for a program that was started in an environment of variables.

    Args:
        environ: The variables.
        started: The path of what Python runs, `sys.argv[0]`.
        prefix: The environment that the Python belongs to.
        anywhere: Whether it is to be typed in another folder than this one.
    """
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    by_uv = environ.get("UV_RUN_RECURSION_DEPTH") and environ.get("VIRTUAL_ENV") == prefix
    if by_uv and folders[0] == f"{prefix}/bin":
        del folders[0]
    if _is_found(NAME, folders, f"{prefix}/bin/{NAME}"):
        return NAME
    if by_uv:
        project = _project(environ, Path(prefix), anywhere=anywhere)
        return f"{_uv(environ, folders)} run{project} {NAME}"
    if started.endswith(f"/{NAME}/__main__.py"):
        return f"{_program(sys.executable, folders, environ)} -m {NAME}"
    return _program(started, folders, environ) if Path(started).name == NAME else NAME


def _uv(environ: Mapping[str, str], folders: list[str]) -> str:
    """Return how uv was started: as a module, by its name, or by its path where none is found."""
    python, program = environ.get("UV_INTERNAL__PARENT_INTERPRETER"), environ.get("UV")
    if python:
        return f"{_program(python, folders, environ)} -m uv"
    if not program or shutil.which("uv", path=os.pathsep.join(folders)):
        return "uv"
    return _shown(program, environ)


def _project(environ: Mapping[str, str], prefix: Path, *, anywhere: bool) -> str:
    """Return the option that names the project, where uv would not find it from the shell."""
    project = prefix.parent
    shell = Path(environ.get("PWD") or Path.cwd())
    is_found = project in (shell, *shell.parents) and not anywhere
    if is_found or not (project / "pyproject.toml").is_file():
        return ""
    return f" --project {_shown(str(project), environ)}"


def _program(path: str, folders: list[str], environ: Mapping[str, str]) -> str:
    """Return what starts a program: its name where the shell finds it by that, else its path."""
    name = Path(path).name
    if _is_found(name, folders, path):
        return name
    return _shown(path, environ)


def _is_found(name: str, folders: list[str], path: str) -> bool:
    """Return whether a shell finds this very program by its name alone.

    A link from elsewhere leads to it, as pipx makes one; a Python is what its own path says,
    because a link to it may be another environment.
    """
    for folder in folders:
        first = os.path.join(folder or ".", name)  # noqa: PTH118  an empty entry is this folder
        if os.access(first, os.X_OK) and not os.path.isdir(first):  # noqa: PTH112
            same = os.path.realpath(first) == os.path.realpath(path)
            return first == path or (name == NAME and same)
    return False


def _shown(path: str, environ: Mapping[str, str]) -> str:
    """Return a path as it is typed; the home's name is left out, as everywhere."""
    quoted, home = shlex.quote(path), environ.get("HOME", "").rstrip("/")
    is_plain = quoted == path and home and path.startswith(f"{home}/")
    return f"~{path[len(home) :]}" if is_plain else quoted
