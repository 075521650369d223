"""Sentences of ours on stdout: with commands that work here, whose code is bold on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

import click

from tpustarter.invocation import as_typed
from tpustarter.terminal import coded


def say(lines: str | Iterable[str]) -> None:
    """Print a text of ours, whole, because code may go on from one of its lines to the next."""
    text = lines if isinstance(lines, str) else "\n".join(lines)
    click.echo(coded(as_typed(text)))
