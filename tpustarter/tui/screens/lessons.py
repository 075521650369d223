"""All lessons: what is done, what is open, and a search in their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from tpustarter import blocks, content, progress
from tpustarter.content import Lesson
from tpustarter.problem import Problem
from tpustarter.progress import Progress
from tpustarter.report.text import visible
from tpustarter.tui import commands
from tpustarter.tui.messages import LOOK, SEARCH, Looked
from tpustarter.tui.screens.page import Page
from tpustarter.tui.widgets import Hanging, Lines, Row, Rows, word

FILTERS = ("all", "open", "done")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
HITS = 3
"""Lines of a lesson shown below it when they hold what is searched."""


@dataclass(frozen=True)
class Shelf:
    """Every lesson, and how far one is."""

    lessons: list[Lesson]
    done: Progress


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    text: str
    lines: dict[str, list[tuple[int, str]]]
    """By lesson: line number and line."""


class SearchLine(Input):
    """Where one types what is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "submit", "to the list", key_display="Down", tooltip="choose among them"),
    ]


class Lessons(Page):
    """The list of lessons."""

    HELP = """
Every lesson, in the order of its track. Enter opens the marked one.

* `/` looks for text in titles and lessons; the lines that hold it stand below each title.
* `f` shows all lessons, those still open, or those done.
* A lesson is done when each of its blocks printed what it should.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "all/open/done", tooltip="tpustarter learn"),
    ]

    def __init__(self, *, find: bool = False) -> None:
        super().__init__("Lessons")
        self._find = find
        self._shelf: Shelf | None = None
        self._found: Found | None = None
        self._filter = "all"

    def body(self) -> Iterable[Widget]:
        """Return the search line and the list."""
        search = SearchLine(placeholder="look for", id="search", select_on_focus=False)
        search.cursor_blink = False
        search.display = self._find
        return (search, Rows(id="lessons"))

    def on_mount(self) -> None:
        """Put the focus where the keys go."""
        self.set_focus(self.query_one(Input) if self._find else self.query_one(Rows))

    def on_screen_resume(self) -> None:
        """Read again: a lesson may be done by now."""
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        try:
            lessons = _in_order(self.starter.lessons)
            self.post_message(Looked(Shelf(lessons, progress.read())))
        except Problem as problem:
            self.post_message(Looked(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=SEARCH)
    def _search(self, shelf: Shelf, text: str) -> None:
        lines: dict[str, list[tuple[int, str]]] = {}
        for lesson in shelf.lessons:
            hits = [(number, line) for _, number, line in blocks.search([lesson], text)]
            named = text.casefold() in f"{lesson.id} {lesson.title}".casefold()
            if hits or named:
                lines[lesson.id] = hits[:HITS]
        self.post_message(Looked(Found(text, lines)))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now."""
        if isinstance(message.what, Problem):
            self.query_one(Rows).show(
                [Row(None, Hanging("", visible(line))) for line in str(message.what).split("\n")]
            )
            return
        if isinstance(message.what, Shelf):
            if message.what == self._shelf:
                return
            self._shelf = message.what
            self.look_for(self.query_one(Input).value)
        elif message.what.text == self.query_one(Input).value.strip():
            self._found = message.what
        self._show()

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        self.look_for(event.value)

    def look_for(self, text: str) -> None:
        """Show lessons that hold a text; all of them for none."""
        text = text.strip()
        if text and self._shelf:
            self._search(self._shelf, text)
        elif self._found:
            self._found = None
            self._show()

    @on(Input.Submitted)
    def to_list(self) -> None:
        """Choose among what was found; what is on show may be older than what was typed."""
        text = self.query_one(Input).value.strip()
        if text == (self._found.text if self._found else ""):
            self.set_focus(self.query_one(Rows))

    def action_find(self) -> None:
        """Show the search line."""
        search = self.query_one(Input)
        search.display = True
        self.set_focus(search)

    def action_filter(self) -> None:
        """Show the next kind of lessons."""
        self._filter = FILTERS[(FILTERS.index(self._filter) + 1) % len(FILTERS)]
        self._show()

    def action_back(self) -> None:
        """Leave the search first, then the screen."""
        search = self.query_one(Input)
        if search.display:
            search.display = False
            search.value = ""
            self.set_focus(self.query_one(Rows))
        else:
            self.dismiss()

    def _show(self) -> None:
        rows = list(self._rows())
        self.query_one(Rows).show(rows)
        shown = sum(1 for row in rows if row.id)
        total = len(self._shelf.lessons) if self._shelf else 0
        kind = "" if self._filter == "all" else f", {self._filter}"
        self.rename(f"Lessons{kind}: {shown} of {total}")

    def _rows(self) -> Iterator[Row]:
        shelf, track = self._shelf, None
        empty = True
        for lesson in shelf.lessons if shelf else ():
            known = shelf.done.lessons.get(lesson.id) if shelf else None
            done = known is not None and known.done is not None
            if self._filter != "all" and (self._filter == "done") != done:
                continue
            if self._found and lesson.id not in self._found.lines:
                continue
            empty = False
            if (name := lesson.id.split("/")[0]) != track:
                if track is not None:
                    yield Row(None, "")
                track = name
                yield Row(None, Content.styled(visible(name), "bold"))
            state = "done" if done else "begun" if known else ""
            left = Content("  ") + word(state, state, 6) + visible(lesson.title)
            hits = self._found.lines[lesson.id] if self._found else []
            more = tuple(_hit(number, line) for number, line in hits)
            yield Row(
                lesson.id, left, f"{visible(str(lesson.header.get('minutes', '?')))} min", more
            )
        if empty and shelf:
            yield Row(None, "Nothing here. Esc shows all lessons." if self._found else "None yet.")

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open the lesson."""
        if event.option_id:
            commands.open_lesson(self.starter, event.option_id)


def _in_order(folder: Path | None) -> list[Lesson]:
    """Return all lessons, tracks in the order in which the first path comes to them."""
    lessons, paths = content.read_lessons(folder), content.read_paths(folder)
    known = [one.split("/")[0] for path in paths for one in path.lessons]
    tracks = list(dict.fromkeys([*known, *(one.id.split("/")[0] for one in lessons)]))
    return sorted(lessons, key=lambda one: tracks.index(one.id.split("/")[0]))


def _hit(number: int, line: str) -> Lines:
    text = _LINK.sub(r"\1", visible(line.strip()))
    return Hanging(f"        {number}: ", Content.styled(text[:200], "dim"))
