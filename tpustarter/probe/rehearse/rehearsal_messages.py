"""The commands of a rehearsal that cross the pipe as JSON, and the fields of their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict

Emit = Callable[[Mapping[str, object]], None]
"""Sends an event to the process that gave the command."""
MOST_SHAPES = 3
"""Most sets of shapes of one function that are lowered for a TPU; further ones are counted."""
MOST_NAMED = 3
"""Most places that are named where a program asks for its device."""


class MatrixFields(TypedDict):
    """FLOPs of matrix products with operands of two types, as `result_fields.MatrixWork`."""

    left: str
    right: str
    passes: int
    flops: float
    least_flops: float


class WorkFields(TypedDict, total=False):
    """The work that was counted in a program's trace, as `result_fields.ProgramWork`."""

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


class TpuFields(TypedDict):
    """A TPU as the user's process has to know it; `kind` and `cores` are of one device."""

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
    """The facts that the compiler needs beside an artifact; None is to be read in the artifact."""

    devices: int | None
    shardy: bool | None
    """True if its shardings are Shardy's, as in every JAX since 0.7, and not GSPMD's."""
    free_arguments: list[bool] | None
    """For each argument, true if the compiler may choose its sharding."""
    free_outputs: list[bool] | None


class AliasedArtifactFields(ArtifactFields, total=False):
    """The same, with what not every artifact has."""

    named: bool
    """True if `jax.jit` can donate the arguments by the names in the artifact."""
    donated: list[int]
    """Numbers of arguments to donate in addition."""
    aliases: list[list[int]]
    """Pairs of an argument and the output that takes its memory."""


class ProgramSource(TypedDict, total=False):
    """The programs to compile: those of a check, or the one in an artifact."""

    check: str
    artifact: str
    program: str
    lowered: AliasedArtifactFields
    work: WorkFields | None
    """The work that was counted in the program's trace."""
    save: str | None
    """A folder for the text of each program before and after compiling."""
    only: list[str]
    """The programs to take; all where it is missing."""


class PrepareCommand(TypedDict):
    """The command that has the compiler loaded for a TPU before the first program is known."""

    do: Literal["prepare"]
    topology: TopologyFields


class CompileCommand(ProgramSource):
    """The command that has the programs of one source compiled for one TPU."""

    do: Literal["rehearse"]
    id: str
    timeout_s: float
    tpu: str
    topology: TopologyFields
    cache: str | None
    """A folder of earlier answers."""
    done: list[str]
    """Programs to leave out."""
    explain: bool
    """True if a program that does not fit is compiled again to tell what would help."""


class LowerCommand(TypedDict):
    """The command that has the function, module or programs of a user's file lowered."""

    do: Literal["trace"]
    id: str
    timeout_s: float
    file: str
    name: str
    arguments: Sequence[tuple[str, Sequence[int]] | str]
    """Type and shape of each array, or the text of a value, as `program_arguments` reads it; empty
    for a function that lists programs itself."""
    folder: str
    torch: str
    """The library for a PyTorch module, as `choose_lowerer` takes it; empty for JAX."""
    checks: list[str]
    """Checks whose programs are lowered instead of the file's."""
    dimension: str
    """A parameter of a function that lists programs, which gets `size`; empty for none."""
    size: int
    only: int | None
    """The number of the one program to lower; None for all."""
    tpus: dict[str, TpuFields]


class ScriptCommand(TypedDict):
    """The command that has a script run, and its jitted functions lowered."""

    do: Literal["script"]
    id: str
    timeout_s: float
    path: str
    argv: list[str]
    folder: str
    most_calls: int | None
    """Calls of jitted functions before the last of which the script ends; None is no limit."""
    most_s: float | None
    zeros: bool
    """True if the functions return zeros and compute nothing."""
    tpus: dict[str, TpuFields]


class OptionalExportedFields(TypedDict, total=False):
    """The fields of a program lowered by JAX; torch_xla has none of them."""

    arguments: list[str]
    """The types of its arguments as HLO writes them."""
    work: WorkFields


class ExportedFields(OptionalExportedFields):
    """The fields of an event about a program that was lowered."""

    artifact: str
    lowered: AliasedArtifactFields
    notes: list[str]


class OptionalRefusedFields(TypedDict, total=False):
    """The place of an error, if it came through the user's file."""

    place: str
    traceback: str


class RefusedFields(OptionalRefusedFields):
    """The fields of an event about a program that could not be lowered."""

    error: str
    refused: bool
    """True if the framework refuses it for a TPU; False for an error of the program."""
    notes: list[str]


LoweredFields = ExportedFields | RefusedFields
