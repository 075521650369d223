"""Whether the file exists says nothing. Open it, and try to lock it:
`fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)` raises `BlockingIOError`
if somebody else holds the lock.

Which mode opens a file, makes it if need be, and doesn't empty it? If you
open it with "w", you erase the pid of the holder before you know whether
there is one. "a+" keeps what is there.

After you have the lock, `file.seek(0)`, `file.truncate()`, write the pid,
and `file.flush()`, because others read it while you hold the lock.

If you refuse, read the pid first: `file.seek(0)`, then
`BusyError(int(file.read()))`. Closing the file frees your lock, so `with
path.open("a+") as file:` around everything is enough, also after an error.

Learned: A lock belongs to a living process and not to a file, so nobody
needs to delete the file, and only the holder may write into it.
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
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise BusyError(int(file.read())) from None
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        yield
