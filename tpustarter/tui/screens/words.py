"""What a lesson refers to, to look at or to follow: words, lessons, checks, web addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from textual import on
from textual.content import Content
from textual.widget import Widget

from tpustarter import locations
from tpustarter.blocks import anchor, tokens
from tpustarter.content import Lesson
from tpustarter.report.text import visible
from tpustarter.selfcheck import Request
from tpustarter.tui import commands
from tpustarter.tui.plain import plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.screens.page import Notice, Page, Sheet
from tpustarter.tui.widgets import Hanging, Row, Rows

GLOSSARY = "glossary.md"


@dataclass(frozen=True)
class Reference:
    """One thing a lesson refers to."""

    kind: str
    """The title it stands below."""
    target: str
    """Of a word its heading, of a lesson or check its id, and the address of a page."""
    text: str = ""
    """What the word means, or what is said of the target."""


def references(lesson: Lesson, lessons: Iterable[Lesson], folder: Path | None) -> list[Reference]:
    """Return what a lesson refers to, each once: words first, web addresses last."""
    meanings = read_glossary(folder)
    paths = {one.path.resolve(): one for one in lessons}
    found = list[Reference]()
    for target, text in _links(lesson.text):
        name, _, heading = target.partition("#")
        if re.match("https?://", target):
            found.append(Reference("On the web", target, text))
        elif name.endswith(GLOSSARY):
            found += [Reference("Words", *meanings[heading])] if heading in meanings else []
        elif other := paths.get((lesson.path.parent / name).resolve()):
            found.append(Reference("Lessons", other.id, other.title))
    found += [Reference("Checks", one, "Enter runs it") for one in texts(lesson, "checks")]
    known = {one.target for one in found}
    sources = [one for one in texts(lesson, "sources") if one not in known]
    found += [Reference("On the web", one) for one in sources]
    kinds = ("Words", "Lessons", "Checks", "On the web")
    return sorted(
        {one.target: one for one in found}.values(), key=lambda one: kinds.index(one.kind)
    )


def texts(lesson: Lesson, key: str) -> list[str]:
    """Return a list in the lesson's header."""
    found: Any = lesson.header.get(key)
    return [str(one) for one in cast("list[Any]", found)] if isinstance(found, list) else []


def _links(text: str) -> Iterator[tuple[str, str]]:
    """Yield where each link of a Markdown text leads, and what it is called."""
    for token in tokens(text):
        target, title = "", ""
        for child in token.children or ():
            if child.type == "link_open":
                target, title = str(child.attrs["href"]), ""
            elif child.type == "link_close":
                yield target, title
            else:
                title += child.content


def read_glossary(folder: Path | None) -> dict[str, tuple[str, str]]:
    """Return the glossary of a folder of lessons: heading and meaning by anchor."""
    file = (folder or locations.content("lessons")) / GLOSSARY
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return {}
    entries = re.findall(r"^## (.+)\n+((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return {anchor(name): (name, meaning.strip()) for name, meaning in entries}


class Entry(Sheet):
    """One word of the glossary."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(visible(name), LessonText(plain_source(meaning)))


class Words(Page):
    """The list of what a lesson refers to."""

    HELP = """
What the lesson refers to. Enter follows the marked line:

* a **word** shows its entry in the glossary, a **lesson** is opened, a **check** is run;
* a **web** address is shown in full, to be copied. Nothing is opened outside this program.
"""

    def __init__(self, title: str, refers: list[Reference]) -> None:
        super().__init__(f"Words and links: {title}")
        self._refers = {str(number): one for number, one in enumerate(refers)}

    def body(self) -> Iterable[Widget]:
        """Return the list."""
        yield Rows(id="words")

    def on_mount(self) -> None:
        """Show all of it."""
        rows = self.query_one(Rows)
        self.set_focus(rows)
        rows.show(self._rows())

    def _rows(self) -> Iterator[Row]:
        kind = ""
        for number, one in self._refers.items():
            if one.kind != kind:
                if kind:
                    yield Row(None, "")
                kind = one.kind
                yield Row(None, Content.styled(kind, "bold"))
            label = Content.styled(f"  {visible(one.target)}  ", "bold")
            yield Row(number, Hanging(label, visible(" ".join(one.text.split()))))

    @on(Rows.OptionSelected)
    def follow(self, event: Rows.OptionSelected) -> None:
        """Go where the marked line leads."""
        one = self._refers[str(event.option_id)]
        app = self.starter
        if one.kind == "Words":
            app.push_screen(Entry(one.target, one.text))
        elif one.kind == "Lessons":
            commands.open_lesson(app, one.target)
        elif one.kind == "Checks":
            request = Request(ids=(one.target,), devices=app.choices.devices)
            commands.open_checks(app, request, f"Check {visible(one.target)}")
        else:
            told = f"{one.target}\n\nCopy it into a browser; tpustarter opens no address."
            app.push_screen(Notice("On the web", told))
