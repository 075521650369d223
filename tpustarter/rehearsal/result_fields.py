"""Parts of a result of a rehearsal, as the probe sends them and the document publishes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec

ResultFields = dict[str, Any]
"""A result with all its fields, as the document publishes it."""
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
    finished: bool = True
    """False for what is known so far, as while the search goes on, or once it was stopped."""


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
