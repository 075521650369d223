"""Requests of the real gcloud to Compute Engine, recorded by a server on loopback."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import loopback
from tests.support.places import SUPPORT

Sent = tuple[str, str, Any]
"""Method, path below the project, and body of a request."""
_PREFIX = re.compile(r"https?://[^/]+/compute/\w+/")
_NOTHING: tuple[Any, ...] = ({}, [], "", None, False)


def plain(value: Any) -> Any:
    """Return JSON without servers in its addresses, and without empty or false values."""
    if isinstance(value, dict):
        rows = {key: plain(one) for key, one in value.items()}
        return {key: one for key, one in rows.items() if one not in _NOTHING}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return _PREFIX.sub("", value) if isinstance(value, str) else value


def of_request(method: str, target: str, body: Any) -> Sent:
    """Return a request in a form for comparison."""
    path = urlsplit(target).path.partition("/projects/my-project/")[2]
    return method, path, plain(body) if body else None


def changes(requests: Iterable[Sent]) -> list[Sent]:
    """Return the requests that change a resource."""
    return [one for one in requests if one[0] != "GET"]


@functools.cache
def original(configuration: Path) -> subprocess.Popen[str]:
    """Start the process that is copied for each command with a configuration."""
    asked = ["gcloud", "info", "--format=value(basic.python_location,installation.sdk_root)"]
    env = environment(configuration)
    told = subprocess.run(asked, env=env, capture_output=True, text=True, check=True)
    python, root = told.stdout.strip().split("\t")
    started = subprocess.Popen(
        [python, "-S", str(SUPPORT / "gcloud_copies.py"), f"{root}/lib/gcloud.py"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)
    return started


def environment(configuration: Path) -> dict[str, str]:
    """Return the environment of a gcloud without credentials and with settings of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(configuration),
        "CLOUDSDK_CONFIG": str(configuration),
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
    }


def run_gcloud(command: tuple[str, ...], configuration: Path, **endpoints: str) -> str:
    """Run gcloud without credentials against servers on this machine; return its last output.

    Args:
        command: The words of the command.
        configuration: The folder used as the home and for gcloud's settings.
        endpoints: The address of the server for each API, such as `COMPUTE`.
    """
    pipes, output = original(configuration), configuration / "output"
    assert pipes.stdin
    assert pipes.stdout
    output.write_text("")
    env = environment(configuration)
    env |= {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{api}": at for api, at in endpoints.items()}
    pipes.stdin.write(f"{json.dumps([command[1:], env, str(output)])}\n")
    pipes.stdin.flush()
    assert pipes.stdout.readline(), "the copied process of gcloud has ended"
    return output.read_text()[-500:]


def record(command: tuple[str, ...], configuration: Path) -> list[Sent] | str:
    """Return the requests that gcloud sends for a command, or its error if it sends none."""
    seen: list[Sent] = []

    class Handler(loopback.Handler):
        def _answer(self) -> None:
            seen.append(of_request(self.command, self.path, self.read_json()))
            path = urlsplit(self.path).path
            own = f"http://127.0.0.1:{self.server.server_port}{path}"  # type: ignore[attr-defined]
            name = path.rpartition("/")[2]
            self.send_document({"name": name, "selfLink": own, "status": "DONE"})

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815  the names of the library

    track = "alpha" if "alpha" in command else "v1"
    with loopback.serve(Handler) as address:
        error = run_gcloud(command, configuration, COMPUTE=f"http://{address}/compute/{track}/")
    return seen or error


def record_all(
    commands: dict[str, tuple[str, ...]], configuration: Path
) -> dict[str, list[Sent] | str]:
    """Return gcloud's requests for each command, by name."""
    return {name: record(command, configuration) for name, command in commands.items()}
