"""A program on a terminal of its own: what it paints, what is typed, and what it leaves behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator
from pathlib import Path

import pyte

from tests.support.places import SUPPORT
from tpustarter.learning import course

WAIT_S = 40
_SYNC_START, _SYNC_END = b"\x1b[?2026h", b"\x1b[?2026l"
_ASKS_SYNC, _HAS_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"


class Terminal:
    """A program on a terminal of its own, and what it has painted."""

    def __init__(
        self,
        *arguments: str,
        drive: str = "drive_tui.py",
        columns: int = 80,
        lines: int = 24,
        whole_frames: bool = False,
        is_raw: bool = False,
        **env: str | None,
    ) -> None:
        self._unpainted = b"" if whole_frames else None
        """A frame that is not whole yet; None for a terminal that shows each as it comes."""
        self.master, self._slave = pty.openpty()
        self.resize(columns, lines)
        if is_raw:  # as a killed program leaves it
            tty.setraw(self._slave)
        self._is_shown = columns <= 200  # pyte takes seconds for a huge screen
        self.screen = pyte.Screen(min(columns, 200) or 80, min(lines, 200) or 24)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        variables = {**os.environ, "TERM": "xterm-256color", **env}
        for name in ("CI", "NO_COLOR", "COLUMNS", "LINES"):
            if name not in env:
                variables.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, str(SUPPORT / drive), *arguments],
            stdin=self._slave, stdout=self._slave, stderr=self._slave, start_new_session=True,
            env={name: value for name, value in variables.items() if value is not None},
        )  # fmt: skip

    def resize(self, columns: int, lines: int) -> None:
        """Give the window another size; the program hears of it."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        """Take the terminal away."""
        for descriptor in (self.master, self._slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    @property
    def is_restored(self) -> bool:
        """Whether it takes lines and shows them, shows the cursor, and the screen from before.

        And it has the mouse again.
        """
        off = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?7h", b"\x1b[?1004l",
               b"\x1b[?1000l", b"\x1b[?1002l", b"\x1b[?1006l")  # fmt: skip
        on = (b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[?2004h", b"\x1b[?7l", b"\x1b[?1004h",
              b"\x1b[?1000h", b"\x1b[?1002h", b"\x1b[?1006h")  # fmt: skip
        last = self.written.rfind
        undone = all(last(one) >= last(other) for one, other in zip(off, on, strict=True))
        return undone and self.takes_lines

    @property
    def takes_lines(self) -> bool:
        """Whether what is typed is shown, and handed on line by line."""
        local = termios.tcgetattr(self._slave)[3]
        return bool(local & termios.ECHO and local & termios.ICANON)

    def read(self, seconds: float) -> bytes:
        """Read what comes within some seconds; nothing when nothing does."""
        with contextlib.suppress(OSError):
            if select.select([self.master], [], [], seconds)[0]:
                data = os.read(self.master, 65536)
                self.written += data
                shown = data if self._unpainted is None else self._whole(data)
                if self._is_shown:
                    # pyte does not know this one and would print its end.
                    self._stream.feed(re.sub(rb"\x1b\[[<>=?]?[0-9;]*[$u]p?", b"", shown))
                return data
        return b""

    def _whole(self, data: bytes) -> bytes:
        """Return what may be shown now, as terminals do that know synchronized output."""
        if _ASKS_SYNC in data:
            os.write(self.master, _HAS_SYNC)
        data = (self._unpainted or b"") + data
        start = data.rfind(_SYNC_START)
        end = start if start > data.rfind(_SYNC_END) else len(data)
        self._unpainted = data[end:]
        return data[:end]

    def read_unseen(self, seconds: float) -> bytes:
        """Read without painting: pyte would be far behind what a program writes."""
        was_shown, self._is_shown = self._is_shown, False
        data = self.read(seconds)
        self._is_shown = was_shown
        return data

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(self.screen.display)

    def until(self, true: Callable[[str], object]) -> str:
        """Read until something is on the screen."""
        deadline = time.monotonic() + WAIT_S
        while not true(self.text):
            has_ended = self.process.poll() is not None
            # What it wrote before its end may still be on its way.
            assert self.read(0.1) or not has_ended, self.text
            assert time.monotonic() < deadline, self.text
        return self.text

    def until_drawn(self) -> None:
        """Read until the app has taken the terminal, and then until it has no more to say."""
        deadline = time.monotonic() + WAIT_S
        while b"\x1b[?1049h" not in self.written or self.read(1.0):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.text
            self.read(0.1)

    def until_asleep(self) -> None:
        """Wait until the program waits for something: a key that comes just before may be lost.

        Python hears of a signal between two of its steps. One that comes between the last step and
        the `read` after it is heard when that `read` has returned, which is after the next key.
        """
        deadline = time.monotonic() + WAIT_S
        stat = Path(f"/proc/{self.process.pid}/stat")
        while stat.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < deadline, self.text
            self.read(0.01)

    def press(self, keys: str | bytes) -> None:
        """Type."""
        data = keys.encode() if isinstance(keys, str) else keys
        while data:  # a terminal takes some kilobytes at a time
            if select.select([], [self.master], [], WAIT_S)[1]:
                data = data[os.write(self.master, data[:1024]) :]
            self.read(0)

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
def terminal(
    *arguments: str, path: str | None = "laptop", **options: object
) -> Generator[Terminal]:
    """Start the program on a terminal; it is ended in any case.

    Without a path it is a first start, which asks for one.
    """
    if path and "tui" in str(options.get("drive", "drive_tui.py")):
        course.follow(path)
    started = Terminal(*arguments, **options)  # type: ignore[arg-type]
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        started.close()
