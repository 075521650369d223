"""Instructions for coding agents, whose commands exist, and the entry of their configuration."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.pages import code_spans
from tests.test_reference import refused
from tpustarter.agents import agent_guide
from tpustarter.cli import cli
from tpustarter.core import content
from tpustarter.core.problem import Problem
from tpustarter.text import invocation
from tpustarter.text.terminal import WIDTH


def typed(*words: str) -> Result:
    """Run a command line in this process."""
    return CliRunner().invoke(cli, words, standalone_mode=False)


def test_instructions_name_commands_that_exist() -> None:
    """The guide names existing commands and options, and known or example lessons and files."""
    text = typed("agents", "--print").stdout
    spans = [" ".join(span.split()) for span in code_spans(text)]
    lines = [span.rpartition("| ")[2] for span in spans if "tpustarter " in span]
    commands = [line.partition("tpustarter ")[2] for line in lines]

    assert agent_guide.INSTRUCTIONS.read_text(encoding="utf-8") == text
    assert {"explain", "check", "rehearse", "plan", "learn", "watch", "run", "report"} <= {
        command.split()[0] for command in commands
    }
    assert [] == [command for command in commands if refused(command)]
    ids = re.findall(r"tpustarter learn (\w+/\S+)", text)
    assert {*ids} <= {lesson.id for lesson in content.read_lessons()}
    assert "there" == refused("there --json")


def test_guide_prints_entry_that_starts_server() -> None:
    """The guide prints the configuration entry that starts the server, as valid JSON."""
    shown = typed("agents").stdout
    entry = json.loads(shown[shown.index("  {") : shown.rindex("  }") + 3])
    server = entry["mcpServers"]["tpustarter"]

    assert shutil.which(server["command"])
    assert "mcp" == server["args"][-1]
    lines = [line for line in shown.splitlines() if "command" not in line]
    assert [] == [line for line in lines if len(line) > WIDTH]


def test_lesson_has_file_of_each_agent() -> None:
    """The lesson and the command name the same files, each with its source."""
    lesson = content.find_lesson("setup/editors", content.read_lessons())
    for agent in agent_guide.read_agents():
        (row,) = [row for row in lesson.text.splitlines() if row.startswith(f"| {agent.title} |")]
        assert f"`{agent.configuration}`" in row
        assert ("`servers`" in row) == (agent.key == "servers")
        assert agent.source in str(lesson.header["sources"])


def test_missing_package_error_names_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, the error names the install command, and stdout stays empty."""
    monkeypatch.delitem(sys.modules, "tpustarter.agents.tool_server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    done = typed("mcp")

    assert "" == done.stdout
    assert isinstance(done.exception, Problem)
    assert invocation.describe_missing_extra("mcp", "mcp") == str(done.exception.hint)
    assert "`mcp_types`" in done.exception.summary


def test_instructions_are_short(tmp_path: Path) -> None:
    """The instructions are short, because agents read the whole file at each start."""
    text = agent_guide.read_instructions()

    assert text.startswith("# ")
    assert len(text) < 4000
    (tmp_path / "rows.yml").write_text("- id: other\n")
    with pytest.raises(Problem):
        agent_guide.read_agents(tmp_path / "rows.yml")
