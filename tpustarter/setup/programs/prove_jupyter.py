"""Proves that Jupyter serves: `prove_jupyter.py PLATFORM ORIGIN COMMAND...`, in its environment.

It starts the command, which is the one that `tpustarter serve` starts, and sends it a browser's
requests. Each printed line is a claim that held; the first that does not ends the program with exit
code 1. PLATFORM is the required platform of a kernel's devices, such as `tpu`. ORIGIN is the
external page that may use the server, or `-`.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import http.cookies
import json
import os
import re
import secrets
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import psutil
import websocket
from _server import find_listening_ports, is_answering, require_claim, send_request, start_server

KERNEL_S, END_S = 300, 30
"""Longest wait for a cell that starts the TPU, and for its process to exit."""
STRANGER = "http://page-of-a-stranger.example"
CELL = """\
import os, sys, jax
total = int(jax.numpy.arange(1000).sum())
devices = jax.devices()
print(os.getpid(), sys.prefix, jax.__version__, jax.default_backend(), total, sep="|")
print(len(devices), devices[0].device_kind, sep="|")
"""


def main(platform: str, origin: str, command: list[str]) -> None:
    """Start the server, check each claim, and end it; exit if a claim fails."""
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_urlsafe(24))
    with start_server(command) as (server, port):
        own = f"http://127.0.0.1:{port}"
        prove_token_required(port, token, server)
        prove_origins(port, {"Authorization": f"token {token}"}, origin)
        answer = prove_kernel(port, token, own if origin == "-" else origin, platform)
    require_claim(not is_answering(port), "the server has ended, and its port is closed")
    print(answer)


def prove_token_required(port: int, token: str, server: psutil.Process) -> None:
    """Check that the server listens only on 127.0.0.1, and rejects requests without the token."""
    require_claim(
        find_listening_ports(server) == {("127.0.0.1", port)}, "it listens on 127.0.0.1 alone"
    )
    paths = [f"/api/{name}" for name in ("kernels", "contents", "sessions", "terminals")]
    for given, headers in (("no", {}), ("a wrong", {"Authorization": "token wrong"})):
        codes = {send_request(port, "GET", path, headers)[0] for path in paths}
        require_claim(codes == {403}, f"with {given} token every request is answered with 403")
    commands = [" ".join(one.cmdline()) for one in (server, *server.children(recursive=True))]
    require_claim(not any(token in one for one in commands), "the token is in no command line")


def prove_origins(port: int, auth: Mapping[str, str], origin: str) -> None:
    """Check that the server accepts requests from web pages of the intended origin only."""
    require_claim(
        not is_cross_origin_allowed(port, auth, STRANGER), "a page of a stranger may not talk to it"
    )
    if origin != "-":
        require_claim(is_cross_origin_allowed(port, auth, origin), f"a page of {origin} may")


def is_cross_origin_allowed(port: int, auth: Mapping[str, str], origin: str) -> bool:
    """Return whether a browser would let a page send a request with a token and read the response.

    Both the CORS preflight response and the response itself have to name the page. If
    `allow_origin` is set, jupyter_server 2.21.1 grants every page the first. Source:
    https://github.com/jupyter-server/jupyter_server/blob/main/jupyter_server/base/handlers.py (read
    2026-11).
    """
    asks = {
        "Origin": origin,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    _, preflight, _ = send_request(port, "OPTIONS", "/api/kernels", asks)
    _, answer, _ = send_request(port, "GET", "/api/kernels", {"Origin": origin, **auth})
    name = "Access-Control-Allow-Origin"
    return all(headers.get(name) in (origin, "*") for headers in (preflight, answer))


def prove_kernel(port: int, token: str, origin: str, platform: str) -> str:
    """Start a kernel, compute on its devices, and verify its end; return a one-line result."""
    auth = {"Authorization": f"token {token}"}
    status, _, answer = send_request(port, "POST", "/api/kernels", auth, {"name": "python3"})
    require_claim(status == 201, "a kernel has started")
    path = f"/api/kernels/{json.loads(answer)['id']}"
    socket = f"ws://127.0.0.1:{port}{path}/channels"
    cookie = log_in(port, token)
    require_claim(is_websocket_refused(socket), "without the token nobody may talk to the kernel")
    require_claim(
        is_websocket_refused(socket, cookie=cookie, origin=STRANGER),
        "a page of a stranger may not either",
    )
    output = run_cell(socket, cookie, origin, CELL)
    lines = [line.split("|") for line in output.splitlines() if "|" in line]
    require_claim([len(line) for line in lines] == [5, 2], "a cell has printed what it found")
    (pid, prefix, version, found, total), (count, kind) = lines
    require_claim(Path(prefix).samefile(sys.prefix), f"its cells run in {sys.prefix}")
    require_claim(found == platform, f"it computes on the platform {platform}: found {found}")
    require_claim(total == "499500", f"the sum of 0 to 999 is 499500: found {total}")
    virtual = os.environ.get("JAX_NUM_CPU_DEVICES") if platform == "cpu" else None
    if virtual:
        require_claim(count == virtual, f"it sees {virtual} virtual CPU devices: found {count}")
    require_claim(send_request(port, "DELETE", path, auth)[0] == 204, "the kernel was shut down")
    deadline = time.monotonic() + END_S
    while psutil.pid_exists(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    require_claim(not psutil.pid_exists(int(pid)), "its process has gone")
    device = "virtual CPU device" if virtual else f"{kind} device"
    return f"a notebook with jax {version} computes on {count} {device}{'s' * (count != '1')}"


def log_in(port: int, token: str) -> str:
    """Open the page as a browser does, with the token in the address; return its cookies."""
    status, headers, _ = send_request(port, "GET", f"/api/status?token={token}")
    cookies = http.cookies.SimpleCookie()
    for line in headers.get_all("Set-Cookie") or ():
        cookies.load(line)
    require_claim(status == 200 and cookies, "with the token it gives a cookie")
    return "; ".join(f"{name}={cookie.value}" for name, cookie in cookies.items())


def is_websocket_refused(url: str, **options: object) -> bool:
    """Return whether the server rejects a websocket with status 403."""
    try:
        websocket.create_connection(url, timeout=30, **options).close()
    except websocket.WebSocketBadStatusException as error:
        return error.status_code == 403
    return False


def run_cell(url: str, cookie: str, origin: str, code: str) -> str:
    """Run code in a Jupyter kernel over its websocket, as the browser does; return its output."""
    session, message = uuid.uuid4().hex, uuid.uuid4().hex
    header = {
        "msg_id": message,
        "session": session,
        "username": "",
        "version": "5.3",
        "msg_type": "execute_request",
    }
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    request = {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "shell",
        "buffers": [],
    }
    socket = websocket.create_connection(url, cookie=cookie, origin=origin, timeout=KERNEL_S)
    output = ""
    try:
        socket.send(json.dumps(request))
        deadline = time.monotonic() + KERNEL_S
        while time.monotonic() < deadline:
            answer = json.loads(socket.recv())
            if answer["parent_header"].get("msg_id") != message:
                continue
            reply = answer["content"]
            if answer["msg_type"] == "stream" and reply["name"] == "stdout":
                output += reply["text"]
            elif answer["msg_type"] == "error":
                lines = "\n".join(reply["traceback"])
                sys.exit(re.sub(r"\x1b\[[0-9;]*m", "", lines)[-2000:])
            elif answer["msg_type"] == "status" and reply["execution_state"] == "idle":
                return output
    finally:
        socket.close()
    sys.exit(f"the cell has not ended within {KERNEL_S} s")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
