"""A copy of the state folder that takes every write, so that the real one stays as it is.

The copy consists of links. Files of the state folder are never changed in place: whoever writes one
replaces it, and so replaces the link. Only locks are opened for writing, and they are not linked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

from tpustarter.core import locations
from tpustarter.running import lease

_NOT_LINKED = ("runs", lease.FILE)
"""Folders of running processes, and the lease, whose lock is shared with every other run."""


@contextlib.contextmanager
def use_copy(copy: Path) -> Generator[None]:
    """Make this process and those that it starts use a copy as their state folder."""
    state = locations.state_folder_path()
    chosen = {
        lease.VARIABLE: str(Path(state, lease.FILE).absolute()),
        "TPUSTARTER_HOME": str(copy),
    }
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    link_new_files(copy, state)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})


def link_new_files(copy: Path, state: Path) -> None:
    """Link what the state folder has and its copy doesn't; what is unreadable is left out."""
    for folder, folders, names in os.walk(state):
        inside = Path(folder).relative_to(state)
        folders[:] = [name for name in folders if str(inside / name) not in _NOT_LINKED]
        with contextlib.suppress(OSError):
            locations.make_folders(copy / inside)
        for name in names:
            if str(inside / name) in _NOT_LINKED or name.endswith(".lock"):
                continue
            with contextlib.suppress(OSError):  # also if the copy has the file already
                (copy / inside / name).symlink_to(Path(folder, name).absolute())
