"""The end of a lesson's page: results, open items, and the keys for the next steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual import work
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_summary
from tpustarter.learning.progress.lesson_summary import LessonSummary
from tpustarter.setup.environment import needed_setups
from tpustarter.setup.environment.needed_setups import NeededSetup
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.app.session import find_session
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    status_word,
    style_sentence,
)
from tpustarter.tui.lesson.opened_lesson import OpenedLesson

_Facts = tuple[LessonSummary, NeededSetup | None, str]
_KEY_WIDTH = len("n, Enter") + 2
"""The width of the key column."""


@dataclass
class SetupLookedFor(Message):
    """Sent when the set-up that the lesson needs has been looked for again."""

    is_needed: bool


class LessonEndView(Static):
    """The panel at the end of a lesson, refreshed whenever progress in the lesson is saved."""

    def __init__(self, opened: OpenedLesson) -> None:
        super().__init__(id="ending")
        self._opened = opened
        self.was_seen = False
        """True if it has been in view since the lesson was opened."""
        self.is_done = False
        self.has_open_exercise = False
        self.needed = opened.needed
        """The set-up without which all blocks are skipped, or None."""
        self._missing = opened.missing
        self.border_title = "The end of this lesson"
        self._show(opened.end)

    def on_progress_saved(self) -> None:
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _look(self) -> None:
        opened, app = self._opened, find_session(self)
        try:
            here = needed_setups.find_lesson_pythons(app.machine)
            needed = needed_setups.find_setup_for_lesson(opened.lesson, here)
            missing = needed_setups.describe_missing_packages(opened.lesson, here)
            end = lesson_summary.read_lesson_summary(
                opened.lesson, opened.parts, opened.exercises, opened.path, opened.lessons
            )
            self.post_message(FactsLoaded((end, needed, missing)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def on_facts_loaded(self, message: FactsLoaded[_Facts | Problem]) -> None:
        if isinstance(message.facts, Problem):
            self.update(style_sentence(str(message.facts)))
        else:
            end, self.needed, self._missing = message.facts
            self._show(end)
            is_needed = self.needed is not None or bool(self._missing)
            self.post_message(SetupLookedFor(is_needed=is_needed))
            self.screen.refresh_bindings()

    def _show(self, end: LessonSummary) -> None:
        self.is_done = end.is_done
        self.has_open_exercise = bool(end.unsolved)
        pieces: list[LaidOutLines | Content] = [
            HangingText(status_word("done" if end.is_done else "next", end.headline), "")
        ]
        pieces += [HangingText("· ", style_sentence(f"{sentence}.")) for sentence in end.still_open]
        if needed := self._needed_now(end):
            pieces += [Content(""), HangingText("", style_sentence(needed.describe_for_lesson()))]
        elif self._missing and self._opened.has_blocks and not end.is_done:
            pieces += [Content(""), HangingText("", style_sentence(self._missing))]
        if end.achieved:
            pieces += [Content(""), style_sentence(end.achieved)]
        pieces += [Content(""), *self._keys(end)]
        self.update(StackedText(pieces))

    def _needed_now(self, end: LessonSummary) -> NeededSetup | None:
        has_blocks = self._opened.has_blocks
        return self.needed if has_blocks and not end.is_done else None

    def _keys(self, end: LessonSummary) -> Iterator[LaidOutLines]:
        """Yield the keys with their actions; Enter performs the first one."""
        opened, left, way = self._opened, end.unsolved, end.next_step
        has_open_part = not end.is_done and len(end.still_open) > len(left)
        needed = self._needed_now(end)
        rows = [("s", "Set it up first, from a plan that runs nothing yet")] if needed else []
        rows += [("j", "Go to what is open")] * has_open_part
        rows += [("p", f"Exercise: {left[0].title}")] if left else []
        rows += [("", f"then Exercise: {one.title}") for one in left[1:]]
        rows += [("n", way.text)] if way.lesson else []
        for number, (key, text) in enumerate(rows):
            yield HangingText(_key(key if number else f"{key}, Enter"), style_sentence(text))
        key = "" if left else "p"
        for one in opened.exercises:
            if one not in left:
                yield HangingText(_key(key), style_sentence(f"Exercise, solved: {one.title}"))
                key = ""
        if checks := opened.lesson.checks:
            text = f"Run the checks that prove it: {', '.join(checks)}"
            yield HangingText(_key("c"), style_sentence(text))
        if not way.lesson:
            yield HangingText("", style_sentence(way.text))


def _key(name: str = "") -> Content:
    return status_word("next", f"{name:<{_KEY_WIDTH}}")
