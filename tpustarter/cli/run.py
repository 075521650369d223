"""`tpustarter run -- COMMAND`: runs a command unchanged, and explains its output if it fails."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tpustarter.cli.parameters import StrictCommand
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from tpustarter.explain.log_scanner import IncrementalLogScanner

_SETTINGS = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
    "help_option_names": ["-h", "--help"],
}
_PYTHON = re.compile(r"python[\d.]*")
"""Name of a Python interpreter."""
_ON_PURPOSE = (ExitCode.OK, ExitCode.INTERRUPTED, ExitCode.PIPE)
"""Exit codes that need no explanation, because the user or the output's reader caused them. A
signal that this program received and passed on needs none either."""


@click.command(
    cls=StrictCommand,
    context_settings=_SETTINGS,
    epilog="Example: tpustarter run -- python train.py",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def run(command: tuple[str, ...]) -> None:
    """Run a command, and explain its output if it fails.

    The command's input, output, signals and exit code pass through unchanged, and if you run it on
    a terminal, it has a terminal. Only if its output cannot be written is the exit code 74. The
    output is searched as it passes, for the errors that `tpustarter explain` knows, and it isn't
    stored. The explanation goes to stderr.
    """
    from tpustarter.explain import known_failures, log_scanner
    from tpustarter.machine import machine, memory
    from tpustarter.running import passthrough

    seen = log_scanner.FailureScanner(known_failures.read_known_failures()).start_scan()
    passed_signals: list[int] = []
    failed_outputs: list[int] = []

    def on_write_error(fd: int, error: OSError) -> None:
        failed_outputs.append(fd)
        _print_write_error(fd, error)

    before = memory.count_oom_kills_by_file(machine.Machine())
    bring_back = passthrough.save_terminal_settings()
    try:
        code = passthrough.run_command(
            command, os.environ, seen.feed, passed_signals.append, on_write_error
        )
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        why = "there is no such command" if is_missing else str(error.strerror)
        click.echo(str(Problem(f"`{escape_text(command[0])}` cannot be started: {why}")), err=True)
        sys.exit(ExitCode.NOT_FOUND if is_missing else ExitCode.NOT_EXECUTABLE)
    if code not in _ON_PURPOSE and code - 128 not in passed_signals:
        after = memory.count_oom_kills_by_file(machine.Machine())
        bring_back()
        kills = {place: count - before.get(place, count) for place, count in after.items()}
        _explain(seen, code, kills, command[0])
    if code in (ExitCode.OK, ExitCode.PIPE) and 1 in failed_outputs:
        code = ExitCode.OUTPUT  # the command only saw a closed pipe, not the lost output
    sys.exit(code)


def _print_write_error(fd: int, error: OSError) -> None:
    """Print why the command's output pipe was closed."""
    stream = "stdout" if fd == 1 else "stderr"
    problem = Problem(f"cannot write the command's output to {stream}: {error.strerror}")
    click.echo(str(problem), err=True)


def _explain(seen: IncrementalLogScanner, code: int, kills: dict[str, int], program: str) -> None:
    from tpustarter.cli import explain
    from tpustarter.explain import exit_code_failures, explanation_text
    from tpustarter.explain.explain_output import CommandEnd

    try:
        python = program if _PYTHON.fullmatch(Path(program).name) else None
        end = CommandEnd(code, kills)
        found = explain.explain_scan(seen.finish(), looks=True, end=end, python=python)
    except Problem as problem:
        click.echo(f"\n{problem}", err=True)
        return
    click.echo(f"\n-- tpustarter: {exit_code_failures.describe_exit_code(code)}", err=True)
    if found.is_explained or found.mistake or found.library:
        click.echo(explain.remove_secrets(explanation_text.render_explanation(found)), err=True)
    else:
        click.echo("Nothing in its output is a known failure of a TPU.", err=True)
