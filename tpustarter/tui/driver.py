"""The terminal of the app: what comes from it is suspect, and it may be gone or never answer.

Textual's driver ends the app with a traceback and exit code 0 when its thread breaks. An error of
this one is a bug like any other, and a terminal that is gone is a hang-up.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from typing import Any, Protocol, cast

from textual import constants
from textual.drivers.linux_driver import LinuxDriver

from tpustarter.tui import glyphs
from tpustarter.tui.keyboard import Keyboard

MOST_COLUMNS, MOST_LINES = 500, 200
"""A terminal that says it is larger gets no more: each cell is drawn."""
_LOOK_S = 0.1
"""How often the thread asks whether it is to end."""
_READ = 4096
_ASK_GROUND = "\x1b]11;?\x1b\\"
"""Answered by most terminals, and ignored by the others.

Source: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html (read 2026-11)
"""
_NO_MOUSE = b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"


class OnTerminal(Protocol):
    """What the driver asks of the app."""

    asks_for_ground: bool
    """Whether its colours depend on the ground of the terminal."""

    def hang_up(self) -> None:
        """Leave: the terminal is gone."""

    def end_as_bug(self, error: BaseException) -> None:
        """Close the app, and hand the error on."""


class Drawn:
    """Where the screen is drawn: stderr, without what is done there to messages for people.

    `prepare_streams` made it one that loses what cannot be written: Textual's thread ends at an
    error, and then whoever writes waits for ever.
    """

    def __init__(self) -> None:
        stream: Any = sys.stderr
        self._write = getattr(stream, "draw", stream.write)
        """A letter more or less than the screen was laid out for would leave others behind."""
        self.flush = stream.flush
        self._table = glyphs.table(stream.encoding or "ascii", os.environ)

    def write(self, text: str) -> None:
        """Draw, with the letters that this terminal has."""
        self._write(text.translate(self._table) if self._table is not None else text)


class TerminalDriver(LinuxDriver):
    """Reads keys and mouse, and restores the terminal also where starting or ending breaks."""

    def __init__(self, app: Any, **options: Any) -> None:
        cast("Any", super()).__init__(app, **options)
        self._file = cast("Any", Drawn())
        self._size = self._get_terminal_size()
        self._keyboard = Keyboard()

    def start_application_mode(self) -> None:
        """Take the terminal; gives it back where that breaks half-way, as without threads."""
        _take_lines(self.fileno)
        try:
            super().start_application_mode()
            if cast("OnTerminal", self._app).asks_for_ground:
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
        """Hand something to the thread that writes; to one that broke would be to wait for ever."""
        if self._can_write:
            super().write(data)

    def close(self) -> None:
        """End the thread that writes, if it lives."""
        if self._can_write:
            super().close()

    def give_back(self) -> None:
        """Restore the terminal without the threads: they may not exist, or wait for ever."""
        self.exit_event.set()
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        with contextlib.suppress(OSError):
            os.set_blocking(2, False)
            with contextlib.suppress(OSError):
                self._file.flush()  # what was written before must not come after
            os.write(2, b"\x1b[?2004l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l" + _NO_MOUSE)
            os.set_blocking(2, True)

    def run_input_thread(self) -> None:
        """Read keys until the app ends, or until the terminal is gone."""
        keyboard = self._keyboard
        while not self.exit_event.is_set():
            wait_s = constants.ESCAPE_DELAY if keyboard.waits else _LOOK_S
            if select.select([self.fileno], [], [], wait_s)[0]:
                try:
                    data = os.read(self.fileno, _READ)
                except OSError:
                    data = b""
                if not data:
                    self._loop.call_soon_threadsafe(cast("OnTerminal", self._app).hang_up)
                    return
                messages = keyboard.feed(data)
            else:
                messages = keyboard.pause()
            for message in messages:
                self.process_message(message)

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except BaseException as error:  # noqa: BLE001  a thread has nobody else to tell
            self._loop.call_soon_threadsafe(cast("OnTerminal", self._app).end_as_bug, error)

    def use_mouse(self, *, on: bool) -> None:
        """Ask the terminal for what the mouse does, or leave the mouse to the terminal."""
        if on != self._mouse:
            self._disable_mouse_support()
            self._mouse = on
            self._enable_mouse_support()

    def _enable_mouse_support(self) -> None:
        """Ask for clicks, the wheel and what is dragged, but not for every move, as Textual does.

        A line to a machine far away has better things to carry.
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
        """Ask for no sizes among the keys: anything pasted could send one."""


def _take_lines(terminal: int) -> None:
    """Make a terminal take lines again that a killed program has left as it was.

    Textual restores what it finds. A shell mends the terminal after a program that is killed, but
    not where `uv run` stands between them: nothing that is typed is seen, and Ctrl-C does nothing.
    """
    with contextlib.suppress(termios.error):
        attributes = termios.tcgetattr(terminal)
        if not attributes[3] & termios.ICANON:
            attributes[0] |= termios.ICRNL | termios.IXON
            attributes[1] |= termios.OPOST
            attributes[3] |= termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)
