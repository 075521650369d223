"""Sentences of ours on stdout: with commands that work here, whose code is bold on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from itertools import groupby

import click

from tpustarter.invocation import as_typed
from tpustarter.terminal import coded, fit, fold, shows_bold

_LESS = "-RX -PsSpace reads on, / searches, q ends$"
"""What `less` is told where the user has told it nothing; -X leaves on the screen what was read."""
_CODE_INDENT = "    "


def say(lines: str | Iterable[str]) -> None:
    """Print a text of ours, whole, because code may go on from one of its lines to the next."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    click.echo(coded(fold(as_typed(text), sys.stdout)))


def say_rows(rows: Iterable[str]) -> None:
    """Print the rows of a table of ours."""
    for row in rows:
        click.echo("\n".join(fit(row, sys.stdout)))


def page(lines: Iterable[str]) -> None:
    """Print a lesson: whole, or in the user's pager (`PAGER`) on a terminal that is lower.

    Of its lines those that are indented are code, and stay as they are.
    """
    groups = groupby(lines, key=lambda line: line.startswith(_CODE_INDENT))
    parts = ["\n".join(group) if is_code else coded("\n".join(group)) for is_code, group in groups]
    text = "\n".join(parts)
    is_long = text.count("\n") >= shutil.get_terminal_size().lines
    if sys.stdin.isatty() and sys.stdout.isatty() and is_long:
        os.environ.setdefault("LESS", _LESS)
        click.echo_via_pager(text, color=shows_bold(sys.stdout))
    else:
        click.echo(text)
