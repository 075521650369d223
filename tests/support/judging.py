"""How tests run a check of a framework in their own process, and what they ask of what it found."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from tpustarter import checks, content
from tpustarter.probe.finding import Finding

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
