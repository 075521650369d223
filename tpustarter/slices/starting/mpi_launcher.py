"""One Open MPI `mpirun` for all hosts, with one process per host.

Open MPI 4 passes its stdin to every process with `--stdin all`, which carries the probe and the
lifeline, and JAX detects the hosts by itself. Open MPI 5 offers neither. It loses anything beyond a
few KiB on the way to another host (5.0.11), and starts nothing with `--preload-files`, so the probe
has to be in a folder that all hosts share, and JAX has to be given each host's number.

Open MPI ends all hosts as soon as one exits with an error, and its options against that differ by
version, so the shell command on a host prints the exit code and exits with 0.

Options of the request: `version`, as `find_version` returns it; `shared`, not empty if the zip is
in a shared folder; `coordinator`, the first host as the others reach it; `mpi`, extra mpirun
options as typed in a shell (`--hostfile hosts`).

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
from tpustarter.slices.starting.launch_request import HostCommand, LaunchRequest
from tpustarter.slices.starting.ssh_launcher import strip_user_and_port

FIRST_UNRECOGNISED = 5
"""First version that JAX does not recognise, and that gives only the first host a stdin."""
LABELS = LabelFormat(re.compile(rb"\[\d+,(\d{1,9})\]<std(?:out|err)>:"), within=True)
LABELS_5 = LabelFormat(
    re.compile(rb"\[(?:[^\s\[\]@]+@)?\d+,(\d{1,9})\]<std(?:out|err)>: ?"), within=True
)
ASK_S = 10.0


def build_commands(request: LaunchRequest) -> tuple[HostCommand, ...]:
    """Return the command for all hosts; nothing is run.

    Raises:
        Problem: This version needs an option that the request lacks.
    """
    version = int(request.options.get("version") or FIRST_UNRECOGNISED - 1)
    shared = bool(request.options.get("shared"))
    if version >= FIRST_UNRECOGNISED and not shared:
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
        # Otherwise a host's process is bound to one core.
        "--bind-to",
        "none",
        *(["--output", "tag"] if version >= FIRST_UNRECOGNISED else ["--tag-output"]),
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
            labels=LABELS_5 if version >= FIRST_UNRECOGNISED else LABELS,
        ),
    )


def _place(request: LaunchRequest, version: int) -> str:
    """Return the options of `slice` if JAX detects no hosts, or not the right coordinator."""
    coordinator = request.options.get("coordinator")
    if version < FIRST_UNRECOGNISED and not coordinator:
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
    """Return the major version of this machine's mpirun, or "" if it is unknown."""
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
    match = re.match(rb"mpirun \(Open MPI\) (\d{1,9})\.", done.stdout)
    return match[1].decode() if match else ""
