"""Environments that set-up made and proved: one per framework to test, others for one command.

Their paths are stored in a state file, which set-up writes and every search for a Python reads.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tpustarter.core import state
from tpustarter.machine import frameworks

STATE = "setup"
"""Name of the state file, which has the folder in progress and the proved environments."""
TESTED, COMPILES = "environment", "rehearsal"
"""Keys of the environments for checks and lessons, and for `rehearse`."""
JUPYTER, COLAB, PROFILER = "jupyter", "colab", "profiler"
VLLM = "vllm"
"""Key of the environment of a model server, which tpustarter never starts."""
SERVED = {"jupyter": JUPYTER, "colab": COLAB, "profiler": PROFILER}
"""Environments whose server `tpustarter serve` starts; no checks run in them."""
CANDIDATES = (TESTED, *(name for name in frameworks.FRAMEWORKS if name != "jax"))
"""Environments in which checks and lessons can run: one per framework, JAX's first."""
KEYS = (*CANDIDATES, COMPILES, VLLM, *SERVED.values())


def find_proved_environment(key: str = TESTED) -> Path | None:
    """Return the folder of an environment that set-up proved, or None if it is gone.

    Raises:
        Problem: The state file cannot be read.
    """
    with contextlib.suppress(ValueError):  # no path contains a NUL byte
        folder = state.load_state(STATE).get(key)
        if isinstance(folder, str) and has_python(Path(folder)):
            return Path(folder)
    return None


def has_python(folder: Path) -> bool:
    """Return whether a folder has an executable Python."""
    path = folder / "bin/python"
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113  pathlib raises without permission


def remember_environment(folder: Path, key: str = TESTED) -> None:
    """Save a folder as the proved environment for `key`.

    Raises:
        Problem: It cannot be saved.
    """
    state.save_state(STATE, {**state.load_state(STATE), key: str(folder)})


def forget_environment(folder: Path) -> None:
    """Delete the record of a folder's environment.

    Raises:
        Problem: The change cannot be saved.
    """
    saved = state.load_state(STATE)
    remaining = {
        name: value for name, value in saved.items() if name not in KEYS or value != str(folder)
    }
    if remaining != saved:
        state.save_state(STATE, remaining)
