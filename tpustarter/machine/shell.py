"""Commands in the form that works in the shell from which this program was started.

`uv run` (0.13.9, measured) sets `UV_RUN_RECURSION_DEPTH` and `VIRTUAL_ENV`, and puts that
environment's `bin` first on `PATH`, which therefore differs from the user's own. It sets `UV` to
its own path. `python3 -m uv` sets `UV_INTERNAL__PARENT_INTERPRETER` to that Python, and is replaced
by `uv`. `uvx`, which is `uv tool run`, makes an environment in uv's cache. It changes `PATH` and
`UV` in the same way, and leaves `VIRTUAL_ENV` as it was.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def find_uv_command(
    environ: Mapping[str, str], prefix: str = sys.prefix, base: str = sys.base_prefix
) -> str | None:
    """Return the command that starts uv, as typed in a shell, or None if uv is not found.

    Args:
        environ: This program's environment variables.
        prefix: The prefix of its Python environment.
        base: The prefix of the Python that the environment is based on.
    """
    path = list_path_folders(environ, prefix)
    if environ.get("UV_INTERNAL__PARENT_INTERPRETER"):
        return find_typed_uv_command(environ, path)
    if shutil.which("uv", path=os.pathsep.join(path)):
        return "uv"
    python = shutil.which("python3", path=os.pathsep.join(path))
    if python and any(Path(python).parent.parent.glob("lib/python3*/*-packages/uv")):
        return "python3 -m uv"
    home = environ.get("HOME", "")
    places = [f"{one}/bin/uv" for one in (prefix, base, f"{home}/.local", f"{home}/.cargo")]
    for place in (environ.get("UV", ""), *places):
        # Unlike Path.is_file, this does not raise if the user may not access the folder.
        if os.path.isfile(place) and os.access(place, os.X_OK):  # noqa: PTH113
            return format_path(place, environ)
    return None


def find_typed_uv_command(environ: Mapping[str, str], path: Sequence[str]) -> str:
    """Return the command that started uv, such as `python3 -m uv`, `uv` or a path."""
    python, place = environ.get("UV_INTERNAL__PARENT_INTERPRETER"), environ.get("UV")
    if python:
        return f"{format_program(python, path, environ)} -m uv"
    if not place or shutil.which("uv", path=os.pathsep.join(path)):
        return "uv"
    return format_path(place, environ)


def is_started_by_uv(environ: Mapping[str, str], prefix: str) -> bool:
    """Return whether `uv run` started this program."""
    return bool(environ.get("UV_RUN_RECURSION_DEPTH")) and environ.get("VIRTUAL_ENV") == prefix


def is_started_by_uvx(environ: Mapping[str, str], prefix: str) -> bool:
    """Return whether `uvx` started this program, in an environment that has no other name."""
    is_first = environ.get("PATH", "").startswith(f"{prefix}/bin{os.pathsep}")
    return is_first and bool(environ.get("UV")) and environ.get("VIRTUAL_ENV") != prefix


def find_uvx_source(package: str, prefix: str) -> str:
    """Return the file, folder or repository that `uvx --from` takes; empty for a package index.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/ (read 2026-11).
    """
    import json
    from urllib.parse import unquote, urlsplit

    for record in Path(prefix).glob(f"lib/python3*/site-packages/{package}-*.dist-info"):
        try:
            text = (record / "direct_url.json").read_text(encoding="utf-8")
            fields: dict[str, dict[str, str]] = json.loads(text)
            url, vcs = str(fields["url"]), fields.get("vcs_info", {})
            tool, revision = vcs.get("vcs"), vcs.get("requested_revision") or vcs.get("commit_id")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if tool:
            return f"{tool}+{url}@{revision}" if revision else f"{tool}+{url}"
        return unquote(urlsplit(url).path) if url.startswith("file:") else url
    return ""


def list_path_folders(environ: Mapping[str, str], prefix: str) -> list[str]:
    """Return the folders on the PATH of the user's own shell."""
    first, *others = path = environ.get("PATH", os.defpath).split(os.pathsep)
    is_by_uv = is_started_by_uv(environ, prefix) or is_started_by_uvx(environ, prefix)
    return others if is_by_uv and first == f"{prefix}/bin" else path


def format_program(place: str, path: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the command for a program: its name if the shell finds it that way, or its path."""
    name = Path(place).name
    if is_found_by_name(name, path, place):
        return name
    return format_path(place, environ)


def is_found_by_name(name: str, path: Sequence[str], place: str) -> bool:
    """Return whether a shell finds this program by its name alone.

    A link to it from another folder counts, because pipx creates one. A Python counts only by its
    own path, because a link to it may be another environment.
    """
    for folder in path:
        first = os.path.join(folder or ".", name)  # noqa: PTH118  an empty entry is the working folder
        if os.access(first, os.X_OK) and not os.path.isdir(first):  # noqa: PTH112
            same = os.path.realpath(first) == os.path.realpath(place)
            return first == place or (not name.startswith("python") and same)
    return False


def format_path(place: str, environ: Mapping[str, str]) -> str:
    """Return a path as typed in a shell, with `~` for the home folder."""
    quoted, home = shlex.quote(place), environ.get("HOME", "").rstrip("/")
    is_plain = quoted == place and home and place.startswith(f"{home}/")
    return f"~{place[len(home) :]}" if is_plain else quoted
