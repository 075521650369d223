"""Validation of a probe's events: one with a missing or mistyped field counts as none.

A probe runs code of others, so none of its output is trusted to have the right form.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

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


class _Place(msgspec.Struct):
    platform: str
    kind: str
    count: Annotated[int, msgspec.Meta(ge=0)]
    virtual: bool


class _Versions(msgspec.Struct):
    python: str
    python_version: str
    frameworks: dict[str, str]


def finding(value: Any) -> dict[str, Any] | None:
    """Return a finding with its known fields alone; None for an invalid one."""
    return _fields(value, _Finding)


def place(value: Any) -> dict[str, Any] | None:
    """Return a place (platform, kind and count of devices); None for an invalid value."""
    return _fields(value, _Place)


def versions(value: Any) -> dict[str, Any] | None:
    """Return the versions of a Python and of its packages; None for an invalid value."""
    return _fields(value, _Versions)


def _fields(value: Any, kind: type[msgspec.Struct]) -> dict[str, Any] | None:
    try:
        return msgspec.structs.asdict(msgspec.convert(value, kind))
    except msgspec.ValidationError:
        return None
