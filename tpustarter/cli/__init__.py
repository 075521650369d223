"""The command line: one file per command; stdout is data, stderr is everything else."""

from __future__ import annotations

import os
import signal
import sys

import click

from tpustarter import __version__
from tpustarter.cli.check import check
from tpustarter.cli.learn import learn
from tpustarter.cli.overview import overview
from tpustarter.cli.setup import setup


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        """Run a command; click would exit with 1, a failed check, when a pipe is closed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Nothing more can be told, and nothing may be tried again while Python exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(128 + signal.SIGPIPE)


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
cli.add_command(setup)
