"""Commands as root: the prefix that makes a step's command run as root, and advice if sudo refuses.

sudo never prompts for a password, because there is no terminal for the prompt. If it needs one, run
`sudo tpustarter setup ...` instead, because then this program is root already.
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
"""The word for root in a step's `needs`."""
SUDO = ("sudo", "-n")
NOT_ALLOWED = "it needs root, which `--root` allows once you have read its command"
NOT_SEEN = "it needs root, and its command is not the one that you said yes to"

RootPermission = bool | Collection[tuple[str, ...]]
"""True if commands may run as root, or exactly the commands that may."""


def find_user() -> dict[str, str]:
    """Return the user's name and ids; under sudo, those of the calling user."""
    if caller := locations.find_sudo_caller():
        import pwd

        name = pwd.getpwuid(caller[0]).pw_name
        return {"user": name, "uid": str(caller[0]), "gid": str(caller[1])}
    return {"user": getpass.getuser(), "uid": str(os.getuid()), "gid": str(os.getgid())}


def sudo_prefix(needs: Sequence[str]) -> tuple[str, ...]:
    """Return `sudo -n` if a command needs root and this process lacks it, else an empty tuple."""
    return SUDO if NEED in needs and os.geteuid() != 0 else ()


def explain_obstacle(
    command: tuple[str, ...], needs: Sequence[str], permission: RootPermission
) -> str:
    """Return why a command may not run, or an empty string if it may."""
    if NEED not in needs or permission is True:
        return ""
    if not permission:
        return NOT_ALLOWED
    return "" if command in permission else NOT_SEEN


def explain_refusal(command: Sequence[str], output: Sequence[str], options: str) -> str:
    """Return advice if sudo itself refused a command, or an empty string if it did not.

    Args:
        command: The command that was run.
        output: The last lines of its output.
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
    # The absolute path, because sudo searches folders of its own.
    start = [str(program)] if program.is_file() else [sys.executable, "-m", "tpustarter"]
    return f"{shlex.join(['sudo', *start, 'setup'])} {options}"
