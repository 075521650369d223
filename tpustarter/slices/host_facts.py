"""The hosts of a run as the report shows them: versions, chips, and differences between hosts."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tpustarter.checking.results.results import Result, SliceHostFields


class HostFacts(msgspec.Struct, kw_only=True):
    """The facts that a host has reported; `probe/slice/host_facts.py` gathers them."""

    host: int
    hosts: int
    name: str
    python_version: str
    frameworks: dict[str, str]
    platform: str = ""
    chips: int | None = None
    devices: int | None = None
    generation: str | None = None
    accelerator_type: str | None = None
    worker: int | None = None
    settings: dict[str, str] = {}
    clock_ahead_s: float = 0.0


def make_report_fields(facts: HostFacts) -> SliceHostFields:
    """Convert a host's facts to their form in the report document."""
    return msgspec.convert({**msgspec.to_builtins(facts), "differs": []}, SliceHostFields)


def add_differences(hosts: Iterable[SliceHostFields], results: Iterable[Result]) -> None:
    """Add to each host the differences that the checks of all hosts reported for it."""
    findings = [finding for result in results for finding in result.findings]
    for host in hosts:
        host["differs"] += [
            {name: one[name] for name in ("code", "name", "found", "expected")}
            for one in findings
            if one["entity"] == f"host:{host['host']}" and one["verdict"] in ("warn", "fail")
        ]
