"""Validation of a probe's events: one with a missing or mistyped field counts as none.

A probe runs code of others, so none of its output is trusted to have the right form.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tpustarter.checking.results.results import RanOn
from tpustarter.core.json_values import typed
from tpustarter.probe.finding import Value, Verdict


class _Finding(msgspec.Struct):
    code: str
    name: str
    verdict: Verdict
    found: Value
    expected: Value
    unit: str | None
    entity: str | None
    hint: str | None
    lesson: str | None
    command: str | None
    setup: str | None
    ends: int | None
    share: float | None


class Versions(msgspec.Struct):
    """The versions of a Python and of its packages."""

    python: str
    python_version: str
    frameworks: dict[str, str]


def finding(value: object) -> dict[str, Any] | None:
    """Return a finding with its known fields alone; None for an invalid one."""
    known = typed(value, _Finding)
    return msgspec.structs.asdict(known) if known else None


def place(value: object) -> RanOn | None:
    """Return the devices of a run; None for an invalid value."""
    return typed(value, RanOn)


def versions(value: object) -> Versions | None:
    """Return the versions of a Python; None for an invalid value."""
    return typed(value, Versions)
