"""Hold a lock that names its holder.

Write `hold(path)`, a context manager for programs that share something, as
programs on one host share a TPU:

* It locks the file `path` with `fcntl.flock`, and makes it if need be.
* While it holds the lock, the file contains its pid and nothing else.
* If another process holds the lock, it raises `BusyError` with the pid
  that the file contains, and changes nothing.
* Afterwards the lock is free, also after an error, and the file stays.
* A file that was left behind, whatever it contains, does no harm.

A lock of `flock` belongs to the open file and not to the process, so two
of them exclude each other within one process, too.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class BusyError(Exception):
    """Another process holds the lock; its pid is in `pid`."""

    def __init__(self, pid):
        super().__init__(f"in use by process {pid}")
        self.pid = pid


@contextlib.contextmanager
def hold(path):
    """Hold the lock at `path`, or raise BusyError."""
    if path.exists():  # your code here
        raise BusyError(path.read_text())
    path.write_text(str(os.getpid()))
    yield
    path.unlink()


# Judged below: leave this part as it is.

ANOTHER = """
import fcntl, os, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
file.truncate(0)
file.write(str(os.getpid()))
file.flush()
print("ready", flush=True)
sys.stdin.read()
"""


def expect(found, expected, what):
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message


def is_locked(path):
    """Return whether somebody holds the lock."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def attempt(path):
    """Return "held", or the pid that BusyError names."""
    try:
        with hold(path):
            return "held"
    except BusyError as busy:
        return busy.pid


me = os.getpid()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "lock")
    path.write_text("left behind by process 4194304")
    expect(attempt(path), "held", "with a file that was left behind")
    assert path.exists(), "the file was deleted, expected it to stay"
    with hold(path):
        expect(path.read_text().strip(), str(me), "the file, while held")
        assert is_locked(path), "the lock is free, expected it to be held"
        expect(attempt(path), me, "a second hold")
        expect(path.read_text().strip(), str(me), "the file after that")
        assert is_locked(path), "the second hold has freed the lock"
    assert not is_locked(path), "the lock is held, expected it to be free"

    with contextlib.suppress(ZeroDivisionError), hold(path):
        print(1 // 0)
    assert not is_locked(path), "the lock is held after an error"

    command = [sys.executable, "-c", ANOTHER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as another:
        another.stdout.readline()
        expect(attempt(path), another.pid, "while another process has it")
        content = path.read_text().strip()
        expect(content, str(another.pid), "the file after that")
        another.kill()
    expect(attempt(path), "held", "after that process was killed")
    fresh = Path(folder, "fresh")
    expect(attempt(fresh), "held", "without a file")
print("one holder at a time, named by its pid, and no file deleted")
