"""One `mpirun` of Open MPI for all hosts, with a process on each.

Open MPI 4 gives its stdin to every process with `--stdin all`, so the probe and the lifeline come
that way, and JAX finds out from it who is there. Open MPI 5 does neither. It loses what is more
than a few KiB on its way to another host (5.0.11), and with `--preload-files` it starts nothing, so
the probe has to be in a folder that all hosts share; and JAX is given the place of each host.

Open MPI ends all hosts as soon as one exits with an error, and its options against that differ by
version, so the shell line on a host tells the exit code, and exits with 0.

Options of the request: `version`, as `find_version` returns it; `shared`, not empty where the zip
is in a shared folder; `coordinator`, the first host as the others reach it; `mpi`, more options of
mpirun as typed in a shell (`--hostfile hosts`).

Source: https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html (read 2026-11).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting.host_shell_command import make_task_script
from tpustarter.slices.starting.labelled_output import LabelFormat
from tpustarter.slices.starting.ssh_launcher import strip_user_and_port
from tpustarter.slices.starting.start_request import HostCommand, StartRequest

TOLD_SINCE = 5
"""First version that JAX does not recognise, and that gives no host but the first a stdin."""
LABELS = LabelFormat(re.compile(rb"\[\d+,(\d+)\]<std(?:out|err)>:"), within=True)
LABELS_5 = LabelFormat(
    re.compile(rb"\[(?:[^\s\[\]@]+@)?\d+,(\d+)\]<std(?:out|err)>: ?"), within=True
)
ASK_S = 10.0


def build_commands(request: StartRequest) -> tuple[HostCommand, ...]:
    """Return the command for all hosts; nothing is run.

    Raises:
        Problem: this version needs something that is not in the request.
    """
    version = int(request.options.get("version") or TOLD_SINCE - 1)
    shared = bool(request.options.get("shared"))
    if version >= TOLD_SINCE and not shared:
        raise Problem(
            f"Open MPI {version} does not bring the probe to other hosts",
            hint="name a folder that all hosts share, or use `--start ssh`",
            code=ExitCode.USAGE,
        )
    count = request.count or len(request.hosts) or None
    words = [
        "mpirun",
        *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
        *(["--host", ",".join(request.hosts)] if request.hosts else []),
        *(["-n", str(count)] if count else []),
        "--map-by",
        "ppr:1:node",
        # Else the process of a host has one core of it.
        "--bind-to",
        "none",
        *(["--output", "tag"] if version >= TOLD_SINCE else ["--tag-output"]),
        *(["--stdin", "none"] if shared else ["--stdin", "all"]),
        *shlex.split(request.options.get("mpi", "")),
        "sh",
        "-c",
        make_task_script(request, _place(request, version), shared=shared, exits=False),
    ]
    return (
        HostCommand(
            words=tuple(words),
            name="mpirun",
            archive=None if shared else request.archive,
            marks=True,
            labels=LABELS_5 if version >= TOLD_SINCE else LABELS,
        ),
    )


def _place(request: StartRequest, version: int) -> str:
    """Return the options of `slice` where JAX finds nothing out, or not the right coordinator."""
    coordinator = request.options.get("coordinator")
    if version < TOLD_SINCE and not coordinator:
        return ""
    if not coordinator and not request.hosts:
        raise Problem(
            f"JAX finds no coordinator under Open MPI {version}",
            hint="name the hosts, or the coordinator, which is the host of rank 0",
            code=ExitCode.USAGE,
        )
    address = shlex.quote(f"{coordinator or strip_user_and_port(request.hosts[0])}:{request.port}")
    return f'--coordinator {address} --hosts "$OMPI_COMM_WORLD_SIZE" --host "$OMPI_COMM_WORLD_RANK"'


def find_version() -> str:
    """Return the first number of the version of this machine's mpirun, or "" if it is not known."""
    try:
        done = subprocess.run(
            ["mpirun", "--version"],  # noqa: S607  the same one that the command starts
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.match(rb"mpirun \(Open MPI\) (\d+)\.", done.stdout)
    return match[1].decode() if match else ""
