"""The command line: one file per command; stdout is data, stderr is everything else."""

from __future__ import annotations

import click

from tpustarter import __version__
from tpustarter.cli.check import check
from tpustarter.cli.learn import learn
from tpustarter.cli.overview import overview
from tpustarter.cli.setup import setup


@click.group(
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
