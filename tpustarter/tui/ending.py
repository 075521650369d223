"""The end of a lesson's page: what was done of it, what is open, and the keys that lead on."""

from __future__ import annotations

from collections.abc import Iterator

from textual import work
from textual.content import Content
from textual.widgets import Static

from tpustarter.learning import exercises, lesson_end, progress
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.lesson_end import LessonEnd
from tpustarter.problem import Problem
from tpustarter.tui.lines import Hanging, Lines, Stack, prose, word
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.opened import Opened

_KEY_WIDTH = len("n, Enter") + 2
"""Columns for the keys at the end."""


class Ending(Static):
    """The end of a lesson; it looks again whenever something of the lesson was remembered."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(id="ending")
        self._opened = opened
        self.was_seen = False
        """Whether it was in sight since the lesson was opened."""
        self.is_done = False
        self.has_open_exercise = False
        """Whether an exercise is not solved."""
        self.border_title = "The end of this lesson"
        self._show(opened.end, opened.achieved)

    def on_remembered(self) -> None:
        """Look how far the learner is now."""
        self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _look(self) -> None:
        lesson = self._opened.lesson
        try:
            records = progress.read().lessons
            known = records.get(lesson.id, progress.LessonProgress())
            end = lesson_end.look(self._opened.parts, known, self._opened.exercises)
            opened = self._opened
            told = lesson_end.achieved(opened.stage, opened.on_path, records)
            self.post_message(Looked((end, told)))
        except Problem as problem:
            self.post_message(Looked(problem))

    def on_looked(self, message: Looked) -> None:
        """Show what was found, or why nothing could be."""
        if isinstance(message.what, Problem):
            self.update(prose(str(message.what)))
        else:
            self._show(*message.what)
            self.screen.refresh_bindings()

    def _show(self, end: LessonEnd, achieved: str) -> None:
        self.is_done = end.is_done
        left = [one for one in self._opened.exercises if exercises.state(one) != "pass"]
        self.has_open_exercise = bool(left)
        pieces: list[Lines | Content] = [
            Hanging(word("done" if end.is_done else "next", end.headline), "")
        ]
        pieces += [Hanging("· ", prose(f"{sentence}.")) for sentence in end.still_open]
        if achieved:
            pieces += [Content(""), prose(achieved)]
        is_begun = not end.is_done and len(end.still_open) > len(left)
        pieces += [Content(""), *self._keys(left, is_begun=is_begun)]
        self.update(Stack(pieces))

    def _keys(self, left: list[Exercise], *, is_begun: bool) -> Iterator[Lines]:
        """Yield what one can do here, with its key: Enter does what stands first.

        Args:
            left: The exercises that are not solved.
            is_begun: Whether a block or a question is what comes first.
        """
        opened, way = self._opened, self._opened.way
        rows = [("j", "Go to what is open")] * is_begun
        rows += [("p", f"Exercise: {left[0].title}")] if left else []
        rows += [("", f"then Exercise: {one.title}") for one in left[1:]]
        rows += [("n", way.text)] if way.lesson else []
        for number, (key, text) in enumerate(rows):
            yield Hanging(_key(key if number else f"{key}, Enter"), prose(text))
        key = "" if left else "p"
        for one in opened.exercises:
            if one not in left:
                yield Hanging(_key(key), prose(f"Exercise, solved: {one.title}"))
                key = ""
        if opened.checks:
            text = f"Run the checks that prove it: {', '.join(opened.checks)}"
            yield Hanging(_key("c"), prose(text))
        if not way.lesson:
            yield Hanging("", prose(way.text))


def _key(name: str = "") -> Content:
    """Return a key, in a column with the others."""
    return word("next", f"{name:<{_KEY_WIDTH}}")
