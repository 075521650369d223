"""The driver for the user's terminal, which may send invalid input, hang up or never respond.

If its thread fails, Textual's driver ends the app with a traceback and exit code 0. Here such an
error is reported like any other bug, and a lost terminal is treated as a hang-up.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from typing import Any, Protocol

from textual import constants
from textual.drivers.linux_driver import LinuxDriver

from tpustarter.tui.terminal import glyphs
from tpustarter.tui.terminal.keyboard import Keyboard

MOST_COLUMNS, MOST_LINES = 500, 200
"""The maximum screen size, because every cell is drawn."""
_LOOK_S = 0.1
"""Seconds between two checks of whether the thread should end."""
_READ = 4096
_ASK_GROUND = "\x1b]11;?\x1b\\"
"""A query for the background colour, which terminals answer or ignore.

Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (read 2026-11)
"""
_NO_MOUSE = b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"


class AppOnTerminal(Protocol):
    """The app's interface for the driver."""

    needs_background: bool
    """True if the app's colours depend on the terminal's background."""

    def hang_up(self) -> None:
        """Exit because the terminal is gone."""

    def end_as_bug(self, error: BaseException) -> None:
        """Close the app and report the error."""


class ScreenStream:
    """The screen's output stream: stderr, without the formatting that messages get.

    `prepare_streams` has replaced stderr with a stream that drops unwritable output, because an
    error would end Textual's writer thread and make every writer wait forever.
    """

    def __init__(self) -> None:
        stream = sys.stderr
        self._write = getattr(stream, "draw", stream.write)
        """The raw `write`, because added or removed characters would corrupt the layout."""
        self.flush = stream.flush
        self._table = glyphs.make_glyph_table(stream.encoding or "ascii", os.environ)

    def write(self, text: str) -> None:
        """Write text with characters that this terminal can show."""
        self._write(text.translate(self._table) if self._table is not None else text)


class TerminalDriver(LinuxDriver):
    """A driver that restores the terminal even if starting or stopping fails."""

    # Textual's class has no type of an app that also has the methods of `AppOnTerminal`.
    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self._tutor: AppOnTerminal = app
        self._file = ScreenStream()
        self._size = self._get_terminal_size()
        self._keyboard = Keyboard()

    def start_application_mode(self) -> None:
        """Take the terminal, and restore it if that fails, e.g. because threads cannot start."""
        _take_lines(self.fileno)
        try:
            super().start_application_mode()
            if self._tutor.needs_background:
                self.write(_ASK_GROUND)
        except BaseException:
            self.close()
            self.give_back()
            raise

    def stop_application_mode(self) -> None:
        """Restore the terminal in any case."""
        try:
            super().stop_application_mode()
        except BaseException:
            self.close()
            self.give_back()
            raise
        if not self._can_write:
            self.give_back()

    @property
    def _can_write(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def write(self, data: str) -> None:
        """Pass text to the writer thread, or drop it if the thread has ended and would block."""
        if self._can_write:
            super().write(data)

    def close(self) -> None:
        """End the writer thread if it is running."""
        if self._can_write:
            super().close()

    def give_back(self) -> None:
        """Restore the terminal without using the threads, which may be missing or blocked."""
        self.exit_event.set()
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        with contextlib.suppress(OSError):
            os.set_blocking(2, False)
            with contextlib.suppress(OSError):
                self._file.flush()  # earlier output must come first
            os.write(2, b"\x1b[?2004l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l" + _NO_MOUSE)
            os.set_blocking(2, True)

    def run_input_thread(self) -> None:
        """Read keys until the app ends or the terminal is gone."""
        keyboard = self._keyboard
        while not self.exit_event.is_set():
            wait_s = constants.ESCAPE_DELAY if keyboard.is_waiting else _LOOK_S
            if select.select([self.fileno], [], [], wait_s)[0]:
                try:
                    data = os.read(self.fileno, _READ)
                except OSError:
                    data = b""
                if not data:
                    self._loop.call_soon_threadsafe(self._tutor.hang_up)
                    return
                messages = keyboard.feed(data)
            else:
                messages = keyboard.pause()
            for message in messages:
                self.process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except BaseException as error:  # noqa: BLE001  a thread has no caller to catch it
            self._loop.call_soon_threadsafe(self._tutor.end_as_bug, error)

    def use_mouse(self, *, on: bool) -> None:
        """Request mouse events from the terminal, or leave the mouse to the terminal."""
        if on != self._mouse:
            self._disable_mouse_support()
            self._mouse = on
            self._enable_mouse_support()

    def _enable_mouse_support(self) -> None:
        """Request clicks, drags and the wheel, but not every movement as Textual does.

        Over a slow connection, every movement would be too much.
        """
        self._keyboard.has_mouse = self._mouse
        if self._mouse:
            self.write("\x1b[?1000h\x1b[?1002h\x1b[?1006h")

    def _disable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_NO_MOUSE.decode())

    def _get_terminal_size(self) -> tuple[int, int]:
        columns, lines = super()._get_terminal_size()
        return min(columns, MOST_COLUMNS), min(lines, MOST_LINES)

    def _query_in_band_window_resize(self) -> None:
        """Do not request sizes in the input stream, because pasted text could contain one."""


def _take_lines(terminal: int) -> None:
    """Set the terminal to line mode, in case a killed program has left it in raw mode.

    Textual restores the mode that it finds. A shell resets the terminal after a killed program, but
    not if `uv run` is between them. Typing would then show nothing, and Ctrl+C would do nothing.
    """
    with contextlib.suppress(termios.error):
        attributes = termios.tcgetattr(terminal)
        if not attributes[3] & termios.ICANON:
            attributes[0] |= termios.ICRNL | termios.IXON
            attributes[1] |= termios.OPOST
            attributes[3] |= termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)
