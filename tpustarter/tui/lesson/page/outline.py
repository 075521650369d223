"""A lesson's margin on a wide terminal, with an outline and the lesson's glossary words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import SidePanel
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    TextLine,
    status_word,
    style_sentence,
)
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.page.lesson_page import LessonPage
from tpustarter.tui.lesson.page.question import QuestionView
from tpustarter.tui.lesson.references import LessonReference
from tpustarter.tui.terminal.markdown_blocks import MarkdownH1, MarkdownH2

BESIDE = 150
"""Minimum screen width for the margin, in columns."""


@dataclass
class OutlineSection:
    """A heading and the tasks below it."""

    heading: Widget
    title: str
    tasks: list[BlockView | QuestionView] = field(default_factory=list[BlockView | QuestionView])


class LessonMargin(Vertical):
    """The column next to a lesson, with its outline above its glossary words."""

    def __init__(self) -> None:
        self.outline = Outline()
        self._words = SidePanel("terms", "w lists all of them")
        self._words.border_title = "Words of this lesson"
        super().__init__(self.outline, self._words, id="margin")

    def show(self, page: LessonPage, refers: Iterable[LessonReference]) -> None:
        """Show the page's sections and the glossary words among the lesson's references."""
        self.outline.show(page)
        words = [one for one in refers if one.kind == "Words"]
        self._words.show(StackedText(_meanings(words)))
        self.set_class(not words, "-wordless")


class Outline(Static):
    """A lesson's sections, with the reader's position and how many tasks are done in each."""

    def __init__(self) -> None:
        super().__init__(id="outline")
        self.border_title = "In this lesson"
        self._sections: list[OutlineSection] = []
        self._shown: tuple[object, ...] = ()

    def show(self, page: LessonPage) -> None:
        """List the sections of a lesson's page."""
        self._sections = list(_sections(page.walk_children(Widget)))
        self.follow(page)

    def follow(self, page: LessonPage) -> None:
        """Update the reader's position and the completed tasks, if either has changed."""
        here = self._place(page)
        done = tuple(sum(task.is_done for task in section.tasks) for section in self._sections)
        if self._shown != (here, done):
            self._shown = (here, done)
            self.update(StackedText(self._rows(here, done)))

    def _place(self, page: LessonPage) -> int:
        """Return the section of the marked block if it is in view, otherwise the one being read.

        That is the last section whose heading is above the middle of the page.
        """
        marked, half = page.marked_block, page.region.y + page.size.height // 2
        is_read = marked is not None and page.is_in_sight(marked)
        begun = 0
        for number, section in enumerate(self._sections):
            if is_read and marked in section.tasks:
                return number
            if section.heading.region.y < half:
                begun = number
        return begun

    def _rows(self, here: int, done: tuple[int, ...]) -> Iterator[LaidOutLines]:
        for number, (section, count) in enumerate(zip(self._sections, done, strict=True)):
            is_here, tasks = number == here, len(section.tasks)
            title = style_sentence(section.title)
            title = title.stylize("bold") if is_here else title
            mark = status_word("next", "> ") if is_here else Content("  ")
            yield TextLine(mark + title, "" if not tasks else _amount(count, tasks))


def _meanings(words: Iterable[LessonReference]) -> Iterator[LaidOutLines | Content]:
    for one in words:
        yield Content.styled(escape_text(one.target), "bold $label")
        yield HangingText("  ", style_sentence(" ".join(one.text.split())))


def _amount(done: int, tasks: int) -> str:
    return "done" if done == tasks else f"{done} of {tasks} done"


def _sections(widgets: Iterable[Widget]) -> Iterator[OutlineSection]:
    """Yield a page's sections with their tasks, without optional blocks."""
    section: OutlineSection | None = None
    for widget in widgets:
        if isinstance(widget, MarkdownH1 | MarkdownH2):
            if section:
                yield section
            section = OutlineSection(widget, (widget.source or "").lstrip("#").strip())
        elif section and _is_task(widget):
            section.tasks.append(widget)
    if section:
        yield section


def _is_task(widget: Widget) -> TypeGuard[BlockView | QuestionView]:
    if isinstance(widget, BlockView):
        return widget.block.is_try or not widget.block.is_optional
    return isinstance(widget, QuestionView)
