"""Concurrent GET requests to one HTTP server, with one timeout that always holds.

A single `select` waits for all connections. No thread is needed, so none is left waiting for a
server that sends a byte now and then.
"""

from __future__ import annotations

import errno
import http.client
import io
import os
import re
import selectors
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any, NamedTuple

MAX_BYTES = 128 * 1024
"""Largest response that is read, including headers."""


_FAULTS = (OSError, ValueError, OverflowError, RuntimeError, http.client.HTTPException)
"""Exceptions for a bad address, a bad response, or a machine that allows no further socket."""


class HttpResponse(NamedTuple):
    """The server's response for one path."""

    status: int
    headers: Mapping[str, str]
    """Values by lower-case name; the last of several with the same name."""
    body: bytes


def fetch_paths(
    where: str, paths: Sequence[str], headers: Mapping[str, str], timeout_s: float
) -> dict[str, HttpResponse | str]:
    """Request all paths at once, without a proxy. Return each response, or why there is none.

    Args:
        where: `host[:port]`.
        paths: Paths of the requests.
        headers: Headers of each request.
        timeout_s: Timeout for everything, including name resolution.
    """
    deadline = time.monotonic() + timeout_s
    silence = f"no answer within {timeout_s:g} s"
    answers: dict[str, HttpResponse | str] = {}
    with ExitStack() as stack:
        try:
            # This parses `host:port` as every HTTP client does; it is never connected.
            parsed = http.client.HTTPConnection(where)
            target = _look_up(parsed.host, parsed.port, deadline)
            selector = stack.enter_context(selectors.DefaultSelector())
            for path in paths:
                request = stack.enter_context(closing(_Request(path, where, headers, *target)))
                selector.register(request.connection, selectors.EVENT_WRITE, request)
        except TimeoutError:
            return dict.fromkeys(paths, silence)
        except _FAULTS as error:
            return dict.fromkeys(paths, _reason(error))
        while selector.get_map() and (left_s := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                try:
                    answer = key.data.go_on(selector)
                except _FAULTS as error:
                    answer = _reason(error)
                if answer is not None:
                    answers[key.data.path] = answer
                    selector.unregister(key.fileobj)
    return {path: answers.get(path, silence) for path in paths}


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)


def _look_up(host: str, port: int, deadline: float) -> tuple[int, _Address]:
    # A thread resolves the name, because that can hang.
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return family, (host, port)
    results: list[tuple[int, _Address] | Exception] = []

    def look() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            results.extend((family, address) for family, _, _, _, address in found)
        except (OSError, ValueError, OverflowError) as error:
            results.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not results:
        raise TimeoutError
    first = results[0]
    if isinstance(first, Exception):
        raise first
    return first


_Address = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


class _Request:
    """A request for one path, with its own connection."""

    def __init__(
        self, path: str, host: str, headers: Mapping[str, str], family: int, address: _Address
    ) -> None:
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.path = path
        self._unsent = "\r\n".join([*lines, "", ""]).encode("ascii")
        self._data = b""
        self.connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.connection.setblocking(False)  # noqa: FBT003  its only parameter
            error = self.connection.connect_ex(address)
            if error not in (0, errno.EINPROGRESS):
                raise OSError(error, os.strerror(error))
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        self.connection.close()

    def go_on(self, selector: selectors.BaseSelector) -> HttpResponse | None:
        """Send and receive without blocking; return the response once it is complete."""
        if self._unsent:
            if error := self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(error, os.strerror(error))
            self._unsent = self._unsent[self.connection.send(self._unsent) :]
            if not self._unsent:
                selector.modify(self.connection, selectors.EVENT_READ, self)
            return None
        data = self.connection.recv(65536)
        self._data += data
        if len(self._data) > MAX_BYTES:
            raise ValueError(f"an answer longer than {MAX_BYTES} bytes")
        return _parse(self._data) if not data or _is_whole(self._data) else None


def _is_whole(data: bytes) -> bool:
    # Only a response with a length, or a chunked one, shows where it ends.
    head, blank, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length:[ \t]*(\d{1,9})[ \t]*\r?$", head)
    if length:
        return bool(blank) and len(body) >= int(length[1])
    chunked = re.search(rb"(?im)^transfer-encoding:[ \t]*chunked", head)
    return bool(blank and chunked) and body.endswith(b"0\r\n\r\n")


class _Received:
    # A stand-in for the socket that `http.client` reads from.
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:
        """Return the data as a binary file, the only mode that is used."""
        del mode
        return io.BytesIO(self._data)


def _parse(data: bytes) -> HttpResponse:
    received: Any = _Received(data)  # implements only what is used of a socket
    with closing(http.client.HTTPResponse(received, method="GET")) as response:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return HttpResponse(response.status, headers, response.read())
