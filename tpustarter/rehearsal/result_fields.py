"""Parts of a result of a rehearsal, as the probe sends them and the document publishes them."""

from __future__ import annotations

from typing import TypedDict


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
    """How often they run in all; None where a loop has no static count."""
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
