"""Achievements: solved exercises of a path, and what was done today."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content import blocks
from tpustarter.learning.progress import lesson_progress, solved_exercises
from tpustarter.learning.run.block_results import BlockResult

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
TODAY = NOON.astimezone().date()


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the current time, because a test can run over midnight."""
    monkeypatch.setattr(lesson_progress, "format_current_time", NOON.isoformat)


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    """Return a lesson of one block whose header names two exercises."""
    path = make_lesson(tmp_path, fence("print(1)")).path
    path.write_text(path.read_text().replace("minutes: 3", "minutes: 3\nexercises: [one, two]"))
    return content.read_lesson(path)


def said(lesson: Lesson, today: date = TODAY) -> str:
    """Return the description of the achievements on a path of this one lesson."""
    return solved_exercises.describe_achievements(
        [lesson], lesson_progress.read_progress().lessons, today
    )


def test_exercises_are_counted_on_the_path_and_today(lesson: Lesson) -> None:
    """Nothing is shown before the first exercise, and today's count ends with the day."""
    assert not said(lesson)
    lesson_progress.record_verdict(lesson.id, "one", is_right=False)
    assert "0 of 2 exercises solved." == said(lesson)
    lesson_progress.record_verdict(lesson.id, "one", is_right=True)
    assert "1 of 2 exercises solved. Today: 1 exercise." == said(lesson)
    block = blocks.list_blocks(lesson)[0]
    lesson_progress.record_block(lesson, block, BlockResult(block.id, "pass"))
    lesson_progress.record_verdict(lesson.id, "two", is_right=True)

    assert "2 of 2 exercises solved. Today: 1 lesson and 2 exercises." == said(lesson)
    assert "2 of 2 exercises solved." == said(lesson, date(2001, 1, 1))


def test_count_starts_with_first_met_exercise(lesson: Lesson) -> None:
    """Exercises are not counted at the end of a lesson that has none."""
    other = replace(lesson, id="made/other", header={**lesson.header, "exercises": []})
    lesson_progress.record_lesson_done(other.id)

    said = solved_exercises.describe_achievements(
        [other, lesson], lesson_progress.read_progress().lessons, TODAY
    )
    assert "of 2 exercises" not in said
    lesson_progress.record_lesson_done(lesson.id)
    said = solved_exercises.describe_achievements(
        [other, lesson], lesson_progress.read_progress().lessons, TODAY
    )
    assert "0 of 2 exercises solved." in said


def test_viewed_solution_does_not_count_as_solved(lesson: Lesson) -> None:
    """A viewed solution leaves the exercise open."""
    lesson_progress.record_solution_shown(lesson.id, "one")
    lesson_progress.record_verdict(lesson.id, "two", is_right=True)
    track = lesson.id.partition("/")[0]

    assert [f"{track}/one"] == solved_exercises.list_unsolved_exercises(
        lesson, lesson_progress.read_progress().lessons
    )
    assert "1 exercise open" == solved_exercises.format_unsolved_count(1)
    assert not solved_exercises.format_unsolved_count(0)
