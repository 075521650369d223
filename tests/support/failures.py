"""Rows of known failures, made for a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tpustarter.core import yaml_rows
from tpustarter.explain.known_failures import KnownFailure


def fields(name: str, **more: Any) -> dict[str, Any]:
    """Return the fields of a row, with made-up values for required ones."""
    made = {
        "id": name,
        "what": f"{name} is wrong",
        "why": f"Why {name} is wrong.",
        "fix": [f"Mend {name}."],
        "sources": ["https://github.com/jax-ml/jax/issues/1"],
    }
    return made | more


def failure(name: str, **more: Any) -> KnownFailure:
    """Return one failure."""
    return yaml_rows.convert_value(fields(name, **more), KnownFailure)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    """Write a file of rows, and return it."""
    path.write_text(json.dumps(rows))  # JSON is YAML
    return path
