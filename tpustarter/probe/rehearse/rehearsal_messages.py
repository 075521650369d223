"""The JSON messages of a rehearsal: commands sent over the pipe, and fields of the responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict, final

MOST_SHAPES = 3
"""Most sets of shapes that are lowered for one function; further ones are only counted."""
MOST_NAMED = 3
"""Most places that are listed where a program queries its device."""


class MatrixFields(TypedDict):
    """FLOPs of matrix products by operand types, as in `result_fields.MatrixWork`."""

    left: str
    right: str
    passes: int
    flops: float
    least_flops: float


class WorkFields(TypedDict, total=False):
    """The work counted in a program's trace, as in `result_fields.ProgramWork`."""

    devices: int
    matrix: list[MatrixFields]
    rematerialized_flops: float
    kernel_flops: float
    other_operations: float
    unknown: list[str]
    assumes: list[str]
    read_bytes: float
    written_shares: dict[str, float]
    reason: str


class LoweringTargetFields(TypedDict):
    """The facts about a TPU that lowering needs; `kind` and `cores` are those of one device."""

    devices: int
    slices: int
    kind: str
    cores: int


class TopologyFields(TypedDict):
    """The fields of `tpus.Topology`, and the memory that a program may use on one device."""

    name: str
    topology_name: str
    arguments: Mapping[str, str | int | Sequence[int]]
    devices: int
    processes: int
    slices: int
    hbm_gib_per_device: float
    hbm_bytes: int


class ArtifactFields(TypedDict):
    """The facts needed to compile an artifact; those that are None are read from the artifact."""

    devices: int | None
    shardy: bool | None
    """True if its shardings are Shardy's, as in JAX 0.7 and later; False if they are GSPMD's."""
    free_arguments: list[bool] | None
    """For each argument, True if the compiler may choose its sharding."""
    free_outputs: list[bool] | None


class AliasedArtifactFields(ArtifactFields, total=False):
    """The facts needed to compile an artifact, including those that only some artifacts have."""

    named: bool
    """True if `jax.jit` can donate arguments by their names in the artifact."""
    pmapped: list[str]
    """All parameters of a function of `jax.pmap`, which donates by position; empty for others."""
    donated: list[int]
    """Indices of further arguments to donate."""
    aliases: list[list[int]]
    """Pairs of an argument and the output that reuses its memory."""


class ProgramSource(TypedDict, total=False):
    """The programs to compile: those of a check, or the one in an artifact."""

    check: str
    artifact: str
    program: str
    lowered: AliasedArtifactFields
    work: WorkFields | None
    """The work counted in the program's trace."""
    save: str | None
    """A folder for each program's text before and after compiling."""
    only: list[str]
    """The programs to compile; all if missing."""


class LoadCompilerCommand(TypedDict):
    """A command to load the compiler for a TPU before the first program is known."""

    do: Literal["prepare"]
    topology: TopologyFields


class CompileCommand(ProgramSource):
    """A command to compile the programs of one source for one TPU."""

    do: Literal["rehearse"]
    id: str
    timeout_s: float
    tpu: str
    topology: TopologyFields
    cache: str | None
    """The folder of the compiler's stored answers."""
    done: list[str]
    """Programs to skip."""
    explain: bool
    """True to recompile a program that does not fit, with more arguments donated."""


class LowerCommand(TypedDict):
    """A command to lower the function, module or programs of a user's file."""

    do: Literal["trace"]
    id: str
    timeout_s: float
    file: str
    name: str
    arguments: Sequence[tuple[str, Sequence[int]] | str]
    """Type and shape of each array, or the text of a value as `program_arguments` parses it; empty
    for a function that lists programs itself."""
    folder: str
    torch: str
    """The library for a PyTorch module, as `choose_lowerer` expects it; empty for JAX."""
    checks: list[str]
    """Checks whose programs are lowered instead of the file's."""
    dimension: str
    """The parameter to set to `size`, of a function that lists programs; empty for none."""
    size: int
    only: int | None
    """The index of the one program to lower; None for all."""
    tpus: dict[str, LoweringTargetFields]


class ScriptCommand(TypedDict):
    """A command to run a script and to lower its jitted functions."""

    do: Literal["script"]
    id: str
    timeout_s: float
    path: str
    argv: list[str]
    folder: str
    most_calls: int | None
    """The script ends before this call of a jitted function; None for no limit."""
    most_s: float | None
    zeros: bool
    """True if the functions return zeros instead of computing."""
    tpus: dict[str, LoweringTargetFields]


class OptionalExportedFields(TypedDict, total=False):
    """The fields of a program lowered by JAX that torch_xla does not provide."""

    arguments: list[str]
    """The types of its arguments in HLO notation."""
    work: WorkFields


class RequiredExportedFields(OptionalExportedFields):
    """The fields of a lowered program."""

    artifact: str
    lowered: AliasedArtifactFields
    notes: list[str]


@final
class ExportedFields(RequiredExportedFields):
    """The fields of a lowered program. Their names distinguish them from `RefusedFields`."""


class OptionalRefusedFields(TypedDict, total=False):
    """The origin of an error that came through the user's file."""

    place: str
    traceback: str


class RequiredRefusedFields(OptionalRefusedFields):
    """The fields of a program that could not be lowered."""

    error: str
    refused: bool
    """True if the framework cannot lower it for a TPU, False for an error in the program."""
    notes: list[str]


@final
class RefusedFields(RequiredRefusedFields):
    """The fields of a program not lowered. Their names distinguish them from `ExportedFields`."""


LoweredFields = ExportedFields | RefusedFields


class CompilingEvent(TypedDict):
    """The compiler begins with a program."""

    event: Literal["compiling"]
    id: str
    program: str
    share: float
    """The share of the command's programs before it, from 0 to 1."""


class RehearsedEvent(TypedDict):
    """The compiler's answer for a program, as in `result_fields.ResultFields`."""

    event: Literal["rehearsed"]
    id: str
    result: Mapping[str, object]


class FrameworkLoadedEvent(TypedDict):
    """The framework is loaded, and the user's file is about to run."""

    event: Literal["ready"]


class CheckField(TypedDict, total=False):
    """The check that a program belongs to; missing for a program of the user."""

    check: str


class LoweringEvent(CheckField):
    """A program is about to be lowered."""

    event: Literal["lowering"]
    program: str


class ProgramEventFields(CheckField):
    """A program of a file (`exported`), or of a script that calls it (`met`), and its TPUs."""

    event: Literal["exported", "met"]
    program: str
    tpus: Sequence[str]


@final
class ExportedEvent(ProgramEventFields, RequiredExportedFields):
    """A program was lowered."""


@final
class RefusedEvent(ProgramEventFields, RequiredRefusedFields):
    """A program could not be lowered."""


class WarningEvent(TypedDict):
    """A warning about a program."""

    event: Literal["warning"]
    program: str
    text: str


class JitCallSiteFields(TypedDict):
    """The fields of `user_program.JitCallSiteSummary`."""

    name: str
    where: str
    calls: int
    made: int
    compilations: int
    changed: str


class JitCallSiteEvent(TypedDict):
    """A place in a script that passes a function to `jax.jit`, sent when the script has ended."""

    event: Literal["called"]
    function: JitCallSiteFields


class DeviceQueriesEvent(TypedDict):
    """The places where a script queries its device outside of jitted code."""

    event: Literal["asked"]
    places: list[str]


ProgramEvent = ExportedEvent | RefusedEvent
RehearsalEvent = (
    CompilingEvent
    | RehearsedEvent
    | FrameworkLoadedEvent
    | LoweringEvent
    | ProgramEvent
    | WarningEvent
    | JitCallSiteEvent
    | DeviceQueriesEvent
)
Emit = Callable[[RehearsalEvent], None]
"""Sends an event to the process that sent the command."""


def make_program_event(head: ProgramEventFields, fields: LoweredFields) -> ProgramEvent:
    """Return the event for a program that was lowered, or for one that could not be."""
    if "error" in fields:
        return {**head, **fields}
    return {**head, **fields}
