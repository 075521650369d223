"""Where things lie: content that ships with the program, and the folders it writes.

Under sudo everything written belongs to the user who called it, never to root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from tpustarter.problem import Problem

PACKAGE = Path(__file__).parent

KEPT_RUNS = 10
"""Run folders kept for looking at logs afterwards."""


def content(name: str) -> Path:
    """Return the folder of `checks` or `lessons`: in the package, or beside it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def caller() -> tuple[int, int] | None:
    """Return user and group id of the person who called sudo, or None when nobody did."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    return (int(user), int(group)) if user.isdigit() and group.isdigit() and user != "0" else None


def state() -> Path:
    """Return the folder for state and logs, made if need be."""
    chosen = os.environ.get("TPUSTARTER_HOME")
    if chosen:
        folder = Path(chosen)
    elif sudo := caller():
        import pwd

        folder = Path(pwd.getpwuid(sudo[0]).pw_dir) / ".local/state/tpustarter"
    else:
        from platformdirs import user_state_path

        folder = user_state_path("tpustarter", appauthor=False)
    return make_folder(folder)


def make_folder(folder: Path) -> Path:
    """Make a folder and its missing parents, for the caller; raises Problem if it cannot be."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        with tempfile.TemporaryFile(dir=folder):
            pass  # a folder that cannot be written to must show now, not at the end of a run
    except OSError as error:
        raise Problem(
            f"cannot write to the state folder `{folder}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error
    for path in missing:
        give_to_caller(path)
    return folder


def give_to_caller(path: Path) -> None:
    """Hand a file or folder to the user who called sudo; does nothing without sudo."""
    if sudo := caller():
        with contextlib.suppress(OSError):
            os.chown(path, *sudo)


def run_folder() -> Path:
    """Make and return a fresh folder for one run, and drop the oldest ones."""
    runs = make_folder(state() / "runs")
    name = time.strftime("%Y%m%d-%H%M%S-")
    folder = Path(tempfile.mkdtemp(prefix=name, dir=runs))
    folder.chmod(0o755)
    give_to_caller(folder)
    older = sorted(path for path in runs.iterdir() if path != folder)
    for path in older[: max(0, len(older) - KEPT_RUNS + 1)]:
        shutil.rmtree(path, ignore_errors=True)
    return folder
