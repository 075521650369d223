"""All lessons: what is done, what is open, and a search in all there is to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input

from tpustarter import content
from tpustarter.content import Lesson
from tpustarter.learning import markdown, progress, then_now
from tpustarter.learning.progress import Progress
from tpustarter.learning.then_now import Claim
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, word
from tpustarter.tui.messages import LOOK, SEARCH, Looked
from tpustarter.tui.plain import plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.references import read_glossary
from tpustarter.tui.screens.page import Page, Sheet
from tpustarter.tui.screens.words import Entry
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import Row, Rows, app_of

FILTERS = ("all", "open", "done")
HITS = 3
"""Lines of a lesson shown below it when they hold what is searched."""
OLD = "older tutorials"
"""Title of what they say, and the first half of its rows' ids: no lesson has that name."""
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_MARKS = re.compile(r"^(?:#+|[*>+-]|\||\d+\.)\s+|\*\*|`|\s*\|$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


@dataclass(frozen=True)
class Shelf:
    """Every lesson, how far one is, the glossary, and what older tutorials say."""

    lessons: list[Lesson]
    done: Progress
    words: dict[str, tuple[str, str]]
    """By anchor: a word and what it means."""
    claims: dict[str, Claim]
    """What older tutorials say, by id."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    text: str
    lines: dict[str, list[tuple[int, str]]]
    """By lesson: line number and line, as it is read."""
    titles: frozenset[str]
    """The lessons whose title holds it."""
    words: list[str]
    """The words of the glossary that it is in, by anchor."""
    names_word: bool
    """Whether it is in a word itself: those come before what stands in lessons."""
    claims: list[Claim]
    """What older tutorials say of it."""


class SearchLine(Input):
    """Where one types what is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "submit", "to the list", key_display="Down", tooltip="choose among them"),
    ]


class OlderClaim(Sheet):
    """What older tutorials say of one thing, and what is true today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
    ]

    def __init__(self, claim: Claim) -> None:
        self._lesson = (claim.lesson or "").partition("#")[0]
        told = {"Then": claim.then, "Now": claim.now}
        told |= {"Lesson": f"`{self._lesson}`"} if self._lesson else {}
        told |= {"Shown by": f"`{claim.proof}`"} if claim.proof else {}
        told |= {"Source": claim.source}
        text = "\n\n".join(f"**{name}:** {said}" for name, said in told.items())
        title = visible(f"{claim.id}  {claim.status}")
        super().__init__(title, LessonText(plain_source(text)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the lesson where there is one."""
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    def action_lesson(self) -> None:
        """Open the lesson in the place of the sheet."""
        cast("Tutor", app_of(self)).go.to_lesson_instead(self._lesson)


class Lessons(Page):
    """The list of lessons."""

    HELP = """
Every lesson, in the order of its track. Enter opens the marked one.

* `/` looks for text in titles, lessons, the glossary and what older tutorials say. The lines that
  hold it stand below each title; Enter on one opens the lesson there.
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
            lessons = content.read_lessons(self.tutor.lessons)
            words = read_glossary(self.tutor.lessons)
            claims = {one.id: one for one in then_now.read(self.tutor.lessons)}
            self.post_message(Looked(Shelf(lessons, progress.read(), words, claims)))
        except Problem as problem:
            self.post_message(Looked(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=SEARCH)
    def _search(self, shelf: Shelf, text: str) -> None:
        self.post_message(Looked(_search(shelf, text)))

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
            is_new = self._found is None or self._found.text != message.what.text
            self._found = message.what
            self._show(from_first=is_new)
            return
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

    def _show(self, *, from_first: bool = False) -> None:
        rows = list(self._rows())
        first = next((row.id for row in rows if row.id), None)
        self.query_one(Rows).show(rows, highlight=first if from_first else None)
        shown = len(self._wanted(self._shelf)) if self._shelf else 0
        total = len(self._shelf.lessons) if self._shelf else 0
        kind = "" if self._filter == "all" else f", {self._filter}"
        self.rename(f"Lessons{kind}: {shown} of {total}")

    def _wanted(self, shelf: Shelf) -> list[Lesson]:
        """Return the lessons to show: those whose title holds what is searched come first."""
        states = {"all": (True, False), "open": (False,), "done": (True,)}[self._filter]
        kept = [one for one in shelf.lessons if _is_done(shelf, one) in states]
        found = self._found
        if found is None:
            return kept
        hits = [one for one in kept if one.id in found.lines]
        return sorted(hits, key=lambda one: one.id not in found.titles)

    def _rows(self) -> Iterator[Row]:
        shelf, found, title = self._shelf, self._found, ""
        if shelf is None:
            return
        words, claims = list(self._words(shelf)), list(self._claims())
        for lesson in self._wanted(shelf):
            named = found is not None and lesson.id in found.titles
            if found and found.names_word and not named:
                yield from words if title else words[1:]
                words, title = [], title or "glossary"
            name = "in the title" if named else lesson.id.split("/")[0]
            if name != title:
                if title:
                    yield Row(None, "")
                title = name
                yield Row(None, Content.styled(visible(name), "bold"))
            yield self._lesson_row(shelf, lesson)
            for number, line in found.lines[lesson.id] if found else []:
                label = Content(f"          {number}: ")
                text = Content.styled(visible(line)[:200], "dim")
                yield Row(f"{lesson.id}#{number}", Hanging(label, text))
        yield from words if title else words[1:]
        yield from claims if title or words else claims[1:]
        if not (title or words or claims):
            yield Row(None, "Nothing here. Esc shows all lessons." if found else "None yet.")

    def _words(self, shelf: Shelf) -> Iterator[Row]:
        found = self._found
        if found and found.words:
            yield Row(None, "")
            yield Row(None, Content.styled("glossary", "bold"))
        for one in found.words if found else []:
            label = Content.styled(f"  {visible(shelf.words[one][0])}  ", "bold")
            meaning = visible(_read(" ".join(shelf.words[one][1].split())))
            yield Row(f"#{one}", Hanging(label, meaning))

    def _claims(self) -> Iterator[Row]:
        claims = self._found.claims if self._found else []
        if claims:
            yield Row(None, "")
            yield Row(None, Content.styled(OLD, "bold"))
        for one in claims:
            label = Content.styled(f"  {visible(one.id)}  ", "bold")
            yield Row(f"{OLD}#{one.id}", Hanging(label, visible(_read(one.then))))

    def _lesson_row(self, shelf: Shelf, lesson: Lesson) -> Row:
        begun = "begun" if lesson.id in shelf.done.lessons else ""
        state = "done" if _is_done(shelf, lesson) else begun
        left = Content("  ") + word(state, state, 6) + visible(lesson.title)
        return Row(lesson.id, left, f"{visible(str(lesson.header.get('minutes', '?')))} min")

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open the lesson, at the line that was found, or show the word or the older claim."""
        lesson, hash_, place = str(event.option_id).partition("#")
        if self._shelf and lesson in ("", OLD):
            shelf = self._shelf
            sheet = OlderClaim(shelf.claims[place]) if lesson else Entry(*shelf.words[place])
            self.tutor.push_screen(sheet)
            return
        hits = self._found.lines.get(lesson, []) if self._found else []
        begins = "" if self._found and lesson in self._found.titles else hits[0][1] if hits else ""
        at = next((line for number, line in hits if hash_ and str(number) == place), begins)
        self.tutor.go.to_lesson(lesson, at=at)


def _is_done(shelf: Shelf, lesson: Lesson) -> bool:
    known = shelf.done.lessons.get(lesson.id)
    return known is not None and known.done is not None


def _search(shelf: Shelf, text: str) -> Found:
    """Look for a text in titles, lines and words; what is only markup is not found."""
    wanted = text.casefold()
    lines: dict[str, list[tuple[int, str]]] = {}
    titles = {one.id for one in shelf.lessons if wanted in f"{one.id} {one.title}".casefold()}
    for lesson in shelf.lessons:
        hits = [
            (lesson.first_line + number, read)
            for number, line in enumerate(markdown.source_lines(lesson))
            if wanted in (read := _read(line)).casefold()
        ]
        if hits or lesson.id in titles:
            lines[lesson.id] = hits[:HITS]
    named = [one for one, (name, _) in shelf.words.items() if wanted in name.casefold()]
    told = [one for one, (_, meaning) in shelf.words.items() if wanted in meaning.casefold()]
    words = named or told
    claims = then_now.search(shelf.claims.values(), text)
    return Found(text, lines, frozenset(titles), words, bool(named), claims)


def _read(line: str) -> str:
    """Return a line of Markdown as it is read: without its marks."""
    return "" if _FENCE.match(line) else _MARKS.sub("", _LINK.sub(r"\1", line.strip()))
