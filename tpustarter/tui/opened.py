"""A lesson as the reader shows it: its parts, what follows it, and what it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tpustarter import content
from tpustarter.content import Lesson
from tpustarter.invocation import as_typed
from tpustarter.learning import (
    blocks,
    bookmarks,
    code_files,
    drafts,
    exercises,
    lesson_end,
    printouts,
    progress,
)
from tpustarter.learning.blocks import Part
from tpustarter.learning.drafts import Draft
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.lesson_end import LessonEnd, Way
from tpustarter.learning.paths import Stage, lessons_on, read_paths
from tpustarter.learning.printouts import Kept
from tpustarter.problem import Problem
from tpustarter.tui.commands_in_text import says_how
from tpustarter.tui.references import Reference, references, texts
from tpustarter.tui.tutor import Tutor

TRY_IT = "Press Tab to mark a block, e to change it, and Ctrl+R to run it."
"""Stands below the heading of this name: a lesson says what to try, and not with which keys."""
EXERCISE = "Press p to open it. It is a program with a gap, and Ctrl+R judges what you type there."
"""Stands below a link to an exercise."""
SET_UP = (
    "Press s for the plan of the set-up {}, which this lesson explains. Nothing is run by that."
)
"""Stands below the opening of a lesson whose header holds the steps of a set-up."""
_TRY_IT = re.compile(r"^## Try it\n|^\[(Exercise: .+)\]\(exercises/([\w-]+)\.py\)$", re.MULTILINE)


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
    end: LessonEnd
    """How far the learner was when it was opened."""
    way: Way
    """Where the path goes on."""
    on_path: list[Lesson]
    """The lessons of the path that the learner follows."""
    stage: Stage | None
    """The stage of that path which it belongs to; null where it is not on the path."""
    achieved: str
    """What was achieved when it was opened, in words."""
    left_at: str | None
    """The place at which it was left; None for its beginning."""
    drafts: dict[str, Draft]
    """What the learner typed into its blocks."""
    lost: str = ""
    """Why what was typed earlier is not there, if it isn't."""
    printed: dict[str, Kept] = field(default_factory=dict[str, Kept])
    """What its blocks printed last."""

    @property
    def checks(self) -> list[str]:
        """The checks that prove it."""
        return texts(self.lesson, "checks")

    @property
    def setups(self) -> list[str]:
        """The set-ups whose steps it explains."""
        return list(self.lesson.header.get("setups") or {})

    @property
    def next_exercise(self) -> Exercise | None:
        """The first exercise that is not solved yet, else the first one."""
        left = [one for one in self.exercises if exercises.state(one) != "pass"]
        return next(iter([*left, *self.exercises]), None)

    @property
    def has_blocks(self) -> bool:
        """Whether anything in it can be run."""
        return any(part.block for part in self.parts)

    def _with_start(self) -> Iterator[Part]:
        """Yield its parts; below the first sentence with a command, how one is typed here."""
        is_said = False
        for part in self._with_offer():
            told = None if is_said or part.kind != "markdown" else says_how(part.text)
            if told is None:
                yield part
                continue
            is_said = True
            above, how, below = told
            yield replace(part, text=above)
            yield replace(part, kind="hint", text=how)
            if below:
                yield replace(part, text=below)

    def _with_offer(self) -> Iterator[Part]:
        """Yield its parts; below its opening, the key for the set-up that it explains."""
        first, *others = self.parts
        opening, heading, rest = first.text.partition("\n## ")
        if self.setups and first.kind == "markdown":
            yield replace(first, text=opening)
            offer = SET_UP.format(" and ".join(self.setups))
            yield replace(first, kind="hint", text=offer)
            first = replace(first, text=f"## {rest}" if heading else "")
        yield first
        yield from others

    def pieces(self) -> Iterator[Part]:
        """Yield its parts, with what to press where it asks to try something."""
        note = as_typed("\n".join(code_files.note(self.lesson)))
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


def read(app: Tutor, lesson_id: str) -> Opened:
    """Read a lesson; raises Problem for one that is not there or broken."""
    lessons = content.read_lessons(app.lessons)
    lesson = next((lesson for lesson in lessons if lesson.id == lesson_id), None)
    if lesson is None:
        raise Problem(f"there is no lesson `{lesson_id}`", hint="`tpustarter learn -v` lists them")
    path = app.path_of(read_paths(app.lessons))
    way = lesson_end.after_lesson(lesson.id, path, lessons, progress.done(), progress.read_only())
    following = next((item for item in lessons if item.id == way.lesson), None)
    records = progress.read().lessons
    known = records.get(lesson.id, progress.LessonProgress())
    refers = references(lesson, lessons, app.lessons)
    parts, lesson_exercises = blocks.parse(lesson), exercises.read(lesson)
    end = lesson_end.look(parts, known, lesson_exercises)
    on_path = lessons_on(path, lessons)
    stages = path.stages if path else ()
    stage = next((stage for stage in stages if lesson.id in stage.lessons), None)
    typed, lost = _read_drafts(app, lesson.id)
    return Opened(
        lesson, parts, following, known, refers, lesson_exercises, end, way, on_path, stage,
        lesson_end.achieved(stage, on_path, records), bookmarks.read(lesson.id), typed, lost,
        printouts.read(lesson.id),
    )  # fmt: skip


def _read_drafts(app: Tutor, lesson_id: str) -> tuple[dict[str, Draft], str]:
    """Return what was typed into a lesson's blocks since the start and before, or why not."""
    lost = ""
    try:
        known: dict[str, Draft | None] = {**drafts.read(lesson_id)}
    except Problem as problem:
        known, lost = {}, str(problem)
    known |= {block: draft for (lesson, block), draft in app.edits.items() if lesson == lesson_id}
    return {block: draft for block, draft in known.items() if draft}, lost
