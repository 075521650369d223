"""One ssh process per host, as in a loop of ssh; the user's own configuration of ssh holds.

Options of the request: `coordinator`, the first host as the others reach it; `ssh`, more options
of ssh as typed in a shell (`-i key -p 2222`).

Source: https://man.openbsd.org/ssh_config (read 2026-11).
"""

from __future__ import annotations

import shlex
import subprocess

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting.host_shell_command import make_remote_command
from tpustarter.slices.starting.start_request import HostCommand, StartRequest

CONNECT_S = 20
ALIVE_S = 15
"""Seconds of silence after which ssh asks whether the host is still there; three times at most."""
OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    f"-oConnectTimeout={CONNECT_S}",
    f"-oServerAliveInterval={ALIVE_S}",
    "-oServerAliveCountMax=3",
    # A master of other connections would live longer than this one. One that runs is used.
    "-oControlMaster=no",
    # Ports that are forwarded for a person are taken as long as that person is logged in.
    "-oClearAllForwardings=yes",
)
"""Options that keep ssh from asking, from waiting for a dead host, and from leaving anything."""
ASK_S = 10.0


def build_commands(request: StartRequest) -> tuple[HostCommand, ...]:
    """Return a command for each host, in the order of the hosts; nothing is run.

    The user's options of ssh come first, because ssh takes the first value of each.
    """
    for name in request.hosts:
        if not name or name.startswith("-"):
            raise Problem(f"`{name}` cannot be the name of a host", code=ExitCode.USAGE)
    coordinator = request.options.get("coordinator") or strip_user_and_port(request.hosts[0])
    if ":" in coordinator and not coordinator.startswith("["):
        coordinator = f"[{coordinator}]"  # an address of IPv6
    more = shlex.split(request.options.get("ssh", ""))
    place = ("--coordinator", f"{coordinator}:{request.port}", "--hosts", str(len(request.hosts)))
    return tuple(
        HostCommand(
            words=(
                "ssh",
                *more,
                *OPTIONS,
                name,
                "--",
                make_remote_command(request, (*place, "--host", str(number))),
            ),
            host=number,
            name=name,
            archive=request.archive,
            marks=True,
        )
        for number, name in enumerate(request.hosts)
    )


def strip_user_and_port(host: str) -> str:
    """Return a host without the user, and without the scheme and the port of `ssh://`."""
    name = host.removeprefix("ssh://").rpartition("@")[2]
    return name.partition(":")[0] if host.startswith("ssh://") else name


def find_coordinator(host: str, options: str = "") -> str:
    """Return a host as ssh's configuration names it, because the others do not have that file.

    Without ssh, or where ssh refuses its configuration, it is the host as typed.
    """
    words = ["ssh", "-G", *shlex.split(options), host]
    try:
        done = subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return strip_user_and_port(host)
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(" ")
        if key == "hostname" and value:
            return value
    return strip_user_and_port(host)
