"""`tpustarter run -- COMMAND`: runs it untouched, and explains its output when it fails."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible

if TYPE_CHECKING:
    from tpustarter.explain.scanning import Pass

_SETTINGS = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": ["-h", "--help"],
}
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""What a shell ends with for a command that cannot be started."""
_ON_PURPOSE = (ExitCode.OK, ExitCode.INTERRUPTED, ExitCode.PIPE)
"""Ends that need no explanation: the user, or whoever read the output, wanted them. So is one by
a signal that was sent to this program and handed on."""


@click.command(context_settings=_SETTINGS, epilog="Example: tpustarter run -- python train.py")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def run(command: tuple[str, ...]) -> None:
    """Run a command, and explain its output if it fails.

    The command's input, output, signals and exit code pass through unchanged, and if you run it on
    a terminal, it has a terminal. The output is searched as it passes, for the errors that
    `tpustarter explain` knows, and it isn't stored. The explanation goes to stderr.
    """
    from tpustarter.explain import known, scanning
    from tpustarter.machine import machine, memory
    from tpustarter.running import passthrough

    seen = scanning.Scanner(known.read()).begin()
    handed: list[int] = []
    before = memory.kills(machine.Machine())
    bring_back = passthrough.terminal_as_it_is()
    try:
        code = passthrough.run(command, os.environ, seen.take, handed.append, _say_unwritten)
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        why = "there is no such command" if is_missing else str(error.strerror)
        click.echo(str(Problem(f"`{visible(command[0])}` cannot be started: {why}")), err=True)
        sys.exit(_NOT_FOUND if is_missing else _NOT_EXECUTABLE)
    if code not in _ON_PURPOSE and code - 128 not in handed:
        after = memory.kills(machine.Machine())
        bring_back()
        kills = {place: count - before.get(place, count) for place, count in after.items()}
        _explain(seen, code, kills)
    sys.exit(code)


def _say_unwritten(to: int, error: OSError) -> None:
    """Say why the command meets a closed pipe."""
    stream = "stdout" if to == 1 else "stderr"
    problem = Problem(f"cannot write the command's output to {stream}: {error.strerror}")
    click.echo(str(problem), err=True)


def _explain(seen: Pass, code: int, kills: dict[str, int]) -> None:
    """Say on stderr why it failed, as far as that is known."""
    from tpustarter.cli import explain
    from tpustarter.explain import ending, explanation
    from tpustarter.explain.explaining import End

    try:
        found = explain.make(seen.end(), looks=True, end=End(code, kills))
    except Problem as problem:
        click.echo(str(problem), err=True)
        return
    click.echo(f"\n-- tpustarter: {ending.in_words(code)}", err=True)
    if found.matches or found.mistake:
        click.echo(explain.redacted(explanation.text(found)), err=True)
    else:
        click.echo("Nothing in its output is a known failure of a TPU.", err=True)
