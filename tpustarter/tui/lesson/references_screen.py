"""The screen with a lesson's words and links, and the dialog with a glossary entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalGroup
from textual.content import Content
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.checking.machine_check import CheckRequest
from tpustarter.core import content
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.app.session import find_session
from tpustarter.tui.home import course_facts
from tpustarter.tui.kit.markdown_text import LessonText
from tpustarter.tui.kit.page import NoticeSheet, PanelPage, Sheet
from tpustarter.tui.kit.row_list import Row, RowList, SidePanel
from tpustarter.tui.kit.safe_text import plain_source
from tpustarter.tui.kit.text_layout import HangingText, StackedText, group_heading, style_sentence
from tpustarter.tui.lesson.references import LessonReference
from tpustarter.tui.library import lesson_details, search_details

if TYPE_CHECKING:
    from tpustarter.tui.home.course_facts import Course


class GlossaryEntry(Sheet):
    """A dialog with a glossary word, its meaning, and the lessons that use it."""

    def __init__(self, name: str, meaning: str, course: Course | None = None) -> None:
        self._users = search_details.find_lessons_using(name, course)
        listed = (
            (Static(group_heading(search_details.USERS)), RowList(id="users"))
            if self._users
            else ()
        )
        text = LessonText(plain_source(meaning))  # it ends with a blank line
        super().__init__(escape_text(name), VerticalGroup(text, *listed))

    def on_mount(self) -> None:
        for rows in self.query(RowList):
            rows.show(Row(lesson.id, escape_text(lesson.title)) for lesson in self._users)
            self.set_focus(rows, scroll_visible=False)

    @on(RowList.OptionSelected)
    def open_lesson(self, event: RowList.OptionSelected) -> None:
        """Open the selected lesson and close the entry."""
        self.dismiss()
        find_session(self).go.open_lesson(str(event.option_id))


BESIDE = 120
"""Minimum screen width, in columns, for describing a line's target next to the list."""
WIDE = 80
"""Minimum screen width, in columns, for padding words and ids to the longest of their kind."""


class ReferencesScreen(PanelPage):
    """The list of a lesson's references."""

    HELP = """
This is what the lesson refers to, and Enter follows the marked line.

* A **word** shows its entry in the glossary, a **lesson** is opened, and a **check** is run.
* A **web** address is shown in full, to be copied. Nothing is opened outside this program.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "read_on", "read on", show=False, tooltip="about the marked line"),
    ]

    def __init__(self, title: str, refers: list[LessonReference]) -> None:
        super().__init__(f"Words and links: {title}")
        self._references = {str(number): reference for number, reference in enumerate(refers)}
        self._course: Course | None = None
        self._checks = dict[str, content.Check]()

    def body(self) -> Iterable[Widget]:
        yield Horizontal(RowList(id="words"), SidePanel("detail"), id="shelf")

    def on_mount(self) -> None:
        self.set_focus(self.query_one(RowList))
        self.set_area_title("words", "What this lesson refers to")
        self._read()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BESIDE, "-beside")
        self.query_one(RowList).show(self._rows())

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        self.post_message(
            FactsLoaded(
                (
                    course_facts.read_course(self.tutor.lessons),
                    {one.id: one for one in content.read_checks(self.tutor.checks)},
                )
            )
        )

    def on_facts_loaded(
        self, message: FactsLoaded[tuple[Course, dict[str, content.Check]]]
    ) -> None:
        self._course, self._checks = message.facts
        self._describe()

    @on(RowList.OptionHighlighted)
    def _describe(self) -> None:
        reference = self._references[self.query_one(RowList).highlighted_id or "0"]
        self.query_one(SidePanel).show(self._describe_reference(reference))
        self.set_area_title("detail", _name(reference))

    def _describe_reference(self, reference: LessonReference) -> VisualType:
        name, course = reference.target, self._course
        if reference.kind == "Words":
            return search_details.describe_word(name, reference.text, course)
        if reference.kind == "Lessons" and course and name in course.lessons:
            return lesson_details.describe_lesson(course.lessons[name], course, None)
        if reference.kind == "Checks" and name in self._checks:
            return search_details.describe_check(self._checks[name])
        text = style_sentence(" ".join(reference.text.split()))
        whole = [Content(escape_text(name)), Content("")] if reference.kind == "On the web" else []
        return StackedText([*whole, text])  # the border title and the row truncate a long address

    def _rows(self) -> Iterator[Row]:
        kind, widths = "", dict[str, int]()
        is_wide = self.tutor.size.width >= WIDE
        for reference in self._references.values():
            fills = is_wide and reference.kind != "On the web"  # an address leaves no space
            width = len(escape_text(reference.target)) if fills else 0
            widths[reference.kind] = max(width, widths.get(reference.kind, 0))
        for number, reference in self._references.items():
            if reference.kind != kind:
                if kind:
                    yield Row(None, "")
                kind = reference.kind
                yield Row(None, group_heading(kind))
            target = escape_text(reference.target)
            if self.has_class("-beside"):
                yield Row(number, f"  {_name(reference)}")
                continue
            label = Content.styled(f"  {target:<{widths[kind]}}  ", "bold")
            yield Row(number, HangingText(label, style_sentence(" ".join(reference.text.split()))))

    @on(RowList.OptionSelected)
    def follow(self, event: RowList.OptionSelected) -> None:
        """Open the target of the selected line."""
        reference = self._references[str(event.option_id)]
        app = self.tutor
        if reference.kind == "Words":
            app.push_screen(GlossaryEntry(reference.target, reference.text, self._course))
        elif reference.kind == "Lessons":
            app.go.open_lesson(reference.target)
        elif reference.kind == "Checks":
            request = CheckRequest(ids=(reference.target,), devices=app.choices.devices)
            app.go.open_checks(request, f"Check {escape_text(reference.target)}")
        else:
            text = f"{reference.target}\n\nCopy it into a browser; tpustarter opens no address."
            app.push_screen(NoticeSheet("On the web", text))


def _name(reference: LessonReference) -> str:
    return escape_text(reference.text if reference.kind == "Lessons" else reference.target)
