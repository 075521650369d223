"""Waits until a program of ours handles signals."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from tests.support.processes import until


def until_it_listens(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process has a handler for SIGTERM; before that, Python is starting."""

    def listens() -> int:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        caught = int(re.search(r"^SigCgt:\s+(\w+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]
        return caught >> (signal.SIGTERM - 1) & 1

    until(listens, "its first lines")
