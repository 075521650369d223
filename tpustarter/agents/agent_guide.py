"""Instructions for coding agents as AGENTS.md, and the entry of their configuration.

Source: https://agents.md/ (read 2026-11). The file is plain Markdown without required fields.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tpustarter.core import locations, yaml_rows
from tpustarter.core.yaml_rows import Text
from tpustarter.machine import shell
from tpustarter.text.invocation import NAME, own_command
from tpustarter.text.terminal import escape_text, wrap

INSTRUCTIONS = locations.PACKAGE / "agents/AGENTS.md"
FILE = locations.PACKAGE / "agents/agents.yml"


class CodingAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A coding agent, and the files of a project that it reads."""

    id: Text
    title: Text
    configuration: Text
    """The file that lists its MCP servers."""
    key: Text
    """The key of the servers in that file."""
    instructions: Text
    """The file that it reads for instructions."""
    source: Text
    read: Text


def read_agents(file: Path = FILE) -> tuple[CodingAgent, ...]:
    """Read the agents whose files are known; raises Problem for an invalid row."""
    return yaml_rows.read_rows(file, CodingAgent)


def read_instructions() -> str:
    """Return the instructions for agents, as Markdown."""
    return locations.read_text(INSTRUCTIONS)


def find_start(environ: Mapping[str, str], prefix: str) -> list[str]:
    """Return the words that start this program; uvx keeps no environment, and adds mcp to one."""
    if not shell.is_started_by_uvx(environ, prefix):
        return own_command()
    source = shell.find_uvx_source(NAME, prefix)
    given = ["--from", source] if source else []
    return [environ["UV"], "tool", "run", "--with", "mcp", *given, NAME]


def make_configuration() -> str:
    """Return the entry for this installation, which works in any folder."""
    command, *words = find_start(os.environ, sys.prefix)
    server = {"command": command, "args": [*words, "mcp"]}
    return json.dumps({"mcpServers": {"tpustarter": server}}, indent=2)


def render_guide() -> list[str]:
    """Return how to give this program to an agent, as lines of text."""
    known = read_agents()
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
        *(f"  {escape_text(line)}" for line in make_configuration().splitlines()),
        "",
        *(f"  {agent.title:<12} {agent.configuration:<22} key {agent.key}" for agent in known),
        "",
        *wrap("The tools need the package mcp, and only read. `tpustarter mcp --help` has more."),
    ]
