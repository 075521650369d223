"""The user's own program: what was named on the command line, and what is told of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from tpustarter.problem import ExitCode, Problem

TYPES = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "f64": "float64",
    "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64", "s4": "int4",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "u4": "uint4",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "i4": "int4",
    "pred": "bool", "c64": "complex64", "c128": "complex128",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
}  # fmt: skip
"""Short names as HLO writes them (and `i8` for `s8`), and NumPy's."""
ENTRY = "programs"
"""What `FILE.py` alone names: a function of `devices` that lists programs, as in a check."""

_ARGUMENT = re.compile(r"(?P<type>[A-Za-z]\w*)\[(?P<shape>[\d, ]*)\]")
_DIMENSION = 2**31
"""One more than the largest dimension XLA takes."""


@dataclass(frozen=True)
class Code:
    """A function in a file, and the types of what it is called with."""

    file: Path
    function: str
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    """Type and shape of each array; empty for an entry point that lists programs itself."""

    @property
    def name(self) -> str:
        """Return what to call it: `train.py:step`."""
        return f"{self.file.name}:{self.function}"


@dataclass(frozen=True)
class Exported:
    """A program of the user's, lowered for a TPU, or why it could not be."""

    program: str
    tpus: tuple[str, ...]
    """Names of the TPUs it was lowered for."""
    source: dict[str, Any]
    """`artifact`, `program` and `lowered`, as the compiler takes them."""
    error: str | None = None
    refused: bool = False
    """Whether JAX itself says that it cannot lower it for a TPU."""
    notes: tuple[str, ...] = ()
    """What is to be known beside the compiler's answer."""


@dataclass(frozen=True)
class Function:
    """A place in a script that was given to `jax.jit`, once the script has ended."""

    name: str
    where: str
    """File and line."""
    calls: int
    made: int
    """How often it was given to `jax.jit`."""
    compilations: int
    changed: str
    """What was different the last time it was compiled anew."""


@dataclass(frozen=True)
class Warned:
    """Something to know before a program is compiled."""

    program: str
    text: str


@dataclass(frozen=True)
class Asked:
    """The script asked where it runs, outside of what it jits: `file:line` of each place."""

    places: tuple[str, ...]


@dataclass(frozen=True)
class Printed:
    """A piece of the script's own output."""

    name: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True)
class ScriptEnded:
    """The script came to its end; `error` says how, where that was not a good one."""

    error: str | None


def is_code(text: str) -> bool:
    """Tell `train.py:step` from the id of a check."""
    return text.partition(":")[0].endswith(".py")


def read(text: str, arguments: tuple[str, ...]) -> Code:
    """Return what `FILE.py:FUNCTION` and its `--arg`s name; raises Problem."""
    name, _, function = text.partition(":")
    file = Path(name).expanduser()
    if not file.is_file():
        raise Problem(
            f"there is no file `{name}`",
            hint="name a function as `FILE.py:FUNCTION`",
            code=ExitCode.USAGE,
        )
    if function and not function.isidentifier():
        raise Problem(
            f"`{function}` is no name of a function, expected `FILE.py:FUNCTION`",
            code=ExitCode.USAGE,
        )
    return Code(
        file.absolute(), function or ENTRY, tuple(read_argument(argument) for argument in arguments)
    )


def read_argument(text: str) -> tuple[str, tuple[int, ...]]:
    """Return type and shape of `f32[8192,8192]`; raises Problem."""
    match = _ARGUMENT.fullmatch(text.strip())
    example = "an array as `f32[8192,8192]`, or `bf16[]` for a scalar"
    if not match:
        raise Problem(
            f"`--arg {text[:80]}` cannot be read, expected {example}", code=ExitCode.USAGE
        )
    kind = TYPES.get(match["type"], match["type"])
    if kind not in TYPES.values():
        matches = get_close_matches(match["type"], [*TYPES, *TYPES.values()], n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(f'`{name}`' for name in matches)}?" if matches else None
        raise Problem(
            f"`--arg {text[:80]}`: found the type `{match['type']}`, expected one of "
            f"{', '.join(TYPES)}",
            hint=hint,
            code=ExitCode.USAGE,
        )
    words = [word.strip() for word in match["shape"].split(",")] if match["shape"].strip() else []
    if any(not word or " " in word or len(word) > 10 or int(word) >= _DIMENSION for word in words):
        raise Problem(
            f"`--arg {text[:80]}`: the shape cannot be read, expected {example}",
            code=ExitCode.USAGE,
        )
    return kind, tuple(int(word) for word in words)
