"""Root: how a step's command becomes root, who may do that, and what to do where sudo refuses.

sudo is never asked for a password: it would ask at a terminal that is not there. Where it needs
one, `sudo tpustarter setup ...` does the same, for then this program is root already.
"""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from tpustarter import locations

NEED = "root"
"""What a step says that it needs."""
SUDO = ("sudo", "-n")
NOT_ALLOWED = "it needs root, which `--root` allows once you have read its command"
NOT_SEEN = "it needs root, and its command is not the one that you said yes to"

Leave = bool | Collection[tuple[str, ...]]
"""Whether commands may run as root; or which commands may, each word for word."""


def person() -> dict[str, str]:
    """Return name and numbers of the person this is done for: under sudo, of who called it."""
    if caller := locations.caller():
        import pwd

        name = pwd.getpwuid(caller[0]).pw_name
        return {"user": name, "uid": str(caller[0]), "gid": str(caller[1])}
    return {"user": getpass.getuser(), "uid": str(os.getuid()), "gid": str(os.getgid())}


def prefix(needs: Sequence[str]) -> tuple[str, ...]:
    """Return what stands before a command so that it runs as what it needs."""
    return SUDO if NEED in needs and os.geteuid() != 0 else ()


def reason_against(command: tuple[str, ...], needs: Sequence[str], leave: Leave) -> str:
    """Return why a command may not run; empty where it may."""
    if NEED not in needs or leave is True:
        return ""
    if not leave:
        return NOT_ALLOWED
    return "" if command in leave else NOT_SEEN


def why_refused(command: Sequence[str], output: Sequence[str], options: str) -> str:
    """Return what to do where sudo itself ended a command; empty where it did not.

    Args:
        command: What was run.
        output: What it wrote last.
        options: Those of `tpustarter setup` with which all of it is done.
    """
    said = output[-1] if output else ""
    if Path(command[0]).name != SUDO[0] or not said.startswith("sudo: "):
        return ""
    return (
        f"sudo asks for a password here (`{said}`), and tpustarter never takes one. If you may "
        f"become root, type this in a terminal, and sudo asks you there:\n  {_in_terminal(options)}"
    )


def _in_terminal(options: str) -> str:
    """Return the command that does the same where sudo can ask for a password."""
    program = Path(sys.prefix, "bin/tpustarter")
    # As a whole path: sudo looks for programs in folders of its own.
    start = [str(program)] if program.is_file() else [sys.executable, "-m", "tpustarter"]
    return f"{shlex.join(['sudo', *start, 'setup'])} {options}"
