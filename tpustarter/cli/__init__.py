"""The command line: one file per command; stdout is data, stderr is everything else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from tpustarter.cli.endings import print_error_json
from tpustarter.invocation import as_typed, command
from tpustarter.problem import ExitCode, Problem, schema_of, wants_json
from tpustarter.terminal import coded, continued, glue, unglue
from tpustarter.version import __version__

COMMANDS = (
    "check",
    "explain",
    "learn",
    "rehearse",
    "report",
    "run",
    "serve",
    "setup",
    "tpu",
    "trc",
)
"""Each is a function in the module of its name, which is loaded when it is asked for: all of them
take longer than what most commands do."""


class _CliProblem(Problem):
    """A command line that is not followed, before any command was found."""


def _refuse_missing_folder() -> None:
    """Raise Problem where paths lead nowhere: every command looks for a Python beside itself."""
    try:
        Path.cwd()
    except OSError as error:
        raise _CliProblem(
            f"the current folder cannot be used: {error.strerror}",
            hint="run `cd` to go to your home folder, then run the command again",
        ) from error


_HYPHEN = "\ue001"
"""Stands for a hyphen while click wraps a text, because click ends lines at hyphens."""


def _whole(text: str) -> str:
    """Return a text with commands that work here, of which click parts no word."""
    return glue(as_typed(text)).replace("-", _HYPHEN)


class _Help(click.HelpFormatter):
    """Writes help with commands that work here."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; an example too long for its line begins one, to be copied whole."""
        for number, paragraph in enumerate(_whole(text).split("\n\n")):
            self.write("\n" * bool(number))
            label, _, example = paragraph.rpartition(": ")
            fits = self.current_indent + len(paragraph) <= self.width
            if fits or not example.startswith(_whole(command())):
                super().write_text(paragraph)
                continue
            if label:
                super().write_text(f"{label}:")
            margin = " " * (self.current_indent + 2)
            for line in continued(example, self.width - len(margin)):
                self.write(f"{margin}{line}\n")

    def getvalue(self) -> str:
        """Return the help; on a terminal its code is bold."""
        return coded(unglue(super().getvalue()).replace(_HYPHEN, "-"))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write names and what they mean."""
        super().write_dl([(name, _whole(text)) for name, text in rows], col_max, col_spacing)


click.Context.formatter_class = _Help  # of every command; click has no other place for it


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, loading its module; None where there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tpustarter.cli.{cmd_name}")
        return getattr(module, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; raises Problem for one that is not there."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from tpustarter.short_ids import nearest

            matches = nearest(args[0], self.list_commands(ctx))
            hint = (
                f"did you mean `tpustarter {matches[0]}`?"
                if matches
                else "run `tpustarter --help` for the list of commands"
            )
            raise _CliProblem(f"there is no command `{args[0]}`", hint=hint, code=ExitCode.USAGE)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what click refuses is JSON too where that was asked for."""
        try:
            _refuse_missing_folder()
            return super().invoke(ctx)
        except (click.ClickException, _CliProblem) as error:
            if wants_json(sys.argv[1:]):
                print_error_json(error, schema_of(sys.argv[1:]))
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
