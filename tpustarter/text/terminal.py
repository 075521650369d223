"""Streams that may be broken, safe characters, widths, and colour, for every text.

The app lays out its own screens; its plain text goes through `escape_text` as well.
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

from tpustarter.text.invocation import format_commands, program_command

WIDTH, WIDEST = 80, 120
"""Columns that every terminal has, and those of the longest lines that are still easy to read."""

LEAST = 40
"""Fewest columns that a text is wrapped to; in a narrower terminal the terminal breaks the
lines."""

Paint = Callable[[str, str], str]
"""A function that colours a word by the status it is for."""


def escape_text(text: str) -> str:
    """Return text as one line, with control characters escaped as Python writes them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _spelt_out(c) for c in text)


def _spelt_out(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of a file name that isn't UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def line_width() -> int:
    """Return the columns for a text: those of the terminal, up to `WIDEST`; `WIDTH` without one."""
    return min(terminal_width(sys.stdout) or WIDTH, WIDEST)


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal behind a stream, or None without a terminal."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if stream.isatty():
            return max(os.get_terminal_size(stream.fileno()).columns or WIDTH, LEAST)
    return None


GLUE = "\ue000"
"""Placeholder for a space between a number and its unit while a text is wrapped."""
_AMOUNT = re.compile(r"(?<=\d) (?=(?:h|min|s|ms|[kMGT]i?B)\b)")


def add_unbreakable_spaces(text: str) -> str:
    """Return a text, of the same length, that wraps neither before a unit nor inside this command.

    The words that start this program stay together, so that one line alone is still understood.
    """
    return _AMOUNT.sub(GLUE, text).replace(program_command(), program_command().replace(" ", GLUE))


def remove_unbreakable_spaces(text: str) -> str:
    """Return a text with the spaces that `add_unbreakable_spaces` replaced."""
    return text.replace(GLUE, " ")


def wrap(text: str, first: str = "", hang: str | None = None) -> list[str]:
    """Return text in lines of `line_width()`; no word is broken, so that commands can be copied.

    Commands of this program are rewritten to those that work here, see `invocation`.

    Args:
        text: The text.
        first: Beginning of the first line.
        hang: Beginning of the other lines; None for that of the first.
    """
    hang = first if hang is None else hang
    return _filled(format_commands(text), line_width(), format_commands(first), hang)


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
"""The beginning of a line that is no sentence: a row, a line of a log, or a command to be
copied."""


def wrap_for_stream(text: str, stream: TextIO) -> str:
    """Return a text wrapped for the terminal behind a stream, without breaking a word.

    A sentence continues in the next line, and a command of this program after a backslash. Without
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
        rf"(?:.*  )?(?={re.escape(program_command())} )|(?:do|or) {{2,}}|\s*\$ ", line
    ):
        first, *rest = break_command(line[begins.end() :], width - begins.end())
        return [f"{begins[0]}{first}", *(f"{'':{begins.end()}}{row}" for row in rest)]
    if _LAID_OUT.match(line):
        return [line]
    label = _LABEL.match(line)
    return _filled(line, min(width, WIDEST), "", " " * len(label[0] if label else ""))


_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""The gap between two columns of a row."""


def fit_row(row: str, stream: TextIO) -> list[str]:
    """Return a row of a table in lines that fit into the terminal behind a stream.

    First the gaps between its columns shrink, then its last column continues below. Without a
    terminal the row is unchanged.
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
"""A word of a shell, with its quotes."""


def break_command(command: str, width: int) -> list[str]:
    """Return a command in as many lines as it needs, joined by backslashes."""
    room = width - len(" \\")
    rows: list[str] = []
    for word in _WORD.findall(command):
        if rows and len(rows[-1]) + 1 + len(word) <= room:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return [f"{row} \\" for row in rows[:-1]] + rows[-1:]


def cut_text(text: str, width: int) -> str:
    """Shorten a text to a number of characters, ending it with dots."""
    return text if len(text) <= width else text[: width - 3] + "..."


def leave_unpainted(word: str, status: str) -> str:  # noqa: ARG001  what every `Paint` takes
    """Return the word unchanged; the `Paint` for pipes and `NO_COLOR`."""
    return word


def choose_paint(colours: Mapping[str, str]) -> Paint:
    """Return the `Paint` for stdout; `leave_unpainted` in a pipe or without colours."""
    is_dumb = os.environ.get("TERM") == "dumb"
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or is_dumb:
        return leave_unpainted
    from click import style  # not needed where nothing is coloured

    return lambda word, status: style(word, fg=colours[status]) if status in colours else word


_CODE = re.compile(
    r"(?m)^ *\| .*$"  # a line of a log is kept as written
    r"|(?<!`)`(?!`)([^`\n]+(?:\n *(?![ |])[^`\n]+){0,9})`(?!`)"
)


def format_code(text: str, stream: TextIO | None = None) -> str:
    """Return a text of this program for display: on a terminal its code is bold, without backticks.

    In a pipe, with `NO_COLOR` and on a dumb terminal the backticks stay, because nothing else marks
    where a command begins and ends there.

    Args:
        text: The text, in lines.
        stream: Where it is written; None for stdout.
    """
    if "`" not in text or not shows_bold(stream or sys.stdout):
        return text
    return _CODE.sub(lambda code: f"\x1b[1m{code[1]}\x1b[22m" if code[1] else code[0], text)


def shows_bold(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows code in bold."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(stream.isatty()) and not is_plain


class UnwrittenError(Exception):
    """Stdout did not take the output: a full disk, or a reader that has gone.

    It is no `OSError`, because click ends with 1, the code of a failed check, for a closed pipe.
    """

    def __init__(self, why: OSError) -> None:
        super().__init__(str(why))
        self.why = why


class DataStream(io.TextIOWrapper):
    """The stream for data; its error names stdout as what failed, which an OSError does not."""

    begun = False
    """True if anything was written to it."""
    _is_in_line = False
    """True if the last line that was written has no end yet."""

    def end_line(self, stream: io.TextIOWrapper) -> None:
        """End a line that was begun on the same terminal as `stream`; raises UnwrittenError."""
        are_terminals = self._is_in_line and self.isatty() and stream.isatty()
        if are_terminals and os.path.sameopenfile(self.fileno(), stream.fileno()):
            self.write("\n")
            self.flush()

    def write(self, text: str) -> int:
        """Write text; raises UnwrittenError where nobody reads the stream any more."""
        self.begun = True
        self._is_in_line = not text.endswith("\n") if text else self._is_in_line
        try:
            return super().write(text)
        except OSError as error:
            raise UnwrittenError(error) from error

    def flush(self) -> None:
        """Flush the stream; raises UnwrittenError where nobody reads it any more."""
        try:
            super().flush()
        except OSError as error:
            raise UnwrittenError(error) from error


class LossyStream(io.TextIOWrapper):
    """A stream for messages, whose errors are ignored.

    A full disk behind stderr must not change the result or the exit code of a command.
    """

    def write(self, text: str) -> int:
        """Write text for people, ignoring errors.

        Commands are those that work here, lines fit into the terminal, and code is bold. It begins
        no text in the middle of a line of stdout.
        """
        if isinstance(sys.stdout, DataStream):
            with contextlib.suppress(UnwrittenError):
                sys.stdout.end_line(self)
        return self.draw(format_code(wrap_for_stream(format_commands(text), self), self))

    def draw(self, text: str) -> int:
        """Write text unchanged, as a screen is drawn, ignoring errors."""
        with contextlib.suppress(OSError, ValueError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, ignoring errors."""
        with contextlib.suppress(OSError, ValueError):
            super().flush()


def prepare_streams() -> None:
    """Open closed standard streams, and wrap stdout and stderr to tell their errors apart."""
    _open_what_is_closed()
    sys.stdout, sys.stderr = _wrapped(DataStream, sys.stdout), _wrapped(LossyStream, sys.stderr)


def _open_what_is_closed() -> None:
    """Open descriptors 0 to 2 on the null device where closed: a run's pipes must not get them.

    Python has no stream for a descriptor that was closed, and code of others asks for one. Output
    to a stdout that was closed fails as it would without this.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) < 3:
        if opened == 1:
            os.dup2(unwritable := os.open(os.devnull, os.O_RDONLY), opened)
            os.close(unwritable)
        os.set_inheritable(opened, True)  # noqa: FBT003  as the three are
    os.close(opened)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps it from being closed once it is wrapped


def _wrapped(kind: type[io.TextIOWrapper], stream: TextIO) -> io.TextIOWrapper:
    # Characters without an encoding are escaped: the name of a file may be any bytes.
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
