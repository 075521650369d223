"""Waits until a program of ours follows signals."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path


def until_it_listens(process: subprocess.Popen[bytes]) -> None:
    """Wait until the first lines of ours have run: before them Python itself is starting."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        caught = int(re.search(r"^SigCgt:\s+(\w+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.002)
    raise AssertionError("it never came to its first lines")
