"""The Python that the user's own file is run in, and what it is told about its devices."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tpustarter.checking import interpreters
from tpustarter.machine.machine import Machine
from tpustarter.problem import ExitCode, Problem
from tpustarter.rehearsal import lowering, own_code

DEVICES = 8
"""CPU devices of torch_xla; its programs are for one of them."""


def find(
    explicit: str | None, machine: Machine, folder: Path, torch: str, *, without_jax: Path
) -> Path:
    """Return the Python to run the user's file in: the one under test if it has what is needed.

    Args:
        explicit: What `--python` says.
        machine: This machine, for its environment.
        folder: The folder of the file.
        torch: What lowers the file's PyTorch module, as in `own_code.Code`; empty for JAX.
        without_jax: The Python to take where none has JAX.

    Raises:
        Problem: `explicit` is no Python, or none has what lowers a module.
    """
    if explicit is not None:
        return interpreters.choose(explicit, machine.env, Path.cwd())[0].path
    names = {"": ("jax",), own_code.ANY_TORCH: own_code.TORCH}.get(torch, (torch,))
    with contextlib.suppress(Problem):
        chosen, others = interpreters.choose(None, machine.env, folder)
        for candidate in (chosen, *others):
            if _has_one_of(names, candidate):
                return candidate.path
    if torch:
        raise Problem(f"no Python found here has {' or '.join(names)}",
                      hint=lowering.torch_hint(torch), code=ExitCode.INCONCLUSIVE)  # fmt: skip
    return without_jax


def lowers(torch: str, machine: Machine, folder: Path) -> bool:
    """Tell whether a Python was found that lowers PyTorch modules with this library."""
    try:
        find(None, machine, folder, torch, without_jax=folder)
    except Problem:
        return False
    return True


def env(code: own_code.Code) -> dict[str, str]:
    """Return what torch_xla reads when it starts: trace on CPUs, and keep lines of the source."""
    on_cpu = {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(DEVICES), "XLA_HLO_DEBUG": "1"}
    return on_cpu if code.torch else {}


def _has_one_of(names: tuple[str, ...], candidate: interpreters.Interpreter) -> bool:
    if names == ("jax",):
        return any(name.split()[0] == "jax" for name in candidate.frameworks)
    prefix = candidate.path.parent.parent
    return len(interpreters.missing(names, prefix)) < len(names)
