"""All lessons: what is done, what is open, and a search in all there is to read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input

from tpustarter.learning import exercises, search
from tpustarter.learning.search import Found, Library
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import found_detail, known, lesson_detail, lesson_rows
from tpustarter.tui.failed import named_file, of_text
from tpustarter.tui.known import Course
from tpustarter.tui.lesson_rows import CHECK, EXERCISE, LOG, MEANT, OLD
from tpustarter.tui.lines import Hanging, Stack, prose
from tpustarter.tui.messages import LOOK, SEARCH, Looked
from tpustarter.tui.screens.older_claim import OlderClaim
from tpustarter.tui.screens.page import EXPLAIN, Page
from tpustarter.tui.screens.search_line import SearchLine
from tpustarter.tui.screens.words import Entry
from tpustarter.tui.widgets import Aside, Row, Rows

if TYPE_CHECKING:
    from tpustarter.learning.search import Hit, Spot
    from tpustarter.learning.standing import Standing
    from tpustarter.learning.then_now import Claim

BESIDE, HIGH = 120, 20
"""Columns from which more is said of the marked lesson beside the list, and lines from which it is
said below what a search found, where there is no room beside it."""
HEAD, FOR_SENTENCE = 12, 10
"""Lines that a search needs besides the lessons it found, and for another sentence of each."""
STATES = {"all": (True, False), "open": (False,), "done": (True,)}
"""Which lessons are shown: whether those that are done, and those that are not."""


class Lessons(Page):
    """The list of lessons."""

    CALLED = "the list of lessons"
    HELP = """
This is the list of all lessons, first those of your path by its stages, then the others. Enter
opens the marked one.

* `/` searches titles, lessons, exercises, the glossary, checks and what older tutorials say. The
  sentences that match best stand below each title, and Enter on one opens the lesson there. The
  whole paragraph of the marked one stands beside the list, or below it.
* `v` shows only the lessons that are still open, then only those that are done, then all of them.
* A lesson is done when each of its blocks printed what it should, its tasks have passed and its
  questions are answered right. One that was left without the last two is called read.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "filter('open')", "only open ones", tooltip="tpustarter learn"),
        Binding("v", "filter('done')", "only done ones", tooltip="tpustarter learn"),
        Binding("v", "filter('all')", "all lessons", tooltip="tpustarter learn"),
        EXPLAIN,
        Binding("space", "read_on", "read on", show=False, tooltip="about the marked lesson"),
    ]

    def __init__(self, *, find: bool = False, text: str = "") -> None:
        super().__init__("Lessons")
        self._find = find
        self._text = text
        """What is looked for at first."""
        self._course: Course | None = None
        self._library: Library | None = None
        self._found: Found | None = None
        self._titles: dict[str, str] = {}
        """Of exercises, by id."""
        self._filter = "all"
        self._is_readable = True
        """Whether a search comes to an end: what it looks in was read, or is being read."""
        self._wanted: Callable[[], object] | None = None
        """What a key asked for before what was typed had been found."""
        self.is_ready = find

    def body(self) -> Iterable[Widget]:
        """Return the search line, the list, and what is said of the marked lesson."""
        line = SearchLine(
            self._text,
            placeholder="search lessons, glossary, checks and older tutorials",
            id="search",
            select_on_focus=False,
        )
        line.border_title = "Search"
        line.cursor_blink = False
        line.display = self._find
        return (line, Horizontal(Rows(id="lessons"), Aside("detail"), id="shelf"))

    def on_mount(self) -> None:
        """Put the focus where the keys go."""
        self.set_focus(self.query_one(Input) if self._find else self.query_one(Rows))

    def on_screen_resume(self) -> None:
        """Read again: a lesson may be done by now."""
        self._read()

    def on_resize(self) -> None:
        """Show more of the marked lesson where there is room."""
        self._place_detail()

    def _place_detail(self) -> None:
        """Say more of what is marked beside the list; of what was found also below it."""
        is_beside = self.size.width >= BESIDE
        self.set_class(is_beside, "-beside")
        is_below = bool(self._found) and not is_beside and self.size.height >= HIGH
        self.set_class(is_below and not self.has_class("-empty"), "-below")

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        course = known.read(self.tutor.lessons)
        self.post_message(Looked(course))
        self.post_message(Looked(exercises.titles(course.lessons.values())))
        try:
            shelf = search.read_shelf(self.tutor.lessons, self.tutor.checks)
            if self._library is None or self._library.shelf != shelf:
                synonyms = search.read_synonyms(self.tutor.lessons)
                self.post_message(Looked(Library(shelf, synonyms)))
        except Problem as problem:
            self.post_message(Looked(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=SEARCH)
    def _search(self, library: Library, text: str) -> None:
        path = self.tutor.path_of(self._course.paths) if self._course else None
        self.post_message(Looked(library.search(text, path.lessons if path else ())))

    def on_looked(self, message: Looked) -> None:
        """Show what is known now."""
        what = message.what
        if isinstance(what, Problem):
            self._is_readable, self._wanted = False, None
            self.entitle("lessons", "Nothing can be looked up")
            self._say(str(what))
            self.take_keys()
        elif isinstance(what, Course):
            is_new, self._course = self._course != what, what
            if what.trouble:
                self._say(what.trouble)
            elif is_new:
                self._show()
            if not self._wanted:
                self.take_keys()
        elif isinstance(what, dict):
            self._titles = cast("dict[str, str]", what)
        elif isinstance(what, Library):
            self._library, self._is_readable = what, True
            self.search_for(self.query_one(Input).value)
        elif what.text == self.query_one(Input).value.strip():
            is_new = self._found is None or self._found.text != what.text
            self._found = what
            self._show(from_first=is_new)
            wanted, self._wanted = self._wanted, None
            if wanted:
                wanted()
                self.take_keys()

    def _say(self, text: str) -> None:
        lines = text.split("\n")
        self.query_one(Rows).show([Row(None, Hanging("", visible(line))) for line in lines])

    @on(Input.Changed)
    def changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        self.search_for(event.value)

    def search_for(self, text: str) -> None:
        """Show what there is about a text; all lessons for none."""
        text = text.strip()
        if text and self._found is None and self._is_readable:  # else the list is of all lessons
            self.entitle("lessons", f"Looking for {text} ...")
        if text and self._library:
            self._search(self._library, text)
        elif self._found and not text:
            self._found = None
            self._show()

    @on(Input.Submitted)
    def open_first(self) -> None:
        """Open the best of what was found, once it is."""
        if not self._is_found:
            self._wait(self.open_first)
            return
        self.action_to_list()
        if self._found:
            self.query_one(Rows).action_select()

    def action_to_list(self) -> None:
        """Choose among what was found, once it is."""
        if self._is_found:
            self.set_focus(self.query_one(Rows))
        else:
            self._wait(self.action_to_list)

    @property
    def _is_found(self) -> bool:
        """Whether what is on show is what was typed, and nothing older."""
        return self.query_one(Input).value.strip() == (self._found.text if self._found else "")

    def _wait(self, wanted: Callable[[], object]) -> None:
        """Do what a key asked for when the search has ended, and act on no other before that."""
        if self._is_readable:
            self._wanted, self.is_ready = wanted, False

    def action_find(self, text: str = "") -> None:
        """Show the search line, with a text if one is given."""
        line = self.query_one(Input)
        line.display = True
        self.set_focus(line)
        if text:
            self._search_instead(text)
        else:
            line.select_all()

    def action_filter(self, kind: str) -> None:
        """Show another kind of lessons."""
        self._filter = kind
        self._show()
        self.refresh_bindings()

    def action_read_on(self) -> None:
        """Show the rest of what is said of the marked lesson."""
        self.query_one(Aside).read_on()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the kind of lessons that comes after the one on show."""
        if action == "read_on":
            return self.query_one(Aside).max_scroll_y > 0
        if action == "filter":
            kinds = [*STATES]
            return parameters == (kinds[(kinds.index(self._filter) + 1) % len(kinds)],)
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Leave the search first, then the screen."""
        line = self.query_one(Input)
        if line.display:
            line.display = False
            line.value = ""
            self.set_focus(self.query_one(Rows))
        else:
            self.dismiss()

    def _show(self, *, from_first: bool = False) -> None:
        course = self._course
        if course is None or course.trouble:
            return
        rows, standing = list(self._rows(course)), self._standing(course)
        shown = self.query_one(Rows)
        first = next((row.id for row in rows if row.id), None)
        is_first_time = shown.chosen is None and not self._found and standing
        target = standing.next if is_first_time and standing else first if from_first else None
        name, is_place, _ = (shown.chosen or "").partition("#")
        if is_place and not self._found and any(row.id == name for row in rows):
            target = name  # after a search the lesson stays marked of which a line was
        shown.show(rows, highlight=target)
        if shown.chosen is None:
            self.show_status("")
        self.query_one(SearchLine).is_meant = (first or "").startswith(MEANT)
        self.refresh_bindings()
        self.set_class(not any(row.id and MEANT not in row.id for row in rows), "-empty")
        self._place_detail()
        count = sum(1 for row in rows if row.id in course.lessons)
        kind = "" if self._filter == "all" else f", {self._filter}"
        every = len(course.lessons)
        is_part = self._found or count < every
        self.rename(f"Lessons{kind}: {count} of {every}" if is_part else f"{every} lessons")
        title = f"{len(course.done & course.lessons.keys())} of {every} done"
        if self._found:
            title = f"{'Found for' if self._found.hits else 'Nothing for'} {self._found.text}"
        self.entitle("lessons", title)

    def _rows(self, course: Course) -> Iterator[Row]:
        states = STATES[self._filter]
        if self._found:
            if path := named_file(self._found.text):
                yield lesson_rows.log(path)
                yield Row(None, "")
            most = max((self.size.height - HEAD) // FOR_SENTENCE, 1)
            yield from lesson_rows.found(
                course, self._found, states, titles=self._titles, spots=most
            )
            return
        rows = list(lesson_rows.listed(course, self._standing(course), states))
        yield from rows or [Row(None, "None yet. Press v to see the others.")]

    def _standing(self, course: Course) -> Standing | None:
        path = self.tutor.path_of(course.paths)
        return course.standing(path) if path else None

    @on(Rows.OptionHighlighted)
    def describe(self, event: Rows.OptionHighlighted) -> None:
        """Say more about the marked lesson, word, check or claim."""
        title, text = self._said_of(str(event.option_id))
        detail, course = self.query_one(Aside), self._course
        name = str(event.option_id).partition("#")[0]
        detail.set_class(course is not None and name not in course.lessons, "-brief")
        detail.show(text)
        detail.border_title = prose(title)  # it always has a whole frame

    def _said_of(self, option: str) -> tuple[str, VisualType]:
        """Return what is said of a row, and the title above it."""
        name, _, rest = option.partition("#")
        course, shelf = self._course, self._library.shelf if self._library else None
        if course and name in course.lessons:
            lesson, spot = course.lessons[name], self._leads_to(name, int(rest) if rest else None)
            said = lesson_detail.describe(lesson, course, self._standing(course))
            return lesson.title, Stack([*found_detail.around(spot), said]) if spot else said
        if course and name == EXERCISE:
            with contextlib.suppress(Problem):  # its own page says what is wrong with it
                asked = exercises.find([*course.lessons.values()], rest)
                return asked.title, Stack([*found_detail.exercise(asked)])
        if shelf and not name and rest in shelf.words:
            return shelf.words[rest][0], found_detail.word(*shelf.words[rest], course)
        if shelf and name == CHECK:
            [check] = [check for check in shelf.checks if check.id == rest]
            return rest, found_detail.check(check)
        if shelf and name == OLD:
            return "Older tutorials", found_detail.claim(self._claim(rest))
        return "", ""

    def _claim(self, name: str) -> Claim:
        claims = self._library.shelf.claims if self._library else ()
        return next(claim for claim in claims if claim.id == name)

    @on(Rows.OptionSelected)
    def open_row(self, event: Rows.OptionSelected) -> None:
        """Open the lesson, at the line that was found, or show the word or the older claim."""
        name, hash_, rest = str(event.option_id).partition("#")
        shelf = self._library.shelf if self._library else None
        if name == CHECK:
            self._run_check(rest)
        elif name == EXERCISE:
            self.tutor.go.to_exercise(rest)
        elif name == MEANT:
            self._search_instead(rest)
        elif name == LOG and self._found:
            self.tutor.go.to_explanation(of_text(self._found.text))
        elif name == OLD and shelf:
            self.tutor.push_screen(OlderClaim(self._claim(rest)))
        elif not name and shelf:
            self.tutor.push_screen(Entry(*shelf.words[rest], self._course))
        elif name:
            spot = self._leads_to(name, int(rest) if hash_ else None)
            self.tutor.go.to_lesson(name, at=spot.line if spot else "")

    def _search_instead(self, text: str) -> None:
        """Search for what was meant, as if it had been typed."""
        line = self.query_one(Input)
        line.value = text
        line.cursor_position = len(text)
        self.set_focus(line)

    def _run_check(self, check: str) -> None:
        from tpustarter.checking.selfcheck import Request

        request = Request(ids=(check,), devices=self.tutor.choices.devices)
        self.tutor.go.to_checks(request, f"Check {visible(check)}")

    def _leads_to(self, lesson: str, number: int | None) -> Spot | None:
        """Return where a lesson is opened; None is its beginning, as where its title was found."""
        hit = self._hit(lesson)
        return None if hit and number is None and hit.in_title else self._spot(lesson, number)

    def _spot(self, lesson: str, number: int | None) -> Spot | None:
        """Return where something was found in a lesson: at a line, else the best place."""
        hit = self._hit(lesson)
        spots = hit.spots if hit else ()
        return next((spot for spot in spots if number in (None, spot.number)), None)

    def _hit(self, lesson: str) -> Hit | None:
        hits = self._found.of("lesson") if self._found else []
        return next((hit for hit in hits if hit.id == lesson), None)
