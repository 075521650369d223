"""The user's request for a rehearsal: programs, TPUs, and the Pythons to use."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.rehearsal.programs.user_program import LoweredProgram

EVERY_GENERATION = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")
"""TPUs of a rehearsal for which none is named."""
TIMEOUT_S = 600.0
"""Longest time for one program."""


@dataclass(frozen=True)
class RehearsalRequest:
    """The user's request for a rehearsal."""

    ids: tuple[str, ...] = ()
    """Checks, a `FILE.py:FUNCTION`, or a StableHLO file; empty means every check with programs."""
    script: tuple[str, ...] = ()
    """A script to run unchanged, and its arguments."""
    program: LoweredProgram | None = None
    """A program that is already lowered."""
    arguments: tuple[str, ...] = ()
    """Type and shape of each argument of the user's function: `f32[8192,8192]`."""
    framework: str | None = None
    """`jax`, or the library that lowers the function's PyTorch module; None to detect it."""
    tpus: tuple[str, ...] = EVERY_GENERATION
    python: str | None = None
    """The Python for the user's own file; None to choose one."""
    compiler: str | None = None
    """The Python that has JAX and libtpu; None to find one."""
    jobs: int | None = None
    timeout_s: float = TIMEOUT_S
    measured_s: float | None = None
    """Seconds that one run of the program took on a TPU; None where nobody measured it."""
    fresh: bool = False
    """Whether to compile again where an answer is stored."""
    beside_tpu: bool = False
    """Whether to continue on a machine that has TPU chips."""
    memory_limit_bytes: int | None = None
    """Limit for all processes together; None for a share of the available memory."""
