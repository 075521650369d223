"""How a block ended: what its process said and what it printed, as a result."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from tpustarter.checking import plan
from tpustarter.checking.results import Blocked, Reason
from tpustarter.learning.blocks import Block
from tpustarter.learning.drawings import Drawing
from tpustarter.learning.drawings import parse as parse_drawings
from tpustarter.learning.expected import Difference, Expected, first_difference
from tpustarter.learning.output import BlockOutput
from tpustarter.redact import Redactor
from tpustarter.running.process import Event

Status = Literal["pass", "fail", "error", "skip", "notrun"]
_PLACE = re.compile(r"(?<=Error: )(.+) \([^()]*, line \d+\)")
"""What Python adds to an error of syntax; its traceback has the place and the code there."""


@dataclass(frozen=True)
class BlockResult:
    """How one block ended."""

    id: str
    status: Status
    reason: Reason | None = None
    detail: str = ""
    """What belongs to the reason, or the first line that differs."""
    hint: str = ""
    """What to do where it could not run, as a sentence without a full stop."""
    seconds: float = 0.0
    ran_on: dict[str, Any] | None = None
    """Platform, kind and count of the devices; None where no framework was used."""
    output: str = ""
    expected: str | None = None
    """What it should have printed here; None where the lesson does not say."""
    difference: Difference | None = None
    """The first line that differs, if it printed something else."""
    drawings: tuple[Drawing, ...] = ()
    """What it left to be drawn."""
    raised_at: tuple[int, ...] = ()
    """The lines of its code that what it raised went through, the innermost first."""


def skipped(block: Block, blocked: Blocked) -> BlockResult:
    """Return the result of a block that is not run at all."""
    return BlockResult(block.id, "skip", blocked.reason, blocked.what, hint=blocked.hint)


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
        detail = redact.text(_PLACE.sub(r"\1", str(end.get("detail", ""))))
        at = _parse_lines(end.get("lines"))
        return replace(result, status="error", reason="exception", detail=detail, raised_at=at)
    ran_on = _parse_ran_on(end.get("ran_on"))
    drawn = parse_drawings(end.get("drawings"), redact.text)
    result = replace(result, ran_on=ran_on, drawings=drawn)
    found = first_difference(expected, output.printed) if expected else None
    if expected is None or found is None:
        return result
    if _is_of_others(expected, ran_on):
        return replace(result, expected=None)
    difference = _redacted(found, redact)
    return replace(result, status="fail", detail=difference.words, difference=difference)


def _is_of_others(expected: Expected, ran_on: dict[str, Any] | None) -> bool:
    """Return whether an output was told of as many CPU devices as there are here by themselves.

    With another number (`--devices 1`) the lesson does not say what to see.
    """
    count = ran_on["count"] if ran_on else plan.VIRTUAL_DEVICES
    return expected.on == "cpu" and count != plan.VIRTUAL_DEVICES


def _redacted(difference: Difference, redact: Redactor) -> Difference:
    texts = [text and redact.text(text) for text in (difference.printed, difference.expected)]
    return replace(difference, printed=texts[0], expected=texts[1])


def _parse_lines(value: Any) -> tuple[int, ...]:
    """Return numbers of lines; a block may have written something else in their place."""
    numbers = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(number for number in numbers if type(number) is int)


def _parse_ran_on(value: Any) -> dict[str, Any] | None:
    """Return where a block ran; None for what is no such place: a block may have written it."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    types = {"platform": str, "kind": str, "count": int, "virtual": bool}
    is_sound = all(isinstance(fields.get(name), kind) for name, kind in types.items())
    return {name: fields[name] for name in types} if is_sound else None
