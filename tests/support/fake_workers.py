"""A gcloud whose workers are folders on this machine, on which jobs really run.

    tools = lay_workers(tmp_path / "workers")

A call to worker 1, or to the instance `NAME-0001`, runs with `tools/w1` as its home.
`cut(tools, 1)` and `end_calls` simulate a lost connection.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes import is_running, until

PROGRAM = """#!/bin/sh
number=0
for word; do
  case "$word" in
    *-000[0-9]) number=${{word##*-000}};;
    --worker=*) number=${{word#--worker=}};;
    --command=*) text=${{word#--command=}};;
  esac
done
if [ -e {folder}/cut-$number ]; then
  echo "ssh: connect to host 192.0.2.2 port 22: Connection timed out" >&2
  exit 255
fi
echo $$ >>{folder}/calls-$number
HOME={folder}/w$number exec sh -c "exec $text"
"""


def lay_workers(folder: Path, count: int = 2) -> Path:
    """Create a folder for PATH with a `gcloud`, and the homes of its workers."""
    for number in range(count):
        (folder / f"w{number}").mkdir(parents=True)
    program = folder / "gcloud"
    program.write_text(PROGRAM.format(folder=folder))
    program.chmod(0o755)
    return folder


def cut(folder: Path, number: int) -> None:
    """Make a worker unreachable for new calls."""
    (folder / f"cut-{number}").touch()


def end_calls(folder: Path, number: int) -> None:
    """Kill the running calls of a worker."""
    for pid in (folder / f"calls-{number}").read_text().split():
        with contextlib.suppress(OSError):  # most have ended, and a pid may have been reused
            if b"stdin.buffer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)


def mend(folder: Path, number: int) -> None:
    """Make a worker reachable again."""
    (folder / f"cut-{number}").unlink()


@contextlib.contextmanager
def ending_jobs(folder: Path) -> Iterator[Path]:
    """Kill the jobs that still run on the workers afterwards."""
    try:
        yield folder
    finally:
        kill_jobs(folder)


def kill_jobs(folder: Path) -> None:
    """Kill the jobs that run on the workers."""
    for path in folder.glob("w*/tpustarter-jobs/*/w*/pid"):
        pid = int(path.read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        until(lambda pid=pid: not is_running(pid), "the end of a job")


def replace_workers(folder: Path) -> None:
    """Make all workers reachable, with nothing of earlier jobs on them."""
    kill_jobs(folder)
    for home in folder.glob("w*"):
        shutil.rmtree(home / "tpustarter-jobs")
        (folder / f"cut-{home.name[1:]}").unlink()
