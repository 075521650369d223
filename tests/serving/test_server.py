"""The server of the tutor: whom it refuses before an app starts, and that no app outlives a window.

The server is the real command in a process of its own; the client is aiohttp's.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import aiohttp
import pytest

from tests.support.processes import HANG_S, until, until_async
from tests.support.tutor import is_alive
from tpustarter.core.problem import ExitCode
from tpustarter.serving import app_window
from tpustarter.serving.app_window import AppWindow, limit_terminal_size
from tpustarter.serving.tutor_server import is_loopback_name

ROOT = Path(__file__).parents[2]


class Server:
    """`tpustarter serve` while it runs."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self.process = process
        self.url = url
        self.log = log
        """The file of its stderr."""
        self.origin = url.partition("/?")[0]
        self.port = int(self.origin.rpartition(":")[2])

    def apps(self) -> list[int]:
        """Return the processes that the server has started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text().split()]


def free_port() -> int:
    """Return a port that nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(folder: Path, env: Mapping[str, str] = os.environ) -> Iterator[Server]:
    """Start the server, and end it."""
    log = folder / "stderr"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tpustarter", "serve", "--port", str(free_port())],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=ROOT,
            env=env,
        )
    assert process.stdout
    try:
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", said)
        assert found, said + log.read_text()
        yield Server(process, found[0], log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, used_before: Path) -> Iterator[Server]:
    """Start one server for the tests of this file, with a home of its own."""
    folder = tmp_path_factory.mktemp("server")
    state = folder / "state"
    shutil.copytree(used_before, state / "cache")
    with serving(folder, os.environ | {"HOME": str(folder), "TPUSTARTER_HOME": str(state)}) as one:
        yield one


def browser_like() -> aiohttp.ClientSession:
    """Return a client that keeps cookies as a browser does, also of an address without a name."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


async def status(client: aiohttp.ClientSession, url: str, **headers: str) -> tuple[int, str]:
    """Return the status and the text of the server's answer, without following redirects."""
    async with client.get(url, headers=headers, allow_redirects=False) as answer:
        return answer.status, await answer.text()


async def test_missing_token_gets_no_page(server: Server) -> None:
    """Without the token no page is served; with it, the token is removed from the address."""
    async with browser_like() as client:
        for path in ("/", "/?token=wrong", "/ws", "/static/js/textual.js", "/focus.js"):
            code, text = await status(client, server.origin + path)
            assert (403, "The token is missing or wrong.") == (code, text[:30]), path

        async with client.get(server.url, allow_redirects=False) as answer:
            cookie = answer.headers["Set-Cookie"]
            assert (303, "/") == (answer.status, answer.headers["Location"])
            assert {"HttpOnly", "Path=/", "SameSite=Strict"} == {*cookie.split("; ")[1:]}
            assert server.url.partition("token=")[2] not in cookie
        code, page = await status(client, server.origin + "/")
        assert 200 == code
        assert f'data-session-websocket-url="ws://127.0.0.1:{server.port}/ws"' in page
        assert [] == re.findall(r"(?:https?:)?//(?!127\.0\.0\.1)[\w.-]+\.\w+", page)
        assert [] == server.apps()


@pytest.mark.parametrize(
    ("path", "cookie"), [("/?token=%ff", "a=b"), ("/", "tpustarter-{}=\xff\xfe")]
)
async def test_non_text_bytes_are_wrong_token(path: str, cookie: str, server: Server) -> None:
    """Anybody on this machine can send them, and gets the same answer as for any other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = (f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {cookie}", "", "")
    writer.write("\r\n".join(lines).format(server.port).encode("latin-1"))

    assert b"HTTP/1.1 403 Forbidden\r\n" == await reader.readline()
    writer.close()


async def test_another_name_for_this_machine_is_refused(server: Server) -> None:
    """Another name for this machine is refused, because a foreign page can use DNS for that."""
    async with browser_like() as client:
        code, text = await status(client, server.url, Host=f"evil.example:{server.port}")
        assert (403, "This server answers at 127.0.0.1") == (code, text[:32])

        token = server.url.partition("/?")[2]
        local = f"http://localhost:{server.port}/?{token}"
        assert 303 == (await status(client, local))[0]


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("127.0.0.1:8765", True),
        ("127.0.0.1", True),
        ("localhost:9000", True),
        ("[::1]:8765", True),
        ("[::1]", True),
        ("127.0.0.1.evil.example:8765", False),
        ("localhost.evil.example", False),
        ("evil.example:127.0.0.1", False),
        ("0.0.0.0:8765", False),
        ("", False),
    ],
)
def test_loopback_names_are_recognised(host: str, is_loopback: bool) -> None:
    """Those that no name server answers for."""
    assert is_loopback == is_loopback_name(host)


async def test_a_page_of_another_server_starts_no_app(server: Server) -> None:
    """Another server's page starts no app, even with the cookie, but ours does."""
    async with browser_like() as client:
        await status(client, server.url)
        foreign = ("http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1", "null", None)
        for origin in foreign:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(server.origin + "/ws", origin=origin)
            assert 403 == refused.value.status, origin
        assert [] == server.apps()

        async with client.ws_connect(server.origin + "/ws", origin=server.origin) as socket:
            assert b"\x1b[?1049h" in (await socket.receive_bytes(timeout=HANG_S))
            assert 1 == len(server.apps())
        until(lambda: not server.apps(), "the end of the app")


async def test_plain_textual_serve_lets_foreign_page_start_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which is why its server is not used as it is: no token, no look at where a page is from."""
    from aiohttp.test_utils import TestClient, TestServer
    from textual_serve.server import Server as Shipped

    start, started = asyncio.create_subprocess_shell, []

    async def start_known(*words: str, **more: object) -> asyncio.subprocess.Process:
        started.append(await start(*words, **more))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_shell", start_known)

    app = await Shipped("echo __GANGLION__; head -c 1 > /dev/null")._make_app()
    app.on_startup.clear()  # it prints a logo
    async with TestClient(TestServer(app)) as client:
        socket = await client.ws_connect("/ws", headers={"Origin": "http://evil.example"})
        assert not socket.closed
        await socket.close()
        # It ends the app, and waits for nothing of it.
        mine = asyncio.current_task()
        await until_async(lambda: asyncio.all_tasks() == {mine}, asyncio.all_tasks)
        for process in started:
            await process.wait()
        assert started


def test_taken_port_is_one_error(server: Server) -> None:
    """A taken port is one error, and its hint is the command with another port."""
    words = [sys.executable, "-m", "tpustarter", "serve", "--port", str(server.port)]
    second = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)

    assert ("", ExitCode.CONFIGURATION) == (second.stdout, second.returncode)
    assert second.stderr.startswith(f"error: cannot listen on port {server.port}")
    assert "`tpustarter serve --port 8888`" in second.stderr


def test_window_has_drawable_size() -> None:
    """A window's size is limited to what can be drawn, whatever it requests."""
    assert (120, 40) == limit_terminal_size(120, 40)
    assert (500, 200) == limit_terminal_size(10**9, 10**9)
    assert (1, 1) == limit_terminal_size(-5, "80")


MALFORMED = {
    "version": b"GET / HTTP/9.9\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "bytes": b"GET /\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "length": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
    "long": b"A" * 100_000,
}


async def test_app_that_does_not_exit_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app that ignores the request to exit is killed."""
    monkeypatch.setattr(app_window, "END_S", 0.1)
    names = ("write_bytes", "write_str", "close", "download_manager")

    window = AppWindow(["sleep", "1000"], {}, **dict.fromkeys(names, mock.AsyncMock()))
    await window.start(80, 24)
    await until_async(lambda: window.pid is not None)
    await window.stop()
    assert window.pid is not None
    assert not is_alive(window.pid)


async def test_malformed_request_gets_only_answer(server: Server) -> None:
    """A malformed request gets an answer, and nothing is logged."""
    before = server.log.read_text()
    for data in MALFORMED.values():
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(data)
        answer = await asyncio.wait_for(reader.read(), HANG_S)
        writer.close()
        assert answer.startswith(b"HTTP/1.0 400 ")

    assert before == server.log.read_text()
