"""The program on a real terminal: what it leaves behind however it ends, and silence when idle."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pyte
import pytest

from tests.support.places import SUPPORT
from tests.support.tutor import HANGS, HELLO, is_alive, write_checks, write_lessons

DRIVE = SUPPORT / "drive_tui.py"
WAIT_S = 40


class Terminal:
    """A program on a terminal of its own, and what it has painted."""

    def __init__(self, *arguments: str, columns: int = 80, lines: int = 24, **env: str) -> None:
        self.master, slave = pty.openpty()
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns),
                     "LINES": str(lines), **env}  # fmt: skip
        for name in ("CI", "NO_COLOR"):
            if name not in env:
                variables.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVE), *arguments],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=variables,
        )  # fmt: skip
        os.close(slave)

    def read(self, seconds: float) -> bytes:
        """Read what comes within some seconds; nothing when nothing does."""
        with contextlib.suppress(OSError):
            if select.select([self.master], [], [], seconds)[0]:
                data = os.read(self.master, 65536)
                self.written += data
                # pyte does not know this one and would print its end.
                self._stream.feed(re.sub(rb"\x1b\[[<>=?]?[0-9;]*[$u]p?", b"", data))
                return data
        return b""

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(self.screen.display)

    def until(self, true: Callable[[str], object]) -> str:
        """Read until something is on the screen."""
        deadline = time.monotonic() + WAIT_S
        while not true(self.text):
            assert time.monotonic() < deadline, self.text
            self.read(0.1)
        return self.text

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.master, keys.encode())

    def end(self) -> int:
        """Wait for the program to end and return its exit code."""
        deadline = time.monotonic() + WAIT_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self.read(0.1)
        while self.read(0.1):
            pass
        return self.process.returncode


@contextlib.contextmanager
def terminal(*arguments: str, **options: object) -> Generator[Terminal]:
    """Start the program on a terminal; it is ended in any case."""
    started = Terminal(*arguments, **options)  # type: ignore[arg-type]
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        with contextlib.suppress(OSError):
            os.close(started.master)


def is_restored(written: bytes) -> bool:
    """Return whether the last words leave the alternate screen and show the cursor."""
    left, shown = written.rfind(b"\x1b[?1049l"), written.rfind(b"\x1b[?25h")
    return left > written.rfind(b"\x1b[?1049h") and shown > written.rfind(b"\x1b[?25l")


def test_the_installed_program_is_walked_through_and_says_nothing_when_idle() -> None:
    """Home, lesson, run, back, quit: on what ships, with no byte written while nothing happens."""
    with terminal() as tty:
        tty.until(lambda text: "Last check" in text and "virtual CPU devices" in text)
        tty.press("\r")
        tty.until(lambda text: "r run" in text and "Esc back" in text)
        tty.press("r")  # no block is in sight yet: this leads to the first one
        tty.until(lambda text: "█" in text)
        tty.press("r")
        tty.until(lambda text: re.search(r"\bpass  \d", text))
        tty.press("\x1b")
        tty.until(lambda text: "This machine" in text and "process:" not in text)
        while tty.read(1.0):
            pass
        before = len(tty.written)
        assert b"" == tty.read(3.0)
        assert before == len(tty.written)
        tty.press("q")

        assert 0 == tty.end()
        assert is_restored(tty.written)


@pytest.mark.parametrize(
    ("how", "code"),
    [("ctrl-c", 130), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143),
     ("hang up", 143)],
)  # fmt: skip
def test_however_it_ends_the_block_is_gone_and_the_terminal_restored(
    how: str | signal.Signals, code: int, tmp_path: Path
) -> None:
    """While a block hangs: no process is left, progress is kept, the exit code says why."""
    lessons = write_lessons(tmp_path / "lessons", hangs=HANGS, hello=HELLO)
    checks = write_checks(tmp_path / "checks")
    with terminal(str(lessons), str(checks)) as tty:
        tty.until(lambda text: "> Hangs" in text)
        tty.press("\r")
        tty.until(lambda text: "not run yet" in text)
        tty.press("r")
        printed = tty.until(lambda text: re.search(r"the block is process \d+\.", text))
        pid = int(re.findall(r"the block is process (\d+)\.", printed)[-1])
        assert is_alive(pid)
        if how == "ctrl-c":
            tty.press("\x03")
        elif how == "hang up":
            os.close(tty.master)
        else:
            tty.process.send_signal(how)

        assert code == tty.end()
        assert not is_alive(pid)
        assert how == "hang up" or is_restored(tty.written)


def test_without_colours_only_the_words_are_left(tmp_path: Path) -> None:
    """NO_COLOR: no colour is asked for, and every word is there."""
    lessons = write_lessons(tmp_path / "lessons")
    checks = write_checks(tmp_path / "checks")
    with terminal(str(lessons), str(checks), NO_COLOR="1") as tty:
        tty.until(lambda text: "> Hello" in text)
        tty.press("c")
        tty.until(lambda text: "claims hold" in text)
        assert "FAIL" in tty.text
        assert "PASS" in tty.text
        colours = set(re.findall(rb"\x1b\[[0-9;]*m", tty.written))
        codes = {int(one) for found in colours for one in re.findall(rb"\d+", found)}
        assert not codes & {*range(30, 39), *range(40, 49), *range(90, 108)}
        tty.press("q")

        assert 0 == tty.end()


def test_without_a_terminal_there_is_the_plain_overview() -> None:
    """A pipe, `TERM=dumb` and CI get text and no full screen."""
    plain = subprocess.run(
        [sys.executable, "-m", "tpustarter"], capture_output=True, text=True, check=True
    )
    assert "This machine" in plain.stdout
    assert "\x1b" not in plain.stdout
    for variable in ({"TERM": "dumb"}, {"CI": "true"}):
        with terminal(**variable) as tty:  # type: ignore[arg-type]
            assert 0 == tty.end()
            assert b"\x1b[?1049h" not in tty.written
            assert b"tpustarter check" in tty.written
