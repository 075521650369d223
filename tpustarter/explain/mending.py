"""Small and safe fixes: what would be done is shown, and nothing is done before the user said yes.

What can be done is what a host check has found and named a command for, on this machine. Of
processes only those of the user who asks are ended, whatever rights that user has.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpustarter.explain import looking
from tpustarter.explain.ranking import Match
from tpustarter.machine import host

WAIT_S = 10
"""How long a process is given to end."""
_COMMAND = re.compile(r"`([^`]+)`")
_INSTALLS = (("-m", "pip", "install"), ("pip", "install"))


@dataclass(frozen=True)
class Offer:
    """A command that mends what was confirmed, and what it does in words."""

    command: tuple[str, ...]
    does: str
    ends: int | None = None
    """The process that it ends."""


def offer(match: Match, machine: host.Machine) -> Offer | None:
    """Return what can be done about a failure that was confirmed here; null where nothing can."""
    found = _COMMAND.search(match.hint)
    if match.confidence != "confirmed" or not found:
        return None
    try:
        words = tuple(shlex.split(found[1]))
    except ValueError:
        return None
    if words[0] == "kill" and len(words) == 2 and words[1].isdecimal():
        return _end(int(words[1]), machine)
    if words[0] == "sudo":
        return Offer(words, "changes a setting of this machine, as root")
    if any(words[1:][: len(install)] == install for install in _INSTALLS):
        return Offer(words, "installs into that Python, and downloads what it needs")
    return None


def _end(pid: int, machine: host.Machine) -> Offer | None:
    process = host.process(machine, pid)
    if process is None or process.user != machine.user_name(os.geteuid()):
        return None
    if pid in _ancestors(machine):
        return None
    age = f", {host.age_text(process.age_s)} old" if process.age_s is not None else ""
    does = f"ends your process {pid}{age}: {process.command}"
    return Offer(("kill", str(pid)), does, ends=pid)


def _ancestors(machine: host.Machine) -> set[int]:
    """Return this process and those that started it."""
    found: set[int] = set()
    pid: int | None = os.getpid()
    while pid and pid not in found:
        found.add(pid)
        process = host.process(machine, pid)
        pid = process.parent if process else None
    return found


def carry_out(one: Offer) -> int:
    """Run the command of an offer that the user accepted; return its exit code."""
    code = subprocess.run(one.command, check=False).returncode
    if one.ends is not None:
        deadline = time.monotonic() + WAIT_S
        while _runs(one.ends) and time.monotonic() < deadline:
            time.sleep(0.1)
    return code


def _runs(pid: int) -> bool:
    process = host.process(host.Machine(), pid)
    return process is not None and not process.zombie


def is_mended(match: Match) -> bool:
    """Look at this machine again; return whether what was confirmed is gone."""
    before = replace(match, confidence="likely", here="", hint="")
    return looking.confirmed([before], looking.look())[0].confidence != "confirmed"


def offers(matches: Sequence[Match], machine: host.Machine) -> list[tuple[Match, Offer]]:
    """Return every offer, for the most likely cause first."""
    return [(match, one) for match in matches if (one := offer(match, machine)) is not None]
