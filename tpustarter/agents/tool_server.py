"""The MCP server: offers tools on stdin and stdout, until its client closes them.

The SDK keeps stdout for the protocol; whatever else is printed there goes to stderr.
Source: https://py.sdk.modelcontextprotocol.io/ (read 2026-11).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import mcp_types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tpustarter.agents import tool_answer, tool_call
from tpustarter.agents.tool import Tool
from tpustarter.agents.tool_answer import ToolAnswer
from tpustarter.agents.tool_call import ToolCalls
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.running import probe_archive
from tpustarter.text.terminal import UnwrittenError
from tpustarter.version import __version__

_INSTRUCTIONS = """\
tpustarter checks a machine with Google Cloud TPUs, explains errors and teaches. Each tool answers
with the JSON document that the command of the same name prints with --json. Only a document whose
`verified_on` is `tpu` says anything about a TPU: on `virtual-cpu` no TPU was tested. Explain a log
or a traceback before you change code. A check or a rehearsal takes seconds to minutes. A check of
everything and a lesson have 20,000 characters and more: ask for less with `problems`, `section` or
`characters`."""


class ToolServer:
    """Tools for one client; `run` serves until the client has gone."""

    def __init__(self, tools: Sequence[Tool], *, allow: bool) -> None:
        """Serve these tools.

        Args:
            tools: The tools.
            allow: True to let them write into the state folder.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._allow = allow
        self._state = locations.state_folder_path()
        self._folder = Path(tempfile.mkdtemp(prefix="tpustarter-mcp-"))
        locations.chown_to_caller(self._folder)
        self._copy = self._folder / "state"
        self._calls: ToolCalls | None = None

    def run(self) -> None:
        """Serve on stdin and stdout, and remove everything temporary afterwards."""
        copied = contextlib.nullcontext() if self._allow else tool_call.use_copy(self._copy)
        try:
            with copied:
                archive = probe_archive.build_probe_archive(self._folder / "probe.pyz")
                anyio.run(self._serve, archive)
        except Exception as error:
            if why := _find_os_error(error):
                raise UnwrittenError(why) from error  # the client has closed its end
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def end(self, number: int, _: object = None) -> None:
        """Handle a signal: end what runs, and exit without waiting for the client's stdin."""
        with contextlib.suppress(OSError, RuntimeError):
            if self._calls:
                self._calls.end_all()
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)

    async def _serve(self, archive: Path) -> None:
        self._calls = ToolCalls(archive, self._refresh)
        server = Server(
            "tpustarter",
            version=__version__,
            title="tpustarter",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    async def _list_tools(
        self, _: ServerRequestContext, __: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        tools = [_describe(one, allow=self._allow) for one in self._tools.values()]
        return mcp_types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, _: ServerRequestContext, call: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        if call.name not in self._tools:
            names = ", ".join(self._tools)
            what = f"there is no tool `{call.name[:80]}`, expected one of {names}"
            raise MCPError(mcp_types.INVALID_PARAMS, what)
        answer = await self._answer(self._tools[call.name], call.arguments or {})
        content = mcp_types.TextContent(text=answer.text)
        return mcp_types.CallToolResult(content=[content], is_error=answer.is_error)

    async def _answer(self, tool: Tool, values: Mapping[str, object]) -> ToolAnswer:
        assert self._calls  # noqa: S101  it is set before the server reads a request
        try:
            self._refuse_writing(tool, values)
            words, data = tool.build_call(values)
        except Problem as problem:
            return tool_answer.make_error([tool.command], problem)
        return await self._calls.run(words, data, tool.make_shape(values))

    def _refresh(self) -> None:
        if not self._allow:
            tool_call.link_new_files(self._copy, self._state)

    def _refuse_writing(self, tool: Tool, values: Mapping[str, object]) -> None:
        for argument in tool.arguments:
            if argument.writes and values.get(argument.name) and not self._allow:
                raise Problem(
                    f"`{argument.name}` writes into the state folder, and this server only reads",
                    hint="start it as `tpustarter mcp --allow`",
                    code=ExitCode.DENIED,
                )


def _find_os_error(error: BaseException) -> OSError | None:
    """Return the cause of a failed write, which the SDK's tasks put into groups."""
    parts: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    causes = (_find_os_error(part) for part in parts)
    return error if isinstance(error, OSError) else next(filter(None, causes), None)


def _describe(tool: Tool, *, allow: bool) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.make_schema(allow=allow),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not tool.starts_programs,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )
