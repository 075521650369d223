"""A machine for one test, which runs shell lines from a folder that it shares with the test.

It is a guest with its own kernel (`guests`), or a copy of this machine (`sandbox`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import HANG_S, until

TAKE_JOBS = """\
: >/jobs/up
while :; do
  if [ -e /jobs/next ]; then
    sh /jobs/next >/jobs/out 2>&1 </dev/null
    echo $? >/jobs/code
    rm /jobs/next
  fi
  sleep 0.05
done
"""
"""The last lines of a machine's start-up script, which run commands from `/jobs`."""


@dataclass(frozen=True)
class Guest:
    """A running machine, which runs shell lines as root, one after the other."""

    jobs: Path
    process: subprocess.Popen[bytes]

    def run(self, line: str, *, timeout_s: float = HANG_S) -> subprocess.CompletedProcess[str]:
        """Run a shell line to its end."""
        name = self.jobs / "next"
        made = self.jobs / "next.made"
        made.write_text(line + "\n")
        made.rename(name)
        self._wait_until(lambda: not name.exists(), line, timeout_s)
        code = int((self.jobs / "code").read_text())
        return subprocess.CompletedProcess(line, code, (self.jobs / "out").read_text())

    def wait_until_up(self) -> None:
        """Wait until the machine accepts commands."""
        self._wait_until((self.jobs / "up").exists, "its start", HANG_S)

    def _wait_until(self, is_so: Callable[[], bool], what: str, timeout_s: float) -> None:
        def log() -> str:
            return f"{what}:\n{(self.jobs / 'console').read_text(errors='replace')[-2000:]}"

        def is_over() -> bool:
            is_done = is_so()
            assert is_done or self.process.poll() is None, f"the guest ended during {log()}"
            return is_done

        until(is_over, log, timeout_s)


@contextmanager
def started(words: Sequence[str], jobs: Path) -> Iterator[Guest]:
    """Start a machine, yield it once it accepts commands, and kill it at the end."""
    with (
        (jobs / "console").open("wb") as console,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True
        ) as process,
    ):
        try:
            running = Guest(jobs, process)
            running.wait_until_up()
            yield running
        finally:
            if process.poll() is None:  # its processes are children of ours, in their own group
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
