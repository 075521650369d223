"""Commands as root: how a step's command becomes root, and the advice where sudo refuses.

sudo is never asked for a password: it would prompt at a terminal that is not there. Where it needs
one, `sudo tpustarter setup ...` does the same, because then this program is root already.
"""

from __future__ import annotations

import getpass
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from tpustarter.core import locations

NEED = "root"
"""The word in a step's `needs` for root."""
SUDO = ("sudo", "-n")
NOT_ALLOWED = "it needs root, which `--root` allows once you have read its command"
NOT_SEEN = "it needs root, and its command is not the one that you said yes to"

Leave = bool | Collection[tuple[str, ...]]
"""True if commands may run as root; or the commands that may, each word for word."""


def find_user() -> dict[str, str]:
    """Return name and numbers of the user; under sudo, those of the user who called it."""
    if caller := locations.find_sudo_caller():
        import pwd

        name = pwd.getpwuid(caller[0]).pw_name
        return {"user": name, "uid": str(caller[0]), "gid": str(caller[1])}
    return {"user": getpass.getuser(), "uid": str(os.getuid()), "gid": str(os.getgid())}


def sudo_prefix(needs: Sequence[str]) -> tuple[str, ...]:
    """Return the words before a command that make it run as root, if it needs that."""
    return SUDO if NEED in needs and os.geteuid() != 0 else ()


def explain_obstacle(command: tuple[str, ...], needs: Sequence[str], leave: Leave) -> str:
    """Return why a command may not run, or an empty text if it may."""
    if NEED not in needs or leave is True:
        return ""
    if not leave:
        return NOT_ALLOWED
    return "" if command in leave else NOT_SEEN


def explain_refusal(command: Sequence[str], output: Sequence[str], options: str) -> str:
    """Return advice where sudo itself ended a command, or an empty text if it did not.

    Args:
        command: The command that was run.
        output: Its last lines.
        options: Arguments of `tpustarter setup` for the same set-up.
    """
    said = output[-1] if output else ""
    if Path(command[0]).name != SUDO[0] or not said.startswith("sudo: "):
        return ""
    return (
        f"sudo asks for a password here (`{said}`), and tpustarter never takes one. If you may "
        f"become root, type this in a terminal, and sudo asks you there:\n  {_in_terminal(options)}"
    )


def _in_terminal(options: str) -> str:
    program = Path(sys.prefix, "bin/tpustarter")
    # As a whole path: sudo looks for programs in folders of its own.
    start = [str(program)] if program.is_file() else [sys.executable, "-m", "tpustarter"]
    return f"{shlex.join(['sudo', *start, 'setup'])} {options}"
