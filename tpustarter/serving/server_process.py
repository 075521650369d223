"""Runs a server from an environment that set-up created, for as long as this program runs.

The supervisor ends the server when this program ends for any reason, together with the processes
that the server started, such as notebook kernels, which hold the TPU.
"""

from __future__ import annotations

import http.client
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.process import Probe, ProbeGoneEvent
from tpustarter.running.supervised_command import LineLog
from tpustarter.setup.server_commands import HOST, ServerCommand

START_S = 120.0
"""Longest time for a server to respond; its first start compiles hundreds of modules."""
ASK_S = 5.0
POLL_S = 0.2


class ServerProcess:
    """A server in its own process: `run` starts it, and `stop` ends it from any thread."""

    def __init__(self, server: ServerCommand, name: str, what: str, port: int) -> None:
        self._server = server
        self._name = name
        self._what = what
        self._port = port
        self._probe: Probe | None = None
        self._stopped = False

    @property
    def url(self) -> str:
        """The address to open in a browser, with the token if the server has one."""
        return f"http://{HOST}:{self._port}{self._server.path}"

    def stop(self) -> None:
        """End the server; safe in any thread and in signal handlers."""
        self._stopped = True
        if self._probe:
            self._probe.interrupt()

    def run(self, ready: Callable[[], None], tell: Callable[[str], None]) -> None:
        """Serve until stopped.

        Args:
            ready: Called once the server responds, and rejects requests without the token.
            tell: Called with each line of the server's output.

        Raises:
            Problem: The port is taken, the server exits or does not respond, or it requires no
                token.
        """
        self._refuse_taken_port()
        folder = run_folder.make_run_folder()
        log = LineLog(folder / "server.log", Redactor(self._server.env))
        try:
            python, own = (
                Path(sys.executable),
                probe_archive.build_probe_archive(folder / "probe.pyz"),
            )
            self._probe = Probe(
                python,
                own,
                log,
                env=self._server.env,
                drop=locations.find_sudo_caller(),
                command=self._server.words,
            )
            try:
                self._follow(ready, tell, log)
            finally:
                self._probe.end()
                self._probe.close()
        finally:
            log.close()
            run_folder.remove_run_folder(folder)

    def _follow(self, ready: Callable[[], None], tell: Callable[[str], None], log: LineLog) -> None:
        probe, deadline, is_ready = self._probe, time.monotonic() + START_S, False
        while probe and not self._stopped:
            event = probe.read(POLL_S)
            while log.fresh:
                tell(log.fresh.popleft())
            if event and event["event"] == "gone":
                raise self._ended(event)
            if is_ready or not (answer := self._ask()):
                if not is_ready and time.monotonic() > deadline:
                    raise Problem(f"{self._name} did not answer within {START_S:.0f} s")
                continue
            if self._server.closed and not _asks_for_token(answer):
                raise Problem(
                    f"{self._name} answers a request without the token: found status "
                    f"{answer.status}, expected 302 to the page that asks for it, so it was ended",
                    hint="`/etc/jupyter` and `/usr/local/etc/jupyter` may hold a configuration "
                    "that turns the token off",
                )
            is_ready = True
            ready()

    def _ask(self) -> http.client.HTTPResponse | None:
        """Return the response to a request without the token, or None if there is none yet."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=ASK_S)
        try:
            connection.request("GET", self._server.closed or "/")
            return connection.getresponse()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def _refuse_taken_port(self) -> None:
        try:
            with socket.socket() as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((HOST, self._port))
        except OSError as error:
            raise Problem(
                f"cannot listen on port {self._port} of this machine: {error.strerror}",
                hint="name another one with `--port`, for example "
                f"`tpustarter serve {self._what} --port {self._port + 1}`",
            ) from error

    def _ended(self, event: ProbeGoneEvent) -> Problem:
        how = f"signal {event['signal']}" if event["signal"] else f"exit code {event['code']}"
        return Problem(
            f"{self._name} has ended with {how}",
            hint="what it wrote stands above; `tpustarter setup "
            f"{self._what}` shows whether its environment is whole",
        )


def _asks_for_token(answer: http.client.HTTPResponse) -> bool:
    where = urlsplit(answer.getheader("Location") or "").path
    return answer.status == http.client.FOUND and where.endswith("/login")
