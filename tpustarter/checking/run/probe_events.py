"""Validation of a probe's events: a missing or mistyped field makes an event invalid.

A probe runs third-party code, so its output is never trusted to have the right form.
"""

from __future__ import annotations

import msgspec

from tpustarter.checking.results.results import FindingFields, UsedDevices
from tpustarter.core.json_values import as_type


class PythonVersions(msgspec.Struct):
    """The versions of a Python and of its frameworks."""

    python: str
    python_version: str
    frameworks: dict[str, str]


def parse_finding(value: object) -> FindingFields | None:
    """Return a finding with only its known fields, or None if it is invalid."""
    return as_type(value, FindingFields)


def parse_devices(value: object) -> UsedDevices | None:
    """Return the devices of a run, or None if they are invalid."""
    return as_type(value, UsedDevices)


def parse_count(value: object) -> int:
    """Return a number of things, or 0 if it is missing or invalid."""
    count = as_type(value, int)
    return max(count, 0) if count is not None else 0


def parse_versions(value: object) -> PythonVersions | None:
    """Return the versions of a Python, or None if they are invalid."""
    return as_type(value, PythonVersions)
