"""The command line, with one module per command; stdout is data, stderr is everything else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from tpustarter.cli.command_end import print_error_json
from tpustarter.core.problem import ExitCode, Problem, find_schema_name, wants_json
from tpustarter.text.invocation import format_commands, tpustarter_command
from tpustarter.text.terminal import (
    add_unbreakable_spaces,
    break_command,
    format_code,
    remove_unbreakable_spaces,
)
from tpustarter.version import __version__

COMMANDS = {
    "check": "check.command",
    "completion": "completion.command",
    "explain": "explain",
    "learn": "learn.command",
    "plan": "plan",
    "rehearse": "rehearse.command",
    "report": "report",
    "run": "run",
    "serve": "serve",
    "setup": "setup",
    "tpu": "tpu.command",
    "trc": "tpu.trc",
    "watch": "watch",
}
"""Module of each command, which contains a function with the command's name. It is imported when
the command is used, because importing all of them takes longer than most commands run."""


class _CliProblem(Problem):
    """A command line rejected before a command was found."""


def _refuse_missing_folder() -> None:
    """Raise Problem if the current folder is gone; every command searches it for a Python."""
    try:
        Path.cwd()
    except OSError as error:
        raise _CliProblem(
            f"the current folder cannot be used: {error.strerror}",
            hint="run `cd` to go to your home folder, then run the command again",
        ) from error


_HYPHEN = "\ue001"
"""Placeholder for a hyphen while click wraps text, because click breaks lines at hyphens."""


def _whole(text: str) -> str:
    """Return text with this program's own command names, and no line breaks within words."""
    return add_unbreakable_spaces(format_commands(text)).replace("-", _HYPHEN)


class _Help(click.HelpFormatter):
    def write_text(self, text: str) -> None:
        """Write paragraphs, wrapped to the width.

        An example that is too long for its line starts on a new line, so that it can be copied
        whole.
        """
        for number, paragraph in enumerate(_whole(text).split("\n\n")):
            self.write("\n" * bool(number))
            label, _, example = paragraph.rpartition(": ")
            fits = self.current_indent + len(paragraph) <= self.width
            if fits or not example.startswith(_whole(tpustarter_command())):
                super().write_text(paragraph)
                continue
            if label:
                super().write_text(f"{label}:")
            margin = " " * (self.current_indent + 2)
            for line in break_command(example, self.width - len(margin)):
                self.write(f"{margin}{line}\n")

    def getvalue(self) -> str:
        return format_code(remove_unbreakable_spaces(super().getvalue()).replace(_HYPHEN, "-"))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        super().write_dl([(name, _whole(text)) for name, text in rows], col_max, col_spacing)


click.Context.formatter_class = _Help  # for every command; click has no option for it


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tpustarter.cli.{COMMANDS[cmd_name]}")
        return getattr(module, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from tpustarter.core.short_ids import find_nearest

            matches = find_nearest(args[0], self.list_commands(ctx))
            hint = (
                f"did you mean `tpustarter {matches[0]}`?"
                if matches
                else "run `tpustarter --help` for the list of commands"
            )
            raise _CliProblem(f"there is no command `{args[0]}`", hint=hint, code=ExitCode.USAGE)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; with `--json`, click's errors are printed as JSON too."""
        try:
            _refuse_missing_folder()
            return super().invoke(ctx)
        except (click.ClickException, _CliProblem) as error:
            if wants_json(sys.argv[1:]):
                print_error_json(error, find_schema_name(sys.argv[1:]))
            raise


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Example: tpustarter check",
)
@click.version_option(__version__, message="tpustarter %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Learn to use a Google Cloud TPU, and prove that yours works.

    Without a command, it opens the tutor on a terminal. In a pipe, it prints what this machine is
    and what to do next.
    """
    if context.invoked_subcommand is None:
        from tpustarter.cli.overview import overview

        overview()
