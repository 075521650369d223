"""Which paths are chips? `/dev/accel` or `/dev/vfio/`, and then digits to
the end. A regular expression says that in one line.

`re.fullmatch(r"/dev/(accel|vfio/)\\d+", path)` also refuses a path that has
something in front, such as the home folder.

In `cmdline` the words end with a NUL character. Replace each by a space, and
strip the last one.

Learned: `/proc/PID/fd` says which processes have a chip open, which is what
`lsof` reads as well.
"""

import re
import tempfile
from pathlib import Path

CHIP = re.compile(r"/dev/(accel|vfio/)\d+")


def holders(proc):
    """Return {pid: command} of the processes that have a chip open."""
    found = {}
    for fd in proc.glob("[0-9]*/fd/*"):
        if CHIP.fullmatch(str(fd.readlink())):
            process = fd.parent.parent
            command = (process / "cmdline").read_text()
            found[int(process.name)] = command.replace("\0", " ").strip()
    return found
