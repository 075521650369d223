"""`tpustarter mcp` driven by the official client: its tools, their end, and what they may write."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from click.testing import CliRunner

from tests.planning.test_parameter_counts import PUBLISHED
from tests.support.processes import HANG_S, processes, until, until_async
from tests.support.stubs import make_python
from tpustarter.agents import tool_call
from tpustarter.agents.answer_shape import MOST_CHARACTERS
from tpustarter.cli import cli
from tpustarter.core import locations
from tpustarter.core.problem import Problem, find_schema_name
from tpustarter.running import lease

if TYPE_CHECKING:
    from mcp import Client  # a second of every worker, which seldom needs it

LOG = "ValueError: The global size of its dimension 0 should be divisible by 8\n"
SERVER = [sys.executable, "-m", "tpustarter", "mcp"]


@contextlib.asynccontextmanager
async def connected(temporary: Path, *options: str) -> AsyncIterator[Client]:
    """Connect the client to a server with this test's home, and a folder for temporary files."""
    from mcp import Client, StdioServerParameters, stdio_client

    names = ("HOME", "PATH", "TPUSTARTER_HOME", "TPUSTARTER_COMMAND", "JAX_PLATFORMS")
    env = {"TMPDIR": str(temporary), **{name: os.environ[name] for name in names}}
    command, *words = [*SERVER, *options]
    with (temporary / "stderr").open("w") as errors:
        server = StdioServerParameters(command=command, args=words, env=env)
        async with Client(stdio_client(server, errlog=errors)) as client:
            yield client


def mcp_error() -> type[Exception]:
    """Return the error that the client raises."""
    from mcp import MCPError

    return MCPError


async def call(client: Client, name: str, **arguments: object) -> tuple[dict[str, Any], bool]:
    """Call a tool, and return its document and whether it is an error."""
    answer = await client.call_tool(name, arguments)
    (content,) = answer.content
    assert content.type == "text"
    assert len(content.text) <= MOST_CHARACTERS
    return json.loads(content.text), answer.is_error


def printed(*words: str, text: str | None = None) -> dict[str, Any]:
    """Return the document that a command prints."""
    return json.loads(CliRunner().invoke(cli, words, input=text, standalone_mode=False).stdout)


def without_times(value: Any) -> Any:
    """Return a document without the fields that differ between runs."""
    if isinstance(value, dict):
        left = ("seconds", "started", "made", "found", "facts", "sections")
        return {name: without_times(one) for name, one in value.items() if name not in left}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the files of a folder, each with its size and modification time."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(one): (one.stat().st_size, one.stat().st_mtime_ns) for one in files}


def test_tools_answer_as_their_commands(
    tmp_path: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Tools answer as their commands do, and change nothing in the state folder."""
    (tmp_path / "config.json").write_text(json.dumps(PUBLISHED[0]["config"]))
    (tmp_path / "train.log").write_text(LOG)
    python = str(make_python(tmp_path / "v", jax="0.12.0.1"))
    tested: dict[str, object] = {"python": python}
    config, log = str(tmp_path / "config.json"), str(tmp_path / "train.log")
    state = home / "state"
    (state / "settings.json").write_text('{"path": "laptop"}')
    calls: list[tuple[str, dict[str, object], list[str]]] = [
        ("explain", {"files": [log]}, ["explain", log]),
        ("explain", {"text": LOG, "no_look": True}, ["explain", "--no-look", log]),
        ("search", {"search": "mesh"}, ["learn", "--search", "mesh"]),
        ("lesson", {"lesson": "jax/precision"}, ["learn", "jax/precision"]),
        ("plan", {"config": config, "serve": True}, ["plan", config, "--serve"]),
        ("check", {**tested, "ids": ["host.space"]}, ["check", "host.space", "--python", python]),
        ("rehearse", {"ids": ["nothing"]}, ["rehearse", "nothing"]),
        ("report", {**tested, "no_ask": True}, ["report", "--no-ask", "--python", python]),
    ]

    async def ask() -> list[dict[str, Any]]:
        async with connected(tmp_path) as client:
            tools = (await client.list_tools()).tools
            assert {name for name, _, _ in calls} == {tool.name for tool in tools}
            for tool in tools:
                jsonschema.Draft202012Validator.check_schema(tool.input_schema)
                assert "save" not in tool.input_schema["properties"]
            await refuse_wrong_arguments(client)
            return [(await call(client, name, **given))[0] for name, given, _ in calls]

    before = snapshot(state)
    answers = asyncio.run(ask())

    assert before == snapshot(state)
    assert [] == list(tmp_path.glob("tpustarter-*"))
    assert [] == [record for record in caplog.records if record.name.startswith("mcp")]
    for (name, _, words), answer in zip(calls, answers, strict=True):
        expected = printed(*words, "--json")
        assert without_times(expected) == without_times(answer), name


async def refuse_wrong_arguments(client: Client) -> None:
    """Each wrong argument is one error with the usage exit code, and nothing is started."""
    wrong: list[tuple[str, dict[str, object], str]] = [
        ("check", {"levle": "quick"}, "`levle`"),
        ("check", {"level": "fast"}, "`level`"),
        ("check", {"ids": "jax.*"}, "`ids`"),
        ("check", {"ids": ["\0"]}, "null byte"),
        ("check", {"ids": ["--list"]}, "`--list`"),
        ("lesson", {}, "'lesson'"),
        ("lesson", {"lesson": "jax/precision", "section": "Z"}, "`Z`"),
        ("lesson", {"lesson": "jax/precision", "characters": 9}, "`characters`"),
        ("explain", {}, "`text`"),
        ("explain", {"text": "a", "files": ["b"]}, "`text`"),
    ]
    for name, arguments, named in wrong:
        document, is_error = await call(client, name, **arguments)
        assert (is_error, document["exit_code"]) == (True, 2)
        assert named in document["error"]["what"]
        command = {"lesson": "learn"}.get(name, name)
        assert document["schema"] == find_schema_name([command])
    document, is_error = await call(client, "check", save=True)
    assert (is_error, document["exit_code"]) == (True, 77)
    with pytest.raises(mcp_error(), match="no tool `delete`"):
        await client.call_tool("delete", {})


def test_cancelled_call_ends_its_processes(tmp_path: Path, home: Path) -> None:
    """A cancelled call ends its processes, even a hanging JAX, and the server still answers."""
    python = make_python(tmp_path / "v", jax="0.12.0.1")
    (jax,) = (tmp_path / "v").glob("lib/*/site-packages/jax.py")
    jax.write_text(
        f"open({str(tmp_path / 'hangs')!r}, 'w')\nwhile True: import time; time.sleep(9)"
    )
    hanging = {"ids": ["jax.every_device"], "python": str(python)}
    state = home / "state"

    async def run() -> None:
        async with connected(tmp_path, "--allow") as client:
            alone = {*processes(state)}
            check = asyncio.create_task(call(client, "check", **hanging))
            await until_async((tmp_path / "hangs").exists)
            assert {"supervise", "child"} <= {*processes(state).values()}
            check.cancel()
            await until_async(lambda: alone == {*processes(state)}, lambda: processes(state))
            document, _ = await call(client, "check", ids=["host.space"], save=True)
            assert "host.space" == document["results"][0]["id"]
            assert [] != list(state.glob("saved-*.json"))
            (tmp_path / "hangs").unlink()
            second = asyncio.create_task(call(client, "check", **hanging))
            await until_async((tmp_path / "hangs").exists)
            assert not second.done()  # the client leaves while it runs

    with contextlib.suppress(asyncio.CancelledError, mcp_error()):
        asyncio.run(run())
    until(lambda: not processes(state), lambda: f"the end of {processes(state)}")


@contextlib.contextmanager
def greeted(temporary: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a server without the client, and send the first messages of the protocol."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    env = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(SERVER, env=env, **pipes) as server:  # type: ignore[call-overload]
        send(server, id=1, method="initialize", params=hello)
        assert 1 == json.loads(server.stdout.readline())["id"]
        send(server, method="notifications/initialized")
        yield server


def send(server: subprocess.Popen[str], **message: object) -> None:
    """Send a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)


def test_signal_ends_server_and_removes_its_folder(tmp_path: Path, home: Path) -> None:
    """A signal ends the server although stdin is open and a command waits for a pipe."""
    os.mkfifo(tmp_path / "pipe")
    hangs = {"name": "explain", "arguments": {"files": [str(tmp_path / "pipe")]}}
    with greeted(tmp_path) as server:
        send(server, id=2, method="tools/call", params=hangs)
        (copy,) = tmp_path.glob("tpustarter-mcp-*/state")
        until(lambda: "another" in processes(copy).values(), lambda: processes(copy))
        server.send_signal(signal.SIGTERM)
        rest = server.stdout.read()

    assert (143, "") == (server.returncode, rest)
    assert [] == [*tmp_path.glob("tpustarter-*")]
    assert {} == processes(copy) == processes(home / "state")


def test_client_that_closes_its_end_is_no_bug(tmp_path: Path, home: Path) -> None:
    """A client that closes its pipes ends the server without a bug report or leftover files."""
    before = snapshot(home / "state")
    with greeted(tmp_path) as server:
        server.stdout.close()
        send(server, id=2, method="tools/list")
        server.stdin.close()
        server.wait(HANG_S)

    assert server.returncode in (0, 141)
    assert [] == [*tmp_path.glob("tpustarter-*")]
    assert before == snapshot(home / "state")


def test_copied_state_folder_shares_the_lease(tmp_path: Path) -> None:
    """A read-only server with a copied state folder still respects another run's TPU lease."""
    with lease.hold_lease("tpustarter check"), tool_call.use_copy(tmp_path / "copy"):
        assert tmp_path / "copy" == locations.state_folder_path()
        with pytest.raises(Problem, match="held by tpustarter check"), lease.hold_lease("x"):
            pass
    assert lease.VARIABLE not in os.environ
