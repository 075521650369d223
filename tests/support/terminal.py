"""A program on its own terminal: its output, its input, and the state it leaves behind."""

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
import tty
from collections.abc import Callable, Generator
from pathlib import Path

import pyte

from tests.support import telling
from tests.support.places import SUPPORT
from tests.support.processes import until
from tpustarter.learning.progress import course

_SYNC_START, _SYNC_END = b"\x1b[?2026h", b"\x1b[?2026l"
_LAST = b"\0the end\0"
_ASKS_SYNC, _HAS_SYNC = b"\x1b[?2026$p", b"\x1b[?2026;2$y"


class Terminal:
    """A program on its own terminal, and the screen that it has drawn."""

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
        """An incomplete frame; None for a terminal that shows all output at once."""
        self.master, self._slave = pty.openpty()
        self._is_open = True
        self.resize(columns, lines)
        if is_raw:  # as left by a killed program
            tty.setraw(self._slave)
        self._is_shown = columns <= 200  # pyte takes seconds for a huge screen
        self.screen = pyte.Screen(min(columns, 200) or 80, min(lines, 200) or 24)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self._told_end, tells = os.pipe()
        os.set_blocking(self._told_end, False)
        self._told = b""
        """Lines that the app wrote to its pipe; see `telling`."""
        self._typed = 0
        """Number of bytes sent to the program."""
        variables = {**os.environ, "TERM": "xterm-256color", telling.VARIABLE: str(tells), **env}
        for name in ("CI", "NO_COLOR", "COLUMNS", "LINES"):
            if name not in env:
                variables.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, str(SUPPORT / drive), *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            env={name: value for name, value in variables.items() if value is not None},
            pass_fds=[tells],
        )
        os.close(tells)

    def resize(self, columns: int, lines: int) -> None:
        """Resize the window, which notifies the program."""
        size = struct.pack("HHHH", lines, columns, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        """Close the terminal."""
        for descriptor in (self.master, self._slave, self._told_end):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._told_end = -1
        self._is_open = False

    @property
    def is_restored(self) -> bool:
        """True if line mode, echo, the cursor, the main screen and the mouse are restored."""
        off = (
            b"\x1b[?1049l",
            b"\x1b[?25h",
            b"\x1b[?2004l",
            b"\x1b[?7h",
            b"\x1b[?1004l",
            b"\x1b[?1000l",
            b"\x1b[?1002l",
            b"\x1b[?1006l",
        )
        on = (
            b"\x1b[?1049h",
            b"\x1b[?25l",
            b"\x1b[?2004h",
            b"\x1b[?7l",
            b"\x1b[?1004h",
            b"\x1b[?1000h",
            b"\x1b[?1002h",
            b"\x1b[?1006h",
        )
        last = self.written.rfind
        undone = all(last(one) >= last(other) for one, other in zip(off, on, strict=True))
        return undone and self.takes_lines

    @property
    def takes_lines(self) -> bool:
        """True if input is echoed, and passed on line by line."""
        local = termios.tcgetattr(self._slave)[3]
        return bool(local & termios.ECHO and local & termios.ICANON)

    def read(self, seconds: float) -> bytes:
        """Read output that arrives within some seconds, or nothing if none does."""
        with contextlib.suppress(OSError):
            if select.select([self.master], [], [], seconds)[0]:
                data = os.read(self.master, 65536)
                self._paint(data)
                return data
        return b""

    def _paint(self, data: bytes) -> None:
        self.written += data
        shown = data if self._unpainted is None else self._whole(data)
        if self._is_shown:
            # pyte does not support this sequence and would print its end.
            self._stream.feed(re.sub(rb"\x1b\[[<>=?]?[0-9;]*[$u]p?", b"", shown))

    def read_rest(self) -> None:
        """Read all output of a program that has ended, up to a marker that is written now."""
        if not self._is_open:
            return
        until(lambda: not (self.read(0) or self.is_full))
        os.write(self._slave, _LAST)
        rest = b""
        while not rest.endswith(_LAST):
            rest += os.read(self.master, 65536)
        self._paint(rest.removesuffix(_LAST))

    def _whole(self, data: bytes) -> bytes:
        """Return the output that a terminal with synchronized output would show now."""
        if _ASKS_SYNC in data:
            self._typed += os.write(self.master, _HAS_SYNC)
        data = (self._unpainted or b"") + data
        start = data.rfind(_SYNC_START)
        end = start if start > data.rfind(_SYNC_END) else len(data)
        self._unpainted = data[end:]
        return data[:end]

    def read_unseen(self, seconds: float) -> bytes:
        """Read without drawing, because pyte is far slower than a program's output."""
        was_shown, self._is_shown = self._is_shown, False
        data = self.read(seconds)
        self._is_shown = was_shown
        return data

    @property
    def text(self) -> str:
        """The text on the screen."""
        return "\n".join(self.screen.display)

    def until(self, true: Callable[[str], object]) -> str:
        """Read until a condition on the screen's text is true, and return the text."""
        self._read_until(lambda: true(self.text))
        return self.text

    def _read_until(self, condition: Callable[[], object], *, is_seen: bool = True) -> None:
        """Read until a condition is true; fail if the program ends first."""
        read = self.read if is_seen else self.read_unseen

        def is_so() -> bool:
            if condition():
                return True
            if self.process.poll() is not None:
                self.read_rest()
                assert condition(), self.text
            else:
                read(0.1)
            return bool(condition())

        until(is_so, lambda: self.text)

    def has_told(self, line: str) -> bool:
        """Return whether the app has written a line to its pipe."""
        with contextlib.suppress(OSError):
            self._told += os.read(self._told_end, 65536)
        return line.encode() in self._told.splitlines()

    @property
    def is_drawn(self) -> bool:
        """True if the first screen of the app is drawn."""
        return self.has_told("ready")

    def until_drawn(self) -> None:
        """Read until the first screen is drawn."""
        self._read_until(lambda: self.is_drawn)
        while self.read(0):
            pass

    def until_acted(self, *, is_seen: bool = True) -> None:
        """Read until the app has handled all input, and its output has arrived."""
        self._read_until(lambda: self.has_told(f"acted {self._typed}"), is_seen=is_seen)
        while (self.read if is_seen else self.read_unseen)(0):
            pass

    @property
    def is_full(self) -> bool:
        """True if the terminal accepts no more output."""
        return not select.select([], [self._slave], [], 0)[1]

    def until_asleep(self) -> None:
        """Wait until the program sleeps, because a signal just before that may be delayed.

        Python handles a signal between two bytecodes. A signal between the last bytecode and the
        following `read` is handled only when that `read` has returned, after the next key.
        """
        stat = Path(f"/proc/{self.process.pid}/stat")

        def is_asleep() -> bool:
            self.read(0)
            return stat.read_text().rpartition(")")[2].split()[0] == "S"

        until(is_asleep, lambda: self.text)

    def press(self, keys: str | bytes) -> None:
        """Type keys."""
        data = keys.encode() if isinstance(keys, str) else keys
        while data:  # a terminal takes some kilobytes at a time
            if select.select([], [self.master], [], 0.1)[1]:
                written = os.write(self.master, data[:1024])
                self._typed += written
                data = data[written:]
            self.read(0)

    def end(self) -> int:
        """Wait for the program to end and return its exit code."""

        def has_ended() -> bool:
            self.read(0.1)
            return self.process.poll() is not None

        until(has_ended, lambda: self.text)
        self.read_rest()
        return self.process.returncode


@contextlib.contextmanager
def terminal(
    *arguments: str, path: str | None = "laptop", **options: object
) -> Generator[Terminal]:
    """Start the program on a terminal, and end it in any case.

    Without a path, it is a first start, which asks for one.
    """
    if path and "tui" in str(options.get("drive", "drive_tui.py")):
        course.choose_path(path)
    started = Terminal(*arguments, **options)  # type: ignore[arg-type]
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        started.close()
