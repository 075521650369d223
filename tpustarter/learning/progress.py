"""What the learner has done: which lessons, which blocks, and the last check.

Every change reads the file anew under a lock and replaces it whole, so that two programs that
write at once lose nothing, and a kill loses only the change it interrupted.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.results import Run
    from tpustarter.content import Lesson
    from tpustarter.learning.block_results import BlockResult
    from tpustarter.learning.blocks import Block

SCHEMA = "tpustarter.progress/1"
LOCK_WAIT_S = 5.0
"""Longest wait for another program that is writing; a write takes milliseconds."""

Fields = dict[str, Any]


@dataclass(frozen=True)
class LessonProgress:
    """What was done of one lesson."""

    done: str | None = None
    """ISO date and time at which it was first done: blocks, tasks and questions."""
    blocks: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By block: `status`, `ran_on`, `when`, the `hash` of the code as the lesson had it, and of a
    task `typed`, that of the code that ran."""
    quizzes: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By question: whether it was answered `right`, the `answers` by their text, and `when`."""
    exercises: dict[str, Fields] = field(default_factory=dict[str, Fields])
    """By name: `status`, `hints` and `when`."""
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
        typed = self.blocks.get(block.id, {}).get("typed")
        is_same = hash_of(code) == (typed if block.is_try else code_hash(block))
        return self.status(block) if is_same else None


@dataclass(frozen=True)
class Progress:
    """What was done of every lesson, those that exist no longer included."""

    lessons: dict[str, LessonProgress] = field(default_factory=dict[str, LessonProgress])


def read() -> Progress:
    """Return what was done so far; what is not understood is left out, and kept in the file."""
    lessons = _lessons(state.load("progress"))
    return Progress(
        {
            name: LessonProgress(
                _date(fields.get("done")),
                _dicts(fields.get("blocks")),
                _dicts(fields.get("quizzes")),
                _dicts(fields.get("exercises")),
                _count(fields.get("open")),
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
    entry: Fields = {"status": result.status, "ran_on": result.ran_on, "when": _now()}
    entry["hash"] = code_hash(block)
    if block.is_try and code:
        entry["typed"] = hash_of(code)
    if result.status != "pass":
        entry |= {"reason": result.reason, "detail": result.detail}

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        fields["blocks"] = {**_dicts(fields.get("blocks")), block.id: entry}
        _settle(lesson, fields)

    _update(change)


def _settle(lesson: Lesson, fields: Fields, *, is_left: bool = False) -> None:
    """Say whether a lesson is done, or read: its own blocks have passed, and it was left like that.

    It is done once its tasks have passed and its questions are answered right as well, what is
    folded away left out. One that was done once stays so.
    """
    from tpustarter.learning.blocks import parse

    known = LessonProgress(None, _dicts(fields.get("blocks")), _dicts(fields.get("quizzes")))
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
        fields["done"] = _date(fields.get("done")) or _now()


def lesson_left(lesson: Lesson) -> None:
    """Remember that a lesson was left for the next one: what is open of it waits."""

    def change(lessons: dict[str, Fields]) -> None:
        _settle(lesson, lessons.setdefault(lesson.id, {}), is_left=True)

    if started(lesson.id):
        _update(change)


def lesson_done(lesson_id: str) -> None:
    """Remember that a lesson is done; the first time counts."""

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        fields["done"] = _date(fields.get("done")) or _now()

    _update(change)


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
    fields = _lessons(state.load("progress")).get(lesson_id, {})
    return _dicts(fields.get("exercises")).get(name, {})


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
        entries = _dicts(fields.get("quizzes"))
        known = entries.get(name, {})
        answers = [text for text in answers_given(known) if text != answer]
        entry = {
            "right": is_right or bool(known.get("right")),
            "answers": [*answers, *filter(None, [answer])],
            "when": _now(),
        }
        fields["quizzes"] = {**entries, name: entry}
        _settle(lesson, fields)

    _update(change)


def answers_given(entry: Fields) -> list[str]:
    """Return what was answered to a question, in order; wordings, for numbers may change."""
    answers: Any = entry.get("answers")
    given = cast("list[Any]", answers) if isinstance(answers, list) else []
    return [text for text in given if isinstance(text, str)]


def _change_exercise(lesson_id: str, name: str, **changes: Any) -> None:
    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        entries = _dicts(fields.get("exercises"))
        entry = {**entries.get(name, {}), **changes, "when": _now()}
        fields["exercises"] = {**entries, name: entry}

    _update(change)


def export() -> dict[str, Any]:
    """Return everything that is remembered of lessons, as `merge` takes it."""
    return {"schema": SCHEMA, "lessons": _lessons(state.load("progress"))}


def read_export(text: str) -> dict[str, Any]:
    """Return what `export` gave, from its text; raises ValueError with what it is not."""
    value = state.parse(text)
    schema = cast("dict[str, Any]", value).get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"found the schema `{schema}`, expected `{SCHEMA}`")
    return cast("dict[str, Any]", value)


def merge(exported: dict[str, Any]) -> None:
    """Add what was exported elsewhere to what is remembered here."""

    def change(lessons: dict[str, Fields]) -> None:
        both = merged({"lessons": lessons}, exported)["lessons"]
        lessons.clear()
        lessons.update(both)

    _update(change)


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return both progresses as one: whatever is done in either is done, the newer block counts."""
    first_lessons, second_lessons = _lessons(first), _lessons(second)
    lessons: dict[str, Fields] = {}
    for name in sorted({*first_lessons, *second_lessons}):
        pair = [side[name] for side in (first_lessons, second_lessons) if name in side]
        dates = [date for fields in pair if (date := _date(fields.get("done")))]
        combined = {key: value for fields in pair for key, value in fields.items()}
        newest = {kind: _newest(pair, kind) for kind in ("blocks", "exercises", "quizzes")
                  if kind == "blocks" or kind in combined}  # fmt: skip
        left = [count for fields in pair if (count := _count(fields.get("open"))) is not None]
        newest |= {"open": min(left)} if left else {}
        lessons[name] = {**combined, "done": min(dates, default=None), **newest}
    return {"schema": SCHEMA, "lessons": lessons}


def _newest(pair: Sequence[Fields], kind: str) -> Fields:
    """Return the newer entry of each block, exercise or quiz."""
    newest: dict[str, Fields] = {}
    for fields in pair:
        for name, entry in _dicts(fields.get(kind)).items():
            newest[name] = max(newest.get(name, {}), entry, key=_sort_key)
    return newest


def remember_check(run: Run) -> None:
    """Remember how a check ended; a state folder that is full or gone does not spoil the check.

    A run of named checks, or one that was stopped, says little about the machine: it does not
    replace a whole one.
    """
    from tpustarter.checking import verdict
    from tpustarter.checking.headline import headline

    if run.ids or any(result.reason == "interrupted" for result in run.results):
        return
    summary = {
        "when": run.started,
        "level": run.level,
        "python": run.target.get("shown", ""),
        "ids": run.ids,
        "counts": run.counts(),
        "headline": headline(run),
        "verdict": verdict.verdict(run),
        "verified_on": verdict.verified_on(run),
        "exit_code": int(verdict.exit_code(run)),
    }
    with contextlib.suppress(Problem):
        state.save("last-check", summary)


def last_check() -> dict[str, Any] | None:
    """Return what the last check came to: `when`, `level`, `python`, `headline`, and more."""
    return state.load("last-check") or None


def _update(change: Callable[[dict[str, Fields]], None]) -> None:
    """Change what is remembered, alone."""
    with _lock():
        stored = state.load("progress")
        lessons = _lessons(stored)
        change(lessons)
        state.save("progress", {**stored, "schema": SCHEMA, "lessons": lessons})


def _lock() -> contextlib.AbstractContextManager[int]:
    """Hold the lock of the progress file."""
    path = locations.state() / "progress.lock"
    busy = Problem(
        f"another tpustarter has kept `{path}` locked for {LOCK_WAIT_S:g} s",
        hint="end the other tpustarter, then try again",
    )
    return locations.alone(path, wait_s=LOCK_WAIT_S, busy=busy)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _date(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


def _sort_key(entry: Fields) -> tuple[str, str]:
    """Return what orders two entries of a block: when, then anything that is the same anywhere."""
    return (str(entry.get("when") or ""), json.dumps(entry, sort_keys=True, default=str))


def _lessons(value: dict[str, Any]) -> dict[str, Fields]:
    return _dicts(value.get("lessons"))


def _dicts(value: Any) -> dict[str, Fields]:
    """Return the entries of a mapping that are mappings themselves; the rest is not ours."""
    if not isinstance(value, dict):
        return {}
    items = cast("dict[Any, Any]", value).items()
    return {str(key): entry for key, entry in items if isinstance(entry, dict)}
