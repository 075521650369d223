"""The difference between a plan and a rehearsal of the user's own program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import locations
from tpustarter.core.json_values import as_object, items_of_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.planning.tpu_fit import TpuFit

SCHEMA = "tpustarter.rehearsal/1"
MOST_BYTES = 64 * 2**20
MOST_RESULTS = 1000
"""Maximum number of results that are read from a document."""


class _Memory(msgspec.Struct):
    arguments: int


class RehearsalResult(msgspec.Struct):
    """The fields of a rehearsed program that are compared with a plan."""

    program: str
    tpu: str
    hbm_bytes: int
    memory: _Memory | None = None


@dataclass(frozen=True)
class RehearsalComparison:
    """A rehearsed program and the plan for the same TPU."""

    program: str
    tpu: str
    rehearsed: int
    """Bytes on one device, as counted by the compiler."""
    planned: int
    arguments: int | None
    """Bytes of the program's arguments, as counted by the compiler."""
    state: int
    """Bytes of weights, and of Adam or the cache, which a program takes as arguments."""


def read_rehearsal(path: Path) -> list[RehearsalResult]:
    """Return the results in a document that `tpustarter rehearse --json` printed.

    Raises:
        Problem: The file cannot be read, or is not such a document.
    """
    hint = "`tpustarter rehearse PROGRAM --tpu NAME --json > FILE` makes one"
    path = locations.expand_path(str(path))
    try:
        value = as_object(json.loads(locations.read_user_file(path, MOST_BYTES)))
    except OSError as error:
        what = f"`{path}` cannot be read: {error.strerror or error}"
        raise Problem(what, hint=hint, code=ExitCode.USAGE) from error
    except (ValueError, RecursionError):
        value = {}
    results = items_of_type(value.get("results"), RehearsalResult, MOST_RESULTS)
    if value.get("schema") != SCHEMA or not results:
        what = f"`{path}` has no result of a rehearsal that compiled, expected {SCHEMA}"
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    return results


def compare_plans(
    plans: Sequence[TpuFit], results: Sequence[RehearsalResult]
) -> list[RehearsalComparison]:
    """Return a comparison for each result whose TPU has a plan."""
    by_name = {plan.tpu.name: plan for plan in plans}
    return [
        RehearsalComparison(
            program=result.program,
            tpu=result.tpu,
            rehearsed=result.hbm_bytes,
            planned=by_name[result.tpu].needed,
            arguments=result.memory.arguments if result.memory else None,
            state=by_name[result.tpu].state,
        )
        for result in results
        if result.tpu in by_name
    ]
