"""What stands beside a lesson on a wide terminal: its sections, and what is left of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets._markdown import MarkdownH1, MarkdownH2  # not exported (8.2.8)

from tpustarter.terminal import visible
from tpustarter.tui.block import BlockView
from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.lines import Hanging, Line, Lines, Stack, prose, word
from tpustarter.tui.question import QuestionView
from tpustarter.tui.references import Reference
from tpustarter.tui.widgets import Aside

BESIDE = 150
"""Columns from which it stands beside a lesson."""


@dataclass
class Section:
    """A heading, and what there is to do below it."""

    heading: Widget
    title: str
    tasks: list[BlockView | QuestionView] = field(default_factory=list[BlockView | QuestionView])


class Margin(Vertical):
    """What stands beside a lesson: its sections, and below them the words that it uses."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._words = Aside("terms", "w lists all of them")
        self._words.border_title = "Words of this lesson"
        super().__init__(self.outline, self._words, id="margin")

    def show(self, page: LessonPage, refers: Iterable[Reference]) -> None:
        """Take the sections of the page that holds the lesson, and what it refers to."""
        self.outline.show(page)
        words = [one for one in refers if one.kind == "Words"]
        self._words.show(Stack(_meanings(words)))
        self.set_class(not words, "-wordless")


class Outline(Static):
    """The sections of a lesson: which one is read, and what is left to do in each."""

    def __init__(self) -> None:
        super().__init__(id="outline")
        self.border_title = "In this lesson"
        self._sections: list[Section] = []
        self._shown: tuple[object, ...] = ()

    def show(self, page: LessonPage) -> None:
        """Take the sections of the page that holds the lesson."""
        self._sections = list(_sections(page.walk_children(Widget)))
        self.follow(page)

    def follow(self, page: LessonPage) -> None:
        """Show where the reader is, and what is done, where that has changed."""
        here = self._place(page)
        done = tuple(sum(task.is_done for task in section.tasks) for section in self._sections)
        if self._shown != (here, done):
            self._shown = (here, done)
            self.update(Stack(self._rows(here, done)))

    def _place(self, page: LessonPage) -> int:
        """Return the section of the marked block; with none in sight that of the upper half."""
        marked, half = page.marked, page.region.y + page.size.height // 2
        is_read = marked is not None and page.is_in_sight(marked)
        begun = 0
        for number, section in enumerate(self._sections):
            if is_read and marked in section.tasks:
                return number
            if section.heading.region.y < half:
                begun = number
        return begun

    def _rows(self, here: int, done: tuple[int, ...]) -> Iterator[Lines]:
        for number, (section, count) in enumerate(zip(self._sections, done, strict=True)):
            is_here, tasks = number == here, len(section.tasks)
            title = prose(section.title)
            title = title.stylize("bold") if is_here else title
            mark = word("next", "> ") if is_here else Content("  ")
            yield Line(mark + title, "" if not tasks else _amount(count, tasks))


def _meanings(words: Iterable[Reference]) -> Iterator[Lines | Content]:
    """Yield each word, and below it what it means."""
    for one in words:
        yield Content.styled(visible(one.target), "bold $label")
        yield Hanging("  ", prose(" ".join(one.text.split())))


def _amount(done: int, tasks: int) -> str:
    return "done" if done == tasks else f"{done} of {tasks} done"


def _sections(widgets: Iterable[Widget]) -> Iterator[Section]:
    """Yield the sections of a page, each with what a lesson is made of; more can be tried."""
    section: Section | None = None
    for widget in widgets:
        if isinstance(widget, MarkdownH1 | MarkdownH2):
            if section:
                yield section
            section = Section(widget, (widget.source or "").lstrip("#").strip())
        elif section and _is_task(widget):
            section.tasks.append(widget)
    if section:
        yield section


def _is_task(widget: Widget) -> TypeGuard[BlockView | QuestionView]:
    if isinstance(widget, BlockView):
        return widget.block.is_try or not widget.block.is_optional
    return isinstance(widget, QuestionView)
