"""The web server of `tpustarter serve`, based on textual-serve.

A browser that has access can run code as the user. Every request must therefore meet three
conditions before an app starts. Its host must be a loopback name, because otherwise a page whose
domain resolves to this machine could connect. It must have the cookie, which is set only by the
address with the token. A window must also be opened by a page from this server: all ports share
cookies, so a page from another server on the same machine has the cookie too.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp_jinja2
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger
from aiohttp.typedefs import Handler
from textual_serve.server import Server, to_int

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.serving.app_window import AppWindow

HOST = "127.0.0.1"
"""Address that the server listens on; there is no option for another one."""
NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Host names of the server in a local browser, or through a tunnel."""
MOST_WINDOWS = 4
"""Maximum number of windows; each is an app of its own that takes 60 to 90 MB."""
_PAGE = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; font-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Headers that keep the browser from contacting other hosts and from embedding the page."""


class TutorServer(Server):
    """A tutor server for browsers on this machine that have the token."""

    def __init__(
        self, words: Sequence[str], variables: dict[str, str], *, port: int, token: str = ""
    ) -> None:
        """Take the app's command and the port; without a token, create one of 192 bits."""
        shipped: Any = super()  # its types are partly unknown
        shipped.__init__(" ".join(words), HOST, port, title="tpustarter", templates_path=_PAGE)
        self._words = words
        self._variables = variables
        self._token = token or secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(24)
        self._windows: set[AppWindow] = set()
        self._ended = asyncio.Event()
        self._code = ExitCode.OK

    @property
    def url(self) -> str:
        """The address that opens the tutor, with the token."""
        return f"http://{HOST}:{self.port}/?token={self._token}"

    async def run(self, ready: Callable[[], None]) -> ExitCode:
        """Serve until a signal arrives, calling `ready` once the server listens.

        Raises:
            Problem: The server cannot listen on the port.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, self._end, number)
        server_logger.addFilter(_is_worth_logging)
        runner = web.AppRunner(await self._make_app(), access_log=None, handle_signals=False)
        await runner.setup()  # requests are not logged, because one of them contains the token
        try:
            await self._listen(runner)
            ready()
            await self._ended.wait()
        finally:
            await runner.cleanup()
        return self._code

    async def _listen(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(runner, HOST, self.port)
        try:
            await site.start()
        except OSError as error:
            raise Problem(
                f"cannot listen on port {self.port} of this machine: {error.strerror}",
                hint="name another one with `--port`, for example `tpustarter serve --port 8888`",
            ) from error
        self.port = runner.addresses[0][1]

    def _end(self, number: int) -> None:
        interrupted = number == signal.SIGINT
        self._code = ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED
        self._ended.set()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        app.router.add_get("/focus.js", _send_script)
        app.on_response_prepare.append(_add_headers)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing; the command prints the address with the token."""

    async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002  its signature
        """End every app before the server ends."""
        await asyncio.gather(*(window.stop() for window in [*self._windows]))

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_loopback_name(request.host):
            return _refusal("This server answers at 127.0.0.1 and localhost alone.")
        name = f"tpustarter-{self.port}"
        token = request.query.get("token")
        if request.path == "/" and token is not None and _is_same(token, self._token):
            answer = web.Response(status=303, headers={"Location": "/"})
            answer.set_cookie(name, self._cookie, httponly=True, samesite="Strict")
            return answer  # the redirection removes the token from the address bar
        if not _is_same(request.cookies.get(name, ""), self._cookie):
            return _refusal(
                "The token is missing or wrong. Open the whole address that `tpustarter serve` "
                "has printed; each start makes a new one."
            )
        return await handler(request)

    @aiohttp_jinja2.template("page.html")
    async def handle_index(self, request: web.Request) -> dict[str, object]:
        """Return the values for the page's template."""
        font_size = min(max(to_int(request.query.get("fontsize", "16"), 16), 6), 60)
        return {"font_size": font_size, "window": f"ws://{request.host}/ws"}

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Open a window: start an app and relay messages until either side ends."""
        if request.headers.get("Origin") != f"http://{request.host}":
            raise web.HTTPForbidden(text="A page of another server may not open the tutor.")
        if len(self._windows) >= MOST_WINDOWS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_WINDOWS} windows are open already.")
        socket = web.WebSocketResponse(heartbeat=15)
        await socket.prepare(request)
        window = AppWindow(
            self._words,
            self._variables,
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=socket.close,
            download_manager=self.download_manager,
        )
        self._windows.add(window)
        try:
            size = (to_int(request.query.get(name, ""), 0) for name in ("width", "height"))
            await window.start(*size)
            await self._process_messages(socket, window)
        except (AssertionError, LookupError, TypeError, ValueError):
            pass  # a message did not follow the protocol, so the window closes
        finally:
            await window.stop()
            self._windows.discard(window)
            await socket.close()
        return socket


def is_loopback_name(host: str) -> bool:
    """Return whether a request's `Host` is a loopback name, which no other site can have."""
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name in NAMES


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """Return whether a log line from aiohttp reports more than a malformed request.

    Malformed requests have been answered already, and any local user can send as many as they like.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), wanted.encode())


def _refusal(why: str) -> web.Response:
    return web.Response(status=403, text=why + "\n")


async def _send_script(_: web.Request) -> web.FileResponse:
    return web.FileResponse(_PAGE / "focus.js")


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
