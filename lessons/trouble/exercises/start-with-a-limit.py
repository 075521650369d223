"""Start a program with a limit.

`try_to_start` starts a program and returns how that went: `("starts", "")`
if it ends with exit code 0, `("fails", line)` with the last line of its
stderr if it ends with another one, and `("hangs", "")` if it still runs
after `limit_s` seconds.

A program that hangs must not stay, and neither may the processes that it
has started, because each of them can hold the chips. Send SIGTERM to all of
them, which lets a program close its files, and SIGKILL to those that are
still there `grace_s` seconds later.
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
            command, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()  # your code here
            process.wait()
            return "hangs", ""
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    return ("fails", lines[-1]) if code else ("starts", "")


# Judged below: leave this part as it is.

CHILD = """
import fcntl, signal, sys, time
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(300)
"""
PARENT = """
import signal, subprocess, sys, time
def close_files(*_):
    with open(sys.argv[2], "w") as file:
        file.write("closed")
    sys.exit(1)
signal.signal(signal.SIGTERM, close_files)
subprocess.Popen([sys.executable, "-c", *sys.argv[3:], sys.argv[1], "CASE"])
time.sleep(300)
"""


def is_free(path):
    """Return whether no process holds the lock, within some seconds."""
    with path.open("w") as file:
        for _ in range(100):
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.1)
    return False


def expect(found, expected, what):
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message


python = [sys.executable, "-c"]
found = try_to_start([*python, "print(8)"], limit_s=60, grace_s=1)
expect(found, ("starts", ""), "a program that ends")
error = "import sys; print('a\\nTPU is busy', file=sys.stderr); sys.exit(3)"
found = try_to_start([*python, error], limit_s=60, grace_s=1)
expect(found, ("fails", "TPU is busy"), "a program that fails")

with tempfile.TemporaryDirectory() as folder:
    for case in ("polite", "stubborn"):
        lock = Path(folder) / case
        closed = Path(folder) / f"{case}-closed"
        parent = PARENT.replace("CASE", case)
        command = [*python, parent, lock, closed, CHILD]
        began = time.monotonic()
        found = try_to_start(command, limit_s=4, grace_s=2)
        seconds = time.monotonic() - began
        expect(found, ("hangs", ""), f"a {case} program that hangs")
        left = f"the child of a {case} program that hangs still holds a lock"
        assert is_free(lock), f"{left}, expected no process that is left"
        message = f"the {case} program could not close its files"
        assert closed.exists(), f"{message}, expected SIGTERM first"
        message = f"{case}: it took {seconds:.0f} s, expected 60 at most"
        assert seconds < 60, message
print("it starts, fails or hangs, and leaves no process behind")
