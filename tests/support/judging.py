"""How tests run a check of a framework in their own process, and what they ask of what it found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tpustarter import checks
from tpustarter.core import content
from tpustarter.probe.finding import Finding

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]
Sabotage = Mapping[str, Sequence[tuple[Break, set[str]]]]
"""By the name of a check: what breaks it, and the codes of what fails then, and nothing else."""

FOLDER = Path(next(iter(checks.__path__)))
DEVICES = 8


def checks_of(framework: str) -> dict[str, content.Check]:
    """Return the checks of a framework, by name."""
    return {
        check.path.stem: check
        for check in content.read_checks(FOLDER)
        if check.framework == framework
    }


def module_of(framework: str, name: str) -> ModuleType:
    """Import a check."""
    return importlib.import_module(f"tpustarter.checks.{framework}.{name}")


def findings(module: ModuleType) -> list[dict[str, Any]]:
    """Run a check in this process and return what it found."""
    return [item.as_dict() for item in module.run() if isinstance(item, Finding)]


def is_sound(results: list[dict[str, Any]]) -> bool:
    """Return whether nothing is worse than a fact, and something was shown to hold."""
    verdicts = {finding["verdict"] for finding in results}
    return verdicts <= {"ok", "info"} and "ok" in verdicts


def failed_with_hints(results: list[dict[str, Any]]) -> bool:
    """Return whether something failed, and whoever reads that is told what to do."""
    failed = [finding for finding in results if finding["verdict"] == "fail"]
    return bool(failed) and all(finding["hint"] for finding in failed)


def cases(sabotage: Sabotage) -> list[Any]:
    """Return name, break and codes of each case, as parameters of a test."""
    return [
        pytest.param(name, breaks, codes, id=f"{name}-{breaks.__name__}")
        for name, rows in sabotage.items()
        for breaks, codes in rows
    ]


def failed_codes(results: list[dict[str, Any]]) -> set[str]:
    """Return the codes of what failed."""
    return {finding["code"] for finding in results if finding["verdict"] == "fail"}


def judged_codes(results: list[dict[str, Any]]) -> set[str]:
    """Return the codes of what was shown to hold, and is no mere fact."""
    return {finding["code"] for finding in results if finding["verdict"] == "ok"}


def broken_codes(rows: Sequence[tuple[Break, set[str]]]) -> set[str]:
    """Return the codes that fail under one sabotage of a check or another."""
    return {code for _, codes in rows for code in codes}
