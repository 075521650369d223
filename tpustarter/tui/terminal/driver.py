"""The driver for the user's terminal: its input is suspect, and it may hang up or never answer.

Textual's driver ends the app with a traceback and exit code 0 when its thread breaks. An error of
this one is a bug like any other, and a lost terminal is a hang-up.
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
"""The largest size taken from a terminal, because each cell is drawn."""
_LOOK_S = 0.1
"""Seconds after which the thread checks whether it should end."""
_READ = 4096
_ASK_GROUND = "\x1b]11;?\x1b\\"
"""A query for the background colour; most terminals answer it, and the others ignore it.

Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (read 2026-11)
"""
_NO_MOUSE = b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"


class AppOnTerminal(Protocol):
    """The part of the app that the driver uses."""

    needs_background: bool
    """True if the app's colours depend on the terminal's background."""

    def hang_up(self) -> None:
        """Leave because the terminal is gone."""

    def end_as_bug(self, error: BaseException) -> None:
        """Close the app, and pass the error on."""


class ScreenStream:
    """The stream for the screen: stderr, without the treatment of messages for people.

    `prepare_streams` made stderr a stream that drops what cannot be written, because an error would
    end Textual's thread, and then each writer would wait for ever.
    """

    def __init__(self) -> None:
        stream = sys.stderr
        self._write = getattr(stream, "draw", stream.write)
        """The raw `write`: a letter more or less than in the layout would leave others behind."""
        self.flush = stream.flush
        self._table = glyphs.make_table(stream.encoding or "ascii", os.environ)

    def write(self, text: str) -> None:
        """Draw a text with the letters that this terminal has."""
        self._write(text.translate(self._table) if self._table is not None else text)


class TerminalDriver(LinuxDriver):
    """A driver that restores the terminal even where starting or ending fails."""

    # Textual's class has no type of an app that also has the methods of `AppOnTerminal`.
    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType]
        self._tutor: AppOnTerminal = app
        self._file = ScreenStream()
        self._size = self._get_terminal_size()
        self._keyboard = Keyboard()

    def start_application_mode(self) -> None:
        """Take the terminal; give it back if that fails half-way, as it does without threads."""
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
        """Give the terminal back, in any case."""
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
        """Pass text to the writer thread; drop it if that has ended: a write would block."""
        if self._can_write:
            super().write(data)

    def close(self) -> None:
        """End the writer thread, if it lives."""
        if self._can_write:
            super().close()

    def give_back(self) -> None:
        """Restore the terminal without the threads, which may not exist or may block."""
        self.exit_event.set()
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        with contextlib.suppress(OSError):
            os.set_blocking(2, False)
            with contextlib.suppress(OSError):
                self._file.flush()  # earlier output must come before
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
        except BaseException as error:  # noqa: BLE001  a thread has no caller that could catch it
            self._loop.call_soon_threadsafe(self._tutor.end_as_bug, error)

    def use_mouse(self, *, on: bool) -> None:
        """Ask the terminal for mouse events, or leave the mouse to the terminal."""
        if on != self._mouse:
            self._disable_mouse_support()
            self._mouse = on
            self._enable_mouse_support()

    def _enable_mouse_support(self) -> None:
        """Ask for clicks, the wheel and drags, but not for every move, as Textual does.

        Over a slow line, every move would be too much.
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
        """Don't ask for sizes among the keys: any pasted text could contain one."""


def _take_lines(terminal: int) -> None:
    """Set the terminal back to line mode, in case a killed program has left it raw.

    Textual restores the mode that it finds. A shell repairs the terminal after a program that is
    killed, but not if `uv run` is between them: then typing shows nothing, and Ctrl-C does nothing.
    """
    with contextlib.suppress(termios.error):
        attributes = termios.tcgetattr(terminal)
        if not attributes[3] & termios.ICANON:
            attributes[0] |= termios.ICRNL | termios.IXON
            attributes[1] |= termios.OPOST
            attributes[3] |= termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)
