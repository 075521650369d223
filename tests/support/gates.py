"""Lines of Python that wait for a test: what runs them goes on once a file is there."""

from __future__ import annotations

from pathlib import Path


def wait_for(path: Path, indent: str = "") -> str:
    """Return lines that wait until a file is there, each with its line break."""
    # The pause is that of a poll, which ends on the file.
    lines = ("import os, time", f"while not os.path.exists({str(path)!r}):", "    time.sleep(0.01)")
    return "".join(f"{indent}{line}\n" for line in lines)
