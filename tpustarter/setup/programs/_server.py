"""The common parts of all server proofs: start, wait, request, claim, end."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from email.message import Message

import psutil

START_S, END_S = 120, 30
"""Longest wait for a server to respond, and to exit."""


def require_claim(holds: object, text: str) -> None:
    """Print a claim that holds; exit with an error for one that does not."""
    if not holds:
        sys.exit(f"not so: {text}")
    print(text, flush=True)


@contextlib.contextmanager
def start_server(command: list[str]) -> Generator[tuple[psutil.Process, int]]:
    """Start the server, yield its process and port once it responds, and end it afterwards."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield psutil.Process(process.pid), wait_until_it_answers(process)
        except BaseException:
            log.seek(0)
            print(log.read()[-4000:].decode("utf-8", "replace"), end="", flush=True)
            raise
        finally:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_it_answers(process: subprocess.Popen[bytes]) -> int:
    """Wait until a server responds, and return the port that it listens on."""
    server, deadline = psutil.Process(process.pid), time.monotonic() + START_S
    while not (ports := {port for _, port in find_listening_ports(server)}) or not is_answering(
        min(ports)
    ):
        if process.poll() is not None:
            sys.exit(f"the server ended with exit code {process.returncode} as it started")
        if time.monotonic() > deadline:
            sys.exit(f"the server did not answer within {START_S} s")
        time.sleep(0.2)
    return min(ports)


def find_listening_ports(server: psutil.Process) -> set[tuple[str, int]]:
    """Return the addresses and ports that a process listens on."""
    with contextlib.suppress(psutil.Error):
        connections = server.net_connections("inet")
        heard = [one.laddr for one in connections if one.status == psutil.CONN_LISTEN]
        return {(address[0], address[1]) for address in heard}
    return set()


def is_answering(port: int) -> bool:
    """Return whether a server sends any response, even an error."""
    try:
        send_request(port, "GET", "/")
    except OSError:
        return False
    return True


def send_request(
    port: int, method: str, path: str, headers: Mapping[str, str] | None = None, body: object = None
) -> tuple[int, Message, bytes]:
    """Send one request, and return the response's status, headers and body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data, dict(headers or {}), method=method
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            text = answer.read()
            is_packed = answer.headers.get("Content-Encoding") == "gzip"
            return answer.status, answer.headers, gzip.decompress(text) if is_packed else text
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()
