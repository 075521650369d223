"""Rows of tables on terminals of a known width."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

from tpustarter.text import terminal

ROW = "name        what it is        and a last column of five words"


@contextmanager
def terminal_of(columns: int) -> Iterator[TextIO]:
    """Open a pseudo-terminal of so many columns."""
    main, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(secondary, "w", encoding="utf-8") as stream:
        yield stream
    os.close(main)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (80, [ROW]),
        (len(ROW), [ROW]),
        (len(ROW) - 1, ["name       what it is        and a last column of five words"]),
        (len(ROW) - 12, ["name  what it is  and a last column of five words"]),
        (len(ROW) - 13, ["name  what it is", "    and a last column of five words"]),
    ],
)
def test_row_gives_up_gaps_before_lines(columns: int, rows: list[str]) -> None:
    """A row narrows its gaps to two spaces, the widest first, before it uses another line."""
    with terminal_of(columns) as stream:
        assert rows == terminal.wrap_row(ROW, stream)


def test_row_is_whole_without_terminal() -> None:
    """A pipe has no width."""
    assert [ROW * 3] == terminal.wrap_row(ROW * 3, io.StringIO())
