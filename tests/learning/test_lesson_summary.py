"""The summary at the end of a lesson: done tasks, open tasks and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.test_exercises import shipped
from tests.support.made_lessons import fence, make_lesson
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content import blocks, exercises
from tpustarter.learning.content.paths import LessonPath, PathStage
from tpustarter.learning.progress import lesson_progress, lesson_summary
from tpustarter.learning.progress.lesson_summary import LessonSummary, NextLearningStep
from tpustarter.learning.run.block_results import BlockResult

TEXT = f"""{fence("print(1)")}
## Where it breaks

{fence("print(2)", name="two")}
```python try id=turn
print(...)
```

```python answer of=turn
print(3)
```

```quiz id=why
Why is it so, and why is it never otherwise than it is here?

( ) No.
    It is.
(x) Yes.
    It is so.
```
"""


def read_end(lesson: Lesson, *, by_id: bool = False) -> LessonSummary:
    """Return the summary at the end of a lesson for its present progress."""
    known = lesson_progress.read_progress().lessons.get(lesson.id, lesson_progress.LessonProgress())
    parts, lesson_exercises = blocks.parse_lesson(lesson), exercises.read_exercises(lesson)
    return lesson_summary.summarize_lesson(parts, known, lesson_exercises, by_id=by_id)


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    """Return a lesson of two blocks, a block to change, a question and an exercise."""
    shipped(tmp_path)
    path = make_lesson(tmp_path, TEXT).path
    path.write_text(path.read_text().replace("minutes: 3", "minutes: 3\nexercises: [double]"))
    return content.read_lesson(path)


def test_end_names_done_and_open_tasks(lesson: Lesson) -> None:
    """The summary names each open task with its place, from none done to all done."""
    question = (
        'The question "Why is it so, and why is it never otherwise ..." waits for your answer'
    )
    exercise = 'The exercise "Return the double" is open'
    end = read_end(lesson)
    assert (False, "Not done yet: 0 of 3 blocks") == (end.is_done, end.headline)
    assert ("No block has run yet", question, exercise) == end.still_open
    one, two, task = blocks.list_blocks(lesson)
    lesson_progress.record_block(lesson, one, BlockResult("one", "pass"))
    lesson_progress.record_block(lesson, two, BlockResult("two", "fail"))
    lesson_progress.record_quiz_answer(lesson, "why", is_right=True)
    lesson_progress.record_verdict(lesson.id, "double", is_right=False)
    end = read_end(lesson)
    assert "Not done yet: 1 of 3 blocks, question right" == end.headline
    assert (
        'Block 2, below "Where it breaks", printed something else than the lesson says'
        == (end.still_open[0])
    )
    waits = 'Block 3, below "Where it breaks", waits for your change'
    assert (waits, 'The exercise "Return the double" is not right yet') == end.still_open[1:]
    assert read_end(lesson, by_id=True).still_open[0].startswith("Block `two` printed")
    lesson_progress.record_block(lesson, two, BlockResult("two", "pass"))
    lesson_progress.record_verdict(lesson.id, "double", is_right=True)
    lesson_progress.record_quiz_answer(lesson, "why", is_right=False)
    end = read_end(lesson)
    counts = "2 of 3 blocks, question right, exercise solved"
    assert f"Read, but not done yet: {counts}" == end.headline
    assert (False, (waits,)) == (end.is_done, end.still_open)
    lesson_progress.record_block(lesson, task, BlockResult(task.id, "pass"))

    expected = "Done: 3 of 3 blocks, question right, exercise solved"
    assert LessonSummary(is_done=True, headline=expected, still_open=()) == read_end(lesson)


def test_many_open_things_are_counted(tmp_path: Path) -> None:
    """Open tasks above a limit are counted instead of listed."""
    text = "".join(
        f"## Part {number}\n\n" + fence(f"print({number})", name=f"b{number}")
        for number in range(9)
    )
    lesson = make_lesson(tmp_path, text)
    lesson_progress.record_block(lesson, blocks.list_blocks(lesson)[0], BlockResult("b0", "pass"))
    end = read_end(lesson)

    assert lesson_summary.MOST_OPEN == len(end.still_open)
    assert 'Block 2, below "Part 1", has not run' == end.still_open[0]
    assert "4 more are open" == end.still_open[-1]
    by_id = read_end(lesson, by_id=True).still_open
    assert ("Blocks `b1`, `b2`, `b3`, `b4`, `b5`, `b6`, `b7` and `b8` have not run",) == by_id


def test_blocks_below_heading_are_one_task(tmp_path: Path) -> None:
    """Failed blocks below a heading are counted apart from blocks that have not run."""
    text = "## Here\n\n" + "".join(fence(f"print({n})", name=f"b{n}") for n in range(5))
    lesson = make_lesson(tmp_path, text)
    lesson_progress.record_block(lesson, blocks.list_blocks(lesson)[0], BlockResult("b0", "pass"))
    lesson_progress.record_block(lesson, blocks.list_blocks(lesson)[1], BlockResult("b1", "error"))

    assert (
        'Block 2, below "Here", raised an exception',
        'Blocks 3, 4 and 5, below "Here", have not run',
    ) == read_end(lesson).still_open


def test_wrong_answer_differs_from_missing_answer(lesson: Lesson) -> None:
    """A wrong answer is named as wrong, not as missing."""
    lesson_progress.record_quiz_answer(lesson, "why", is_right=False)

    assert any("is not answered right yet" in line for line in read_end(lesson).still_open)


def test_lesson_without_blocks_ends_by_questions_or_reading(tmp_path: Path) -> None:
    """A lesson without blocks is done by its questions, or by reading it."""
    words = make_lesson(tmp_path, "Words.\n", name="01-words")
    asks = make_lesson(tmp_path, TEXT[TEXT.index("```quiz") :], name="02-asks")
    assert "This lesson has no blocks to run" == read_end(words).headline
    assert "Not done yet" == read_end(asks).headline
    lesson_progress.record_quiz_answer(asks, "why", is_right=True)
    lesson_progress.record_lesson_done(words.id)

    assert "Done: question right" == read_end(asks).headline
    assert "Done: you have read it" == read_end(words).headline


def path_of(*lessons: str) -> LessonPath:
    """Return a path of these lessons."""
    return LessonPath("laptop", "I have a laptop", "W.", (PathStage("", lessons),))


def test_next_step_is_line_with_path_title(tmp_path: Path) -> None:
    """The next step is along the path, then what is left of it, or back to it."""
    lesson = make_lesson(tmp_path, "")

    def way(lesson_id: str, *names: str, done: tuple[str, ...] = ()) -> NextLearningStep:
        return lesson_summary.suggest_after_lesson(lesson_id, path_of(*names), [lesson], done)

    mine = "made/sample"
    assert way("a/one", "a/one", mine) == NextLearningStep(
        'Next on your path "I have a laptop": Sample, 3 min', lesson=mine
    )
    assert way("a/one", mine) == NextLearningStep(
        'This lesson is not on your path "I have a laptop". The path goes on with: Sample, 3 min',
        lesson=mine,
    )
    assert way("a/one", mine, "a/one").text.endswith("Still open on it: Sample, 3 min")
    left = (
        'All that follows on your path "I have a laptop" is done. Still open on it: Sample, 3 min'
    )
    assert left == way("a/one", mine, "a/one", "a/two", done=("a/two",)).text
    end = way("a/one", mine, "a/one", done=(mine,))
    assert (None, True) == (end.lesson, "and all others are done" in end.text)
    nowhere = NextLearningStep("No path leads on from here.")
    assert nowhere == lesson_summary.suggest_after_lesson(mine, None, [lesson], ())


def test_exercise_leads_to_next_open_exercise(tmp_path: Path) -> None:
    """The next step is the lesson's next open exercise, then the lesson if it is open."""
    shipped(tmp_path, "first")
    shipped(tmp_path, "second")
    path = make_lesson(tmp_path, "").path
    path.write_text(
        path.read_text().replace("minutes: 3", "minutes: 3\nexercises: [first, second]")
    )
    lesson = content.read_lesson(path)
    first, _ = exercises.read_exercises(lesson)
    way = lesson_summary.suggest_after_exercise(first, path_of(lesson.id), [lesson], ())
    text = "Next exercise of this lesson, 2 of 2: Return the double"
    assert NextLearningStep(text, exercise="made/second") == way
    lesson_progress.record_verdict(lesson.id, "second", is_right=True)

    way = lesson_summary.suggest_after_exercise(first, path_of(lesson.id), [lesson], ())
    assert NextLearningStep("Its lesson is not done yet: Sample", lesson=lesson.id) == way
    way = lesson_summary.suggest_after_exercise(first, path_of(lesson.id), [lesson], (lesson.id,))
    assert (None, None) == (way.exercise, way.lesson)


def test_finished_next_lesson_is_skipped_for_open_exercise(tmp_path: Path) -> None:
    """The next step is an open exercise of a finished lesson, or else the next lesson."""
    for name in ("early", "late"):
        shipped(tmp_path, name)
    for name in ("01-early", "02-late", "03-last"):
        path = make_lesson(tmp_path, "", name=name).path
        named = f"exercises: [{name[3:]}]" if name != "03-last" else "exercises: []"
        path.write_text(path.read_text().replace("minutes: 3", f"minutes: 3\n{named}"))
    early, late, last = lessons = [
        content.read_lesson(path) for path in sorted((tmp_path / "made").glob("*.md"))
    ]
    done = {one.id for one in lessons}
    path = path_of(late.id, last.id, early.id)
    [of_late] = exercises.read_exercises(late)
    lesson_progress.record_verdict(late.id, "late", is_right=True)

    way = lesson_summary.suggest_after_exercise(of_late, path, lessons, {late.id})
    assert last.id == way.lesson
    way = lesson_summary.suggest_after_exercise(of_late, path, lessons, done)
    text = "Next open exercise on your path: Return the double"
    assert NextLearningStep(text, exercise="made/early") == way
    lesson_progress.record_verdict(early.id, "early", is_right=True)
    way = lesson_summary.suggest_after_exercise(of_late, path, lessons, done)
    assert (None, last.id) == (way.exercise, way.lesson)


def test_next_exercise_belongs_to_finished_lesson(tmp_path: Path) -> None:
    """The next exercise is of a finished lesson, or else the first of the path."""
    for name in ("one", "two"):
        shipped(tmp_path, name)
        path = make_lesson(tmp_path, "", name=f"01-{name}").path
        text = path.read_text().replace("minutes: 3", f"minutes: 3\nexercises: [{name}]")
        path.write_text(text)
    lessons = [content.read_lesson(one) for one in sorted((tmp_path / "made").glob("*.md"))]
    path = path_of(*(lesson.id for lesson in lessons))

    def following() -> str | None:
        way = lesson_summary.find_next_exercise(path, lessons)
        return way.exercise if way else None

    assert "made/one" == following()
    lesson_progress.record_lesson_done(lessons[1].id)
    assert "made/two" == following()
    lesson_progress.record_verdict(lessons[1].id, "two", is_right=True)
    assert "made/one" == following()
    lesson_progress.record_verdict(lessons[0].id, "one", is_right=True)
    assert following() is None


def test_end_holds_open_exercises_and_next_step(lesson: Lesson) -> None:
    """The summary has the open exercises and the next step, for app and command line."""
    path, parts, own = (
        path_of(lesson.id),
        blocks.parse_lesson(lesson),
        exercises.read_exercises(lesson),
    )
    end = lesson_summary.read_lesson_summary(lesson, parts, own, path, [lesson])
    assert ((own[0],), None) == (end.unsolved, end.next_step.lesson)

    lesson_progress.record_verdict(lesson.id, "double", is_right=True)
    end = lesson_summary.read_lesson_summary(lesson, parts, own, path, [lesson])
    solved = lesson_summary.read_exercise_summary(own[0], path, [lesson])
    assert ((), end.achieved) == (end.unsolved, solved.achieved)
    assert end.achieved
    assert lesson.id == solved.next_step.lesson
