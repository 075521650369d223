"""What the learner has done: which lessons, which blocks, and the last check."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, cast

from tpustarter import state
from tpustarter.learning.progress_file import (
    Fields,
    as_count,
    as_date,
    as_entries,
    now,
    read_lessons,
    update,
)
from tpustarter.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.results import Run
    from tpustarter.content import Lesson
    from tpustarter.learning.block_results import BlockResult
    from tpustarter.learning.blocks import Block


@dataclass(frozen=True)
class LessonProgress:
    """What was done of one lesson."""

    done: str | None = None
    """ISO date and time at which it was first done: blocks, tasks and questions."""
    blocks: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By block: `status`, `ran_on`, `when`, the `hash` of the code as the lesson had it, and
    `typed`, that of the code that ran, where it was another."""
    quizzes: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By question: whether it was answered `right`, the `answers` by their text, and `when`."""
    exercises: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By name: `status`, `hints` and `when`."""
    edits: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By block that is no task, how other code failed in it: `status`, `typed`, `when`."""
    open: int | None = None
    """How many of its tasks and questions are open; None before it was left with them."""

    @property
    def is_read(self) -> bool:
        """Whether its own blocks have passed, and tasks or questions were left for later."""
        return self.done is None and self.open is not None

    def status(self, block: Block) -> str | None:
        """Return how the block last ended, `changed` if the lesson's code is another since."""
        entry = self.blocks.get(block.id)
        if entry is None:
            return None
        return str(entry.get("status")) if entry.get("hash") == code_hash(block) else "changed"

    def status_of(self, block: Block, code: str) -> str | None:
        """Return how the block last ended; None where that was with other code than this."""
        entry = self.blocks.get(block.id)
        ran = hash_of(code)
        if entry and ran == entry.get("typed", None if block.is_try else code_hash(block)):
            return self.status(block)
        edit = self.edits.get(block.id, {})
        return str(edit.get("status")) if ran == edit.get("typed") else None


@dataclass(frozen=True)
class Progress:
    """What was done of every lesson, those that exist no longer included."""

    lessons: dict[str, LessonProgress] = field(default_factory=dict[str, LessonProgress])


def read() -> Progress:
    """Return what was done so far; what is not understood is left out, and kept in the file."""
    lessons = read_lessons()
    return Progress(
        {
            name: LessonProgress(
                as_date(fields.get("done")),
                as_entries(fields.get("blocks")),
                as_entries(fields.get("quizzes")),
                as_entries(fields.get("exercises")),
                as_entries(fields.get("edits")),
                as_count(fields.get("open")),
            )
            for name, fields in lessons.items()
        }
    )


def things_done(lesson: Lesson, known: LessonProgress) -> tuple[int, int]:
    """Return how many blocks and questions of a lesson are done as they stand, and of how many.

    Those in a folded part do not count.
    """
    from tpustarter.learning.blocks import parse

    parts = [part for part in parse(lesson) if not part.fold]
    done = [known.status(part.block) == "pass" for part in parts if part.block]
    done += [is_right(known, part.quiz.id) for part in parts if part.quiz]
    return sum(done), len(done)


def is_right(known: LessonProgress, question: str) -> bool:
    """Return whether a question was answered right."""
    return bool(known.quizzes.get(question, {}).get("right"))


def mark(lesson: Lesson, known: LessonProgress | None) -> str:
    """Return what a list says of a lesson: `done`, `read`, `begun 3 of 5`, or nothing."""
    if known is None or known.done:
        return "done" if known else ""
    if known.is_read:
        return "read"
    passed, count = things_done(lesson, known)
    return f"begun {passed} of {count}" if count else "begun"


def code_hash(block: Block) -> str:
    """Return what tells one version of the lesson's code of a block from another."""
    return hash_of(block.code)


def hash_of(code: str) -> str:
    """Return what tells some code from other code, but for space around it."""
    import hashlib

    return hashlib.sha256(code.strip().encode()).hexdigest()[:12]


def block_ended(lesson: Lesson, block: Block, result: BlockResult, code: str = "") -> None:
    """Remember how a block ended, and with what code; one that did not run changes nothing."""
    if result.status in ("skip", "notrun"):
        return
    entry: Fields = {"status": result.status, "ran_on": result.ran_on, "when": now()}
    entry["hash"] = code_hash(block)
    if code and (block.is_try or hash_of(code) != code_hash(block)):
        entry["typed"] = hash_of(code)
    if result.status != "pass":
        entry |= {"reason": result.reason, "detail": result.detail}

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        fields["blocks"] = {**as_entries(fields.get("blocks")), block.id: entry}
        _settle(lesson, fields)

    update(change)


def edit_ended(lesson: Lesson, block: Block, result: BlockResult, code: str) -> None:
    """Remember how code failed that was typed into a block which is no task: it stays as done."""
    if result.status in ("skip", "notrun"):
        return
    entry: Fields = {"status": result.status, "typed": hash_of(code), "when": now()}

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        fields["edits"] = {**as_entries(fields.get("edits")), block.id: entry}

    update(change)


def _settle(lesson: Lesson, fields: Fields, *, is_left: bool = False) -> None:
    """Say whether a lesson is done, or read: its own blocks have passed, and it was left like that.

    It is done once its tasks have passed and its questions are answered right as well, what is
    folded away left out. One that was done once stays so.
    """
    from tpustarter.learning.blocks import parse

    known = LessonProgress(
        None, as_entries(fields.get("blocks")), as_entries(fields.get("quizzes"))
    )
    parts = [part for part in parse(lesson) if not part.fold]
    blocks = [part.block for part in parts if part.block]
    if any(known.status(block) != "pass" for block in blocks if not block.is_try):
        return
    tasks = [known.status(block) == "pass" for block in blocks if block.is_try]
    asked = [is_right(known, part.quiz.id) for part in parts if part.quiz]
    count = (tasks + asked).count(False)
    if blocks and (is_left or "open" in fields):
        fields["open"] = count
    if (blocks or asked) and not count:
        fields["done"] = as_date(fields.get("done")) or now()


def lesson_left(lesson: Lesson) -> None:
    """Remember that a lesson was left for the next one: what is open of it waits."""

    def change(lessons: dict[str, Fields]) -> None:
        _settle(lesson, lessons.setdefault(lesson.id, {}), is_left=True)

    if started(lesson.id):
        update(change)


def lesson_done(lesson_id: str) -> None:
    """Remember that a lesson is done; the first time counts."""

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        fields["done"] = as_date(fields.get("done")) or now()

    update(change)


def read_only() -> set[str]:
    """Return the ids of the lessons that are read and not done."""
    return {lesson_id for lesson_id, known in read().lessons.items() if known.is_read}


def is_done(lesson_id: str) -> bool:
    """Return whether a lesson was done."""
    return read().lessons.get(lesson_id, LessonProgress()).done is not None


def done() -> set[str]:
    """Return the ids of the lessons that are done."""
    return {lesson_id for lesson_id, known in read().lessons.items() if known.done}


def started(lesson_id: str) -> bool:
    """Return whether a lesson was done, or one of its blocks was run."""
    return lesson_id in read().lessons


def exercise(lesson_id: str, name: str) -> Fields:
    """Return what is remembered of an exercise: `status`, `hints` and `when`."""
    fields = read_lessons().get(lesson_id, {})
    return as_entries(fields.get("exercises")).get(name, {})


def exercise_judged(lesson_id: str, name: str, *, is_right: bool) -> None:
    """Remember what an answer came to; one that was right once stays right."""
    status = exercise(lesson_id, name).get("status")
    if status != "pass" and (is_right or status != "shown"):
        _change_exercise(lesson_id, name, status="pass" if is_right else "fail")


def solution_shown(lesson_id: str, name: str) -> None:
    """Remember that the solution was looked at."""
    _change_exercise(lesson_id, name, status="shown")


def record_hint(lesson_id: str, name: str, count: int) -> None:
    """Remember how many hints were told."""
    _change_exercise(lesson_id, name, hints=count)


def quiz_answered(lesson: Lesson, name: str, *, is_right: bool, answer: str = "") -> None:
    """Remember an answer to a question; one that was right once stays right."""

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        entries = as_entries(fields.get("quizzes"))
        known = entries.get(name, {})
        answers = [text for text in answers_given(known) if text != answer]
        entry = {
            "right": is_right or bool(known.get("right")),
            "answers": [*answers, *filter(None, [answer])],
            "when": now(),
        }
        fields["quizzes"] = {**entries, name: entry}
        _settle(lesson, fields)

    update(change)


def answers_given(entry: Fields) -> list[str]:
    """Return what was answered to a question, in order; wordings, for numbers may change."""
    answers: Any = entry.get("answers")
    given = cast("list[Any]", answers) if isinstance(answers, list) else []
    return [text for text in given if isinstance(text, str)]


def _change_exercise(lesson_id: str, name: str, **changes: Any) -> None:
    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        entries = as_entries(fields.get("exercises"))
        entry = {**entries.get(name, {}), **changes, "when": now()}
        fields["exercises"] = {**entries, name: entry}

    update(change)


def remember_check(run: Run) -> None:
    """Remember how a check ended; a state folder that is full or gone does not spoil the check.

    A run of named checks, or one that was stopped, says little about the machine: it does not
    replace a whole one. Nor does a run in one Python replace the last one in another.
    """
    from tpustarter.checking import verdict
    from tpustarter.checking.headline import headline

    if run.ids or any(result.reason == "interrupted" for result in run.results):
        return
    python, known = run.target.get("shown", ""), last_check() or {}
    kept = as_entries({"last": known, "before": known.get("before")}).values()
    before = next((one for one in kept if one.get("python") not in (None, "", python)), None)
    wrong = {
        status: [result.id for result in run.results if result.status == status]
        for status in ("fail", "warn")
    }
    summary = {
        "when": run.started,
        "level": run.level,
        "python": python,
        "ids": run.ids,
        "counts": run.counts(),
        "headline": headline(run),
        "verdict": verdict.verdict(run),
        "verified_on": verdict.verified_on(run),
        "exit_code": int(verdict.exit_code(run)),
        "wrong": wrong,
        "before": {**before, "before": None} if before else None,
    }
    with contextlib.suppress(Problem):
        state.save("last-check", summary)


def last_check() -> dict[str, Any] | None:
    """Return what the last check came to: `when`, `level`, `python`, `headline`, and more.

    `before` is the last one in another Python.
    """
    return state.load("last-check") or None
