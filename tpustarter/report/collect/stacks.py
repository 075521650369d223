"""Stacks of a hung process: Python's through a signal, native ones through py-spy if permitted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tpustarter.report.collect.framework_probe import STACK_SIGNAL

STACK_S = 2.0
"""Longest wait for a process to write its Python stacks."""
POLL_S = 0.05
NATIVE_S = 15.0
"""Timeout for py-spy; libtpu is a large library."""


def read_python_stacks(pid: int, file: Path) -> str:
    """Make a process write the stacks of its threads, and return them; empty if it does not."""
    with contextlib.suppress(OSError):
        os.kill(pid, STACK_SIGNAL)
    deadline, size = time.monotonic() + STACK_S, -1
    while time.monotonic() < deadline:
        now = file.stat().st_size if file.exists() else 0
        if now and now == size:  # it has stopped growing
            return file.read_text(encoding="utf-8", errors="replace")
        size = now
        time.sleep(POLL_S)
    return ""


def read_native_stacks(pid: int, python: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """Return a process's native stacks, and the reason if there are none."""
    beside = python.parent / "py-spy"
    program = str(beside) if beside.is_file() else shutil.which("py-spy", path=env.get("PATH"))
    if program is None:
        return "", "py-spy is not installed (`pip install py-spy` gets it)"
    words = [program, "dump", "--native", "--pid", str(pid)]
    try:
        done = subprocess.run(
            words, capture_output=True, timeout=NATIVE_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return "", f"py-spy gave no answer within {NATIVE_S:g} s"
    except OSError as error:
        return "", f"py-spy could not be started: {error.strerror}"
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0 or not text.strip():
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", f"py-spy may not look at it: {errors[-1] if errors else 'it said nothing'}"
    # Its second line is the command line with every argument.
    lines = [line for line in text.splitlines() if not line.startswith("Process ")]
    return "\n".join(lines), ""
