"""Key to paint on a terminal, against a Textual app with one list: median and 99th percentile.

    python tests/benchmarks/keys.py [--keys N]

Three programs in turn, each while something else keeps the machine busy: a minimal app beside a
`tpustarter check`, the tutor's list of checks while they run, and the editor of a block of code
that runs and prints. The clock runs from a key to the first byte painted for it; in the editor, to
the letter that was typed. The last row is a lesson by itself, gone through from block to block:
there the clock runs to the last byte, and with it the last line says what the keys do now. Prints
figures; asserts nothing, for machines are noisy. Wanted: p99 at most 50 ms for the first three.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

UP, DOWN = b"\x1b[A", b"\x1b[B"
CTRL_R, ESC, ENTER = b"\x12", b"\x1b", b"\r"
TAB, SHIFT_TAB = b"\t", b"\x1b[Z"
MINIMAL = """
from textual.app import App
from textual.widgets import OptionList

class Minimal(App):
    def compose(self):
        yield OptionList(*(f"row {n}" for n in range(60)))

Minimal().run()
"""
PRINTS = b"import time; [(print(n, flush=True), time.sleep(0.02)) for n in range(3000)]"
LETTERS = [b"Q", b"Z", b"X", b"J"]  # in no word on the screen
ESCAPES = re.compile(rb"\x1b\[[0-9;?<>=]*[ -/]*[@-~]")


class Terminal:
    """A program on a terminal."""

    def __init__(self, home: str, words: list[str], **more: str) -> None:
        (Path(home) / "settings.json").write_text('{"path": "laptop"}')  # else it asks for one
        self.master, slave = pty.openpty()
        variables = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        env = {**os.environ, **variables, "TPUSTARTER_HOME": home, **more}
        env.pop("CI", None)
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env
        )
        os.close(slave)
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """Return the bytes that arrive within some seconds; empty if none do."""
        if not select.select([self.master], [], [], seconds)[0]:
            return b""
        data = os.read(self.master, 65536)
        self.seen += data
        return data

    def until(self, *wanted: bytes) -> None:
        """Read until one of some words was painted."""
        self.until_true(lambda seen: any(one in seen for one in wanted), wanted[0].decode())

    def until_true(self, true: Callable[[bytes], bool], what: str) -> None:
        """Read until something is true of what was painted since `write`."""
        deadline = time.monotonic() + 300
        while not true(ESCAPES.sub(b"", self.seen)):
            if time.monotonic() > deadline:
                raise SystemExit(f"the program painted no {what!r}: {self.seen[-2000:]!r}")
            self.read(0.1)

    def write(self, keys: bytes) -> None:
        """Send keys, and forget what was painted before."""
        self.seen = b""
        os.write(self.master, keys)

    def press(self, key: bytes, quiet_s: float = 0.002) -> float:
        """Press a key when nothing is being painted; return the seconds until something is."""
        while self.read(quiet_s):
            pass
        began = time.perf_counter()
        os.write(self.master, key)
        if not self.read(20):
            raise SystemExit(f"the program painted nothing for {key!r}")
        return time.perf_counter() - began

    def press_through(self, key: bytes, quiet_s: float = 0.4) -> float:
        """Press a key; return the seconds until the last thing is painted for it."""
        seconds = self.press(key, quiet_s)
        began = time.perf_counter() - seconds
        while self.read(quiet_s):
            seconds = time.perf_counter() - began
        return seconds

    def type(self, letter: bytes) -> float:
        """Type a letter; return the seconds until that very letter is painted."""
        began = time.perf_counter()
        self.write(letter)
        while letter not in ESCAPES.sub(b"", self.seen):
            if not self.read(20):
                raise SystemExit(f"the program did not paint {letter!r}")
        return time.perf_counter() - began


@contextmanager
def program(*words: str, **env: str) -> Iterator[Terminal]:
    """Start a program in a home of its own, and end it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        terminal = Terminal(home, [sys.executable, *words], **env)
        try:
            yield terminal
        finally:
            terminal.process.terminate()
            try:
                terminal.process.wait(10)
            except subprocess.TimeoutExpired:
                terminal.process.kill()
                terminal.process.wait()
            os.close(terminal.master)


def minimal(wanted: int) -> list[float]:
    """Mark rows of a minimal app while checks run on another terminal."""
    seconds: list[float] = []
    with program("-c", MINIMAL) as app:
        app.until(b"row 5")
        while len(seconds) < wanted:
            with program("-m", "tpustarter", "check", "--level", "quick") as check:
                check.until(b"host.", b"pass", b"claims")
                more = wanted - len(seconds)
                seconds += _marked(app, more, lambda: _has_ended(check))
    return seconds


def checks(wanted: int) -> list[float]:
    """Mark rows of the tutor's list of checks, a row for each, until they have run."""
    seconds: list[float] = []
    with program("-m", "tpustarter") as tutor:
        tutor.until(b"Path: ")
        while len(seconds) < wanted:
            tutor.write(b"c")
            tutor.until(b"to go")
            tutor.write(b"p")  # a row for each check: in a list of one no mark can move
            tutor.until(b"jax.devices_visible")
            more = wanted - len(seconds)
            seconds += _marked(tutor, more, lambda: b"claims hold on" in tutor.seen)
            tutor.until(b"claims hold on")
            tutor.write(ESC)
            tutor.until(b"This machine")
    return seconds


def editor(wanted: int) -> list[float]:
    """Type into a block of a lesson that prints fifty times a second."""
    with program("-m", "tpustarter") as tutor:
        tutor.until(b"Path: ")
        tutor.write(ENTER)
        tutor.until(b"not run yet")
        tutor.write(b"e")
        tutor.until(b"Esc done")
        tutor.write(PRINTS + ENTER + UP + CTRL_R)
        tutor.until_true(lambda seen: b"RUN" in seen, "RUN")
        time.sleep(1)
        return [tutor.type(LETTERS[n % len(LETTERS)]) for n in range(wanted)]


def reader(wanted: int) -> list[float]:
    """Go from block to block of a lesson, and back to the first one, until all is painted."""
    with program("-m", "tpustarter") as tutor:
        tutor.until(b"Path: ")
        tutor.write(ENTER)
        tutor.until(b"not run yet")
        blocks = [TAB, TAB, SHIFT_TAB, SHIFT_TAB]
        return [tutor.press_through(blocks[n % len(blocks)]) for n in range(wanted)]


def _marked(terminal: Terminal, wanted: int, is_over: Callable[[], bool]) -> Iterator[float]:
    for number in range(wanted):
        if is_over():
            return
        yield terminal.press(DOWN if number % 12 < 6 else UP)


def _has_ended(terminal: Terminal) -> bool:
    terminal.read(0)
    return terminal.process.poll() is not None


def main() -> None:
    """Print both figures of each, and how often they are the minimal app's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=200)
    wanted = parser.parse_args().keys
    programs = {
        "a minimal app, beside checks": minimal,
        "rows, while checks run": checks,
        "letters, while a block prints": editor,
        "all of a lesson, block to block": reader,
    }
    print(f"{'':<32}{'p50':>8}{'ratio':>7}{'p99':>9}{'ratio':>7}{'longest':>10}")
    baseline: list[float] = []
    for name, measure in programs.items():
        seconds = measure(wanted)
        figures = [statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]]
        baseline = baseline or figures
        (p50, p99), (least, most) = figures, baseline
        print(
            f"{name:<32}{1000 * p50:>5.1f} ms{p50 / least:>7.2f}{1000 * p99:>6.1f} ms"
            f"{p99 / most:>7.2f}{1000 * max(seconds):>7.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
