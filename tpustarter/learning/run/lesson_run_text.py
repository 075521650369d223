"""A run of lessons: as text while it goes on, and as a JSON document afterwards."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import msgspec

from tpustarter.checking.results.headline import format_closing, summarize_run
from tpustarter.checking.results.no_tpu_reason import explain_no_tpu
from tpustarter.checking.results.results import LEARN_SCHEMA, HostFields, TargetFields
from tpustarter.checking.results.verdict import find_verified_device, is_verdict_missing
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.learning.drawings.block_drawings import describe_drawing
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult, Status
from tpustarter.learning.run.lessons_run import (
    BlockEnded,
    BlockStarted,
    Event,
    LessonsRun,
    LessonStarted,
)
from tpustarter.text import phrases
from tpustarter.text.terminal import WIDTH, escape_text

_INDENT = " " * 6
_STATUS_WORDS: dict[Status, str] = {
    "pass": "pass",
    "fail": "FAIL",
    "error": "ERROR",
    "skip": "skip",
    "notrun": "NOT",
}
_WORST_FIRST: tuple[Status, ...] = ("error", "fail", "notrun", "skip", "pass")


class LessonRunPrinter:
    """Prints a run as it proceeds: each block, its output, and its result."""

    def __init__(
        self,
        echo: Callable[[str], object],
        say: Callable[[str], object] | None = None,
        *,
        finished: bool = True,
    ) -> None:
        self._echo = echo
        self._say = say or echo
        """Prints the program's own sentences; `echo` prints the output of blocks."""
        self._is_shown = finished
        self._unfinished_line = ""
        self._python = ""

    def print_event(self, event: Event) -> None:
        """Print one event."""
        if not self._is_shown:
            return
        if isinstance(event, OutputChunk):
            *lines, self._unfinished_line = (self._unfinished_line + event.text).split("\n")
            for line in lines:
                self._echo(_INDENT + escape_text(line.expandtabs()))
            return
        if self._unfinished_line:
            self._echo(_INDENT + escape_text(self._unfinished_line.expandtabs()))
            self._unfinished_line = ""
        for line in self._describe(event):
            self._say("\n".join(wrap_line(line)))

    def _describe(self, event: LessonStarted | BlockStarted | BlockEnded) -> list[str]:
        if isinstance(event, LessonStarted):
            previous, self._python = (
                self._python,
                format_opening(event.session.target, event.session.host),
            )
            first = [escape_text(self._python)] if previous != self._python else []
            lesson = event.session.lesson
            return [*first, "", escape_text(f"Lesson {lesson.id}: {lesson.title}")]
        if isinstance(event, BlockStarted):
            answer = ", with the lesson's answer" if event.block.is_try else ""
            return [
                f"{event.block.title}{event.block.id_in_brackets}, line {event.block.line}{answer}"
            ]
        pictures = [
            escape_text(line)
            for drawing in event.result.drawings
            for line in describe_drawing(drawing)
        ]
        return [*(f"{_INDENT}{line}" for line in pictures), *format_block_end(event.result)]


def wrap_line(text: str) -> list[str]:
    """Wrap a line of the program's own text."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=_INDENT, break_on_hyphens=False)


def format_opening(target: TargetFields, host_facts: HostFields) -> str:
    """Return a line with the Python that runs the blocks and its devices."""
    names = [f"{name} {version}" for name, version in target.get("frameworks", {}).items()]
    where = target.get("where", "")
    if target.get("platform") not in ("tpu", "gpu"):
        where = f"{explain_no_tpu(host_facts)}: {where}"
    return f"python {target.get('shown', '')}, {', '.join(names) or 'no framework'} ({where})"


def format_block_end(result: BlockResult) -> list[str]:
    """Return the line with a block's status and devices."""
    word = f"{_STATUS_WORDS[result.status]:<6}"
    ran_on = result.ran_on
    device = "on the host alone" if result.status == "pass" else ""
    if ran_on:
        kind = "virtual CPU" if ran_on.virtual else ran_on.kind
        device = f"on {phrases.format_count(ran_on.count, f'{escape_text(kind)} device')}"
    seconds = f"{result.seconds:.1f} s" if result.seconds else ""
    if result.status == "pass":
        words = "matches" if result.expected is not None else "the lesson does not say what to see"
    elif result.status == "fail":
        words = f"differs, {escape_text(result.detail)}"
    else:
        reason = (result.reason or "").replace("-", " ")
        words = f"{reason}: {escape_text(result.detail)}" if result.detail else reason
    return [f"{word}{', '.join(filter(None, (words, device, seconds)))}"]


def format_headline(batch: LessonsRun) -> str:
    """Return the headline of a run of lessons: what passed and failed, in one or two sentences."""
    run = batch.run
    counts = run.count_statuses()
    total = len(run.results)
    summary = summarize_run(run)
    clause = phrases.choose_plural(len(batch.lessons), "the lesson says", "their lessons say")
    answers = sum(block.is_try for blocks in batch.blocks.values() for block in blocks)
    how = f", {answers} of them with the lesson's answer," if answers else ""
    text = f"{counts['pass']} of {total} blocks{how} do as {clause}"
    text += f" on {escape_text(summary.devices)}" if summary.devices else ""
    if counts["fail"]:
        text += f", {counts['fail']} printed something else"
    undecided = sum(1 for result in run.results if is_verdict_missing(result))
    if undecided:
        text += f", {phrases.format_count(undecided, 'has', 'have')} no verdict"
    return "\n".join(["", *textwrap.wrap(text + format_closing(summary), WIDTH)])


def format_reason(batch: LessonsRun, code: ExitCode) -> str:
    """Return the line for stderr with the reason for a run's exit code."""
    run = batch.run
    blocked = run.blocked
    if blocked and blocked.code == code:
        following = f". Next: {blocked.hint}" if blocked.hint else ""
        return f"exit {int(code)}: {escape_text(blocked.what)}{following}"
    if not run.results:
        return f"exit {int(code)}: no lesson here has a block that runs. Next: `tpustarter learn`"
    unsuccessful = run.list_failed() or [
        result for result in run.results if is_verdict_missing(result)
    ]
    if run.stopped_by is not None or not unsuccessful:
        what = batch.lessons[0].id if len(batch.lessons) == 1 else "--all"
        again = f"`tpustarter learn {what} --run` runs it again"
        return f"exit {int(code)}: stopped before the end. Next: {again}"
    worst = unsuccessful[0]
    detail = escape_text(worst.detail or str(worst.reason))
    what = "printed something else" if worst.status == "fail" else "has no verdict"
    next_step = f"`tpustarter learn {worst.lesson}`, the section `If it fails`"
    return f"exit {int(code)}: {worst.id} {what} ({detail}). Next: {next_step}"


def make_json_document(batch: LessonsRun, *, with_text: bool = False) -> dict[str, object]:
    """Return lessons, and the results of their blocks, as the published JSON document."""
    run = batch.run
    blocked = run.blocked
    return {
        "schema": LEARN_SCHEMA,
        "tool": {"version": run.version},
        "started": run.started,
        "seconds": round(run.seconds, 3),
        "target": run.target or None,
        "lessons": [
            {**_lesson_fields(lesson, batch), **({"text": lesson.text} if with_text else {})}
            for lesson in batch.lessons
        ],
        "blocked": {"what": blocked.what, "hint": blocked.hint or None} if blocked else None,
        "verified_on": find_verified_device(run),
        "stored_programs": run.stored_programs,
        "exit_code": int(batch.exit_code()) if run.target else 0,
    }


def _lesson_fields(lesson: Lesson, batch: LessonsRun) -> dict[str, object]:
    results = batch.results[lesson.id]
    block_results = [
        results.get(block.id, BlockResult(block.id, "notrun")) for block in batch.blocks[lesson.id]
    ]
    track = lesson.id.partition("/")[0]
    return {
        "id": lesson.id,
        "track": track,
        "title": lesson.title,
        "minutes": lesson.header.get("minutes"),
        "checks": lesson.header.get("checks", []),
        "status": next(
            (status for status in _WORST_FIRST if any(r.status == status for r in block_results)),
            "skip",
        ),
        "blocks": [_block_fields(result) for result in block_results],
        "exercises": [f"{track}/{name}" for name in lesson.exercise_names],
    }


def _block_fields(result: BlockResult) -> dict[str, object]:
    return {
        "id": result.id,
        "status": result.status,
        "reason": result.reason,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "ran_on": msgspec.to_builtins(result.ran_on),
        "output": result.output,
        "expected": result.expected,
    }
