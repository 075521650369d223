"""List the processes that hold a chip.

`holders(proc)` gets the path of a folder that looks like `/proc`. In it,
each process has a folder named after its pid. The links in `PID/fd` lead to
the files that it has open, and the file `PID/cmdline` has its command, with
a NUL character after each word.

Return a dictionary: the pid of each process that has at least one chip
open, and its command as one line, such as `python train.py`. Chips are
`/dev/accel0` and up, or `/dev/vfio/0` and up; `/dev/vfio/vfio` is open in
programs that hold no chip. A process can end while you look at it, and then
its folder `fd` is missing.
"""

import tempfile
from pathlib import Path


def holders(proc):
    """Return {pid: command} of the processes that have a chip open."""
    found = {}
    for fd in proc.glob("[0-9]*/fd/*"):
        if str(fd.readlink()).startswith("/dev/"):  # your code here
            pid = int(fd.parent.parent.name)
            found[pid] = (fd.parent.parent / "cmdline").read_text()
    return found


# Judged below: leave this part as it is.

PROCESSES = {
    1: ("/sbin/init", ["/dev/null"]),
    812: ("python\0-m\0http.server\0", ["/dev/vfio/vfio", "/dev/pts/0"]),
    1537: ("python\0train.py\0", [f"/dev/vfio/{n}" for n in range(8)]),
    2044: ("python\0eval.py\0--fast\0", ["/dev/null", "/dev/vfio/12"]),
    2101: ("jupyter\0kernel\0", ["/dev/accel10"]),
    2202: ("cat\0notes\0", ["/home/ada/dev/vfio/0", "/dev/accelerate"]),
    2303: ("python\0old.py\0", None),
    2404: ("", ["/dev/accel0"]),
}
EXPECTED = {
    1537: "python train.py",
    2044: "python eval.py --fast",
    2101: "jupyter kernel",
    2404: "",
}


def make_proc(folder):
    """Make a folder that looks like /proc, with the processes above."""
    proc = Path(folder)
    (proc / "sys").mkdir()
    for pid, (command, files) in PROCESSES.items():
        (proc / str(pid)).mkdir()
        (proc / str(pid) / "cmdline").write_text(command)
        if files is None:
            continue
        (proc / str(pid) / "fd").mkdir()
        for number, file in enumerate(files):
            (proc / str(pid) / "fd" / str(number)).symlink_to(file)
    return proc


with tempfile.TemporaryDirectory() as folder:
    found = dict(holders(make_proc(folder)))
for pid in sorted(PROCESSES.keys() - EXPECTED.keys()):
    files = PROCESSES[pid][1]
    message = f"{pid} is listed, but it has no chip open, only {files}"
    assert pid not in found, message
for pid, command in EXPECTED.items():
    message = f"{pid} is missing, and it has {PROCESSES[pid][1][-1]} open"
    assert pid in found, message
    message = f"command of {pid}: found {found[pid]!r}, expected {command!r}"
    assert found[pid] == command, message
print(len(found), "processes hold a chip, of", len(PROCESSES))
