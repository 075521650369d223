"""`tpustarter agents`: instructions and configuration for a coding agent."""

from __future__ import annotations

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand


@click.command(
    cls=StrictCommand,
    short_help="Show how to give this program to a coding agent.",
    epilog="Example: tpustarter agents --print >> AGENTS.md",
)
@click.option(
    "--print", "printing", is_flag=True, help="Print the instructions for agents as AGENTS.md."
)
def agents(*, printing: bool) -> None:
    """Show how to give this program to a coding agent.

    Most agents read instructions in the file AGENTS.md of your project. --print prints ours, which
    say which command helps when, how to read its answer, and what not to run unasked. Without it,
    you see which file each agent reads, and the entry that offers `tpustarter mcp` to it.
    """
    from tpustarter.agents import agent_guide

    if printing:
        click.echo(agent_guide.read_instructions(), nl=False)
        return
    echo_lines(agent_guide.render_guide())
