"""Lines of Python that wait for a test: they block until a file exists."""

from __future__ import annotations

from pathlib import Path


def wait_for(path: Path, indent: str = "") -> str:
    """Return lines that wait until a file exists, each with its line break."""
    # A poll, which ends on a fact and not after a time.
    lines = ("import os, time", f"while not os.path.exists({str(path)!r}):", "    time.sleep(0.01)")
    return "".join(f"{indent}{line}\n" for line in lines)
