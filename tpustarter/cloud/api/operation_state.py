"""The state of an operation, by which both APIs say whether a change was carried out."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.cloud.api.errors import CloudProblem


@dataclass(frozen=True)
class OperationState:
    """The state of one of Google's operations."""

    done: bool
    problem: CloudProblem | None = None
    """The reason of a failure."""
