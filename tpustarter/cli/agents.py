"""`tpustarter agents`: what a coding agent is given to use this program."""

from __future__ import annotations

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.text.terminal import escape_text, wrap


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
    echo_lines(_guide_lines())


def _guide_lines() -> list[str]:
    from tpustarter.agents import agent_guide

    known = agent_guide.read_agents()
    first = "Instructions are for the file AGENTS.md of your project, which most agents read:"
    second = (
        "Tools are for agents that speak the Model Context Protocol. In the agent's configuration, "
        "this entry starts them from any folder:"
    )
    return [
        *wrap(first),
        "  tpustarter agents --print >> AGENTS.md",
        "",
        *(f"  {agent.title:<12} reads {escape_text(agent.instructions)}" for agent in known),
        "",
        *wrap(second),
        *(f"  {escape_text(line)}" for line in agent_guide.make_configuration().splitlines()),
        "",
        *(f"  {agent.title:<12} {agent.configuration:<22} key {agent.key}" for agent in known),
        "",
        *wrap("The tools need the package mcp, and only read. `tpustarter mcp --help` has more."),
    ]
