"""What every text shares: streams that may be broken, safe characters, widths, and colour.

The app lays its own screens out; what it shows as plain text goes through `visible` as well.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tpustarter.invocation import as_typed, command

WIDTH, WIDEST = 80, 120
"""Columns that every terminal has, and those of the longest lines that are still read with ease."""

LEAST = 40
"""Columns below which a text is broken by the terminal rather than into scraps."""

Paint = Callable[[str, str], str]
"""Colours a word by the status it stands for."""


def visible(text: str) -> str:
    """Return text as one line; a control character is spelt out, as Python would write it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def line_width() -> int:
    """Return the columns a text has: those of the terminal, up to `WIDEST`; `WIDTH` without one."""
    return min(columns(sys.stdout) or WIDTH, WIDEST)


def columns(stream: Any) -> int | None:
    """Return the columns of the terminal behind a stream; null where there is none."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if stream.isatty():
            return max(os.get_terminal_size(stream.fileno()).columns or WIDTH, LEAST)
    return None


GLUE = "\ue000"
"""Stands for a space between a number and its unit while a text is wrapped."""
_AMOUNT = re.compile(r"(?<=\d) (?=(?:h|min|s|ms|[kMGT]i?B)\b)")


def glue(text: str) -> str:
    """Return a text, as long as before, in which a wrapping parts no number from its unit.

    Nor the words that start this program from each other: who reads a line of it alone knows them.
    """
    return _AMOUNT.sub(GLUE, text).replace(command(), command().replace(" ", GLUE))


def unglue(text: str) -> str:
    """Return a text that `glue` was used on as it was."""
    return text.replace(GLUE, " ")


def wrap(text: str, first: str = "", hang: str | None = None) -> list[str]:
    """Return text in lines of `line_width()`; no word is broken, so that commands can be copied.

    Commands of this program are those that work here, see `invocation`.

    Args:
        text: What to say.
        first: What the first line begins with.
        hang: What the others begin with; the same where nothing is given.
    """
    hang = first if hang is None else hang
    return _filled(as_typed(text), line_width(), as_typed(first), hang)


_SPAN = re.compile(r"`[^`\n]+`")


def _filled(text: str, width: int, first: str, hang: str) -> list[str]:
    """Return text in lines of a width; code that fits into one line stands in one."""
    room = width - len(hang) - len(").")

    def whole(code: re.Match[str]) -> str:
        return code[0].replace(" ", GLUE) if len(code[0]) <= room else code[0]

    lines = textwrap.wrap(
        _SPAN.sub(whole, glue(text)),
        width,
        initial_indent=first,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [unglue(line) for line in lines]


_LABEL = re.compile(r"(?:(?:error|hint|read|warning|note|why|exit \d+|Error): )?")
_LAID_OUT = re.compile(r"\s|\||.*\S  ")
"""Begins a line that is no sentence: a row, a line of a log, or a command to be copied."""


def fold(text: str, stream: Any) -> str:
    """Return a text that fits into the terminal behind a stream: no word of it is broken.

    A sentence goes on in the next line, and a command of this program behind a backslash. Where
    there is no terminal it stays as it is.
    """
    width = columns(stream)
    if width is None or "\r" in text:
        return text
    return "\n".join(line for one in text.split("\n") for line in _folded(one, width))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= min(width, WIDEST) or "\x1b" in line:
        return [line]
    if begins := re.match(rf"(?:.*  )?(?={re.escape(command())} )|(?:do|or) {{2,}}|\s*\$ ", line):
        first, *rest = continued(line[begins.end() :], width - begins.end())
        return [f"{begins[0]}{first}", *(f"{'':{begins.end()}}{row}" for row in rest)]
    if _LAID_OUT.match(line):
        return [line]
    label = _LABEL.match(line)
    return _filled(line, min(width, WIDEST), "", " " * len(label[0] if label else ""))


_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""What stands between two columns of a row."""


def fit(row: str, stream: Any) -> list[str]:
    """Return a row of a table in lines that fit into the terminal behind a stream.

    It gives up room between its columns first, and then its last column, which goes on below it.
    Where there is no terminal it stays as it is.
    """
    width = columns(stream)
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


def continued(command: str, width: int) -> list[str]:
    """Return a command over as many lines as it needs: each goes on behind a backslash."""
    room = width - len(" \\")
    rows: list[str] = []
    for word in _WORD.findall(command):
        if rows and len(rows[-1]) + 1 + len(word) <= room:
            rows[-1] += f" {word}"
        else:
            rows.append(word)
    return [f"{row} \\" for row in rows[:-1]] + rows[-1:]


def cut(text: str, width: int) -> str:
    """Return a text in so much room, with dots for what is left out."""
    return text if len(text) <= width else text[: width - 3] + "..."


def unpainted(word: str, status: str) -> str:  # noqa: ARG001  what every `Paint` takes
    """Return a word as it is."""
    return word


def paint_for(colours: Mapping[str, str]) -> Paint:
    """Return how to colour words on stdout, by status; none in a pipe or with `NO_COLOR`.

    Nor on a terminal that says it is a dumb one.
    """
    is_dumb = os.environ.get("TERM") == "dumb"
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or is_dumb:
        return unpainted
    from click import style  # not needed where nothing is coloured

    return lambda word, status: style(word, fg=colours[status]) if status in colours else word


_CODE = re.compile(
    r"(?m)^ *\| .*$"  # a line of a log is as it was written
    r"|(?<!`)`(?!`)([^`\n]+(?:\n *(?![ |])[^`\n]+){0,9})`(?!`)"
)


def coded(text: str, stream: Any = None) -> str:
    """Return a text of ours as it is shown: on a terminal its code is bold, without backticks.

    In a pipe, with `NO_COLOR` and on a dumb terminal the backticks stay, because nothing else says
    there where a command begins and ends.

    Args:
        text: What to say, in lines.
        stream: Where it goes; stdout where nothing is given.
    """
    if "`" not in text or not shows_bold(stream or sys.stdout):
        return text
    return _CODE.sub(lambda code: f"\x1b[1m{code[1]}\x1b[22m" if code[1] else code[0], text)


def shows_bold(stream: Any) -> bool:
    """Return whether a stream is a terminal on which code can be told by its weight."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(stream.isatty()) and not is_plain


class UnwrittenError(Exception):
    """Stdout did not take what was written: a full disk, or nobody reads any more.

    No `OSError`: click ends with 1, a failed check, for one of a closed pipe.
    """

    def __init__(self, why: OSError) -> None:
        super().__init__(str(why))
        self.why = why


class Output(io.TextIOWrapper):
    """The stream for data: says that it was stdout that failed, which an error alone does not."""

    begun = False
    """Whether anything was written to it."""

    def write(self, text: str) -> int:
        """Write; raises UnwrittenError."""
        self.begun = True
        try:
            return super().write(text)
        except OSError as error:
            raise UnwrittenError(error) from error

    def flush(self) -> None:
        """Hand on what waits; raises UnwrittenError."""
        try:
            super().flush()
        except OSError as error:
            raise UnwrittenError(error) from error


class Lossy(io.TextIOWrapper):
    """A stream for messages: what cannot be written is lost, and nothing else is.

    A full disk behind stderr must not change what a command does, or its exit code.
    """

    def write(self, text: str) -> int:
        """Write what can be written; all of it is for people.

        Commands are those that work here, lines fit into the terminal, and code is bold.
        """
        return self.draw(coded(fold(as_typed(text), self), self))

    def draw(self, text: str) -> int:
        """Write what can be written, letter for letter, as a screen is drawn."""
        with contextlib.suppress(OSError, ValueError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what can be handed on."""
        with contextlib.suppress(OSError, ValueError):
            super().flush()


def prepare_streams() -> None:
    """Make the three streams ones that exist, and that break in a way that can be told apart."""
    _open_what_is_closed()
    sys.stdout, sys.stderr = _wrapped(Output, sys.stdout), _wrapped(Lossy, sys.stderr)


def _open_what_is_closed() -> None:
    """Give descriptors 0 to 2 to nobody where they are closed: a run's pipes must not get them.

    Python has no stream for a descriptor that was closed, and code of others asks for one.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(opened, True)  # noqa: FBT003  as the three are
    os.close(opened)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)  # keeps it from being closed once it is wrapped


def _wrapped(kind: type[io.TextIOWrapper], stream: Any) -> io.TextIOWrapper:
    """Return a stream of a kind in the place of one of Python's own, with its settings."""
    return kind(stream.buffer, stream.encoding, stream.errors, line_buffering=stream.line_buffering)
