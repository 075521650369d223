"""Validation of a probe's events: one with a missing or mistyped field counts as none.

A probe runs code of others, so none of its output is trusted to have the right form.
"""

from __future__ import annotations

import msgspec

from tpustarter.checking.results.results import FindingFields, UsedDevices
from tpustarter.core.json_values import as_type


class PythonVersions(msgspec.Struct):
    """The versions of a Python and of its packages."""

    python: str
    python_version: str
    frameworks: dict[str, str]


def parse_finding(value: object) -> FindingFields | None:
    """Return a finding with its known fields alone, or None for an invalid one."""
    return as_type(value, FindingFields)


def parse_devices(value: object) -> UsedDevices | None:
    """Return the devices of a run, or None for an invalid value."""
    return as_type(value, UsedDevices)


def parse_versions(value: object) -> PythonVersions | None:
    """Return the versions of a Python, or None for an invalid value."""
    return as_type(value, PythonVersions)
