"""Rows of known failures, made for a test, and explanations by all shipped rows."""

from __future__ import annotations

import functools
import io
import json
from pathlib import Path
from typing import Any

from tpustarter.core import yaml_rows
from tpustarter.explain import explain_output
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.known_failures import KnownFailure, read_known_failures
from tpustarter.explain.log_scanner import FailureScanner, LogScan


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


@functools.cache
def shipped_scanner() -> FailureScanner:
    """Return the scanner of all rows."""
    return FailureScanner(read_known_failures())


@functools.lru_cache(maxsize=200)  # several tests read all real logs
def scan(log: str | bytes) -> LogScan:
    """Return the signs of all rows in a log."""
    data = log.encode() if isinstance(log, str) else log
    return shipped_scanner().scan(io.BytesIO(data))


def explain(log: str | bytes, **more: Any) -> Explanation:
    """Return the explanation of a log; further arguments are those of `explain_log`."""
    return explain_output.explain_log(scan(log), **more)
