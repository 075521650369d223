"""The command line: one file per command; stdout is data, stderr is everything else."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path

import click

from tpustarter.cli.check import check
from tpustarter.cli.endings import print_error_json
from tpustarter.cli.learn import learn
from tpustarter.cli.overview import overview
from tpustarter.cli.rehearse import rehearse
from tpustarter.cli.setup import setup
from tpustarter.problem import ExitCode, Problem, schema_of
from tpustarter.version import __version__


class _CliProblem(Problem):
    """A command line that is not followed, before any command was found."""


def _refuse_missing_folder() -> None:
    """Raise Problem where paths lead nowhere: every command looks for a Python beside itself."""
    try:
        Path.cwd()
    except OSError as error:
        raise _CliProblem(
            f"the folder this was started in cannot be used: {error.strerror}",
            hint="run `cd`, then this again",
        ) from error


class _Group(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; raises Problem for one that is not there."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            matches = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f"did you mean `{matches[0]}`?" if matches else "`tpustarter --help` lists them"
            raise _CliProblem(f"there is no command `{args[0]}`", hint=hint, code=ExitCode.USAGE)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; what click refuses is JSON too where that was asked for."""
        try:
            _refuse_missing_folder()
            return super().invoke(ctx)
        except (click.ClickException, _CliProblem) as error:
            if {"--json", "--ndjson"} & {*sys.argv}:
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

    Without a command: what this machine is, and what to do next.
    """
    if context.invoked_subcommand is None:
        overview()


cli.add_command(check)
cli.add_command(learn)
cli.add_command(rehearse)
cli.add_command(setup)
