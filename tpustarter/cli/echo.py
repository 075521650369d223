"""The program's own texts on stdout: commands are shown as they can be run, bold on a terminal."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import click

from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import (
    can_show_style,
    escape_text,
    format_code,
    wrap_for_stream,
    wrap_row,
)

_LESS = "-RX -PsSpace reads on, / searches, q ends$"
"""Options for `less` if the user has set none; -X leaves the text on the screen."""
_CODE_INDENT = "    "


def echo_lines(lines: str | Iterable[str], *, err: bool = False) -> None:
    """Print a message wrapped to the terminal's width; code in backticks may wrap."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    stream = sys.stderr if err else sys.stdout
    click.echo(format_code(wrap_for_stream(format_commands(text), stream)), err=err)


def echo_if_waiting(path: Path) -> None:
    """Print on stderr that a named pipe has no writer yet; opening it blocks until there is one.

    A shell's `<(command)` gets no such line.
    """
    with contextlib.suppress(OSError):
        if path.is_fifo() and path.resolve().exists():
            text = f"Waiting for what a program writes into the pipe `{path}`. Ctrl-C ends this."
            click.echo(escape_text(text), err=True)


def echo_rows(rows: Iterable[str]) -> None:
    """Print a table's rows, wrapping a row that is too wide."""
    for row in rows:
        click.echo("\n".join(wrap_row(row, sys.stdout)))


def clear_screen() -> None:
    """Clear the terminal for `redraw_screen`."""
    click.echo("\x1b[2J", nl=False, color=True)


def redraw_screen(lines: Iterable[str]) -> None:
    """Draw lines over the screen's last ones, without clearing it in between."""
    text = "\n".join(f"{line}\x1b[K" for line in lines)
    click.echo(f"\x1b[H{format_code(text)}\n\x1b[J", nl=False, color=True)


def page_lines(lines: Iterable[str]) -> None:
    """Print a lesson, through the user's pager (`PAGER`) if it is longer than the terminal.

    Indented lines are code, and are printed unchanged.
    """
    groups = groupby(lines, key=lambda line: line.startswith(_CODE_INDENT))
    parts = [
        "\n".join(group) if is_code else format_code("\n".join(group)) for is_code, group in groups
    ]
    text = "\n".join(parts)
    is_long = text.count("\n") >= shutil.get_terminal_size().lines
    if sys.stdin.isatty() and sys.stdout.isatty() and is_long:
        os.environ.setdefault("LESS", _LESS)
        click.echo_via_pager(text, color=can_show_style(sys.stdout))
    else:
        click.echo(text)
