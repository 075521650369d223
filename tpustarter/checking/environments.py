"""The environments that set-up made and proved: one per framework to test, others for one command.

Set-up remembers them here; whoever looks for a Python reads them.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tpustarter import state
from tpustarter.problem import Problem

STATE = "setup"
"""Name of the state: the folder being made, and the environments that were proved."""
TESTED, COMPILES = "environment", "rehearsal"
"""Under which names: the one that checks and lessons run in, and the one that `rehearse` uses."""
TORCH_XLA, TORCH_TPU, TENSORFLOW, KERAS = "torch_xla", "torch_tpu", "tensorflow", "keras"
"""Those that run where one of these frameworks is asked for."""
JUPYTER, COLAB, PROFILER = "jupyter", "colab", "profiler"
SERVED = {"jupyter": JUPYTER, "colab": COLAB, "profiler": PROFILER}
"""Those whose server `tpustarter serve` starts, and nothing is tested in them."""
CANDIDATES = (TESTED, TORCH_XLA, TORCH_TPU, TENSORFLOW, KERAS)
"""Those that checks and lessons may run in."""
KEYS = (*CANDIDATES, COMPILES, *SERVED.values())


def proved(key: str = TESTED) -> Path | None:
    """Return the folder of an environment that set-up made and proved, if it is still there."""
    # Without a state folder nothing is remembered, and no path has a zero byte in it.
    with contextlib.suppress(Problem, ValueError):
        folder = state.load(STATE).get(key)
        if isinstance(folder, str) and has_python(Path(folder)):
            return Path(folder)
    return None


def has_python(folder: Path) -> bool:
    """Return whether the folder has a Python that could be started."""
    path = folder / "bin/python"
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113  answers for what this user may not look at


def remember(folder: Path, key: str = TESTED) -> None:
    """Make this environment the one that set-up made; raises Problem on a full disk."""
    state.save(STATE, {**state.load(STATE), key: str(folder)})


def forget(folder: Path) -> None:
    """Forget the environment in this folder; raises Problem on a full disk."""
    saved = state.load(STATE)
    remaining = {
        name: value for name, value in saved.items() if name not in KEYS or value != str(folder)
    }
    if remaining != saved:
        state.save(STATE, remaining)
