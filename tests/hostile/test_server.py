"""The server of the app: too many windows, and its own death."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.serving.test_server import Server, browser_like, serving, status
from tests.support.processes import HANG_S, until
from tests.support.tutor import is_alive
from tpustarter.core.problem import ExitCode
from tpustarter.serving.tutor_server import MOST_WINDOWS


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Start a server for one test."""
    with serving(tmp_path) as one:
        yield one


async def test_number_of_open_windows_is_limited(server: Server) -> None:
    """A window over the limit is refused, and an invalid message closes only its own window."""
    async with browser_like() as client:
        await status(client, server.url)
        url = server.origin + "/ws"
        sockets = [await client.ws_connect(url, origin=server.origin) for _ in range(MOST_WINDOWS)]
        for socket in sockets:
            await socket.receive_bytes(timeout=HANG_S)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(url, origin=server.origin)
        assert 503 == refused.value.status
        before = {*server.apps()}
        assert MOST_WINDOWS == len(before)

        for socket, nonsense in zip(sockets, ("{", "7", "[]", '["resize", {}]'), strict=True):
            await socket.send_str(nonsense)
        for socket in sockets:
            while not socket.closed:
                await socket.receive(timeout=HANG_S)
        until(lambda: not server.apps(), "the end of the apps")
        assert 200 == (await status(client, server.origin + "/"))[0]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGTERM, ExitCode.TERMINATED),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
async def test_no_app_outlives_the_server(
    number: signal.Signals, code: int, server: Server
) -> None:
    """However the server ends: an app without one sees that nobody talks to it any more."""
    async with browser_like() as client:
        await status(client, server.url)
        async with client.ws_connect(server.origin + "/ws", origin=server.origin) as socket:
            await socket.receive_bytes(timeout=HANG_S)
            [app] = server.apps()
            server.process.send_signal(number)
            assert code == await asyncio.to_thread(server.process.wait, HANG_S)
        until(lambda: not is_alive(app), "the end of the app")
