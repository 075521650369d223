"""How a block ended: what its process said and what it printed, as a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from tpustarter.checking.results import Blocked, Reason
from tpustarter.learning.blocks import Block
from tpustarter.learning.expected import Expected, mismatch
from tpustarter.learning.output import BlockOutput
from tpustarter.redact import Redactor
from tpustarter.running.process import Event

Status = Literal["pass", "fail", "error", "skip", "notrun"]


@dataclass(frozen=True)
class BlockResult:
    """How one block ended."""

    id: str
    status: Status
    reason: Reason | None = None
    detail: str = ""
    """What belongs to the reason, or the first line that differs."""
    seconds: float = 0.0
    ran_on: dict[str, Any] | None = None
    """Platform, kind and count of the devices; None where no framework was used."""
    output: str = ""
    expected: str | None = None
    """What it should have printed here; None where the lesson does not say."""


def skipped(block: Block, blocked: Blocked) -> BlockResult:
    """Return the result of a block that is not run at all."""
    return BlockResult(block.id, "skip", blocked.reason, blocked.what)


def printed(
    block: Block, expected: Expected | None, output: BlockOutput, seconds: float
) -> BlockResult:
    """Return what a block printed and should have, before it is judged."""
    return BlockResult(
        block.id,
        "pass",
        seconds=seconds,
        output=output.shown,
        expected=expected.text if expected else None,
    )


def judged(
    result: BlockResult,
    expected: Expected | None,
    end: Event,
    output: BlockOutput,
    redact: Redactor,
) -> BlockResult:
    """Judge a block whose process told its end: what it raised, else what differs."""
    if end.get("outcome") != "done":
        detail = redact.text(str(end.get("detail", "")))
        return replace(result, status="error", reason="exception", detail=detail)
    differs = mismatch(expected, output.printed) if expected else None
    return replace(
        result,
        status="fail" if differs else "pass",
        detail=redact.text(differs or ""),
        ran_on=_ran_on(end.get("ran_on")),
    )


def _ran_on(value: Any) -> dict[str, Any] | None:
    """Return where a block ran; None for what is no such place: a block may have written it."""
    place = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    kinds = {"platform": str, "kind": str, "count": int, "virtual": bool}
    sound = all(isinstance(place.get(key), kind) for key, kind in kinds.items())
    return {key: place[key] for key in kinds} if sound else None
