"""A headless Chromium that tests drive as a person would: open, type, read, look.

It speaks Chrome's DevTools protocol. Source: https://chromedevtools.github.io/devtools-protocol/
(read 2026-11).
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.processes import HANG_S, until_async

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
MISSING = (
    "No headless Chromium is here to show the tutor in: `apt-get install chromium-headless-shell`."
)
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)


def program() -> str | None:
    """Return the path of an installed Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A page of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requested: list[str] = []
        """The addresses that the page has requested, in order."""

    async def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=HANG_S)
            if message.get("method") == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if message.get("method") == "Network.webSocketCreated":
                self.requested.append(message["params"]["url"])
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    async def open(self, url: str) -> None:
        """Navigate to an address."""
        await self.do("Page.enable")
        await self.do("Network.enable")
        await self.do("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        result = await self.do(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until a JavaScript expression is true."""
        try:
            await until_async(lambda: self.value(script), script)
        except AssertionError as error:
            text = await self.value("window.words ?? document.body.innerText")
            raise AssertionError(f"{error}; there was: {text[-2000:]!r}") from error

    async def press(self, *keys: str) -> None:
        """Press keys: letters, or `Enter`, `Escape`, `Tab`."""
        codes = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, "")}
        for key in keys:
            code, text = codes.get(key, (ord(key[0].upper()), key))
            down = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
            await self.do("Input.dispatchKeyEvent", type="keyDown", **down)
            await self.do("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self, file: Path) -> None:
        """Write a screenshot of the page, as PNG."""
        result = await self.do("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(result["data"]))


@asynccontextmanager
async def browser(width: int = 1000, height: int = 640) -> AsyncIterator[Page]:
    """Start a browser with one page, and end it."""
    path = program()
    assert path, MISSING
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            path,
            *_FLAGS,
            f"--user-data-dir={folder}",
            f"--window-size={width},{height}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            port = await _port(Path(folder) / "DevToolsActivePort")
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [one for one in await answer.json() if one["type"] == "page"]
                url = pages[0]["webSocketDebuggerUrl"]
                async with session.ws_connect(url, max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # Debian's is a script, which has a child
            await process.wait()


async def _port(file: Path) -> int:
    text = await until_async(lambda: file.exists() and file.read_text(), "the port of Chromium")
    return int(str(text).split()[0])
