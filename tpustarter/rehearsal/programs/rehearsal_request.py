"""The user's request for a rehearsal: programs, TPUs, and the Pythons to use."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.programs.user_program import LoweredProgram
from tpustarter.text.terminal import cut_text, escape_text

EVERY_GENERATION = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")
"""TPUs of a rehearsal for which none is named."""
TIMEOUT_S = 600.0
"""Longest time for one program."""


@dataclass(frozen=True)
class ScriptLimit:
    """The work of a script: calls of jitted functions, or seconds, after which it is ended."""

    most_calls: int | None = None
    most_s: float | None = None
    zeros: bool = False
    """True if its jitted functions return zeros, and compute nothing."""


def parse_limit(text: str) -> ScriptLimit:
    """Parse a limit: `first`, `20 calls`, `20calls`, or `90` for seconds.

    Raises:
        Problem: it is none of them.
    """
    number = text.casefold().strip().removesuffix("calls").removesuffix("call").strip()
    counts_calls = number != text.casefold().strip()
    if number == "first":
        return ScriptLimit(most_calls=1)
    if number.isascii() and number.isdigit() and len(number) < 10 and int(number):
        return ScriptLimit(int(number)) if counts_calls else ScriptLimit(most_s=float(number))
    what = f"`--until {escape_text(cut_text(text, 40))}` is no limit"
    hint = "`--until first`, `--until '20 calls'` or `--until 90` for 90 seconds is one"
    raise Problem(what, hint=hint, code=ExitCode.USAGE)


@dataclass(frozen=True)
class RehearsalRequest:
    """The user's request for a rehearsal."""

    ids: tuple[str, ...] = ()
    """Checks, a `FILE.py:FUNCTION`, or a StableHLO file; empty means every check with programs."""
    script: tuple[str, ...] = ()
    """A script to run unchanged, and its arguments."""
    until: ScriptLimit = ScriptLimit()
    """The end of the script, if that is to come before its own."""
    program: LoweredProgram | None = None
    """A program that is already lowered."""
    arguments: tuple[str, ...] = ()
    """Type and shape of each argument of the user's function: `f32[8192,8192]`."""
    fit: str = ""
    """The dimension whose largest size is searched; empty for none."""
    compare: bool = False
    """True if the programs of the file are alternatives to compare."""
    framework: str | None = None
    """`jax`, or the library that lowers the function's PyTorch module; None to detect it."""
    tpus: tuple[str, ...] = EVERY_GENERATION
    slices: int = 1
    """Slices of each TPU."""
    python: str | None = None
    """The Python for the user's own file; None to choose one."""
    compiler: str | None = None
    """The Python that has JAX and libtpu; None to find one."""
    jobs: int | None = None
    timeout_s: float = TIMEOUT_S
    measured_s: float | None = None
    """Seconds that one run of the program took on a TPU; None where nobody measured it."""
    fresh: bool = False
    """True if to compile again where an answer is stored."""
    beside_tpu: bool = False
    """True if to continue on a machine that has TPU chips."""
    save: str | None = None
    """The folder that gets the texts of the programs and the report; None for none."""
    memory_limit_bytes: int | None = None
    """Limit for all processes together; None for a share of the available memory."""
