"""The learner's progress in lessons, blocks, questions and exercises, and the last check."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, field

import msgspec

from tpustarter.core import state
from tpustarter.core.json_values import entries_of_type
from tpustarter.core.problem import Problem
from tpustarter.learning.progress.progress_file import (
    Fields,
    format_current_time,
    parse_count,
    parse_entries,
    parse_text,
    read_stored_lessons,
    update_stored_lessons,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.checking.results.results import Run
    from tpustarter.core.content import Lesson
    from tpustarter.learning.content.blocks import Block
    from tpustarter.learning.run.block_results import BlockResult


class BlockRecord(msgspec.Struct, frozen=True):
    """The last run of a block."""

    status: str
    hash: str = ""
    """The hash of the lesson's code."""
    typed: str | None = None
    """The hash of the code that ran, if it differs."""
    when: str = ""
    reason: str | None = None
    detail: str = ""


class QuizRecord(msgspec.Struct, frozen=True):
    """The answers given to a question."""

    right: bool = False
    answers: list[str] = []
    """The answers' wording, because their numbers may change."""


class ExerciseRecord(msgspec.Struct, frozen=True):
    """The learner's state in an exercise."""

    status: str = ""
    hints: int = 0
    when: str = ""


@dataclass(frozen=True)
class LessonProgress:
    """The progress in one lesson."""

    done: str | None = None
    """ISO date and time at which its blocks, tasks and questions were first all done."""
    blocks: dict[str, BlockRecord] = field(default_factory=dict[str, BlockRecord])
    quizzes: dict[str, QuizRecord] = field(default_factory=dict[str, QuizRecord])
    exercises: dict[str, ExerciseRecord] = field(default_factory=dict[str, ExerciseRecord])
    edits: dict[str, BlockRecord] = field(default_factory=dict[str, BlockRecord])
    """The failure of edited code in a block that is not a task, keyed by block."""
    open_count: int | None = None
    """The number of open tasks and questions, from when it was first left; None before."""

    @property
    def is_read(self) -> bool:
        """Return whether its own blocks have passed, and tasks or questions were left for later."""
        return self.done is None and self.open_count is not None

    def status(self, block: Block) -> str | None:
        """Return a block's last status, or `changed` if the lesson has since changed its code."""
        entry = self.blocks.get(block.id)
        if entry is None:
            return None
        return entry.status if entry.hash == hash_block_code(block) else "changed"

    def status_of(self, block: Block, code: str) -> str | None:
        """Return a block's last status with the given code, or None if there is none."""
        entry = self.blocks.get(block.id)
        ran = hash_code(code)
        if entry and ran == (entry.typed or (None if block.is_try else hash_block_code(block))):
            return self.status(block)
        edit = self.edits.get(block.id)
        return edit.status if edit and ran == edit.typed else None


@dataclass(frozen=True)
class LearnerProgress:
    """The progress in every lesson, including lessons that no longer exist."""

    lessons: dict[str, LessonProgress] = field(default_factory=dict[str, LessonProgress])


def read_progress() -> LearnerProgress:
    """Read the progress; malformed values are skipped but stay in the file."""
    return LearnerProgress({name: _parse(fields) for name, fields in read_stored_lessons().items()})


def _parse(fields: Fields) -> LessonProgress:
    return LessonProgress(
        parse_text(fields.get("done")),
        entries_of_type(fields.get("blocks"), BlockRecord),
        entries_of_type(fields.get("quizzes"), QuizRecord),
        entries_of_type(fields.get("exercises"), ExerciseRecord),
        entries_of_type(fields.get("edits"), BlockRecord),
        parse_count(fields.get("open")),
    )


def count_done(lesson: Lesson, known: LessonProgress) -> tuple[int, int]:
    """Return how many of a lesson's blocks and questions are done, and how many there are.

    Folded ones do not count.
    """
    from tpustarter.learning.content.blocks import parse_lesson

    parts = [part for part in parse_lesson(lesson) if not part.fold]
    done = [known.status(part.block) == "pass" for part in parts if part.block]
    done += [is_answered_right(known, part.quiz.id) for part in parts if part.quiz]
    return sum(done), len(done)


def is_answered_right(known: LessonProgress, question: str) -> bool:
    """Return whether a question was answered right."""
    return known.quizzes.get(question, QuizRecord()).right


def format_lesson_mark(lesson: Lesson, known: LessonProgress | None) -> str:
    """Return a lesson's mark in a list: `done`, `read`, `begun 3 of 5`, or ""."""
    if known is None or known.done:
        return "done" if known else ""
    if known.is_read:
        return "read"
    passed, count = count_done(lesson, known)
    return f"begun {passed} of {count}" if count else "begun"


def hash_block_code(block: Block) -> str:
    """Return a hash of the lesson's code for a block."""
    return hash_code(block.code)


def hash_code(code: str) -> str:
    """Return a hash of code, ignoring leading and trailing whitespace."""
    import hashlib

    return hashlib.sha256(code.strip().encode()).hexdigest()[:12]


def record_block(lesson: Lesson, block: Block, result: BlockResult, code: str = "") -> None:
    """Save a block's result and a hash of its code, unless the block did not run."""
    if result.status in ("skip", "notrun"):
        return
    entry: Fields = {
        "status": result.status,
        "ran_on": msgspec.to_builtins(result.ran_on),
        "when": format_current_time(),
    }
    entry["hash"] = hash_block_code(block)
    if code and (block.is_try or hash_code(code) != hash_block_code(block)):
        entry["typed"] = hash_code(code)
    if result.status != "pass":
        entry |= {"reason": result.reason, "detail": result.detail}

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        fields["blocks"] = {**parse_entries(fields.get("blocks")), block.id: entry}
        _settle(lesson, fields)

    update_stored_lessons(change)


def record_edit_failure(lesson: Lesson, block: Block, result: BlockResult, code: str) -> None:
    """Save the failure of edited code in a block that is not a task.

    The block's own status does not change.
    """
    if result.status in ("skip", "notrun"):
        return
    entry: Fields = {
        "status": result.status,
        "typed": hash_code(code),
        "when": format_current_time(),
    }

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        fields["edits"] = {**parse_entries(fields.get("edits")), block.id: entry}

    update_stored_lessons(change)


def _settle(lesson: Lesson, fields: Fields, *, is_left: bool = False) -> None:
    """Mark a lesson as done, or as read if its own blocks have passed and it was left.

    It is done once its tasks have passed and its questions are answered right too, not counting
    folded ones. A lesson that was done once stays done.
    """
    from tpustarter.learning.content.blocks import parse_lesson

    known = _parse(fields)
    parts = [part for part in parse_lesson(lesson) if not part.fold]
    blocks = [part.block for part in parts if part.block]
    if any(known.status(block) != "pass" for block in blocks if not block.is_try):
        return
    tasks = [known.status(block) == "pass" for block in blocks if block.is_try]
    asked = [is_answered_right(known, part.quiz.id) for part in parts if part.quiz]
    count = (tasks + asked).count(False)
    if blocks and (is_left or "open" in fields):
        fields["open"] = count
    if (blocks or asked) and not count:
        fields["done"] = parse_text(fields.get("done")) or format_current_time()


def record_lesson_left(lesson: Lesson) -> None:
    """Record that the learner went on to the next lesson with tasks or questions still open."""

    def change(lessons: dict[str, Fields]) -> None:
        _settle(lesson, lessons.setdefault(lesson.id, {}), is_left=True)

    if has_progress(lesson.id):
        update_stored_lessons(change)


def record_lesson_done(lesson_id: str) -> None:
    """Record when a lesson was done, unless it was done before."""

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        fields["done"] = parse_text(fields.get("done")) or format_current_time()

    update_stored_lessons(change)


def list_read_lessons() -> set[str]:
    """Return the ids of the lessons that are read but not done."""
    return {lesson_id for lesson_id, known in read_progress().lessons.items() if known.is_read}


def is_lesson_done(lesson_id: str) -> bool:
    """Return whether a lesson was done."""
    return read_progress().lessons.get(lesson_id, LessonProgress()).done is not None


def list_done_lessons() -> set[str]:
    """Return the ids of the lessons that are done."""
    return {lesson_id for lesson_id, known in read_progress().lessons.items() if known.done}


def has_progress(lesson_id: str) -> bool:
    """Return whether any progress in a lesson is stored."""
    return lesson_id in read_progress().lessons


def read_exercise(lesson_id: str, name: str) -> ExerciseRecord:
    """Return the learner's state in an exercise."""
    known = read_progress().lessons.get(lesson_id, LessonProgress())
    return known.exercises.get(name, ExerciseRecord())


def record_verdict(lesson_id: str, name: str, *, is_right: bool) -> None:
    """Save the verdict on an answer; a solved exercise stays solved."""
    status = read_exercise(lesson_id, name).status
    if status != "pass" and (is_right or status != "shown"):
        _change_exercise(lesson_id, name, status="pass" if is_right else "fail")


def record_solution_shown(lesson_id: str, name: str) -> None:
    """Record that the learner has seen the solution of an exercise.

    Only a right answer changes that state.
    """
    _change_exercise(lesson_id, name, status="shown")


def record_hint(lesson_id: str, name: str, count: int) -> None:
    """Save how many hints the learner has seen."""
    _change_exercise(lesson_id, name, hints=count)


def record_quiz_answer(lesson: Lesson, name: str, *, is_right: bool, answer: str = "") -> None:
    """Save an answer to a question; a question answered right once stays right."""

    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson.id, {})
        known = _parse(fields).quizzes.get(name, QuizRecord())
        answers = [text for text in known.answers if text != answer]
        entry = {
            "right": is_right or known.right,
            "answers": [*answers, *filter(None, [answer])],
            "when": format_current_time(),
        }
        fields["quizzes"] = {**parse_entries(fields.get("quizzes")), name: entry}
        _settle(lesson, fields)

    update_stored_lessons(change)


def _change_exercise(lesson_id: str, name: str, **changes: str | int) -> None:
    def change(lessons: dict[str, Fields]) -> None:
        fields = lessons.setdefault(lesson_id, {})
        stored = parse_entries(fields.get("exercises"))
        entry = {**stored.get(name, {}), **changes, "when": format_current_time()}
        fields["exercises"] = {**stored, name: entry}

    update_stored_lessons(change)


def record_check_run(run: Run) -> None:
    """Save the result of a run of checks.

    An unusable state folder or file does not stop the check. A run of named checks, or one that was
    stopped, does not replace the last whole run, because it reveals little about the machine. The
    last run in another Python is kept as well, and the last run of named checks is stored
    separately.
    """
    if any(result.reason == "interrupted" for result in run.results):
        return
    with contextlib.suppress(Problem):
        state.save_state("last-named-check" if run.ids else "last-check", _summary(run))


def _summary(run: Run) -> dict[str, object]:
    from tpustarter.checking.results import headline, verdict

    python, known = run.target.get("shown", ""), read_last_check_run() or {}
    kept = parse_entries({"last": known, "before": known.get("before")}).values()
    before = next((one for one in kept if one.get("python") not in (None, "", python)), None)
    wrong = {
        status: [result.id for result in run.results if result.status == status]
        for status in ("fail", "warn")
    }
    return {
        "when": run.started,
        "level": run.level,
        "python": python,
        "ids": run.ids,
        "counts": run.count_statuses(),
        "summary": asdict(headline.summarize_run(run)),
        "headline": headline.format_headline(run),
        "verdict": verdict.judge_run(run),
        "verified_on": verdict.find_verified_device(run),
        "exit_code": int(verdict.exit_code(run)),
        "wrong": wrong,
        "before": {**before, "before": None} if before else None,
    }


def read_last_check_run() -> dict[str, object] | None:
    """Return the result of the last check: `when`, `level`, `python`, `summary`, and more.

    `before` is the last one in another Python. `headline` is the sentence that was shown, for bug
    reports and for files of earlier versions, which have no counts.
    """
    return state.load_state("last-check") or None


def read_last_named_check_run() -> dict[str, object] | None:
    """Return the result of the last run of named checks; `ids` are the names as typed."""
    return state.load_state("last-named-check") or None
