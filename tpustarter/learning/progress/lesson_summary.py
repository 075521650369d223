"""The end of a lesson: its done and open parts, and the next step of the course.

A lesson is done once its blocks and tasks have passed and its questions are answered right. It is
read if only its own blocks have passed. Exercises count for neither.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tpustarter.core.content import Lesson
from tpustarter.learning.content import exercises
from tpustarter.learning.content.blocks import LessonPart
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.content.paths import LessonPath, list_lessons_on_path
from tpustarter.learning.progress import course, lesson_progress, solved_exercises
from tpustarter.learning.progress.lesson_progress import ExerciseRecord, LessonProgress
from tpustarter.text import phrases

MOST_OPEN = 5
"""Maximum number of open things that are listed; further ones are only counted."""
MOST_QUESTION = 48
"""Maximum characters of a question in the list."""
_OTHER = "printed something else than the lesson says"
_BLOCK_STATES = {
    None: ("has not run", "have not run"),
    "fail": (_OTHER, _OTHER),
    "error": ("raised an exception", "raised exceptions"),
    "changed": ("has changed since you ran it", "have changed since you ran them"),
}
"""Words for one block and for several."""
_TASK_STATES = {
    None: ("waits for your change", "wait for your change"),
    "fail": ("is not right yet", "are not right yet"),
    "error": ("raised an exception", "raised exceptions"),
    "changed": ("has changed since you did it", "have changed since you did them"),
}
"""Words for one task and for several."""
_EXERCISE_STATES = {
    "fail": "is not right yet",
    "shown": "is not solved yet, but you have seen its solution",
}


@dataclass(frozen=True)
class NextLearningStep:
    """The learner's next step: an exercise, a lesson, or nothing at the end of a path."""

    text: str
    """`Next on your path "...": TITLE, 12 min`."""
    exercise: str | None = None
    """The id of the exercise, if it is one."""
    lesson: str | None = None
    """The id of the lesson, if it is one."""


@dataclass(frozen=True)
class LessonSummary:
    """The summary at the end of a lesson and the next step, for both front ends."""

    is_done: bool
    headline: str
    """`Done: 3 of 3 blocks, question right`."""
    still_open: tuple[str, ...]
    """The open things, as sentences without full stops."""
    unsolved: tuple[Exercise, ...] = ()
    """The exercises still to solve."""
    achieved: str = ""
    """The achievements on the path so far, as sentences; empty if there are none."""
    next_step: NextLearningStep = NextLearningStep("")
    """The next step in the course."""


@dataclass(frozen=True)
class ExerciseSummary:
    """The summary after a solved exercise and the next step, for both front ends."""

    achieved: str
    """The achievements on the path so far, as sentences; empty if there are none."""
    next_step: NextLearningStep


def read_lesson_summary(
    lesson: Lesson,
    parts: Sequence[LessonPart],
    lesson_exercises: Sequence[Exercise],
    path: LessonPath | None,
    lessons: Sequence[Lesson],
    *,
    by_id: bool = False,
) -> LessonSummary:
    """Return the summary of a lesson and the next step, from the stored progress.

    Args:
        lesson: The lesson that ends.
        parts: The lesson's parts.
        lesson_exercises: The lesson's exercises.
        path: The path that the learner follows.
        lessons: All lessons.
        by_id: Name blocks by id, as the command line does, instead of by number and heading.
    """
    records = lesson_progress.read_progress().lessons
    known = records.get(lesson.id, LessonProgress())
    done, read = lesson_progress.list_done_lessons(), lesson_progress.list_read_lessons()
    return replace(
        summarize_lesson(parts, known, lesson_exercises, by_id=by_id),
        unsolved=tuple(
            one for one in lesson_exercises if exercises.read_exercise_state(one) != "pass"
        ),
        achieved=describe_achievements_and_stage(lesson.id, path, lessons, records),
        next_step=suggest_after_lesson(lesson.id, path, lessons, done, read),
    )


def read_exercise_summary(
    exercise: Exercise, path: LessonPath | None, lessons: Sequence[Lesson]
) -> ExerciseSummary:
    """Return the summary of a solved exercise and the next step, from the stored progress."""
    records = lesson_progress.read_progress().lessons
    done, read = lesson_progress.list_done_lessons(), lesson_progress.list_read_lessons()
    return ExerciseSummary(
        solved_exercises.describe_achievements(list_lessons_on_path(path, lessons), records),
        suggest_after_exercise(exercise, path, lessons, done, read),
    )


def summarize_lesson(
    parts: Sequence[LessonPart],
    known: LessonProgress,
    lesson_exercises: Sequence[Exercise],
    *,
    by_id: bool = False,
) -> LessonSummary:
    """Return a phrase for the learner's progress in a lesson.

    Args:
        parts: The lesson's parts.
        known: The stored progress.
        lesson_exercises: The lesson's exercises.
        by_id: Name blocks by id, as the command line does, instead of by number and heading.
    """
    blocks = [part.block for part in parts if part.block and not part.fold]
    passed = sum(known.status(block) == "pass" for block in blocks)
    questions = [part.quiz.id for part in parts if part.quiz]
    right = sum(lesson_progress.is_answered_right(known, name) for name in questions)
    solved = sum(_state(known, exercise) == "pass" for exercise in lesson_exercises)
    needed = len(blocks) + len(questions)
    is_done = bool(known.done) or needed == passed + right > 0
    counts = [f"{passed} of {phrases.format_count(len(blocks), 'block')}"] if blocks else []
    counts += _counted("question", right, len(questions), "right")
    counts += _counted("exercise", solved, len(lesson_exercises), "solved")
    left = [
        *_open_blocks(parts, known, by_id=by_id),
        *_open_questions(parts, known),
        *_open_exercises(known, lesson_exercises),
    ]
    is_read = bool(blocks) and all(
        block.is_try or known.status(block) == "pass" for block in blocks
    )
    state = "Read, but not done yet" if is_read else "Not done yet"
    state = _done_but(len(left), is_exercise=needed == passed + right) if is_done else state
    headline = ": ".join(filter(None, (state, ", ".join(counts))))
    if not needed and not counts:
        headline = "Done: you have read it" if is_done else "This lesson has no blocks to run"
    return LessonSummary(is_done, headline, _shortened(left))


def _done_but(count: int, *, is_exercise: bool) -> str:
    noun = "exercise" if is_exercise else "thing"
    open_ = phrases.format_count(count, f"{noun} is", f"{noun}s are")
    return f"Done, {'and' if is_exercise else 'but'} {open_} open" if count else "Done"


def _counted(noun: str, right: int, count: int, how: str) -> list[str]:
    if count > 1 and right:
        return [f"{right} of {count} {noun}s {how}"]
    return [f"{noun} {how}"] if right else []


def _state(known: LessonProgress, exercise: Exercise) -> str:
    return known.exercises.get(exercise.name, ExerciseRecord()).status


def _open_blocks(
    parts: Sequence[LessonPart], known: LessonProgress, *, by_id: bool
) -> Iterator[str]:
    """Yield a sentence about the open blocks and tasks of each section."""
    blocks = [part.block for part in parts if part.block and not part.block.is_optional]
    if len(blocks) > 1 and not known.edits and not any(map(known.status, blocks)):
        yield "No block has run yet"
        return
    heading, number = "", 0
    places: list[tuple[str, tuple[str, str], str]] = []
    for part in parts:
        if part.kind == "markdown" and not part.fold:
            heading = _last_heading(part.text) or heading
        if part.block is None or part.fold:
            continue
        number += 1
        edit = known.edits.get(part.block.id)
        status = known.status(part.block) or (edit.status if edit else None)
        is_open = status != "pass" and (part.block.is_try or not part.block.is_optional)
        if is_open:
            name = f"`{part.block.id}`" if by_id else str(number)
            states = _TASK_STATES if part.block.is_try else _BLOCK_STATES
            state = states.get(status, states[None])
            places.append(("" if by_id else heading, state, name))
    for (below, (of_one, of_many)), group in groupby(places, lambda place: place[:2]):
        names = [name for *_, name in group]
        noun = phrases.choose_plural(len(names), "Block", "Blocks")
        place = f', below "{below}",' if below else ""
        state = phrases.choose_plural(len(names), of_one, of_many)
        yield f"{noun} {phrases.join_words(names)}{place} {state}"


def _open_questions(parts: Sequence[LessonPart], known: LessonProgress) -> Iterator[str]:
    for quiz in (part.quiz for part in parts if part.quiz):
        if not lesson_progress.is_answered_right(known, quiz.id):
            was_answered = quiz.id in known.quizzes
            how = "is not answered right yet" if was_answered else "waits for your answer"
            yield f'The question "{_short(quiz.question)}" {how}'


def _open_exercises(known: LessonProgress, lesson_exercises: Sequence[Exercise]) -> Iterator[str]:
    for exercise in lesson_exercises:
        status = _state(known, exercise)
        if status != "pass":
            how = _EXERCISE_STATES.get(status, "is open")
            yield f'The exercise "{exercise.title}" {how}'


def _shortened(sentences: list[str]) -> tuple[str, ...]:
    if len(sentences) <= MOST_OPEN:
        return tuple(sentences)
    left = len(sentences) - MOST_OPEN + 1
    return (*sentences[: MOST_OPEN - 1], f"{left} more are open")


def _last_heading(text: str) -> str:
    headings = [line.lstrip("#").strip() for line in text.split("\n") if line.startswith("##")]
    return headings[-1] if headings else ""


def _short(text: str) -> str:
    if len(text) <= MOST_QUESTION:
        return text
    return f"{text[:MOST_QUESTION].rpartition(' ')[0]} ..."


def describe_achievements_and_stage(
    lesson_id: str,
    path: LessonPath | None,
    lessons: Sequence[Lesson],
    records: Mapping[str, LessonProgress],
) -> str:
    """Return the achievements so far, and a sentence if the lesson's stage is done."""
    stages = path.stages if path else ()
    stage = next((stage for stage in stages if lesson_id in stage.lessons), None)
    told = solved_exercises.describe_achievements(list_lessons_on_path(path, lessons), records)
    names = stage.lessons if stage and stage.title else ()
    if stage and len(names) > 1 and all(name in records and records[name].done for name in names):
        whole = f"All {len(names)} lessons of the stage “{stage.title}” are done."
        return f"{whole} {told}".strip()
    return told


def suggest_after_lesson(
    lesson_id: str,
    path: LessonPath | None,
    lessons: Sequence[Lesson],
    done: Container[str],
    read: Container[str] = (),
) -> NextLearningStep:
    """Return the next step after a lesson: along the learner's path, or back to it.

    Args:
        lesson_id: The lesson that ends.
        path: The path that the learner follows.
        lessons: All lessons.
        done: Ids of the lessons that are done.
        read: Ids of the lessons that are read but not done.
    """
    onward = course.find_next_lesson(lesson_id, path, done, read)
    following = next((lesson for lesson in lessons if lesson.id == onward.lesson), None)
    name = f'your path "{path.title}"' if path else ""
    if following is None:
        end = f"This is the last lesson of {name}, and all others are done."
        return NextLearningStep(end if path else "No path leads on from here.")
    title = f"{following.title}, {following.header.get('minutes', '?')} min"
    text = {
        "next": f"Next on {name}: {title}",
        "left": f"{_last_of(path, lesson_id, name)} Still open on it: {title}",
    }.get(onward.kind, f"This lesson is not on {name}. The path goes on with: {title}")
    return NextLearningStep(text, lesson=following.id)


def _last_of(path: LessonPath | None, lesson_id: str, name: str) -> str:
    is_last = path is not None and path.lessons[-1] == lesson_id
    return (
        f"This is the last lesson of {name}." if is_last else f"All that follows on {name} is done."
    )


def suggest_after_exercise(
    exercise: Exercise,
    path: LessonPath | None,
    lessons: Sequence[Lesson],
    done: Container[str],
    read: Container[str] = (),
) -> NextLearningStep:
    """Return the next step after an exercise: another one, the rest of the lesson, or a new lesson.

    If the lesson that follows is already done, it is the path's next open exercise.
    """
    other = exercises.find_next_unsolved_exercise(exercise)
    if other:
        text = f"Next exercise of this lesson, {exercises.format_position(other)}: {other.title}"
        return NextLearningStep(text, exercise=other.id)
    if exercise.lesson.id not in done:
        title = exercise.lesson.title
        return NextLearningStep(f"Its lesson is not done yet: {title}", lesson=exercise.lesson.id)
    way = suggest_after_lesson(exercise.lesson.id, path, lessons, done, read)
    leads_back = way.lesson is not None and way.lesson in done
    return (find_next_exercise(path, lessons) if leads_back else None) or way


def find_next_exercise(
    path: LessonPath | None, lessons: Sequence[Lesson]
) -> NextLearningStep | None:
    """Return a path's first unsolved exercise as a next step, or None if all are solved.

    Exercises of lessons that are done or read come first.
    """
    on_path, records = list_lessons_on_path(path, lessons), lesson_progress.read_progress().lessons
    known = {name for name, record in records.items() if record.done or record.is_read}
    behind = [lesson for lesson in on_path if lesson.id in known]
    left = solved_exercises.list_unsolved_exercises_of_lessons([*behind, *on_path], records)
    if not left:
        return None
    exercise = exercises.find_exercise(on_path, left[0])
    return NextLearningStep(
        f"Next open exercise on your path: {exercise.title}", exercise=exercise.id
    )
