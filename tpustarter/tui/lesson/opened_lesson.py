"""A lesson read from disk, with the progress, drafts and references that its screen shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import Problem
from tpustarter.learning.content import blocks, code_files, exercises
from tpustarter.learning.content.blocks import LessonPart
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.content.paths import LessonPath, read_paths
from tpustarter.learning.progress import (
    bookmarks,
    drafts,
    last_outputs,
    lesson_progress,
    lesson_summary,
)
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.learning.progress.last_outputs import SavedOutput
from tpustarter.learning.progress.lesson_summary import LessonSummary
from tpustarter.setup.environment import needed_setups
from tpustarter.setup.environment.needed_setups import NeededSetup
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.tui.app.session import AppSession
from tpustarter.tui.lesson.page.lesson_commands import split_at_command
from tpustarter.tui.lesson.references import LessonReference, list_references

TRY_IT = "Press Tab to mark a block, e to change it, and Ctrl+R to run it."
"""Shown below the heading "Try it", because lessons themselves do not mention keys."""
EXERCISE = "Press p to open it. It is a program with a gap, and Ctrl+R judges what you type there."
"""Shown below a link to an exercise."""
SET_UP = (
    "Press s for the plan of the set-up {}, which this lesson explains. Nothing is run by that."
)
"""Shown below the opening of a lesson whose header contains set-up steps."""
NEEDED = "Press s for its plan, which runs nothing yet."
"""Shown with the set-up without which all blocks of a lesson are skipped."""
_TRY_IT = re.compile(r"^## Try it\n|^\[(Exercise: .+)\]\(exercises/([\w-]+)\.py\)$", re.MULTILINE)


@dataclass(frozen=True)
class OpenedLesson:
    """A lesson as read from disk, with the progress, drafts and references that its page shows."""

    lesson: Lesson
    parts: list[LessonPart]
    following: Lesson | None
    known: lesson_progress.LessonProgress
    refers: list[LessonReference]
    """Its glossary words and the targets of its links."""
    exercises: list[Exercise]
    end: LessonSummary
    """Its summary at the time it was opened."""
    path: LessonPath | None
    """The user's path."""
    lessons: list[Lesson]
    left_at: str | None
    """The bookmark, or None for the lesson's beginning."""
    drafts: dict[str, BlockDraft]
    """The user's code by block id."""
    lost: str = ""
    """The reason why saved drafts could not be read, or ""."""
    printed: dict[str, SavedOutput] = field(default_factory=dict[str, SavedOutput])
    """The last output of each block, keyed by block id."""
    needed: NeededSetup | None = None
    """The set-up without which all blocks were skipped when the lesson was opened."""
    missing: str = ""
    """The sentences on packages without which they were skipped, if the framework is here."""

    @property
    def setups(self) -> list[str]:
        """The set-up profiles whose steps the lesson explains."""
        return list(as_object(self.lesson.header.get("setups")))

    @property
    def setup_offer(self) -> str:
        """The sentences on the needed set-up or else on those explained here; "" without any."""
        if self.needed and self.has_blocks:
            return format_commands(f"{self.needed.describe_for_lesson()} {NEEDED}")
        if self.missing and self.has_blocks:
            return self.missing
        return SET_UP.format(phrases.join_words(self.setups)) if self.setups else ""

    @property
    def next_exercise(self) -> Exercise | None:
        """The first unsolved exercise, or the first one if all are solved; None without any."""
        left = [one for one in self.exercises if exercises.read_exercise_state(one) != "pass"]
        return next(iter([*left, *self.exercises]), None)

    @property
    def has_blocks(self) -> bool:
        return any(part.block for part in self.parts)

    def _with_start(self) -> Iterator[LessonPart]:
        """Yield the parts, with a hint on typing commands after the first command."""
        is_said = False
        for part in self._with_offer():
            told = None if is_said or part.kind != "markdown" else split_at_command(part.text)
            if told is None:
                yield part
                continue
            is_said = True
            above, how, below = told
            yield replace(part, text=above)
            yield replace(part, kind="hint", text=how)
            if below:
                yield replace(part, text=below)

    def _with_offer(self) -> Iterator[LessonPart]:
        """Yield the parts, with a hint on a set-up below the opening."""
        first, *others = self.parts
        opening, heading, rest = first.text.partition("\n## ")
        if self.setup_offer and first.kind == "markdown":
            yield replace(first, text=opening)
            is_lacking = bool(self.needed or self.missing)
            yield replace(first, kind="hint", text=self.setup_offer, is_setup_offer=is_lacking)
            first = replace(first, text=f"## {rest}" if heading else "")
        yield first
        yield from others

    def pieces(self) -> Iterator[LessonPart]:
        """Yield the parts, with hints that name keys where the text suggests an activity."""
        note = format_commands("\n".join(code_files.describe_code_files(self.lesson)))
        for part in self._with_start():
            if note and part.block:
                yield replace(part, kind="hint", text=note, block=None)
                note = ""
            match = _TRY_IT.search(part.text) if part.kind == "markdown" else None
            if match is None:
                yield part
                continue
            is_exercise = match[1] is not None
            heading = f"\n\n**{match[1]}**" if is_exercise else match[0]
            yield replace(part, text=part.text[: match.start()] + heading)
            if is_exercise or self.has_blocks:
                text = EXERCISE if is_exercise else TRY_IT
                yield replace(part, kind="hint", text=text, exercise=match[2] or "")
            if rest := part.text[match.end() :].strip("\n"):
                yield replace(part, text=rest)


def read_lesson(app: AppSession, lesson_id: str) -> OpenedLesson:
    """Read a lesson with its progress.

    Raises:
        Problem: The lesson does not exist or is malformed.
    """
    lessons = content.read_lessons(app.lessons)
    lesson = next((lesson for lesson in lessons if lesson.id == lesson_id), None)
    if lesson is None:
        raise Problem(f"there is no lesson `{lesson_id}`", hint="`tpustarter learn -v` lists them")
    path = app.find_path(read_paths(app.lessons))
    known = lesson_progress.read_progress().lessons.get(lesson.id, lesson_progress.LessonProgress())
    refers = list_references(lesson, lessons, app.lessons)
    parts, lesson_exercises = blocks.parse_lesson(lesson), exercises.read_exercises(lesson)
    end = lesson_summary.read_lesson_summary(lesson, parts, lesson_exercises, path, lessons)
    following = next((item for item in lessons if item.id == end.next_step.lesson), None)
    typed, lost = _read_drafts(app, lesson.id)
    here = needed_setups.find_lesson_pythons(app.machine)
    return OpenedLesson(
        lesson,
        parts,
        following,
        known,
        refers,
        lesson_exercises,
        end,
        path,
        lessons,
        bookmarks.read_bookmark(lesson.id),
        typed,
        lost,
        last_outputs.read_outputs(lesson.id),
        needed_setups.find_setup_for_lesson(lesson, here),
        needed_setups.describe_missing_packages(lesson, here),
    )


def _read_drafts(app: AppSession, lesson_id: str) -> tuple[dict[str, BlockDraft], str]:
    """Return a lesson's drafts, and the reason why saved ones could not be read, or ""."""
    lost = ""
    try:
        known: dict[str, BlockDraft | None] = {**drafts.read_drafts(lesson_id)}
    except Problem as problem:
        known, lost = {}, str(problem)
    known |= {block: draft for (lesson, block), draft in app.edits.items() if lesson == lesson_id}
    return {block: draft for block, draft in known.items() if draft}, lost
