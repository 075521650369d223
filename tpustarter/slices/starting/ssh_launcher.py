"""One ssh process per host, as in a shell loop; the user's own ssh configuration applies.

Options of the request: `coordinator`, the first host as the others reach it; `ssh`, extra options
of ssh as typed in a shell (`-i key -p 2222`).

Source: https://man.openbsd.org/ssh_config (read 2026-11).
"""

from __future__ import annotations

import shlex
import subprocess

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting.host_shell_command import make_ssh_probe_command
from tpustarter.slices.starting.launch_request import HostCommand, LaunchRequest

CONNECT_S = 20
ALIVE_S = 15
"""Seconds of silence after which ssh checks that the host is still alive, at most three times."""
OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    f"-oConnectTimeout={CONNECT_S}",
    f"-oServerAliveInterval={ALIVE_S}",
    "-oServerAliveCountMax=3",
    # A new master connection would outlive this one; an existing master is used.
    "-oControlMaster=no",
    # The user's forwarded ports are taken while the user is logged in.
    "-oClearAllForwardings=yes",
)
"""Options that keep ssh from prompting, waiting for a dead host, or leaving anything behind."""
ASK_S = 10.0


def build_commands(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """Return one command per host, in the order of the hosts; nothing is run.

    The user's ssh options come first, because ssh uses the first value of each option.
    """
    for name in request.hosts:
        if not name or name.startswith("-"):
            raise Problem(f"`{name}` cannot be the name of a host", code=ExitCode.USAGE)
    coordinator = request.options.get("coordinator") or strip_user_and_port(request.hosts[0])
    if ":" in coordinator and not coordinator.startswith("["):
        coordinator = f"[{coordinator}]"  # an IPv6 address
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
                make_ssh_probe_command(request, (*place, "--host", str(number))),
            ),
            host=number,
            name=name,
            archive=request.archive,
            marks=True,
        )
        for number, name in enumerate(request.hosts)
    )


def strip_user_and_port(host: str) -> str:
    """Return a host without its user and, for an `ssh://` URL, without the scheme and the port."""
    name = host.removeprefix("ssh://").rpartition("@")[2]
    return name.partition(":")[0] if host.startswith("ssh://") else name


def find_coordinator(host: str, options: str = "") -> str:
    """Return a host's name from ssh's configuration, because the other hosts lack that file.

    If ssh is missing or rejects its configuration, this is the host as typed.
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
