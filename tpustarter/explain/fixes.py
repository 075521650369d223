"""Small, safe fixes, which are shown first and run only with the user's consent.

A fix is a command from a host check's finding on this machine. A process is ended only if it
belongs to the current user, even if that user could end others.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpustarter.explain import machine_evidence
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.machine import host
from tpustarter.probe.finding import Hint
from tpustarter.text import phrases

WAIT_S = 10
"""Seconds to wait for a process to end."""
_INSTALLS = (("-m", "pip", "install"), ("pip", "install"))


@dataclass(frozen=True)
class Fix:
    """A command that fixes a confirmed failure, and a description of its effect."""

    command: tuple[str, ...]
    does: str
    ends: int | None = None
    """The pid of the process that it ends."""


def find_fix(match: FailureMatch, machine: host.Machine) -> Fix | None:
    """Return the fix for a failure confirmed on this machine, or None if there is none."""
    hint = Hint.of(match.hint)
    if match.confidence != "confirmed":
        return None
    if hint.ends is not None:
        return _end(hint.ends, machine)
    try:
        words = tuple(shlex.split(hint.command or ""))
    except ValueError:
        return None
    if words[:1] == ("sudo",):
        return Fix(words, "changes a setting of this machine, as root")
    if any(words[1:][: len(install)] == install for install in _INSTALLS):
        return Fix(words, "installs into that Python, and downloads what it needs")
    return None


def _end(pid: int, machine: host.Machine) -> Fix | None:
    process = host.read_process(machine, pid)
    if process is None or process.user != machine.user_name(os.geteuid()):
        return None
    if pid in _ancestors(machine):
        return None
    age = f", {phrases.format_duration(process.age_s)} old" if process.age_s is not None else ""
    does = f"ends your process {pid}{age}: {process.command}"
    return Fix(("kill", str(pid)), does, ends=pid)


def _ancestors(machine: host.Machine) -> set[int]:
    found: set[int] = set()
    pid: int | None = os.getpid()
    while pid and pid not in found:
        found.add(pid)
        process = host.read_process(machine, pid)
        pid = process.parent if process else None
    return found


def run_fix(one: Fix) -> int:
    """Run a fix that the user accepted, and return its exit code."""
    code = subprocess.run(one.command, check=False).returncode
    if one.ends is not None:
        deadline = time.monotonic() + WAIT_S
        while _runs(one.ends) and time.monotonic() < deadline:
            time.sleep(0.1)
    return code


def _runs(pid: int) -> bool:
    process = host.read_process(host.Machine(), pid)
    return process is not None and not process.zombie


def recheck_failure(match: FailureMatch, python: str = "") -> bool:
    """Run the host checks again, and return whether a confirmed failure is gone.

    Args:
        match: The failure.
        python: The Python that ran the program; empty if unknown.
    """
    before = replace(match, confidence="likely", here="", hint="")
    machine = machine_evidence.plan_host_checks(python).collect()
    return machine_evidence.add_machine_evidence([before], machine)[0].confidence != "confirmed"


def find_fixes(
    matches: Sequence[FailureMatch], machine: host.Machine
) -> list[tuple[FailureMatch, Fix]]:
    """Return the fixes for this machine, each with its failure, in the matches' order."""
    return [(match, one) for match in matches if (one := find_fix(match, machine)) is not None]
