"""Environments that set-up made and proved: one per framework to test, others for one command.

The paths are kept in a state file, which set-up writes and every search for a Python reads.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tpustarter.core import state
from tpustarter.machine import frameworks

STATE = "setup"
"""Name of the state file: the folder being made, and the environments that were proved."""
TESTED, COMPILES = "environment", "rehearsal"
"""Keys of the environment for checks and lessons, and of the one for `rehearse`."""
JUPYTER, COLAB, PROFILER = "jupyter", "colab", "profiler"
SERVED = {"jupyter": JUPYTER, "colab": COLAB, "profiler": PROFILER}
"""Environments whose server `tpustarter serve` starts; nothing is tested in them."""
CANDIDATES = (TESTED, *(name for name in frameworks.FRAMEWORKS if name != "jax"))
"""Environments that checks and lessons may run in: one for each framework, JAX's first."""
KEYS = (*CANDIDATES, COMPILES, *SERVED.values())


def find_proved(key: str = TESTED) -> Path | None:
    """Return the folder of an environment that set-up made and proved, if it is still there.

    Raises:
        Problem: nobody knows, because the state file cannot be read.
    """
    with contextlib.suppress(ValueError):  # no path has a zero byte in it
        folder = state.load_state(STATE).get(key)
        if isinstance(folder, str) and has_python(Path(folder)):
            return Path(folder)
    return None


def has_python(folder: Path) -> bool:
    """Return whether the folder has a Python that could be started."""
    path = folder / "bin/python"
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113  answers for what this user may not look at


def remember_environment(folder: Path, key: str = TESTED) -> None:
    """Save a folder as the proved environment for `key`; raises Problem on a full disk."""
    state.save_state(STATE, {**state.load_state(STATE), key: str(folder)})


def forget_environment(folder: Path) -> None:
    """Delete the record of the environment in a folder; raises Problem on a full disk."""
    saved = state.load_state(STATE)
    remaining = {
        name: value for name, value in saved.items() if name not in KEYS or value != str(folder)
    }
    if remaining != saved:
        state.save_state(STATE, remaining)
