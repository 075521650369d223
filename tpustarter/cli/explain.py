"""`tpustarter explain`: what a log, a traceback or piped output means, and what to do."""

from __future__ import annotations

import io
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from tpustarter.cli.endings import json_even_if_it_breaks, print_result, typed
from tpustarter.cli.saying import say
from tpustarter.problem import ExitCode, Problem
from tpustarter.redact import Redactor
from tpustarter.short_ids import near_file
from tpustarter.terminal import coded, cut, paint_for, visible, wrap

if TYPE_CHECKING:
    from tpustarter.explain.explaining import End
    from tpustarter.explain.explanation import Explanation
    from tpustarter.explain.scanning import Scan

COLOURS = {"confirmed": "red", "likely": "yellow", "possible": "cyan"}
MOST_PASTED = 16 << 20
"""Bytes that are taken from a terminal."""
_WORDS_OF_AN_ERROR = 3
"""Words from which what was given as a file is rather an error."""
_SHOWN = 200
"""Characters of such a text that its own error repeats."""
_PASTE = (
    "Paste the error here, press Enter, and then Ctrl-D. A pipe does the same: "
    "`python train.py 2>&1 | tpustarter explain`"
)
_PIPE = (
    "name a log that exists, or run the program again in a pipe: "
    "`python train.py 2>&1 | tpustarter explain`"
)


@click.command(
    short_help="Say what an error means, and what to do about it.",
    epilog="Example: tpustarter explain train.log",
)
@click.argument("file", required=False, metavar="[FILE|-]")
@click.option("--no-look", is_flag=True, help="Read the log only, and don't look at this machine.")
@click.option(
    "--fix", is_flag=True, help="Offer small repairs. You see each command and say yes or no."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(file: str | None, *, no_look: bool, fix: bool, as_json: bool) -> None:
    """Say what a log means: the most likely cause, the line that shows it, and what to do.

    FILE is a log, a traceback, or any output of a program. Without it, or with -, explain reads a
    pipe, or what you paste into the terminal and end with Ctrl-D. If something on this machine can
    confirm the cause, explain looks there, without touching the TPU. It sends nothing anywhere.
    """
    from tpustarter.explain import explanation, known, scanning

    if fix and (as_json or no_look or not (sys.stdin.isatty() and sys.stderr.isatty())):
        raise click.UsageError(
            "--fix needs a terminal to ask on, and goes with neither --json nor --no-look"
        )
    with json_even_if_it_breaks(explanation.SCHEMA, wanted=as_json):
        scanner = scanning.Scanner(known.read())
        with _opened(file) as stream:
            try:
                scan = scanner.scan(stream)
            except OSError as error:
                raise _unreadable(file, error) from error
        found = make(scan, looks=not no_look)
        if as_json:
            print_result(redacted(explanation.document(found)))
        else:
            say(redacted(explanation.text(found, paint_for(COLOURS))))
    if fix:
        _mend(found)
    sys.exit(found.code)


def _mend(found: Explanation) -> None:
    """Offer what can be done here: shown, asked, done, looked at again."""
    from tpustarter.explain import mending
    from tpustarter.machine import host

    offers = mending.offers(found.matches, host.Machine())
    if not offers:
        click.echo("\nNothing that was confirmed here has a small and safe fix.", err=True)
    for match, offer in offers:
        click.echo(f"\n{visible(shlex.join(offer.command))}\n  {visible(offer.does)}", err=True)
        if not click.confirm("Run it?", default=False, err=True):
            continue
        code = mending.carry_out(offer)
        gone = mending.is_mended(match)
        ended = "" if code == 0 else f"The command ended with {code}. "
        state = "It is no longer so." if gone else f"It is still so: {match.failure.what}."
        click.echo(f"{ended}{state}", err=True)


def make(scan: Scan, *, looks: bool, end: End | None = None) -> Explanation:
    """Return the explanation of what a log shows, after a look at this machine.

    Args:
        scan: What was found in the log.
        looks: Whether to look at this machine where something can be confirmed.
        end: How the command ended, where that is known.
    """
    from tpustarter.explain import explaining

    found = explaining.from_log(scan, end=end)
    return looked_at(found) if looks and explaining.can_look(found) else found


def looked_at(found: Explanation) -> Explanation:
    """Return an explanation with what this machine shows of it."""
    from tpustarter.explain import looking

    try:
        machine = looking.look()
    except Problem as problem:
        click.echo(f"this machine was not looked at: {problem.what}", err=True)
        return found
    return replace(found, matches=tuple(looking.confirmed(found.matches, machine)))


def redacted(value: Any) -> Any:
    """Return a text or a document without secrets."""
    redactor = Redactor(os.environ)
    if isinstance(value, str):
        return redactor.text(value)
    return redactor.value(value)


def _opened(file: str | None) -> IO[bytes]:
    """Return the log; raises Problem where there is none."""
    if file in (None, "-"):
        if sys.stdin.isatty():
            lines = "\n".join(wrap(_PASTE))
            click.echo(f"{coded(lines)}\n", err=True)
            # One read: after the Ctrl-D that ends it, a terminal would wait for more.
            return io.BytesIO(sys.stdin.buffer.read(MOST_PASTED))
        return sys.stdin.buffer
    path = Path(str(file)).expanduser()
    try:
        if path.is_dir():
            hint = f"`cat {typed(path)}/* | tpustarter explain` explains all that is in it"
            raise Problem(f"`{file}` is a folder, expected a log", hint=hint, code=ExitCode.USAGE)
        return path.open("rb")
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: str | None, error: OSError) -> Problem:
    name = "the pipe" if file in (None, "-") else f"`{visible(cut(str(file), _SHOWN))}`"
    what = f"{name} cannot be read: {error.strerror}"
    return Problem(what, hint=_hint(file, error), code=ExitCode.USAGE)


def _hint(file: str | None, error: OSError) -> str | None:
    """Return how to get at the log all the same."""
    if file in (None, "-"):
        return None
    path = Path(str(file)).expanduser()
    if len(str(file).split()) >= _WORDS_OF_AN_ERROR:
        return "run `tpustarter explain` without a file, and paste the error"
    if isinstance(error, PermissionError):
        return f"read it as its owner: `sudo cat {typed(path)} | tpustarter explain`"
    if isinstance(error, FileNotFoundError):
        near = near_file(path)
        return f"did you mean `tpustarter explain {typed(near)}`?" if near else _PIPE
    return None
