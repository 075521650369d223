"""The Python that runs the user's file, and the environment variables that give it CPUs."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tpustarter.checking.plan import interpreters
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks
from tpustarter.machine.machine import Machine
from tpustarter.rehearsal.compile import lowering
from tpustarter.rehearsal.programs import user_program
from tpustarter.text import phrases

DEVICES = 8
"""CPU devices of torch_xla; its programs are for one of them."""


def find_python(
    explicit: str | None, machine: Machine, folder: Path, torch: str, *, without_jax: Path
) -> Path:
    """Return the Python for the user's file: the one under test if it has the packages needed.

    Args:
        explicit: The value of `--python`; None if it is not given.
        machine: This machine, for its environment.
        folder: The folder of the file.
        torch: The library for a PyTorch module, as in `user_program.UserFunction`; empty for JAX.
        without_jax: The Python to use if none has JAX.

    Raises:
        Problem: `explicit` is not a Python, or no Python can lower the module.
    """
    if explicit is not None:
        return interpreters.choose_interpreter(explicit, machine.env, Path.cwd())[0].path
    names = {"": ("jax",), user_program.ANY_TORCH: frameworks.LOWERERS}.get(torch, (torch,))
    with contextlib.suppress(Problem):
        chosen, others = interpreters.choose_interpreter(None, machine.env, folder)
        for candidate in (chosen, *others):
            if _has_one_of(names, candidate):
                return candidate.path
    if torch:
        raise Problem(
            f"no Python found here has {phrases.join_words(names, 'or')}",
            hint=lowering.torch_install_hint(torch),
            code=ExitCode.INCONCLUSIVE,
        )
    return without_jax


def can_lower_torch_modules(torch: str, machine: Machine, folder: Path) -> bool:
    """Return whether some Python can lower PyTorch modules with this library."""
    try:
        find_python(None, machine, folder, torch, without_jax=folder)
    except Problem:
        return False
    return True


def torch_xla_variables(code: user_program.UserFunction) -> dict[str, str]:
    """Return variables that make torch_xla use CPUs and keep source lines; empty for JAX."""
    on_cpu = {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(DEVICES), "XLA_HLO_DEBUG": "1"}
    return on_cpu if code.torch else {}


def _has_one_of(names: tuple[str, ...], candidate: interpreters.Interpreter) -> bool:
    if names == ("jax",):
        return "jax" in candidate.frameworks
    prefix = candidate.path.parent.parent
    return len(interpreters.list_missing_packages(names, prefix)) < len(names)
