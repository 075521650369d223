"""`tpustarter mcp`: offers commands as tools to programs that speak the Model Context Protocol."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tpustarter.agents.answer_shape import LEAST_CHARACTERS, MOST_CHARACTERS
from tpustarter.cli.command_end import handle_end_signals
from tpustarter.cli.parameters import FiniteRange, StrictCommand
from tpustarter.core.problem import Problem
from tpustarter.text.invocation import describe_missing_extra

if TYPE_CHECKING:
    from tpustarter.agents.tool import Schema, Tool, ToolArgument


@dataclass(frozen=True)
class _ToolRow:
    command: str
    description: str
    options: str
    """Options and arguments of the command that the tool has, by the names of its function."""
    required: str = ""
    writes: str = ""
    reads_text: bool = False
    shapes: str = "characters"
    """Arguments of the answer alone, which the command doesn't get: keys of `_SHAPES`."""
    starts_programs: bool = False


_ROWS: Mapping[str, _ToolRow] = {
    "check": _ToolRow(
        "check",
        "Check this machine: run small checks of the host, the frameworks and the TPU, and say "
        "what was proven and on which devices. Level static loads no framework and is safe beside "
        "a running job. A quick run takes about half a minute.",
        "ids level minutes framework python devices this_host require isolate compare fail_on save",
        writes="save",
        shapes="problems characters",
        starts_programs=True,
    ),
    "explain": _ToolRow(
        "explain",
        "Explain a failure from a log, a traceback or other output: the cause, the line that shows "
        "it, and what to do. Give either the text or files; of several workers' logs it names the "
        "one that failed first.",
        "files no_look",
        reads_text=True,
    ),
    "search": _ToolRow(
        "learn",
        "Search the lessons on TPUs, the glossary, the checks and what older tutorials say.",
        "search",
        required="search",
    ),
    "lesson": _ToolRow(
        "learn",
        "Read a lesson, or one section of it: its Markdown, code included.",
        "lesson",
        required="lesson",
        shapes="section characters",
    ),
    "rehearse": _ToolRow(
        "rehearse",
        "Compile a program for TPUs that are not here, with the real TPU compiler, and say whether "
        "it fits into memory. A program is FILE.py:FUNCTION, a StableHLO file, or the id of a "
        "check. FILE.py is imported, so its top level runs; the program itself does not.",
        "ids tpus slices arguments fit compare framework python compiler jobs timeout_s measured_s "
        "fresh",
        starts_programs=True,
    ),
    "plan": _ToolRow(
        "plan",
        "Work out from a Hugging Face config.json what a language model needs on each TPU: memory, "
        "valid shardings, the largest batch and the longest context.",
        "config serve names context batch tensor weights moments cache remat scores rehearsal",
    ),
    "report": _ToolRow(
        "report",
        "Collect what a bug report needs, without secrets, and return it. Nothing is sent or "
        "written.",
        "tracker log python wait no_ask reproduces no_reproduce",
        starts_programs=True,
    ),
}
"""The tools by name."""

_SHAPES: Mapping[str, Schema] = {
    "characters": {
        "type": "integer",
        "minimum": LEAST_CHARACTERS,
        "maximum": MOST_CHARACTERS,
        "description": "Most characters of the answer; a longer one loses the ends of its texts "
        "and lists.  [default: 65536]",
    },
    "problems": {
        "type": "boolean",
        "description": "Leave out results that pass or were skipped; `counts` has them.",
    },
    "section": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "description": "Only the section under this heading, as `search` names it.",
    },
}


@click.command(
    cls=StrictCommand,
    short_help="Offer these commands as tools to coding agents.",
    epilog="Example: tpustarter mcp\n\nWhat an agent needs to know: tpustarter agents --print",
)
@click.option(
    "--allow",
    is_flag=True,
    help="Let the tools write into the state folder, as the commands do: progress, saved reports, "
    "stored answers of the compiler and logs.",
)
def mcp(*, allow: bool) -> None:
    """Offer these commands as tools to coding agents, over the Model Context Protocol.

    An agent starts this command itself and talks to it on stdin and stdout. `tpustarter agents`
    prints the lines for its configuration. The tools are check, explain, search, lesson, rehearse,
    plan and report, and each answers with the document that its command prints with --json, cut to
    64 KiB.

    The tools only read, unless you pass --allow, which lets them write into the state folder and
    nowhere else. None of them costs money, sends anything or becomes root. A check, a report and a
    rehearsal start the Python that the agent names, and a rehearsal imports the file that it names.
    When a call is cancelled, what it started ends.

    It needs the package mcp: `--extra mcp` after `uv run`, `--with mcp` after `uvx`, or
    `pip install mcp`.
    """
    try:
        from tpustarter.agents.tool_server import ToolServer
    except ModuleNotFoundError as error:
        raise Problem(
            f"the package `mcp` is missing in `{sys.executable}`: there is no module "
            f"`{error.name}`",
            hint=describe_missing_extra("mcp", "mcp"),
        ) from error
    if sys.stdin.isatty():
        click.echo("Waiting for an agent on stdin. Ctrl-C ends this.", err=True)
    server = ToolServer(make_tools(), allow=allow)
    with handle_end_signals(server.end):
        server.run()


def make_tools() -> list[Tool]:
    """Return the tools, with arguments made from the options of their commands."""
    from tpustarter.agents.tool import Tool

    return [
        Tool(name, row.command, row.description, _arguments(row), row.starts_programs)
        for name, row in _ROWS.items()
    ]


def _arguments(row: _ToolRow) -> tuple[ToolArgument, ...]:
    from tpustarter.agents.tool import LONGEST_TEXT, ToolArgument
    from tpustarter.cli import COMMANDS

    module = importlib.import_module(f"tpustarter.cli.{COMMANDS[row.command]}")
    command: click.Command = getattr(module, row.command)
    parameters = {str(parameter.name): parameter for parameter in command.params}
    found = tuple(_argument(parameters[name], row) for name in row.options.split())
    shapes = [ToolArgument(name, _SHAPES[name], is_shape=True) for name in row.shapes.split()]
    found = (*found, *shapes)
    if not row.reads_text:
        return found
    schema: Schema = {
        "type": "string",
        "maxLength": LONGEST_TEXT,
        "description": "The log, traceback or output itself.",
    }
    return (ToolArgument("text", schema, is_input=True), *found)


def _argument(parameter: click.Parameter, row: _ToolRow) -> ToolArgument:
    from tpustarter.agents.tool import MOST_VALUES, ToolArgument

    schema = _value_schema(parameter)
    if parameter.multiple or parameter.nargs == -1:
        schema: Schema = {"type": "array", "items": schema, "maxItems": MOST_VALUES}
    option = ""
    if isinstance(parameter, click.Option):
        option = next(name for name in parameter.opts if name.startswith("--"))
        schema["description"] = parameter.help
    name = option.removeprefix("--").replace("-", "_") or str(parameter.name)
    return ToolArgument(
        name,
        schema,
        option,
        is_required=parameter.required or parameter.name in row.required.split(),
        writes=parameter.name in row.writes.split(),
    )


def _value_schema(parameter: click.Parameter) -> Schema:
    from tpustarter.agents.tool import LONGEST_VALUE

    kind = parameter.type
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return {"type": "boolean"}
    if isinstance(kind, click.Choice):
        return {"type": "string", "enum": [*kind.choices]}
    if isinstance(kind, click.IntRange):
        return {"type": "integer", "minimum": kind.min, "maximum": kind.max}
    if isinstance(kind, FiniteRange):
        return {"type": "number"}
    return {"type": "string", "minLength": 1, "maxLength": LONGEST_VALUE}
