"""The command that started this program, and how it appears in text.

Text is written with plain `tpustarter`, and stored that way in files and JSON. For display,
`format_commands` inserts the command that works in this folder, such as
`python3 -m uv run tpustarter check`.
"""

from __future__ import annotations

import enum
import os
import re
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tpustarter.machine import pip_command, shell

NAME = "tpustarter"
VARIABLE = "TPUSTARTER_COMMAND"
"""Environment variable that overrides the detected command; for wrappers and tests."""

_VERBS = (
    "agents|check|completion|explain|learn|mcp|plan|rehearse|report|run|serve|setup|tpu(?!`)|trc|"
    "watch"
)
"""The program's commands. `tpustarter tpu` alone does nothing, so in text it is only a name."""
_GAP = r"[\s\x01\x02]+"
"""A gap between words: whitespace, line ends, and the marks around a search match."""
_COMMAND = rf"(?<![\w./~-]){NAME}(?={_GAP}(?:(?:{_VERBS})\b|-))|(?<=`){NAME}(?=`)"
"""The name as the beginning of a command, not as a mention of the program in a sentence."""
_WHOLE = rf"(?:\buv{_GAP}run(?:{_GAP}--project{_GAP}(?:'[^']*'|\S+))?|-m){_GAP}{NAME}\b"
"""The end of a command that already spells out how the program is started."""


def own_command() -> list[str]:
    """Return the words that start this program again in any folder, without a shell.

    The script comes first, because `-m` would import modules from the current folder.
    """
    script = Path(sys.argv[0])
    if script.name == NAME and script.is_file():
        return [str(script.absolute())]
    return [sys.executable, "-m", NAME]


@cache
def tpustarter_command() -> str:
    """Return the command that starts tpustarter again in the original working folder."""
    given = os.environ.get(VARIABLE, "")
    return (
        given
        if given.isprintable() and given.strip()
        else find_launch_command(os.environ, sys.argv[0])
    )


@cache
def tpustarter_command_anywhere() -> str:
    """Return the command that starts tpustarter again in any folder."""
    given = os.environ.get(VARIABLE, "")
    return (
        tpustarter_command()
        if given.strip()
        else find_launch_command(os.environ, sys.argv[0], anywhere=True)
    )


class StartMethod(enum.Enum):
    """The way in which this program is started."""

    NAME = enum.auto()
    """Its name, which the shell finds."""
    UV_RUN = enum.auto()
    UVX = enum.auto()
    OTHER = enum.auto()
    """A path, or a module of a Python."""


def find_start_method(environ: Mapping[str, str], prefix: str) -> StartMethod:
    """Return how a program is started in a given environment, whose Python has this prefix."""
    folders = shell.list_path_folders(environ, prefix)
    if shell.is_found_by_name(NAME, folders, f"{prefix}/bin/{NAME}"):
        return StartMethod.NAME
    if shell.is_started_by_uv(environ, prefix):
        return StartMethod.UV_RUN
    return StartMethod.UVX if shell.is_started_by_uvx(environ, prefix) else StartMethod.OTHER


def describe_missing_extra(extra: str, package: str) -> str:
    """Return how to start this program with the package that one of its extras brings."""
    method = find_start_method(os.environ, sys.prefix)
    if method is StartMethod.UVX:
        return f"type the same command with `--with {package}` after `uvx` or `uv tool run`"
    if method is StartMethod.UV_RUN:
        return f"type the same command with `--extra {extra}` after `uv run`"
    python = shlex.quote(sys.executable)
    return f"run `{pip_command.format_pip_command(f'{python} -m pip install {package}')}`"


def format_commands(text: str) -> str:
    """Rewrite the commands in some text for display, so that they work in this folder.

    It is idempotent, even if wrapping has split a command between two calls.
    """
    if NAME not in text or tpustarter_command() == NAME:
        return text
    typed = _GAP.join(map(re.escape, tpustarter_command().split()))
    pattern = rf"(?P<stays>{typed}|{_WHOLE})|{_COMMAND}"
    return re.sub(pattern, lambda found: found["stays"] or tpustarter_command(), text)


def is_in_cell(environ: Mapping[str, str]) -> bool:
    """Return whether IPython started this program from a line with `!` in a notebook's cell.

    The kernel sets both variables, and terminals on a screen have another TERM. Sources:
    jupyter_client/launcher.py of 8.10 and ipykernel/zmqshell.py of 7.4 (read 2026-11).
    """
    return bool(environ.get("JPY_PARENT_PID")) and environ.get("TERM") == "xterm-color"


def find_launch_command(
    environ: Mapping[str, str], started: str, prefix: str = sys.prefix, *, anywhere: bool = False
) -> str:
    """Return the command that starts a program in a given environment, with `!` in a notebook.

    Args:
        environ: The environment variables.
        started: The path that Python runs, `sys.argv[0]`.
        prefix: The prefix of the Python environment.
        anywhere: True if the command must work in other folders.
    """
    mark = "!" if is_in_cell(environ) else ""
    return mark + _find_shell_command(environ, started, prefix, anywhere=anywhere)


def _find_shell_command(
    environ: Mapping[str, str], started: str, prefix: str, *, anywhere: bool
) -> str:
    folders = shell.list_path_folders(environ, prefix)
    method = find_start_method(environ, prefix)
    if method is StartMethod.NAME:
        return NAME
    if method is StartMethod.UV_RUN:
        project = _project(environ, Path(prefix), anywhere=anywhere)
        return f"{shell.find_typed_uv_command(environ, folders)} run{project} {NAME}"
    if method is StartMethod.UVX:
        uv = shell.find_typed_uv_command(environ, folders)
        source = shell.find_uvx_source(NAME, prefix)
        given = f" --from {shell.format_path(source, environ)}" if source else ""
        return f"{'uvx' if uv == 'uv' else f'{uv} tool run'}{given} {NAME}"
    if started.endswith(f"/{NAME}/__main__.py"):
        return f"{shell.format_program(sys.executable, folders, environ)} -m {NAME}"
    return shell.format_program(started, folders, environ) if Path(started).name == NAME else NAME


def _project(environ: Mapping[str, str], prefix: Path, *, anywhere: bool) -> str:
    project = prefix.parent
    here = Path(environ.get("PWD") or Path.cwd())
    is_found = project in (here, *here.parents) and not anywhere
    if is_found or not (project / "pyproject.toml").is_file():
        return ""
    return f" --project {shell.format_path(str(project), environ)}"
