"""The origin of this installation: an index, a file, a folder, a repository or a checkout.

It is read from the files that are there: neither git nor `importlib.metadata` is loaded.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tpustarter.core import locations
from tpustarter.machine import shell

SHORT = 8
"""Characters of a commit that are shown."""


def find_origin(package: Path = locations.PACKAGE) -> str:
    """Return the origin of this installation, such as `checkout in ~/tpu, commit 1a2b3c4d`.

    The origin of an installed package is in its `direct_url.json`, which is specified at
    https://packaging.python.org/en/latest/specifications/direct-url/ (read 2026-11).
    """
    folder = package.parent
    if folder.is_file():
        return f"zip file {_show(folder)}"
    if (folder / "pyproject.toml").is_file():
        commit = _read_commit(folder / ".git")
        return f"checkout in {_show(folder)}" + f", commit {commit[:SHORT]}" * bool(commit)
    records = [*folder.glob("tpustarter-*.dist-info")]
    if len(records) != 1:
        return f"files in {_show(folder)}"
    direct_url = _read(records[0] / "direct_url.json")
    if not direct_url:  # as the specification says
        return "installed from a package index"
    return f"installed from {_describe_direct_url(direct_url)}"


def _describe_direct_url(text: str) -> str:
    try:
        fields: dict[str, dict[str, str]] = json.loads(text)
        url = urlsplit(str(fields["url"]))
        commit = str(fields.get("vcs_info", {}).get("commit_id", ""))
    except (AttributeError, KeyError, TypeError, ValueError):
        return "an unknown place"
    is_file = url.scheme.endswith("file")
    # The host has neither the user's name nor a password in it.
    place = (
        _show(Path(unquote(url.path))) if is_file else f"{url.scheme}://{url.hostname}{url.path}"
    )
    return place + f", commit {commit[:SHORT]}" * bool(commit)


def _read_commit(repository: Path) -> str:
    """Return the commit that is checked out, or an empty text where that is unknown."""
    if link := _read(repository).removeprefix("gitdir: "):  # in a worktree .git is a file
        repository = repository.parent / link
    head = _read(repository / "HEAD")
    if not head.startswith("ref: "):
        return head
    name = head.removeprefix("ref: ")
    common = repository / (_read(repository / "commondir") or ".")
    packed = (line.partition(" ") for line in _read(common / "packed-refs").splitlines())
    return _read(common / name) or next((commit for commit, _, ref in packed if ref == name), "")


def _read(path: Path) -> str:
    try:
        return locations.read_text(path).strip()
    except (OSError, ValueError):
        return ""


def _show(path: Path) -> str:
    return shell.format_path(str(path), os.environ)
