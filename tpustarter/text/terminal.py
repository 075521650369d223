"""Terminal text: broken streams, escaped characters, widths and colour.

The app lays out its own screens, but its plain text goes through `escape_text` too.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import TextIO

from tpustarter.text.invocation import format_commands, is_in_cell, tpustarter_command

WIDTH, WIDEST = 80, 120
"""Columns that every terminal has, and the longest line that is easy to read."""

LEAST = 40
"""Narrowest width that text is wrapped to; narrower terminals break the lines themselves."""

Paint = Callable[[str, str], str]
"""A function that colours a word according to a status."""


def escape_text(text: str) -> str:
    """Return text as one line, with control characters escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _spelt_out(c) for c in text)


def _spelt_out(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def line_width() -> int:
    """Return the width for text: the terminal's, up to `WIDEST`, or `WIDTH` without a terminal."""
    return min(terminal_width(sys.stdout) or WIDTH, WIDEST)


def terminal_width(stream: TextIO) -> int | None:
    """Return the width of a stream's terminal in columns, or None without a terminal.

    A cell of a notebook has `WIDTH`.
    """
    if is_notebook_cell(stream):
        return WIDTH
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if stream.isatty():
            return max(os.get_terminal_size(stream.fileno()).columns or WIDTH, LEAST)
    return None


GLUE = "\ue000"
"""Placeholder for a space between a number and its unit while a text is wrapped."""
_AMOUNT = re.compile(r"(?<=\d) (?=(?:h|min|s|ms|[kMGT]i?B)\b)")


def add_unbreakable_spaces(text: str) -> str:
    """Return text, of the same length, that does not wrap before a unit or in this command.

    The words that start this program stay together, so that a line makes sense by itself.
    """
    return _AMOUNT.sub(GLUE, text).replace(
        tpustarter_command(), tpustarter_command().replace(" ", GLUE)
    )


def remove_unbreakable_spaces(text: str) -> str:
    """Restore the spaces that `add_unbreakable_spaces` replaced."""
    return text.replace(GLUE, " ")


def wrap(
    text: str, first: str = "", hang: str | None = None, width: int | None = None
) -> list[str]:
    """Wrap text to a width without breaking words, so that commands can be copied.

    Commands of this program are rewritten to work in this folder; see `invocation`.

    Args:
        text: The text.
        first: Prefix of the first line.
        hang: Prefix of the other lines; None for the same as `first`.
        width: The width; None for `line_width()`.
    """
    hang = first if hang is None else hang
    return _filled(format_commands(text), width or line_width(), format_commands(first), hang)


_SPAN = re.compile(r"`[^`\n]+`")


def _filled(text: str, width: int, first: str, hang: str) -> list[str]:
    room = width - len(hang) - len(").")

    def whole(code: re.Match[str]) -> str:
        return code[0].replace(" ", GLUE) if len(code[0]) <= room else code[0]

    lines = textwrap.wrap(
        _SPAN.sub(whole, add_unbreakable_spaces(text)),
        width,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [remove_unbreakable_spaces(line) for line in lines]


_LABEL = re.compile(r"(?:(?:error|hint|read|warning|note|why|exit \d+|Error): )?")
_LAID_OUT = re.compile(r"\s|\||.*\S  ")
"""Beginning of a line that is not a sentence: a table row, a log line, or a command to copy."""


def wrap_for_stream(text: str, stream: TextIO) -> str:
    """Wrap text for a stream's terminal without breaking words.

    A sentence continues on the next line, and a command of this program after a backslash. Without
    a terminal the text is unchanged.
    """
    width = terminal_width(stream)
    if width is None or "\r" in text:
        return text
    return "\n".join(line for one in text.split("\n") for line in _folded(one, width))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= min(width, WIDEST) or "\x1b" in line:
        return [line]
    if begins := re.match(
        rf"(?:.*  )?(?={re.escape(tpustarter_command())} )|(?:do|or) {{2,}}|\s*\$ ", line
    ):
        first, *rest = break_command(line[begins.end() :], width - begins.end())
        return [f"{begins[0]}{first}", *(f"{'':{begins.end()}}{row}" for row in rest)]
    if _LAID_OUT.match(line):
        return [line]
    label = _LABEL.match(line)
    return _filled(line, min(width, WIDEST), "", " " * len(label[0] if label else ""))


_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""The gap between two columns of a table."""


def wrap_row(row: str, stream: TextIO) -> list[str]:
    """Return a table row as lines that fit a stream's terminal.

    The gaps between columns shrink first; then the last column continues on further lines. Without
    a terminal the row is unchanged.
    """
    width = terminal_width(stream)
    if width is None:
        return [row]
    while len(row) > width:
        widest = max(_GAP.finditer(row), key=lambda gap: len(gap[0]), default=None)
        spare = min(len(row) - width, len(widest[0]) - 2) if widest else 0
        if not widest or not spare:
            break
        row = row[: widest.start()] + row[widest.start() + spare :]
    *_, last = [None, *_GAP.finditer(row)]
    if len(row) <= width or last is None:
        return [row]
    indent = " " * (len(row) - len(row.lstrip()) + 4)
    return [row[: last.start()], *_filled(row[last.end() :], width, indent, indent)]


_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+""")
"""A shell word, with its quotes."""


def break_command(command: str, width: int) -> list[str]:
    """Split a command into lines joined by backslashes."""
    room = width - len(" \\")
    rows: list[str] = []
    for word in _WORD.findall(command):
        if rows and len(rows[-1]) + 1 + len(word) <= room:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return [f"{row} \\" for row in rows[:-1]] + rows[-1:]


def cut_text(text: str, width: int) -> str:
    """Shorten text to a number of characters, ending it with dots."""
    return text if len(text) <= width else text[: width - 3] + "..."


def paint_nothing(word: str, status: str) -> str:  # noqa: ARG001  required of every `Paint`
    """Return the word unchanged; the `Paint` for pipes and `NO_COLOR`."""
    return word


def choose_paint(colours: Mapping[str, str]) -> Paint:
    """Return the `Paint` for stdout; `paint_nothing` for a pipe or without colours."""
    if not can_show_style(sys.stdout):
        return paint_nothing
    from click import style  # only needed for colours

    return lambda word, status: style(word, fg=colours[status]) if status in colours else word


_CODE = re.compile(
    r"(?m)^ *\| .*$"  # a log line is kept as written
    r"|(?<!`)`(?!`)([^`\n]+(?:\n *(?![ |])[^`\n]+){0,9})`(?!`)"
)


def format_code(text: str, stream: TextIO | None = None) -> str:
    """Return text for display: on a terminal, code is bold and has no backticks.

    In a pipe, with `NO_COLOR` or on a dumb terminal the backticks stay, because nothing else marks
    the ends of a command.

    Args:
        text: The text, which may have several lines.
        stream: The stream it is written to; None for stdout.
    """
    if "`" not in text or not can_show_style(stream or sys.stdout):
        return text
    return _CODE.sub(lambda code: f"\x1b[1m{code[1]}\x1b[22m" if code[1] else code[0], text)


def can_show_style(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that may be styled (no NO_COLOR, no TERM=dumb)."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(stream.isatty()) and not is_plain


def is_notebook_cell(stream: TextIO) -> bool:
    """Return whether a stream is the terminal that IPython makes for a line with `!` in a cell.

    A notebook shows what is written there, but no cursor moves in it and nobody answers.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return is_in_cell(os.environ) and os.isatty(stream.fileno())
    return False


class UnwrittenError(Exception):
    """Stdout did not accept the output: the disk is full, or the reader has gone.

    It is not an `OSError`, because for a closed pipe click exits with 1, the code of a failed
    check.
    """

    def __init__(self, why: OSError) -> None:
        super().__init__(str(why))
        self.why = why


class DataStream(io.TextIOWrapper):
    """The stream for data; unlike an OSError, its error identifies stdout as the cause."""

    begun = False
    """True if anything has been written."""
    _is_in_line = False
    """True if the last line written is not yet terminated."""

    def isatty(self) -> bool:
        """Return whether it is a terminal on a screen, and no cell of a notebook."""
        return super().isatty() and not is_notebook_cell(self)

    def end_line(self, stream: io.TextIOWrapper) -> None:
        """End an unfinished line if `stream` is the same terminal; raises UnwrittenError."""
        are_terminals = self._is_in_line and self.isatty() and stream.isatty()
        if are_terminals and os.path.sameopenfile(self.fileno(), stream.fileno()):
            self.write("\n")
            self.flush()

    def write(self, text: str) -> int:
        """Write text; raises UnwrittenError if the stream cannot take it."""
        self.begun = True
        self._is_in_line = not text.endswith("\n") if text else self._is_in_line
        try:
            return super().write(text)
        except OSError as error:
            raise UnwrittenError(error) from error

    def flush(self) -> None:
        """Flush the stream; raises UnwrittenError if the stream cannot take its data."""
        try:
            super().flush()
        except OSError as error:
            raise UnwrittenError(error) from error


class LossyStream(io.TextIOWrapper):
    """A stream for messages that ignores errors.

    A full disk behind stderr must not change a command's result or exit code.
    """

    def isatty(self) -> bool:
        """Return whether it is a terminal on a screen, and no cell of a notebook."""
        return super().isatty() and not is_notebook_cell(self)

    def write(self, text: str) -> int:
        """Write text for people, ignoring errors.

        Commands are rewritten to work in this folder, lines are wrapped to the terminal, and code
        is bold.
        An unfinished line of stdout is ended first.
        """
        if isinstance(sys.stdout, DataStream):
            with contextlib.suppress(UnwrittenError):
                sys.stdout.end_line(self)
        return self.draw(format_code(wrap_for_stream(format_commands(text), self), self))

    def draw(self, text: str) -> int:
        """Write text unchanged, as when drawing a screen, ignoring errors."""
        with contextlib.suppress(OSError, ValueError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, ignoring errors."""
        with contextlib.suppress(OSError, ValueError):
            super().flush()


def prepare_streams() -> None:
    """Open closed standard streams, and wrap stdout and stderr to distinguish their errors."""
    _open_closed_streams()
    sys.stdout, sys.stderr = _wrapped(DataStream, sys.stdout), _wrapped(LossyStream, sys.stderr)


def _open_closed_streams() -> None:
    """Open closed descriptors 0 to 2 on the null device, so that no pipe of a run gets them.

    Python has no stream for a closed descriptor, and libraries expect one. Output to a stdout that
    was closed fails as it would without this.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) < 3:
        if opened == 1:
            os.dup2(unwritable := os.open(os.devnull, os.O_RDONLY), opened)
            os.close(unwritable)
        os.set_inheritable(opened, True)  # noqa: FBT003  like the standard three
    os.close(opened)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps it from being closed when it is wrapped


def _wrapped(kind: type[io.TextIOWrapper], stream: TextIO) -> io.TextIOWrapper:
    # Characters that cannot be encoded are escaped, because a file name may be any bytes.
    codecs.register_error("tpustarter.visible", _spell_out)
    return kind(
        stream.buffer,
        stream.encoding,
        "tpustarter.visible",
        line_buffering=bool(stream.line_buffering),
    )


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_spelt_out, error.object[error.start : error.end])), error.end
