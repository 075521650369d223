"""Ways in which a file of the state folder can be damaged, as rows of test tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_text(""),
    "cut off": lambda path: path.write_text('{"allow'),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda path: path.write_text("[1]"),
    "nested too deeply": lambda path: path.write_text("[" * 99_999),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a loop of links": _loop,
}
"""The damages of a file that has to be JSON."""


def damage(path: Path, kind: str) -> None:
    """Replace a file by a damaged one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    DAMAGES[kind](path)
