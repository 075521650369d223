"""The shell text that runs the probe on one host, from a zip on stdin that it deletes again.

A host needs only a POSIX shell, coreutils and the Python under test. `trap :` keeps the shell alive
until it has removed its folder, even if its session hangs up or its output is closed; its child
processes get the default signals back. The probe's temporary files are in that folder, too.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpustarter.slices.starting.launch_request import (
    ENDED,
    LIFELINE_S,
    PLACED,
    REACHED,
    LaunchRequest,
)


def make_ssh_probe_command(request: LaunchRequest, options: Sequence[str]) -> str:
    """Return a command line for a host's login shell, whichever shell that is.

    Args:
        request: The run to start.
        options: Options of `slice`, after those of the lifeline.
    """
    receive = f"head -c {request.archive.stat().st_size}"
    words = shlex.join(["slice", "--lifeline-s", str(LIFELINE_S), *options])
    return f"exec sh -c {shlex.quote(_script(request, receive, words, 'exit $c'))}"


def make_task_script(
    request: LaunchRequest, options: str = "", *, shared: bool = False, exits: bool = True
) -> str:
    """Return the `sh -c` script that `srun` or `mpirun` runs as a task on every host.

    Args:
        request: The run to start.
        options: Options of `slice` in shell syntax, which may use the engine's variables.
        shared: True if the hosts read the zip in place, because the engine gives them no stdin.
        exits: True to exit with the probe's exit code; False to exit with 0, for an engine that
            ends all hosts when one fails.
    """
    lifeline = "--no-lifeline" if shared else f"--lifeline-s {LIFELINE_S}"
    receive = f"head -c {request.archive.stat().st_size}"
    if shared:
        receive = f"cat {shlex.quote(str(request.archive))}"
    last = f'echo "{ENDED}$c"; exit {"$c" if exits else 0}'
    return _script(request, receive, f"slice {lifeline} {options}".rstrip(), last)


def _script(request: LaunchRequest, receive: str, words: str, last: str) -> str:
    return (
        f"umask 077; trap : HUP INT TERM PIPE; echo {REACHED}; "
        f'd=$(mktemp -d) && {receive} >"$d/probe.pyz" && echo {PLACED} && '
        f'TMPDIR="$d" {_python(request.python)} "$d/probe.pyz" {words}; '
        f'c=$?; rm -rf "$d"; {last}'
    )


def _python(typed: str) -> str:
    """Return the Python under test, quoted for a shell that expands a leading `~/`."""
    if typed.startswith("~/"):
        return f"~/{shlex.quote(typed[2:])}"
    return shlex.quote(typed)
