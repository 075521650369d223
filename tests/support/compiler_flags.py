"""XLA's fastest way to compile for the CPU, in JAX 0.10."""

from __future__ import annotations

import os
from importlib import metadata

from tests.support.processes import HANG_S

PATIENT = f"--xla_cpu_collective_call_terminate_timeout_seconds={4 * HANG_S:.0f}"
"""XLA ends a process of eight CPU devices if one of them is 40 s late at a collective, as happens
on a machine with other work."""
AS_USERS = {"xla_cpu_use_fusion_emitters": True}
"""Compiler options of a program that is compiled as users' are, in spite of these flags."""


def fast_compiler(level: int | None = 0) -> dict[str, str]:
    """Return variables with which JAX compiles for the CPU in a quarter of the processor time.

    Two thirds of the time of the project's lessons is the compiler's. Older code generators and few
    optimizations give the same losses to six digits, and programs that run up to three times as
    long at level 0, a tenth longer at 1. JAX 0.12 ends at the flag, so only 0.10 gets it.
    `TPUSTARTER_GATE=whole` compiles as users do.

    Args:
        level: Of optimizations; None leaves it to JAX's own settings.
    """
    if not has_older_generators():
        return {}
    flags = [PATIENT]
    if os.environ.get("TPUSTARTER_GATE") != "whole":
        flags.append("--xla_cpu_use_fusion_emitters=false")
        if level is not None:
            flags.append(f"--xla_backend_optimization_level={level}")
    return {"XLA_FLAGS": " ".join(flags)}


def has_older_generators() -> bool:
    """Return whether the installed JAX still has the older code generators."""
    return metadata.version("jax").startswith("0.10.")
