"""A server of another program: closed to who has no token, and ended with this one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.processes import HANG_S, until
from tests.support.tutor import is_alive
from tpustarter.checking.plan import environments
from tpustarter.core.problem import Problem
from tpustarter.machine.machine import Machine
from tpustarter.serving.server_process import ServerProcess
from tpustarter.setup import server_commands

FAKE = """#!{python}
import http.server, os, sys
options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
open({notes!r}, "w").write("\\n".join([str(os.getpid()), *sys.argv]))
if {behave!r} == "ends":
    print("what the server said last")
    sys.exit(3)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        given = self.path.partition("?token=")[2]
        known = {behave!r} == "open" or given == os.environ["JUPYTER_TOKEN"]
        if known or self.path == "/login":
            self.send_response(200)
        elif self.path.startswith("/api"):
            print("403 GET", self.path, flush=True)
            self.send_response(403)
        else:
            self.send_response(302)
            self.send_header("Location", "/lab" if {behave!r} == "moves" else "/login")
        self.end_headers()

    def log_message(self, *_):
        pass

address = options["ServerApp.ip"], int(options["ServerApp.port"])
http.server.HTTPServer(address, Handler).serve_forever()
"""


def lay(folder: Path, behave: str = "") -> Path:
    """Make an environment with a program that stands in for Jupyter."""
    program = folder / "bin/jupyter-notebook"
    program.parent.mkdir(parents=True)
    notes = str(folder / "notes")
    program.write_text(FAKE.format(python=sys.executable, notes=notes, behave=behave))
    program.chmod(0o755)
    (folder / "bin/python").symlink_to(sys.executable)
    return folder


def until_ended(pid: int) -> None:
    """Wait for the end of a process."""
    until(lambda: not is_alive(pid), f"the end of process {pid}")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def other(folder: Path, port: int) -> ServerProcess:
    """Return the server of an environment."""
    env = {**os.environ, "JUPYTER_TOKEN": "of the user", "JUPYTER_CONFIG_DIR": "/of/the/user"}
    server = server_commands.make_server_command(
        "jupyter", folder, Machine(env=env), port=port, root=folder
    )
    return ServerProcess(server, "Jupyter", "jupyter", port)


def status(url: str) -> int:
    """Return the HTTP status of a request."""
    try:
        with urllib.request.urlopen(url, timeout=HANG_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_server_answers_token_holder_until_stopped(tmp_path: Path) -> None:
    """The address opens it, without the token it is closed, and then it is gone."""
    folder, port = lay(tmp_path / "env"), free_port()
    server = other(folder, port)
    seen: list[int] = []
    told: list[str] = []

    def ready() -> None:
        assert [] == told  # the server has met nothing to warn of
        closed = f"http://127.0.0.1:{port}/api/kernels"
        seen.extend(status(url) for url in (server.url, closed))
        threading.Thread(target=server.stop).start()

    server.run(ready, told.append)
    pid, *words = (folder / "notes").read_text().splitlines()

    assert [200, 403] == seen
    until_ended(int(pid))
    assert server.url.partition("token=")[2] not in " ".join(words)
    assert "of the user" not in server.url
    assert {
        f"--ServerApp.port={port}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.allow_origin=",
    } <= {*words}


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        ("open", "answers a request without the token: found status 200, expected 302"),
        (
            "moves",
            "answers a request without the token: found status 302, expected 302 to the page",
        ),
        ("ends", "Jupyter has ended with exit code 3"),
    ],
)
def test_open_or_ended_server_is_error(behave: str, said: str, tmp_path: Path) -> None:
    """A server that is open to all, or has ended, is an error and leaves no process."""
    folder = lay(tmp_path / "env", behave)
    shown: list[str] = []
    with pytest.raises(Problem, match=said):
        other(folder, free_port()).run(lambda: shown.append("ready"), shown.append)

    assert "ready" not in shown
    until_ended(int((folder / "notes").read_text().split()[0]))


def test_taken_port_is_named_before_start(tmp_path: Path) -> None:
    """A taken port is named before the server starts, with the command for another port."""
    folder = lay(tmp_path / "env")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Problem, match=f"cannot listen on port {port}") as problem:
            other(folder, port).run(lambda: None, print)

    assert f"`tpustarter serve jupyter --port {port + 1}`" in str(problem.value)
    assert not (folder / "notes").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_command_prints_address_and_ends_server(number: int, code: int, tmp_path: Path) -> None:
    """The address, the way to it, and after any end no server."""
    folder, port = lay(tmp_path / "env"), free_port()
    environments.remember_environment(folder, environments.JUPYTER)
    words = [sys.executable, "-m", "tpustarter", "serve", "jupyter", "--port", str(port)]
    env = {**os.environ, "SSH_CONNECTION": "10.0.0.9 50000 10.0.0.2 22", "USER": "ada"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "Ctrl-C ends the server" in line:
                process.send_signal(number)

    assert code == process.returncode
    assert said[0].startswith(f"Jupyter is at http://127.0.0.1:{port}/tree?token=")
    assert f"$ ssh -N -L {port}:127.0.0.1:{port} ada@10.0.0.2\n" in said
    until_ended(int((folder / "notes").read_text().split()[0]))


def test_missing_environment_has_setup_command() -> None:
    """An error with the command, and exit code 5."""
    words = [sys.executable, "-m", "tpustarter", "serve", "jupyter"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (5, "") == (done.returncode, done.stdout)
    assert "hint: `tpustarter setup jupyter` shows how one is made" in done.stderr
