"""What a rehearsal is asked for: programs, TPUs, and the Pythons to work with."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.rehearsal.own_code import Exported

EVERY_GENERATION = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")
"""TPUs that are rehearsed when none is named."""
TIMEOUT_S = 600.0
"""Longest time for one program."""


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    ids: tuple[str, ...] = ()
    """Checks, a `FILE.py:FUNCTION`, or a StableHLO file; empty means every check with programs."""
    script: tuple[str, ...] = ()
    """A script to run unchanged, and its arguments."""
    program: Exported | None = None
    """A program that is lowered already."""
    arguments: tuple[str, ...] = ()
    """What the user's function is called with: `f32[8192,8192]`."""
    framework: str | None = None
    """`jax`, or what lowers the PyTorch module that the function makes; None to see for itself."""
    tpus: tuple[str, ...] = EVERY_GENERATION
    python: str | None = None
    """The Python that the user's own file is run in."""
    compiler: str | None = None
    """The Python that has JAX and libtpu."""
    jobs: int | None = None
    timeout_s: float = TIMEOUT_S
    fresh: bool = False
    """Whether to ask the compiler again where an answer is stored."""
    beside_tpu: bool = False
    """Whether to go on on a machine that has TPU chips."""
    memory_limit_bytes: int | None = None
    """What all processes may hold together; None for a share of what is available."""
