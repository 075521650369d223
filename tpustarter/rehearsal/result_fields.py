"""Parts of a result of a rehearsal, as the probe sends them and the document publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

import msgspec

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
"""A number that a user's process counted, so it may be anything else."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
ResultNumber = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,9}$")]
LimitName = Literal["matrix unit", "HBM", "links"]


class ProgramArray(TypedDict):
    """An array of a program; sizes are bytes on one device."""

    name: str
    kind: str
    """`argument`, `output` or `temporary`."""
    shape: str
    layout: str
    asked_bytes: int
    laid_out_bytes: int
    op: str
    source: str


class CollectiveOperation(TypedDict):
    """Communication between devices; a collective in a loop counts once."""

    op: str
    count: int
    bytes: int
    op_name: str
    source: str
    runs: int | None
    """Number of times that they run in all; None where a loop has no static count."""
    group_size: int | None
    """Devices that exchange with each other, or slices if `link` is `dcn`."""
    link: str
    """`ici` within a slice, or `dcn` between slices."""
    received_bytes: int | None
    """Bytes that one device receives at least in all runs."""


class MatrixProduct(TypedDict):
    """A product of two matrices, with the types of its operands."""

    left: str
    right: str
    out: str
    precision: str
    count: int


class AnswerFields(TypedDict):
    """The fields of every result; sizes are bytes on one device."""

    program: str
    check: str | None
    """The check that it belongs to; None for a program of the user."""
    tpu: str
    topology: str
    detail: str
    seconds: float
    cached: bool
    hbm_limit_bytes: int


class OptionalAnswerFields(AnswerFields, total=False):
    """The same, with what any result may have; `key` and `argument_names` are not published."""

    key: str | None
    """Name of the stored answer; None for one that is not to be stored."""
    argument_names: list[str]
    notes: list[str]
    work: dict[str, object]
    """As `ProgramWork`."""
    donation: dict[str, object]
    """As `Donation`."""


class OptionalCompiledFields(OptionalAnswerFields, total=False):
    """The same, with what a program that compiles may have."""

    written_bytes: float
    bound: dict[str, object]
    """As `LowerBound`."""
    utilization: dict[str, object]
    """As `Utilization`."""


class CompiledProgram(OptionalCompiledFields):
    """The result of a program that compiles."""

    status: Literal["compiles"]
    reason: None
    devices: int
    hbm_bytes: int
    memory: dict[str, int]
    """Bytes by their use: `arguments`, `outputs`, `aliased` (in both), `temporaries` and `code`."""
    padding: dict[str, int]
    """`asked_bytes` and `laid_out_bytes` of arguments and outputs."""
    buffers: list[ProgramArray]
    collectives: list[CollectiveOperation]
    dots: list[MatrixProduct]
    loops: int
    kernels: list[str]
    flops: float | None
    bytes_accessed: float | None
    compiler_model_seconds: float | None
    compiler_model_reason: str | None


class LoweredFailureFields(OptionalAnswerFields, total=False):
    """The same, with what a program has that was lowered, and does not compile."""

    devices: int


class MemoryReportFields(LoweredFailureFields, total=False):
    """The same, with the compiler's report on its memory, where it wrote one."""

    excess_bytes: int
    """Bytes by which it exceeds the memory of a device."""
    memory: dict[str, int]
    buffers: list[ProgramArray]


class OversizedProgram(MemoryReportFields):
    """The result of a program that does not fit into the memory of a device."""

    status: Literal["does-not-fit"]
    reason: str
    hbm_bytes: int


class FailedProgram(LoweredFailureFields):
    """The result of a program that the compiler refused, or gave no answer about."""

    status: Literal["refused", "error"]
    reason: str


SizedProgram = CompiledProgram | OversizedProgram
"""A result that has the memory of the program."""
ResultFields = SizedProgram | FailedProgram
"""A result with its fields, as the document publishes it."""


class MatrixWork(msgspec.Struct, frozen=True):
    """FLOPs of matrix products and convolutions with operands of two types, on all devices."""

    left: str
    right: str
    passes: Annotated[int, msgspec.Meta(ge=1, le=16)]
    """Passes over bfloat16 parts of the operands, as a higher precision asks for."""
    flops: Amount
    """FLOPs of the program as it is written."""
    least_flops: Amount
    """FLOPs without kernels and scores that a constant mask hides, of the cheapest branches."""


class ProgramWork(msgspec.Struct, frozen=True):
    """The work of a program, counted in its trace; `reason` says why it is not."""

    devices: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 1
    matrix: tuple[MatrixWork, ...] = ()
    rematerialized_flops: Amount = 0.0
    """FLOPs that `jax.checkpoint` computes again; they are among the others."""
    kernel_flops: Amount = 0.0
    """FLOPs that kernels claim in their cost estimates; they are among those of `matrix`."""
    other_operations: Amount = 0.0
    """Elements that all other operations compute."""
    unknown: tuple[str, ...] = ()
    """Parts that are not counted."""
    assumes: tuple[str, ...] = ()
    read_bytes: Amount = 0.0
    """Bytes of the arguments that one device has to read."""
    written_shares: dict[ResultNumber, Share] = {}
    """The share of each result that has to be written, by its number."""
    reason: str | None = None

    @property
    def flops(self) -> float:
        """FLOPs of matrix products and convolutions, as the program is written."""
        return sum(one.flops for one in self.matrix)

    @property
    def least_flops(self) -> float:
        """The same without kernels and masked scores, and of the cheapest branches."""
        return sum(one.least_flops for one in self.matrix)


@dataclass(frozen=True)
class DocumentedPeak:
    """A documented peak of one device."""

    name: str
    """`bf16`, `bf16, 6 passes`, `HBM` or `links`."""
    value: float
    unit: str
    source: str


@dataclass(frozen=True)
class TimeLimit:
    """The time that one part of a device needs at its peak."""

    name: LimitName
    amount: float
    """FLOPs or bytes of one device."""
    seconds: float
    peaks: tuple[DocumentedPeak, ...]


@dataclass(frozen=True)
class LowerBound:
    """The shortest time of one run, and the part of a device that sets it."""

    seconds: float
    limiter: LimitName
    limits: tuple[TimeLimit, ...]
    """Each part that is known, in the order of `LimitName`."""


@dataclass(frozen=True)
class Utilization:
    """Shares of the peak of a program's devices that a measured time stands for; 1 is the peak."""

    measured_seconds: float
    mfu: float
    """Of the FLOPs that the model needs: those that are computed again are left out."""
    mfu_unmasked: float
    """The same without masked scores, dearer branches, and what a loop repeats unchanged."""
    hfu: float
    """Of all FLOPs of the program as it is written."""
    peak_type: str
    """Type whose peak is meant, `bf16` for most programs."""


@dataclass(frozen=True)
class TriedSize:
    """A size of a dimension that was compiled for one TPU."""

    size: int
    status: str
    """As that of a result."""
    fits: bool
    hbm_bytes: int | None
    reason: str | None


@dataclass(frozen=True)
class FittingSize:
    """The largest size of a dimension with which a program fits a TPU."""

    program: str
    tpu: str
    dimension: str
    step: int
    """All sizes that can be lowered are multiples of it, as far as they were tried."""
    largest: int | None
    """The largest size that compiled and fits; None if none does."""
    next: int | None
    """The next multiple, which does not; None if it was not compiled."""
    reason: str | None
    """The reason why a larger one may fit, or why there is none; None for an exact answer."""
    tried: tuple[TriedSize, ...]
    """Sizes that were compiled, smallest first."""


@dataclass(frozen=True)
class ComparedProgram:
    """One of several programs that do the same, for one TPU; sizes are bytes on one device."""

    tpu: str
    program: str
    status: str
    hbm_bytes: int | None
    received_bytes: int | None
    """Bytes that one device receives in collectives; None where a loop's turns are not known."""
    bound_seconds: float | None
    limiter: LimitName | None
    best: bool
    """True for the least bound of those that fit; of equal ones the fewest bytes received, and then
    the least memory."""


@dataclass(frozen=True)
class Donation:
    """Arguments of a function that could be donated, and are not; sizes are bytes on one device."""

    arguments: tuple[str, ...]
    """Their names, as `donate_argnames` takes them."""
    most_bytes: int | None
    """What it saves at most: the bytes of arguments that match a result in shape, type and layout.
    None for a program that does not fit."""
    hbm_bytes: int | None
    """What the program needs when it is compiled with them donated; None if it was not."""


def fits_memory(result: ResultFields) -> bool:
    """Return True if a program compiles, and needs no more memory than a device has."""
    return result["status"] == "compiles" and result["hbm_bytes"] <= result["hbm_limit_bytes"]
