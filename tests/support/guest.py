"""A machine for one test, which takes shell lines through a folder that it shares with the test.

It is a guest with a kernel of its own (`guests`), or a copy of this machine (`sandbox`).
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
"""The end of what a machine starts with: it takes commands from `/jobs` from here on."""


@dataclass(frozen=True)
class Guest:
    """A running machine; its commands are shell lines, run one after the other as root."""

    jobs: Path
    process: subprocess.Popen[bytes]

    def run(self, line: str, *, timeout_s: float = HANG_S) -> subprocess.CompletedProcess[str]:
        """Run a line to its end."""
        name = self.jobs / "next"
        made = self.jobs / "next.made"
        made.write_text(line + "\n")
        made.rename(name)
        self._wait_until(lambda: not name.exists(), line, timeout_s)
        code = int((self.jobs / "code").read_text())
        return subprocess.CompletedProcess(line, code, (self.jobs / "out").read_text())

    def wait_until_up(self) -> None:
        """Wait until the guest takes commands."""
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
    """Yield the machine that a command starts, once it takes commands; it is killed at the end."""
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
            if process.poll() is None:  # its processes are ours, in a group of its own
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
