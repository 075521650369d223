"""`process.kill()` reaches one process. The processes that it has started live
on, and have a new parent.

If you start the program with `start_new_session=True`, it and everything it
starts form a process group whose number is `process.pid`. Then
`os.killpg(process.pid, signal.SIGTERM)` reaches all of them.

After the grace period, send `signal.SIGKILL` to the group in any case: the
program itself may have ended while a child of it has not. If nobody is
left, `os.killpg` raises `ProcessLookupError`.

Learned: A program with a limit gets a session of its own, so one signal to
its process group reaches every process that could still hold the chips.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def try_to_start(command, limit_s, grace_s):
    """Return ("starts" | "fails" | "hangs", last line of stderr)."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(grace_s)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "hangs", ""
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    return ("fails", lines[-1]) if code else ("starts", "")
