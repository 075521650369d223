"""Runs a framework's checks in the process of a test, and asserts on their findings."""

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
"""By the name of a check: its breaks, each with the exact codes that fail."""

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
    """Import the module of a check."""
    return importlib.import_module(f"tpustarter.checks.{framework}.{name}")


def findings(module: ModuleType) -> list[dict[str, Any]]:
    """Run a check in this process and return its findings."""
    return [item.as_dict() for item in module.run() if isinstance(item, Finding)]


def is_sound(results: list[dict[str, Any]]) -> bool:
    """Return whether all findings are `ok` or `info`, and at least one is `ok`."""
    verdicts = {finding["verdict"] for finding in results}
    return verdicts <= {"ok", "info"} and "ok" in verdicts


def failed_with_hints(results: list[dict[str, Any]]) -> bool:
    """Return whether at least one finding failed, and all failed ones have a hint."""
    failed = [finding for finding in results if finding["verdict"] == "fail"]
    return bool(failed) and all(finding["hint"] for finding in failed)


def cases(sabotage: Sabotage) -> list[Any]:
    """Return the name, break and codes of each case, as parameters of a test."""
    return [
        pytest.param(name, breaks, codes, id=f"{name}-{breaks.__name__}")
        for name, rows in sabotage.items()
        for breaks, codes in rows
    ]


def failed_codes(results: list[dict[str, Any]]) -> set[str]:
    """Return the codes of failed findings."""
    return {finding["code"] for finding in results if finding["verdict"] == "fail"}


def judged_codes(results: list[dict[str, Any]]) -> set[str]:
    """Return the codes of `ok` findings."""
    return {finding["code"] for finding in results if finding["verdict"] == "ok"}


def broken_codes(rows: Sequence[tuple[Break, set[str]]]) -> set[str]:
    """Return the codes that fail under any sabotage of a check."""
    return {code for _, codes in rows for code in codes}
