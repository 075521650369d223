"""The user's request for a rehearsal: programs, TPUs, and the Pythons to use."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.programs.user_program import LoweredProgram
from tpustarter.text.terminal import cut_text, escape_text

EVERY_GENERATION = ("v2-8", "v3-8", "v4-8", "v5e-8", "v5p-8", "v6e-8", "tpu7x-8")
"""The TPUs of a rehearsal that names none."""
TIMEOUT_S = 600.0
"""Timeout for one program."""


@dataclass(frozen=True)
class ScriptLimit:
    """A limit on a script: calls of jitted functions, or seconds, after which it is ended."""

    most_calls: int | None = None
    most_s: float | None = None
    zeros: bool = False
    """True if its jitted functions return zeros instead of computing."""


def parse_limit(text: str) -> ScriptLimit:
    """Parse a limit: `first`, `20 calls`, `20calls`, or `90` for seconds.

    Raises:
        Problem: The text is none of these.
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
    """The limit at which the script is ended, if any."""
    program: LoweredProgram | None = None
    """A program that is already lowered."""
    arguments: tuple[str, ...] = ()
    """Type and shape of each argument of the user's function: `f32[8192,8192]`."""
    fit: str = ""
    """The dimension whose largest size is searched for; empty for none."""
    compare: bool = False
    """True if the programs of the file are alternatives to compare."""
    framework: str | None = None
    """`jax`, or the library that lowers the function's PyTorch module; None to detect it."""
    tpus: tuple[str, ...] = EVERY_GENERATION
    slices: int = 1
    """Number of slices of each TPU."""
    python: str | None = None
    """The Python for the user's file; None to choose one."""
    compiler: str | None = None
    """The Python that has JAX and libtpu; None to find one."""
    jobs: int | None = None
    timeout_s: float = TIMEOUT_S
    measured_s: float | None = None
    """Measured seconds of one run of the program on a TPU; None if not measured."""
    fresh: bool = False
    """True to compile again even if an answer is stored."""
    beside_tpu: bool = False
    """True to continue on a machine that has TPU chips."""
    save: str | None = None
    """The folder for the texts of the programs and the report; None to save nothing."""
    memory_limit_bytes: int | None = None
    """Limit for all processes together; None for a share of the available memory."""
