"""What a lesson refers to, to look at or to follow: words, lessons, checks, web addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual import on
from textual.content import Content
from textual.widget import Widget

from tpustarter.checking.selfcheck import Request
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, heading, prose
from tpustarter.tui.plain import plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.references import Reference
from tpustarter.tui.screens.page import Notice, Page, Sheet
from tpustarter.tui.widgets import Row, Rows


class Entry(Sheet):
    """One word of the glossary."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(visible(name), LessonText(plain_source(meaning)))


WIDEST_LABEL = 22
"""Columns of a word, to which shorter ones are filled up."""
WIDE = 80
"""Columns from which they are."""


class Words(Page):
    """The list of what a lesson refers to."""

    HELP = """
This is what the lesson refers to, and Enter follows the marked line:

* a **word** shows its entry in the glossary, a **lesson** is opened, a **check** is run;
* a **web** address is shown in full, to be copied. Nothing is opened outside this program.
"""

    def __init__(self, title: str, refers: list[Reference]) -> None:
        super().__init__(f"Words and links: {title}")
        self._references = {str(number): reference for number, reference in enumerate(refers)}

    def body(self) -> Iterable[Widget]:
        """Return the list."""
        yield Rows(id="words")

    def on_mount(self) -> None:
        """Show all of it."""
        rows = self.query_one(Rows)
        self.set_focus(rows)
        rows.show(self._rows())
        self.entitle("words", "What this lesson refers to")

    def _rows(self) -> Iterator[Row]:
        kind, widths = "", dict[str, int]()
        most = WIDEST_LABEL if self.tutor.size.width >= WIDE else 0
        for reference in self._references.values():
            width = min(len(visible(reference.target)), most)
            widths[reference.kind] = max(width, widths.get(reference.kind, 0))
        for number, reference in self._references.items():
            if reference.kind != kind:
                if kind:
                    yield Row(None, "")
                kind = reference.kind
                yield Row(None, heading(kind))
            target = visible(reference.target)
            label = Content.styled(f"  {target:<{widths[kind]}}  ", "bold")
            yield Row(number, Hanging(label, prose(" ".join(reference.text.split()))))

    @on(Rows.OptionSelected)
    def follow(self, event: Rows.OptionSelected) -> None:
        """Go where the marked line leads."""
        reference = self._references[str(event.option_id)]
        app = self.tutor
        if reference.kind == "Words":
            app.push_screen(Entry(reference.target, reference.text))
        elif reference.kind == "Lessons":
            app.go.to_lesson(reference.target)
        elif reference.kind == "Checks":
            request = Request(ids=(reference.target,), devices=app.choices.devices)
            app.go.to_checks(request, f"Check {visible(reference.target)}")
        else:
            text = f"{reference.target}\n\nCopy it into a browser; tpustarter opens no address."
            app.push_screen(Notice("On the web", text))
