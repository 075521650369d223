"""The shell line that runs the probe on one host: it comes on stdin, and nothing of it stays.

A host has nothing but a POSIX shell, coreutils and the Python under test. `trap :` keeps the shell
alive until it has removed its folder, when its session is hung up or its output is closed; what it
starts gets the usual signals back. The probe's temporary files are in that folder, too.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpustarter.slices.starting.started import LIFELINE_S, PLACED, REACHED, StartRequest


def remote_line(request: StartRequest, options: Sequence[str]) -> str:
    """Return the text for a host's login shell, whichever shell that is.

    Args:
        request: The run.
        options: Options of `slice`, behind those of the lifeline.
    """
    size = request.archive.stat().st_size
    words = shlex.join(["slice", "--lifeline-s", str(LIFELINE_S), *options])
    line = (
        f"umask 077; trap : HUP INT TERM PIPE; echo {REACHED}; "
        f'd=$(mktemp -d) && head -c {size} >"$d/probe.pyz" && echo {PLACED} && '
        f'TMPDIR="$d" {_python(request.python)} "$d/probe.pyz" {words}; '
        'c=$?; rm -rf "$d"; exit $c'
    )
    return f"exec sh -c {shlex.quote(line)}"


def _python(typed: str) -> str:
    """Return the Python under test for a shell, which puts the user's home in place of a `~`."""
    if typed.startswith("~/"):
        return f"~/{shlex.quote(typed[2:])}"
    return shlex.quote(typed)
