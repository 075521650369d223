"""All lessons: what is done, what is open, and a search in all there is to read."""

from __future__ import annotations

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
from tpustarter.tui.widgets import Row, Rows, get_app

FILTERS = ("all", "open", "done")
HITS = 3
"""Lines of a lesson shown below it when they hold what is searched."""
OLD = "older tutorials"
"""Title of what they say, and the first half of its rows' ids: no lesson has that name."""


@dataclass(frozen=True)
class Library:
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
        fields = {"Then": claim.then, "Now": claim.now}
        fields |= {"Lesson": f"`{self._lesson}`"} if self._lesson else {}
        fields |= {"Shown by": f"`{claim.proof}`"} if claim.proof else {}
        fields |= {"Source": claim.source}
        text = "\n\n".join(f"**{name}:** {value}" for name, value in fields.items())
        title = visible(f"{claim.id}  {claim.status}")
        super().__init__(title, LessonText(plain_source(text)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the lesson where there is one."""
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    def action_lesson(self) -> None:
        """Open the lesson in the place of the sheet."""
        cast("Tutor", get_app(self)).go.to_lesson_instead(self._lesson)


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
        self._shelf: Library | None = None
        self._matches: Found | None = None
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
            claims = {claim.id: claim for claim in then_now.read(self.tutor.lessons)}
            self.post_message(Looked(Library(lessons, progress.read(), words, claims)))
        except Problem as problem:
            self.post_message(Looked(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=SEARCH)
    def _search(self, shelf: Library, text: str) -> None:
        self.post_message(Looked(_search_shelf(shelf, text)))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now."""
        if isinstance(message.what, Problem):
            self.query_one(Rows).show(
                [Row(None, Hanging("", visible(line))) for line in str(message.what).split("\n")]
            )
            return
        if isinstance(message.what, Library):
            if message.what == self._shelf:
                return
            self._shelf = message.what
            self.search_for(self.query_one(Input).value)
        elif message.what.text == self.query_one(Input).value.strip():
            is_new = self._matches is None or self._matches.text != message.what.text
            self._matches = message.what
            self._show(from_first=is_new)
            return
        self._show()

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        self.search_for(event.value)

    def search_for(self, text: str) -> None:
        """Show lessons that hold a text; all of them for none."""
        text = text.strip()
        if text and self._shelf:
            self._search(self._shelf, text)
        elif self._matches:
            self._matches = None
            self._show()

    @on(Input.Submitted)
    def to_list(self) -> None:
        """Choose among what was found; what is on show may be older than what was typed."""
        text = self.query_one(Input).value.strip()
        if text == (self._matches.text if self._matches else ""):
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
        count = len(self._filtered_lessons(self._shelf)) if self._shelf else 0
        total = len(self._shelf.lessons) if self._shelf else 0
        kind = "" if self._filter == "all" else f", {self._filter}"
        self.rename(f"Lessons{kind}: {count} of {total}")

    def _filtered_lessons(self, shelf: Library) -> list[Lesson]:
        """Return the lessons to show: those whose title holds what is searched come first."""
        states = {"all": (True, False), "open": (False,), "done": (True,)}[self._filter]
        lessons = [lesson for lesson in shelf.lessons if _is_done(shelf, lesson) in states]
        matches = self._matches
        if matches is None:
            return lessons
        hits = [lesson for lesson in lessons if lesson.id in matches.lines]
        return sorted(hits, key=lambda lesson: lesson.id not in matches.titles)

    def _rows(self) -> Iterator[Row]:
        shelf, matches, title = self._shelf, self._matches, ""
        if shelf is None:
            return
        words, claims = list(self._word_rows(shelf)), list(self._claim_rows())
        for lesson in self._filtered_lessons(shelf):
            in_title = matches is not None and lesson.id in matches.titles
            if matches and matches.names_word and not in_title:
                yield from words if title else words[1:]
                words, title = [], title or "glossary"
            name = "in the title" if in_title else lesson.id.split("/")[0]
            if name != title:
                if title:
                    yield Row(None, "")
                title = name
                yield Row(None, Content.styled(visible(name), "bold"))
            yield self._lesson_row(shelf, lesson)
            for number, line in matches.lines[lesson.id] if matches else []:
                label = Content(f"          {number}: ")
                text = Content.styled(visible(line)[:200], "dim")
                yield Row(f"{lesson.id}#{number}", Hanging(label, text))
        yield from words if title else words[1:]
        yield from claims if title or words else claims[1:]
        if not (title or words or claims):
            yield Row(None, "Nothing here. Esc shows all lessons." if matches else "None yet.")

    def _word_rows(self, shelf: Library) -> Iterator[Row]:
        matches = self._matches
        if matches and matches.words:
            yield Row(None, "")
            yield Row(None, Content.styled("glossary", "bold"))
        for anchor in matches.words if matches else []:
            label = Content.styled(f"  {visible(shelf.words[anchor][0])}  ", "bold")
            meaning = visible(markdown.plain(" ".join(shelf.words[anchor][1].split())))
            yield Row(f"#{anchor}", Hanging(label, meaning))

    def _claim_rows(self) -> Iterator[Row]:
        claims = self._matches.claims if self._matches else []
        if claims:
            yield Row(None, "")
            yield Row(None, Content.styled(OLD, "bold"))
        for claim in claims:
            label = Content.styled(f"  {visible(claim.id)}  ", "bold")
            yield Row(f"{OLD}#{claim.id}", Hanging(label, visible(markdown.plain(claim.then))))

    def _lesson_row(self, shelf: Library, lesson: Lesson) -> Row:
        begun = "begun" if lesson.id in shelf.done.lessons else ""
        state = "done" if _is_done(shelf, lesson) else begun
        label = Content("  ") + word(state, state, 6) + visible(lesson.title)
        return Row(lesson.id, label, f"{visible(str(lesson.header.get('minutes', '?')))} min")

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open the lesson, at the line that was found, or show the word or the older claim."""
        lesson, hash_, fragment = str(event.option_id).partition("#")
        if self._shelf and lesson in ("", OLD):
            shelf = self._shelf
            sheet = OlderClaim(shelf.claims[fragment]) if lesson else Entry(*shelf.words[fragment])
            self.tutor.push_screen(sheet)
            return
        hits = self._matches.lines.get(lesson, []) if self._matches else []
        start = (
            "" if self._matches and lesson in self._matches.titles else hits[0][1] if hits else ""
        )
        at = next((line for number, line in hits if hash_ and str(number) == fragment), start)
        self.tutor.go.to_lesson(lesson, at=at)


def _is_done(shelf: Library, lesson: Lesson) -> bool:
    record = shelf.done.lessons.get(lesson.id)
    return record is not None and record.done is not None


def _search_shelf(shelf: Library, text: str) -> Found:
    """Look for a text in titles, lines and words; what is only markup is not found."""
    needle = text.casefold()
    lines: dict[str, list[tuple[int, str]]] = {}
    titles = {
        lesson.id for lesson in shelf.lessons if needle in f"{lesson.id} {lesson.title}".casefold()
    }
    for lesson in shelf.lessons:
        hits = [
            (number, line.strip())
            for number, line in markdown.plain_lines(lesson)
            if needle in line.casefold()
        ]
        if hits or lesson.id in titles:
            lines[lesson.id] = hits[:HITS]
    by_name = [anchor for anchor, (name, _) in shelf.words.items() if needle in name.casefold()]
    by_meaning = [
        anchor for anchor, (_, meaning) in shelf.words.items() if needle in meaning.casefold()
    ]
    words = by_name or by_meaning
    claims = then_now.search(shelf.claims.values(), text)
    return Found(text, lines, frozenset(titles), words, bool(by_name), claims)
