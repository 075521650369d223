"""A lesson as the reader shows it: its parts, what follows it, and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from textual.content import Content

from tpustarter import content
from tpustarter.content import Lesson
from tpustarter.learning import blocks, exercises, progress
from tpustarter.learning.blocks import Part
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.exercises import state as states
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui.references import Reference, references, texts
from tpustarter.tui.tutor import Tutor

TRY_IT = "Tab to a block, e to change it, Ctrl+R to run it."
"""Stands below the heading of this name: a lesson says what to try, and not with which keys."""


@dataclass(frozen=True)
class Opened:
    """A lesson, read."""

    lesson: Lesson
    parts: list[Part]
    following: Lesson | None
    known: progress.LessonProgress
    refers: list[Reference]
    """The words it uses, and where its links lead."""
    exercises: list[Exercise]

    @property
    def checks(self) -> list[str]:
        """The checks that prove it."""
        return texts(self.lesson, "checks")

    @property
    def has_blocks(self) -> bool:
        """Whether anything in it can be run."""
        return any(part.block for part in self.parts)

    def pieces(self) -> Iterator[Part | str]:
        """Yield its parts, with what to press below the heading that asks to try something."""
        for part in self.parts:
            match = re.search(r"^## Try it\n", part.text, re.MULTILINE)
            if part.block or not match or not self.has_blocks:
                yield part
                continue
            yield Part("markdown", part.text[: match.end()])
            yield TRY_IT
            yield Part("markdown", part.text[match.end() :])

    def ending(self) -> Content:
        """Return what one can do at the end."""
        lines: list[str] = []
        for exercise in self.exercises:
            state = "done: " if states(exercise) == "pass" else ""
            lines.append(f"p  exercise: {state}{visible(exercise.title)}")
        if self.checks:
            lines.append(f"c  run the checks that prove it: {visible(', '.join(self.checks))}")
        if self.following:
            minutes = visible(str(self.following.header.get("minutes", "?")))
            lines.append(f"n  next lesson: {visible(self.following.title)}, {minutes} min")
        return Content("\n".join(lines or ["This is the last lesson here."]))


def read(app: Tutor, lesson_id: str) -> Opened:
    """Read a lesson; raises Problem for one that is not there or broken."""
    lessons = content.read_lessons(app.lessons)
    lesson = next((lesson for lesson in lessons if lesson.id == lesson_id), None)
    if lesson is None:
        raise Problem(f"there is no lesson `{lesson_id}`", hint="`tpustarter learn` lists them")
    path = app.path_of(content.read_paths(app.lessons))
    following = _after(lesson, path.lessons if path else (), {item.id: item for item in lessons})
    lesson_progress = progress.read().lessons.get(lesson.id, progress.LessonProgress())
    refers = references(lesson, lessons, app.lessons)
    parts, lesson_exercises = blocks.parse(lesson), exercises.read(lesson)
    return Opened(lesson, parts, following, lesson_progress, refers, lesson_exercises)


def _after(lesson: Lesson, order: tuple[str, ...], lessons: dict[str, Lesson]) -> Lesson | None:
    """Return the lesson that follows on the path, else the one the lesson itself names."""
    if lesson.id in order:
        later_ids = order[order.index(lesson.id) + 1 :]
        return next((lessons[name] for name in later_ids if name in lessons), None)
    return lessons.get(str(lesson.header.get("next")))
