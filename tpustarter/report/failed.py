"""What failed, and can be shown to fail again: checks, and blocks of lessons.

The code of a block is that of the lesson: what a user made of it is kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpustarter import content
from tpustarter.checking import failures
from tpustarter.learning import blocks, progress
from tpustarter.learning.blocks import Block
from tpustarter.problem import ExitCode, Problem
from tpustarter.reproducing import program
from tpustarter.reproducing.program import Failure, Place, Program


@dataclass(frozen=True)
class Wanted:
    """A check or a block of which a file is made."""

    id: str
    when: str
    failure: Failure | None
    """How it failed; null where no failed run is remembered."""
    framework: str
    make: Callable[[Failure | None, Place], Program]
    python: str = ""
    """The Python in which it failed, as it was told; empty where nobody knows."""


def named(wanted: str) -> Wanted:
    """Return the check or the block that somebody names; raises Problem where there is none."""
    if "/" in wanted:
        lesson_id, _, name = wanted.partition(":")
        return _block_named(lesson_id, name)
    check = content.select(content.read_checks(), (wanted,), "soak", None)[0]
    if check.framework == "host":
        what = f"`{wanted}` reads files of this machine and uses no framework"
        raise Problem(what, hint="the report contains its findings anyway", code=ExitCode.USAGE)
    kept = next((one for one in failures.remembered() if one.id == check.id), None)
    return _of_check(check, kept)


def _block_named(lesson_id: str, name: str) -> Wanted:
    lesson = content.find_lesson(lesson_id, content.read_lessons())
    lesson_id = lesson.id
    every = [one for one in blocks.blocks_of(lesson) if not one.is_try]
    fields = progress.read().lessons.get(lesson_id, progress.LessonProgress())
    failed = [one for one in every if fields.status(one) in ("fail", "error")]
    chosen = next((one for one in (every if name else failed) if one.id == name or not name), None)
    if chosen is None:
        what = (
            f"`{lesson_id}` has no block `{name}`" if name else f"no block of `{lesson_id}` failed"
        )
        hint = f"its blocks are {', '.join(one.id for one in every)}" if every else None
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    return _of_block(lesson, every, chosen, fields.blocks.get(chosen.id, {}))


def newest(since: str = "") -> list[Wanted]:
    """Return what is remembered to have failed since some time in ISO form, the newest first."""
    known = {one.id: one for one in content.read_checks()}
    found = [_of_check(known[one.id], one) for one in failures.remembered() if one.id in known]
    remembered = progress.read().lessons
    for lesson in content.read_lessons():
        if fields := remembered.get(lesson.id):
            every = [one for one in blocks.blocks_of(lesson) if not one.is_try]
            found += [_of_block(lesson, every, one, fields.blocks[one.id]) for one in every
                      if fields.status(one) in ("fail", "error")]  # fmt: skip
    recent = (one for one in found if one.when >= since)
    return sorted(recent, key=lambda one: one.when, reverse=True)


def _of_check(check: content.Check, kept: failures.Failed | None) -> Wanted:
    failure = None
    if kept:
        failure = Failure(check.id, kept.status, kept.reason, kept.detail, kept.findings, kept.log)

    def make(failure: Failure | None, place: Place) -> Program:
        return program.of_check(check, failure, place)

    return Wanted(check.id, kept.when if kept else "", failure, check.framework, make,
                  kept.python if kept else "")  # fmt: skip


def _of_block(
    lesson: content.Lesson, every: Sequence[Block], block: Block, entry: Mapping[str, Any]
) -> Wanted:
    name, failure = f"{lesson.id}:{block.id}", None
    if entry.get("status") in ("fail", "error"):
        reason, detail = (str(entry.get(key) or "") for key in ("reason", "detail"))
        failure = Failure(name, str(entry["status"]), reason, detail)

    def make(failure: Failure | None, place: Place) -> Program:
        return program.of_block(lesson, every, block, failure, place)

    return Wanted(name, str(entry.get("when") or ""), failure, lesson.framework or "", make)
