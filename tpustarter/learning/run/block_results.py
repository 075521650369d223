"""The result of a block, from its process's events and its output."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from tpustarter.checking.plan import framework_plan
from tpustarter.checking.results.results import BlockedFramework, Reason, UsedDevices
from tpustarter.checking.run.probe_events import parse_count
from tpustarter.core.json_values import as_type, items_of_type
from tpustarter.core.redact import Redactor
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.drawings.block_drawings import Drawing, parse_drawings
from tpustarter.learning.run.block_output import BlockOutput
from tpustarter.learning.run.expected_output import (
    ExpectedOutput,
    OutputDifference,
    find_first_difference,
)
from tpustarter.probe.events import EndEvent

Status = Literal["pass", "fail", "error", "skip", "notrun"]
_PLACE = re.compile(r"(?<=Error: )(.+) \([^()]*, line \d+\)")
"""The location that Python adds to a syntax error's message; the traceback shows it as well."""


@dataclass(frozen=True)
class BlockResult:
    """The result of one block."""

    id: str
    status: Status
    reason: Reason | None = None
    detail: str = ""
    """Details of the reason, or the first line that differs."""
    exception: str = ""
    """The type of the exception that ended it; `detail` then begins with it."""
    hint: str = ""
    """The fix for a block that could not run, as a sentence without a full stop."""
    seconds: float = 0.0
    ran_on: UsedDevices | None = None
    """None if no framework was used."""
    stored_programs: int = 0
    """Compiled programs that were loaded from earlier runs."""
    output: str = ""
    expected: str | None = None
    """The expected output on this platform; None if the lesson has none."""
    difference: OutputDifference | None = None
    """The first line that differs, if the output is not as expected."""
    drawings: tuple[Drawing, ...] = ()
    """Drawings of its values."""
    traceback_line_numbers: tuple[int, ...] = ()
    """Numbers of the lines of its code in the exception's traceback, innermost first."""


def make_skipped_result(block: Block, blocked: BlockedFramework) -> BlockResult:
    """Return the result for a block that cannot run."""
    return BlockResult(block.id, "skip", blocked.reason, blocked.what, hint=blocked.hint)


def make_result_before_judging(
    block: Block, expected: ExpectedOutput | None, output: BlockOutput, seconds: float
) -> BlockResult:
    """Return a result that is not judged yet, with a block's output and expected output."""
    return BlockResult(
        block.id,
        "pass",
        seconds=seconds,
        output=output.redacted_text,
        expected=expected.text if expected else None,
    )


def judge_block(
    result: BlockResult,
    expected: ExpectedOutput | None,
    end: EndEvent,
    output: BlockOutput,
    redact: Redactor,
) -> BlockResult:
    """Judge a finished block by its exception or, without one, by the first differing line."""
    if end.get("outcome") != "done":
        detail = redact.redact_text(_PLACE.sub(r"\1", str(end.get("detail", ""))))
        at = tuple(items_of_type(end.get("lines"), int))
        name = redact.redact_text(str(end.get("exception") or ""))
        result = replace(result, status="error", reason="exception", detail=detail)
        return replace(result, exception=name, traceback_line_numbers=at)
    ran_on = as_type(end.get("ran_on"), UsedDevices)
    drawn = parse_drawings(end.get("drawings"), redact.redact_text)
    loaded = parse_count(end.get("stored_programs"))
    result = replace(result, ran_on=ran_on, stored_programs=loaded, drawings=drawn)
    found = find_first_difference(expected, output.stdout_text) if expected else None
    if expected is None or found is None:
        return result
    if _is_of_others(expected, ran_on):
        return replace(result, expected=None)
    difference = _redacted(found, redact)
    return replace(result, status="fail", detail=difference.words, difference=difference)


def _is_of_others(expected: ExpectedOutput, ran_on: UsedDevices | None) -> bool:
    """Return whether the expected output is for another number of CPU devices than this run has.

    Expected outputs assume the default number; with another (`--devices 1`) the lesson has none.
    """
    count = ran_on.count if ran_on else framework_plan.VIRTUAL_DEVICES
    return expected.platform == "cpu" and count != framework_plan.VIRTUAL_DEVICES


def _redacted(difference: OutputDifference, redact: Redactor) -> OutputDifference:
    texts = [
        text and redact.redact_text(text) for text in (difference.printed, difference.expected)
    ]
    return replace(difference, printed=texts[0], expected=texts[1])
