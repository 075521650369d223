"""The comparison of programs that do the same, such as one step with several shardings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal import roofline_bound
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.user_program import UserFunction
from tpustarter.rehearsal.result_fields import ComparedProgram, ResultFields, fits_memory

ADVICE = (
    "let its `programs(devices)` yield the same step once for each mesh, sharding or "
    "`jax.checkpoint` policy, each under a name of its own"
)
_DIGITS = 3
"""Significant digits of a bound: as many as are shown, so that a tie looks like one."""


def compare_programs(results: Sequence[ResultFields], tpu: str) -> list[ComparedProgram]:
    """Return a TPU's programs in the order of their results, the best one marked."""
    of_tpu = [result for result in results if result["tpu"] == tpu]
    rows = [_row(result) for result in of_tpu]
    fitting = [row for row, result in zip(rows, of_tpu, strict=True) if fits_memory(result)]
    best = min(fitting, key=_cost, default=None)
    return [replace(row, best=len(rows) > 1 and row is best) for row in rows]


def require_alternatives(request: RehearsalRequest, code: UserFunction | None) -> None:
    """Verify that a request compares alternatives.

    Raises:
        Problem: The programs of the request are not alternatives.
    """
    if not request.compare:
        return
    if request.fit:
        raise Problem(
            "`--fit` finds another size for each program, so there is nothing to compare",
            hint=f"leave out `--compare`: the report has the largest {request.fit} of each",
            code=ExitCode.USAGE,
        )
    if code is None or code.torch or code.arguments:
        raise Problem(
            "`--compare` needs a `FILE.py` with several programs", hint=ADVICE, code=ExitCode.USAGE
        )


def _row(result: ResultFields) -> ComparedProgram:
    bound = roofline_bound.read_bound(result)
    return ComparedProgram(
        result["tpu"],
        result["program"],
        result["status"],
        result.get("hbm_bytes"),
        _sum_received(result),
        bound.seconds if bound else None,
        bound.limiter if bound else None,
        best=False,
    )


def _sum_received(result: ResultFields) -> int | None:
    if result["status"] != "compiles":
        return None
    received = [one["received_bytes"] for one in result["collectives"]]
    known = [one for one in received if one is not None]
    return sum(known) if len(known) == len(received) else None


def _cost(row: ComparedProgram) -> tuple[float, float, float]:
    seconds = math.inf if row.bound_seconds is None else row.bound_seconds
    received = math.inf if row.received_bytes is None else row.received_bytes
    return float(f"{seconds:.{_DIGITS}g}"), received, row.hbm_bytes or math.inf
