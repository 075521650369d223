"""JAX checks, run in this process: their modules, findings and failures."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from tpustarter.probe.finding import Finding


def check(name: str) -> ModuleType:
    """Return the module of a JAX check, or of shared code."""
    return importlib.import_module(f"tpustarter.checks.jax.{name}")


def findings(name: str, code: str = "") -> list[Finding]:
    """Run a check and return its findings whose code starts with `code`."""
    results = [item for item in check(name).run() if isinstance(item, Finding)]  # not Progress
    return [finding for finding in results if finding.code.startswith(code)]


def failures(name: str) -> list[tuple[str, str | None]]:
    """Run a check and return the code and entity of each failed finding."""
    return [
        (finding.code, finding.entity) for finding in findings(name) if finding.verdict == "fail"
    ]


def failed(name: str) -> list[tuple[str, str | None, Any]]:
    """Run a check and return the code, entity and value of failed findings with an entity."""
    results = [finding for finding in findings(name) if finding.verdict == "fail"]
    return [(finding.code, finding.entity, finding.found) for finding in results if finding.entity]


def verdicts(name: str) -> set[str]:
    """Run a check and return its verdicts."""
    return {finding.verdict for finding in findings(name)}


def faults(name: str) -> list[tuple[str, str | None, Any]]:
    """Run a check and return the code, entity and value of each failed finding."""
    return [
        (finding.code, finding.entity, finding.found)
        for finding in findings(name)
        if finding.verdict == "fail"
    ]
