"""Fields of a rehearsal's results, as the probe sends them and the document publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

import msgspec

Amount = Annotated[float, msgspec.Meta(ge=0, le=1e30)]
"""A number from the user's process, which may send anything, so its range is verified."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
ResultNumber = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,9}$")]
LimitName = Literal["matrix unit", "HBM", "links"]


class ProgramArray(TypedDict):
    """An array that a compiled program uses; sizes are in bytes per device."""

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
    """Total number of runs; None in a branch or a loop without a static trip count."""
    group_size: int | None
    """Number of devices in a group, or of slices if `link` is `dcn`; None if unknown."""
    link: str
    """`ici` within a slice, or `dcn` between slices."""
    received_bytes: int | None
    """Fewest bytes that one device receives in all runs; None if unknown."""


class MatrixProduct(TypedDict):
    """Matrix products with the same types and precision."""

    left: str
    right: str
    out: str
    precision: str
    count: int


class AnswerFields(TypedDict):
    """The fields of every result; sizes are bytes on one device."""

    program: str
    check: str | None
    """The check that it belongs to; None for the user's own program."""
    tpu: str
    topology: str
    detail: str
    seconds: float
    cached: bool
    hbm_limit_bytes: int


class OptionalAnswerFields(AnswerFields, total=False):
    """The fields that any result may have; `key` and `argument_names` are not published."""

    key: str | None
    """Name of the stored answer; None if it is not to be stored."""
    argument_names: list[str]
    notes: list[str]
    work: dict[str, object]
    """As `ProgramWork`."""
    donation: dict[str, object]
    """As `Donation`."""


class OptionalCompiledFields(OptionalAnswerFields, total=False):
    """The fields that the result of a program that compiles may have."""

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
    """Bytes by use: `arguments`, `outputs`, `aliased` (in both), `temporaries` and `code`."""
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
    """The fields that the result of a lowered program that does not compile may have."""

    devices: int


class MemoryReportFields(LoweredFailureFields, total=False):
    """The fields that a failed program's result has if the compiler wrote a memory report."""

    excess_bytes: int
    """Bytes by which it exceeds a device's memory."""
    memory: dict[str, int]
    buffers: list[ProgramArray]


class OversizedProgram(MemoryReportFields):
    """The result of a program that does not fit into a device's memory."""

    status: Literal["does-not-fit"]
    reason: str
    hbm_bytes: int


class FailedProgram(LoweredFailureFields):
    """The result of a program that the compiler refused, or for which it gave no answer."""

    status: Literal["refused", "error"]
    reason: str


SizedProgram = CompiledProgram | OversizedProgram
"""A result that includes the program's memory."""
ResultFields = SizedProgram | FailedProgram
"""A result as the document publishes it."""


class MatrixWork(msgspec.Struct, frozen=True):
    """FLOPs of matrix products and convolutions with operands of two types, on all devices."""

    left: str
    right: str
    passes: Annotated[int, msgspec.Meta(ge=1, le=16)]
    """Passes over the bfloat16 parts of the operands, as a higher precision requires."""
    flops: Amount
    """FLOPs of the program as written."""
    least_flops: Amount
    """FLOPs without kernels and masked scores, and with the cheapest branches."""


class ProgramWork(msgspec.Struct, frozen=True):
    """A program's work, counted in its trace; `reason` is set if it could not be counted."""

    devices: Annotated[int, msgspec.Meta(ge=1, le=2**20)] = 1
    matrix: tuple[MatrixWork, ...] = ()
    rematerialized_flops: Amount = 0.0
    """FLOPs that `jax.checkpoint` recomputes, also part of `matrix`."""
    kernel_flops: Amount = 0.0
    """FLOPs in the cost estimates of kernels, also part of `matrix`."""
    other_operations: Amount = 0.0
    """Elements computed by all other operations."""
    unknown: tuple[str, ...] = ()
    """Parts that are not counted."""
    assumes: tuple[str, ...] = ()
    read_bytes: Amount = 0.0
    """Bytes of the arguments that one device must read."""
    written_shares: dict[ResultNumber, Share] = {}
    """The share of each result that must be written, keyed by its index."""
    reason: str | None = None

    @property
    def flops(self) -> float:
        """FLOPs of matrix products and convolutions in the program as written."""
        return sum(one.flops for one in self.matrix)

    @property
    def least_flops(self) -> float:
        """FLOPs as in `flops`, without kernels and masked scores, in the cheapest branches."""
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
class PeakTime:
    """The time that one part of a device needs if it works at its documented peak."""

    name: LimitName
    amount: float
    """FLOPs or bytes on one device."""
    seconds: float
    peaks: tuple[DocumentedPeak, ...]


@dataclass(frozen=True)
class LowerBound:
    """The shortest possible time of one run, and the part of a device that limits it."""

    seconds: float
    limiter: LimitName
    limits: tuple[PeakTime, ...]
    """The limit of each part that is known, in the order of `LimitName`."""


class Utilization(msgspec.Struct, frozen=True):
    """Shares of the devices' peak that a measured time amounts to; 1 is the peak."""

    step_time_s: float = msgspec.field(name="measured_seconds")
    """The measured time of one run."""
    mfu: float
    """For the FLOPs that the model needs, without recomputed ones."""
    mfu_unmasked: float
    """The same without masked scores, costlier branches, and what a loop repeats unchanged."""
    hfu: float
    """For all FLOPs of the program as written."""
    peak_type: str
    """The type whose peak is used, `bf16` for most programs."""


@dataclass(frozen=True)
class TriedSize:
    """A size of a dimension that was compiled for one TPU."""

    size: int
    status: str
    """The status of its result."""
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
    """The smallest size that could be lowered; all sizes tried are multiples of it."""
    largest: int | None
    """The largest size that compiled and fits; None if none does."""
    next: int | None
    """The next multiple, which does not fit; None if it was not compiled."""
    reason: str | None
    """The reason why a larger size may fit, or why none does; None for an exact answer."""
    tried: tuple[TriedSize, ...]
    """The sizes that were compiled, smallest first."""
    finished: bool = True
    """False for an interim result, while the search goes on or after it was stopped."""


@dataclass(frozen=True)
class ComparedProgram:
    """One of several alternative programs on one TPU; sizes are bytes on one device."""

    tpu: str
    program: str
    status: str
    hbm_bytes: int | None
    received_bytes: int | None
    """Bytes that one device receives in collectives; None if unknown for one of them."""
    bound_seconds: float | None
    limiter: LimitName | None
    best: bool
    """True for the least bound of those that fit; of equal ones, for the fewest bytes received, and
    then for the least memory."""


@dataclass(frozen=True)
class Donation:
    """Arguments that a function could donate, and does not; sizes are bytes on one device."""

    arguments: tuple[str, ...]
    """Their names, as `donate_argnames` expects them."""
    most_bytes: int | None
    """The most that it can save: the bytes of arguments that match a result in shape, type and
    layout. None for a program that does not fit."""
    hbm_bytes: int | None
    """Memory that the program needs when compiled with them donated; None if it was not."""
    argnums: tuple[int, ...] | None = None
    """Their positions, as the `donate_argnums` of `jax.pmap` expects them; None for a function that
    `jax.pmap` did not make."""


def fits_memory(result: ResultFields) -> bool:
    """Return whether a program compiles, and needs no more memory than a device has."""
    return result["status"] == "compiles" and result["hbm_bytes"] <= result["hbm_limit_bytes"]
