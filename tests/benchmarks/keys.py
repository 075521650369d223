"""Key to paint on a terminal while checks run and compile: median and 99th percentile.

    python tests/benchmarks/keys.py [--keys N]

Starts the checks that ship, lists each by name, marks rows up and down all the while, and takes
the time from each key to the first byte painted for it. Prints figures; asserts nothing, for
machines are noisy.
Wanted: p99 at most 50 ms.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

UP, DOWN = b"\x1b[A", b"\x1b[B"


class Terminal:
    """The program on a terminal."""

    def __init__(self, home: str, **more: str) -> None:
        (Path(home) / "settings.json").write_text('{"path": "laptop"}')  # else it asks for one
        self.master, slave = pty.openpty()
        variables = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        env = {**os.environ, **variables, "TPUSTARTER_HOME": home, **more}
        env.pop("CI", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tpustarter"],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env,
        )  # fmt: skip
        os.close(slave)
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """Read what comes within some seconds."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        data = os.read(self.master, 65536)
        self.seen += data
        return data

    def until(self, true: Callable[[bytes], bool]) -> None:
        """Read until something was painted."""
        deadline = time.monotonic() + 60
        while not true(self.seen):
            if time.monotonic() > deadline:
                raise SystemExit("the program did not get there")
            self.read(0.1)

    def press(self, key: bytes, quiet_s: float = 0.002) -> float:
        """Press a key when nothing is being painted; return the seconds until something is."""
        while self.read(quiet_s):
            pass
        began = time.perf_counter()
        os.write(self.master, key)
        if not self.read(20):
            raise SystemExit(f"the program painted nothing for {key!r}")
        return time.perf_counter() - began

    def close(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=400)
    wanted = parser.parse_args().keys
    seconds: list[float] = []
    runs = 0
    with tempfile.TemporaryDirectory() as home:
        tty = Terminal(home)
        tty.until(lambda seen: b"Path: " in seen)
        while len(seconds) < wanted:
            tty.seen = b""
            os.write(tty.master, b"c")
            tty.until(lambda seen: b"of 17 done" in seen or b"done" in seen)
            runs += 1
            os.write(tty.master, b"p")  # a row for each check: in a list of one no mark can move
            tty.until(lambda seen: b"jax.devices_visible" in seen)
            for number in range(wanted - len(seconds)):
                if b"claims hold on" in tty.seen:
                    break
                seconds.append(tty.press(DOWN if number % 12 < 6 else UP))
            tty.until(lambda seen: b"claims hold on" in seen)
            os.write(tty.master, b"\x1b")
            tty.seen = b""
            tty.until(lambda seen: b"This machine" in seen)
        tty.close()
    p99 = statistics.quantiles(seconds, n=100)[98]
    print(f"{len(seconds)} keys in {runs} runs of the checks")
    print(f"p50 {1000 * statistics.median(seconds):.1f} ms, p99 {1000 * p99:.1f} ms")
    print(f"longest {1000 * max(seconds):.1f} ms")


if __name__ == "__main__":
    main()
