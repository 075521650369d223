"""What a lesson refers to, to look at or to follow: words, lessons, checks, web addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalGroup
from textual.content import Content
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from tpustarter import content
from tpustarter.checking.selfcheck import Request
from tpustarter.terminal import visible
from tpustarter.tui import found_detail, known, lesson_detail
from tpustarter.tui.lines import Hanging, Stack, heading, prose
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.plain import plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.references import Reference
from tpustarter.tui.screens.page import Notice, Page, Sheet
from tpustarter.tui.widgets import Aside, Row, Rows, get_app

if TYPE_CHECKING:
    from tpustarter.tui.known import Course
    from tpustarter.tui.tutor import Tutor


class Entry(Sheet):
    """One word of the glossary, and the lessons that use it to choose from, where there are any."""

    def __init__(self, name: str, meaning: str, course: Course | None = None) -> None:
        self._users = found_detail.using(name, course)
        listed = (Static(heading(found_detail.USERS)), Rows(id="users")) if self._users else ()
        text = LessonText(plain_source(meaning))  # it ends with a blank line
        super().__init__(visible(name), VerticalGroup(text, *listed))

    def on_mount(self) -> None:
        """List the lessons, below what the word means."""
        for rows in self.query(Rows):
            rows.show(Row(lesson.id, visible(lesson.title)) for lesson in self._users)
            self.set_focus(rows, scroll_visible=False)

    @on(Rows.OptionSelected)
    def open_lesson(self, event: Rows.OptionSelected) -> None:
        """Open the marked lesson in place of the word."""
        self.dismiss()
        cast("Tutor", get_app(self)).go.to_lesson(str(event.option_id))


BESIDE = 120
"""Columns from which it is said beside the list what a line refers to."""
WIDE = 80
"""Columns from which words and ids are filled up to the longest of their kind."""


class Words(Page):
    """The list of what a lesson refers to."""

    HELP = """
This is what the lesson refers to, and Enter follows the marked line.

* A **word** shows its entry in the glossary, a **lesson** is opened, and a **check** is run.
* A **web** address is shown in full, to be copied. Nothing is opened outside this program.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "read_on", "read on", show=False, tooltip="about the marked line"),
    ]

    def __init__(self, title: str, refers: list[Reference]) -> None:
        super().__init__(f"Words and links: {title}")
        self._references = {str(number): reference for number, reference in enumerate(refers)}
        self._course: Course | None = None
        self._checks = dict[str, content.Check]()

    def body(self) -> Iterable[Widget]:
        """Return the list, and what the marked line refers to."""
        yield Horizontal(Rows(id="words"), Aside("detail"), id="shelf")

    def on_mount(self) -> None:
        """Show all of it."""
        self.set_focus(self.query_one(Rows))
        self.entitle("words", "What this lesson refers to")
        self._read()

    def on_resize(self) -> None:
        """Say what a line refers to beside it where there is room, else behind it."""
        super().on_resize()
        self.set_class(self.size.width >= BESIDE, "-beside")
        self.query_one(Rows).show(self._rows())

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        self.post_message(
            Looked(
                (
                    known.read(self.tutor.lessons),
                    {one.id: one for one in content.read_checks(self.tutor.checks)},
                )
            )
        )

    def on_looked(self, message: Looked) -> None:
        """Say more of lessons and checks."""
        self._course, self._checks = message.what
        self._describe()

    @on(Rows.OptionHighlighted)
    def _describe(self) -> None:
        """Say what the marked line refers to."""
        reference = self._references[self.query_one(Rows).chosen or "0"]
        self.query_one(Aside).show(self._said_of(reference))
        self.entitle("detail", _name(reference))

    def _said_of(self, reference: Reference) -> VisualType:
        name, course = reference.target, self._course
        if reference.kind == "Words":
            return found_detail.word(name, reference.text, course)
        if reference.kind == "Lessons" and course and name in course.lessons:
            return lesson_detail.describe(course.lessons[name], course, None)
        if reference.kind == "Checks" and name in self._checks:
            return found_detail.check(self._checks[name])
        text = prose(" ".join(reference.text.split()))
        whole = [Content(visible(name)), Content("")] if reference.kind == "On the web" else []
        return Stack([*whole, text])  # the frame and the row cut a long address

    def action_read_on(self) -> None:
        """Show the rest of it."""
        self.query_one(Aside).read_on()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to read on where there is more than fits."""
        if action == "read_on":
            return self.query_one(Aside).max_scroll_y > 0
        return super().check_action(action, parameters)

    def _rows(self) -> Iterator[Row]:
        kind, widths = "", dict[str, int]()
        is_wide = self.tutor.size.width >= WIDE
        for reference in self._references.values():
            fills = is_wide and reference.kind != "On the web"  # an address leaves no room
            width = len(visible(reference.target)) if fills else 0
            widths[reference.kind] = max(width, widths.get(reference.kind, 0))
        for number, reference in self._references.items():
            if reference.kind != kind:
                if kind:
                    yield Row(None, "")
                kind = reference.kind
                yield Row(None, heading(kind))
            target = visible(reference.target)
            if self.has_class("-beside"):
                yield Row(number, f"  {_name(reference)}")
                continue
            label = Content.styled(f"  {target:<{widths[kind]}}  ", "bold")
            yield Row(number, Hanging(label, prose(" ".join(reference.text.split()))))

    @on(Rows.OptionSelected)
    def follow(self, event: Rows.OptionSelected) -> None:
        """Go where the marked line leads."""
        reference = self._references[str(event.option_id)]
        app = self.tutor
        if reference.kind == "Words":
            app.push_screen(Entry(reference.target, reference.text, self._course))
        elif reference.kind == "Lessons":
            app.go.to_lesson(reference.target)
        elif reference.kind == "Checks":
            request = Request(ids=(reference.target,), devices=app.choices.devices)
            app.go.to_checks(request, f"Check {visible(reference.target)}")
        else:
            text = f"{reference.target}\n\nCopy it into a browser; tpustarter opens no address."
            app.push_screen(Notice("On the web", text))


def _name(reference: Reference) -> str:
    """Return what a line is called: of a lesson its title, else what it leads to."""
    return visible(reference.text if reference.kind == "Lessons" else reference.target)
