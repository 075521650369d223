"""Failed checks and failed lesson blocks that can be reproduced.

A block is reproduced with the lesson's original code, because the user's edits are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tpustarter.checking.results import last_failures
from tpustarter.core import content
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content import blocks
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.progress.lesson_progress import BlockRecord
from tpustarter.reproducing import reproducer_file
from tpustarter.reproducing.reproducer_file import (
    FailureEnvironment,
    ReproducedFailure,
    ReproducerFile,
)


@dataclass(frozen=True)
class WantedReproducer:
    """A check or a block for which a reproducer is wanted."""

    id: str
    when: str
    failure: ReproducedFailure | None
    """Its failure; None if no failed run is saved."""
    framework: str
    make: Callable[[ReproducedFailure | None, FailureEnvironment], ReproducerFile]
    python: str = ""
    """The redacted path of the Python in which it failed; empty if unknown."""


def find_reproducer(wanted: str) -> WantedReproducer:
    """Return the check or block to write a reproducer for.

    `wanted` is the id of a check, a block or a lesson, which means its first failed block.

    Raises:
        Problem: Nothing has this id, no block of the lesson failed, or the check uses no framework.
    """
    if "/" in wanted:
        lesson_id, _, name = wanted.partition(":")
        return _find_block(lesson_id, name)
    check = content.select_checks(content.read_checks(), (wanted,), "soak", None)[0]
    if check.framework == "host":
        what = f"`{wanted}` reads files of this machine and uses no framework"
        raise Problem(what, hint="the report contains its findings anyway", code=ExitCode.USAGE)
    kept = next((one for one in last_failures.read_last_failures() if one.id == check.id), None)
    return _from_check(check, kept)


def _find_block(lesson_id: str, name: str) -> WantedReproducer:
    lesson = content.find_lesson(lesson_id, content.read_lessons())
    lesson_id = lesson.id
    every = [one for one in blocks.list_blocks(lesson) if not one.is_try]
    fields = lesson_progress.read_progress().lessons.get(
        lesson_id, lesson_progress.LessonProgress()
    )
    failed = [one for one in every if fields.status(one) in ("fail", "error")]
    chosen = next((one for one in (every if name else failed) if one.id == name or not name), None)
    if chosen is None:
        what = (
            f"`{lesson_id}` has no block `{name}`" if name else f"no block of `{lesson_id}` failed"
        )
        hint = f"its blocks are {', '.join(one.id for one in every)}" if every else None
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    return _from_block(lesson, every, chosen, fields.blocks.get(chosen.id))


def list_newest_failures(since: str = "") -> list[WantedReproducer]:
    """Return the failures saved since a time in ISO format, newest first."""
    known = {one.id: one for one in content.read_checks()}
    found = [
        _from_check(known[one.id], one)
        for one in last_failures.read_last_failures()
        if one.id in known
    ]
    remembered = lesson_progress.read_progress().lessons
    for lesson in content.read_lessons():
        if fields := remembered.get(lesson.id):
            every = [one for one in blocks.list_blocks(lesson) if not one.is_try]
            found += [
                _from_block(lesson, every, one, fields.blocks[one.id])
                for one in every
                if fields.status(one) in ("fail", "error")
            ]
    recent = (one for one in found if one.when >= since)
    return sorted(recent, key=lambda one: one.when, reverse=True)


def _from_check(check: content.Check, kept: last_failures.SavedFailure | None) -> WantedReproducer:
    failure = None
    if kept:
        failure = ReproducedFailure(
            check.id, kept.status, kept.reason, kept.detail, kept.findings, kept.log
        )
    return WantedReproducer(
        check.id,
        kept.when if kept else "",
        failure,
        check.framework,
        partial(reproducer_file.make_check_file, check),
        kept.python if kept else "",
    )


def _from_block(
    lesson: content.Lesson, every: Sequence[Block], block: Block, record: BlockRecord | None
) -> WantedReproducer:
    name, failure = f"{lesson.id}:{block.id}", None
    if record and record.status in ("fail", "error"):
        failure = ReproducedFailure(name, record.status, record.reason or "", record.detail)
    make = partial(reproducer_file.make_block_reproducer, lesson, every, block)
    when = record.when if record else ""
    return WantedReproducer(name, when, failure, lesson.framework or "", make)
