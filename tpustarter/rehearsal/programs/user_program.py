"""The user's own program, as named on the command line, and the events about it."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.core.short_ids import find_nearest_file
from tpustarter.machine import frameworks
from tpustarter.probe.rehearse.program_arguments import TYPES, parse_python_argument
from tpustarter.probe.rehearse.rehearsal_messages import AliasedArtifactFields, ProgramSource
from tpustarter.rehearsal.result_fields import ProgramWork
from tpustarter.text import phrases

PROGRAMS_FUNCTION = "programs"
"""Default function of `FILE.py`: it takes `devices` and lists programs, as in a check."""
MODULE_FUNCTION = "make"
"""Default function of `FILE.py` for PyTorch: it returns a module and its inputs."""
ANY_TORCH = "torch"
"""Stands for any installed library that lowers PyTorch."""
STABLEHLO = (".mlirbc", ".bytecode", ".mlir")
"""Suffixes of StableHLO files; torch_xla writes `functions/forward.bytecode`."""

_ARGUMENT = re.compile(r"(?P<type>[A-Za-z]\w*)\[(?P<shape>[\w, ]*)\]")
_NAMED = 5
"""Most files that are listed in the error for a missing one."""
_DIMENSION = 2**31
"""One more than the largest dimension that XLA accepts."""


Shape = tuple[int | str, ...]
"""A shape; a name in it is the dimension whose size is searched for."""
Argument = tuple[str, Shape] | str
"""Type and shape of an array, or the text of a value, as `program_arguments` parses it."""


@dataclass(frozen=True)
class UserFunction:
    """A function in a file, and its arguments."""

    file: Path
    function: str
    arguments: tuple[Argument, ...]
    """Its arguments; empty for an entry point that lists programs itself."""
    torch: str = ""
    """The library that lowers the function's PyTorch module, or `ANY_TORCH`; empty for JAX."""
    checks: tuple[str, ...] = ()
    """Checks whose programs are lowered instead of a file's."""
    dimension: str = ""
    """The dimension whose size is searched for: a name in a shape, or a parameter of the
    function."""
    size: int = 0
    """The size of the dimension; 0 if it is not known yet."""

    def sized_arguments(self) -> list[tuple[str, tuple[int, ...]] | str]:
        """Return the arguments, with the size of the dimension in their shapes."""
        return [
            argument if isinstance(argument, str) else self._with_size(*argument)
            for argument in self.arguments
        ]

    def _with_size(self, kind: str, shape: Shape) -> tuple[str, tuple[int, ...]]:
        return kind, tuple(one if isinstance(one, int) else self.size for one in shape)

    @property
    def name(self) -> str:
        """Name to display: `train.py:step`, or the ids of the checks."""
        return ", ".join(self.checks) or f"{self.file.name}:{self.function}"


_Count = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class LoweredProgram:
    """A user's program lowered for a TPU, or the reason why it could not be lowered."""

    program: str
    tpus: tuple[str, ...]
    """Names of the TPUs that it was lowered for."""
    source: ProgramSource
    """`artifact`, `program` and `lowered`, as the compiler expects them."""
    error: str | None = None
    refused: bool = False
    """True if the framework itself cannot lower it for a TPU."""
    notes: tuple[str, ...] = ()
    """Remarks that go with the compiler's answer."""
    check: str | None = None
    """The check that the program belongs to; None for the user's own program."""
    traceback: str = ""
    """Traceback of the error, from the user's file on."""
    place: str = ""
    """The line of the user's file that the error came through, such as `train.py:12`."""
    work: ProgramWork | None = None
    """The work counted in its trace; None if there is none."""


@dataclass(frozen=True)
class JitCallSiteSummary:
    """A place in a script that passes a function to `jax.jit`; sent when the script has ended."""

    name: str
    where: str
    """File and line."""
    calls: _Count
    made: _Count
    """Number of times it was passed to `jax.jit`."""
    compilations: _Count
    changed: str
    """The difference that caused the last recompilation."""


@dataclass(frozen=True)
class ProgramWarning:
    """A warning about a program, sent before it is compiled."""

    program: str
    text: str


@dataclass(frozen=True)
class DeviceQueriesFound:
    """The places, as `file:line`, where a script queries its device outside of jitted code."""

    places: tuple[str, ...]


@dataclass(frozen=True)
class ScriptOutput:
    """A piece of the script's own output."""

    name: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True)
class ScriptEnded:
    """The script has ended; `error` is None for a normal end."""

    error: str | None
    missing_module: str = ""
    """The module that it failed to import, if that was the error."""
    place: str = ""
    """The line of the script that the error came through, such as `train.py:12`."""
    ended_early: bool = False
    """True if a limit of the request ended it."""


def names_python_code(text: str) -> bool:
    """Return whether an argument names Python code, such as `train.py:step`, and not a check."""
    return text.partition(":")[0].endswith(".py")


def resolve_function(
    ids: tuple[str, ...], arguments: tuple[str, ...], framework: str | None, dimension: str = ""
) -> UserFunction | None:
    """Return the user's own program, or None if only checks are named.

    Raises:
        Problem: The names and options do not go together, or one of them is invalid.
    """
    files = [name for name in ids if names_python_code(name) or is_stablehlo(name)]
    if files and len(ids) > 1:
        raise Problem(
            "only one file can be rehearsed at a time",
            hint=f"leave out everything but `{files[0]}`",
            code=ExitCode.USAGE,
        )
    if files and names_python_code(files[0]):
        return parse_function(files[0], arguments, framework, dimension)
    if arguments:
        raise Problem(
            "`--arg` needs a function, and none is named as `FILE.py:FUNCTION`",
            hint="`tpustarter rehearse --help` shows an example",
            code=ExitCode.USAGE,
        )
    if framework:
        raise Problem(
            "`--framework` needs a function, and none is named as `FILE.py:FUNCTION`",
            hint="checks are named by their ids, such as 'torch_xla.*'",
            code=ExitCode.USAGE,
        )
    return None


def resolve_stablehlo(ids: tuple[str, ...], tpus: tuple[str, ...]) -> LoweredProgram | None:
    """Return the program of a StableHLO file, or None if no such file is named.

    Raises:
        Problem: The file cannot be read, or is not StableHLO.
    """
    return next((read_stablehlo(name, tpus) for name in ids if is_stablehlo(name)), None)


def is_stablehlo(text: str) -> bool:
    """Return whether an argument names a StableHLO file, such as `forward.bytecode`."""
    return text.endswith(STABLEHLO)


def parse_function(
    text: str, arguments: tuple[str, ...], framework: str | None = None, dimension: str = ""
) -> UserFunction:
    """Return the function named by `FILE.py:FUNCTION`, `--arg` and a framework.

    `dimension` is the one whose size is searched for, and may be a name in a shape.

    Raises:
        Problem: The file is missing, or one of the options is invalid.
    """
    name, _, function = text.partition(":")
    file = _existing(name)
    if function and not function.isidentifier():
        raise Problem(
            f"`{function}` is not the name of a function, expected `FILE.py:FUNCTION`",
            code=ExitCode.USAGE,
        )
    torch = framework if framework in frameworks.LOWERERS else ""
    if framework is None and not arguments and may_return_module(file, function or MODULE_FUNCTION):
        torch = ANY_TORCH
    if torch and arguments:
        raise Problem(
            f"`--arg` is for functions of JAX arrays, and {torch} is to lower a PyTorch module",
            hint="let `make()` return the module and its example inputs",
            code=ExitCode.USAGE,
        )
    entry = MODULE_FUNCTION if torch else PROGRAMS_FUNCTION
    types = tuple(parse_argument(argument, dimension) for argument in arguments)
    return UserFunction(file.absolute(), function or entry, types, torch, dimension=dimension)


def may_return_module(file: Path, function: str) -> bool:
    """Return whether a function may return a module: it takes nothing, and its file imports torch.

    If the file defines no such function, it counts as PyTorch's unless it imports JAX too. The file
    is parsed and not run.
    """
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (OSError, SyntaxError, ValueError):
        return False
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    if not imported & {"torch", "transformers", *frameworks.LOWERERS}:
        return False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return not ast.unparse(node.args)
    return "jax" not in imported


def read_stablehlo(text: str, tpus: tuple[str, ...]) -> LoweredProgram:
    """Return the program of a StableHLO file: portable, bytecode or text.

    Raises:
        Problem: The file cannot be read, or is not StableHLO.
    """
    file = _existing(text)
    try:
        with file.open("rb") as content:
            start = content.read(65536)
    except OSError as error:
        raise Problem(f"cannot read `{text}`: {error.strerror}", code=ExitCode.USAGE) from error
    if not (start.startswith(b"ML\xefR") or (b"\0" not in start and b"module" in start)):
        raise Problem(
            f"`{text}` is not a StableHLO file",
            hint="write the `mlir_module_serialized` of what `jax.export.export` returns, or let "
            "`torch_xla.stablehlo.save_as_stablehlo` write one to `functions/`",
            code=ExitCode.USAGE,
        )
    unknown: AliasedArtifactFields = {
        "devices": None,
        "shardy": None,
        "free_arguments": None,
        "free_outputs": None,
    }
    source: ProgramSource = {
        "artifact": str(file.absolute()),
        "lowered": unknown,
        "program": file.stem,
    }
    return LoweredProgram(file.stem, tpus, source, notes=("read from a file",))


def require_script(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return a script and its arguments unchanged, after verifying that the script exists.

    Raises:
        Problem: There is no such file.
    """
    if words:
        _existing(words[0])
    return words


def _existing(name: str) -> Path:
    file = locations.expand_path(name)
    if file.is_file():
        return file
    beside = sorted(one.name for one in file.parent.glob(f"*{file.suffix}"))
    folder = "this folder" if file.parent == Path() else f"`{Path(name).parent}`"
    hint = f"name it with its folder; none in {folder} ends with `{file.suffix}`"
    if near := find_nearest_file(file, file.suffix):
        hint = f"did you mean `{Path(name).with_name(near.name)}`?"
    elif beside:
        listed = phrases.join_words((f"`{one}`" for one in beside), most=_NAMED)
        hint = f"in {folder} there is {listed}"
    elif not file.parent.is_dir():
        hint = f"there is no folder {folder} either"
    raise Problem(f"there is no file `{name}`", hint=hint, code=ExitCode.USAGE)


def parse_argument(text: str, dimension: str = "") -> Argument:
    """Parse an argument: the type and shape in `f32[8192,8192]`, or the text of a value.

    `dimension` is a name that a shape may have in place of a size.

    Raises:
        Problem: The text is neither of them.
    """
    match = _ARGUMENT.fullmatch(text.strip())
    if not match and (written := parse_python_argument(text)):
        return written.text
    shown = Redactor(os.environ).redact_text(text)[:80]
    example = (
        "an array as `f32[8192,8192]`, `bf16[]` for a scalar, or a call of your file's own "
        "function, as `init(u32[2])`"
    )
    if not match:
        raise Problem(f"`--arg {shown}` cannot be read, expected {example}", code=ExitCode.USAGE)
    kind = TYPES.get(match["type"], match["type"])
    if kind not in TYPES.values():
        matches = phrases.near_matches(match["type"], [*TYPES, *TYPES.values()])
        listed = phrases.join_words((f"`{name}`" for name in matches), "or")
        hint = f"did you mean {listed}?" if matches else None
        raise Problem(
            f"`--arg {shown}`: found the type `{match['type']}`, expected one of "
            f"{', '.join(TYPES)}",
            hint=hint,
            code=ExitCode.USAGE,
        )
    words = [word.strip() for word in match["shape"].split(",")] if match["shape"].strip() else []
    if named := [word for word in words if word.isidentifier() and word != dimension]:
        raise Problem(
            f"`--arg {shown}`: the dimension `{named[0]}` has no size",
            hint=f"`--fit {named[0]}` searches the largest one that fits; else type a number",
            code=ExitCode.USAGE,
        )
    numbers = [word for word in words if not word or word != dimension]
    if any(
        not (word.isascii() and word.isdigit()) or len(word) > 10 or int(word) >= _DIMENSION
        for word in numbers
    ):
        raise Problem(
            f"`--arg {shown}`: the shape cannot be read, expected {example}",
            code=ExitCode.USAGE,
        )
    return kind, tuple(word if word == dimension else int(word) for word in words)
