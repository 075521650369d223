"""The list of all lessons with their states, and the search across all content."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Paste
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input

from tpustarter.core.problem import Problem
from tpustarter.learning.content import exercises
from tpustarter.learning.search import search
from tpustarter.learning.search.search import SearchLibrary, SearchResult
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, SEARCH, FactsLoaded
from tpustarter.tui.app.session import find_session
from tpustarter.tui.explain.failed_run import find_file, read_failure
from tpustarter.tui.home import course_facts
from tpustarter.tui.home.course_facts import Course
from tpustarter.tui.kit.form_page import TextField
from tpustarter.tui.kit.markdown_text import LessonText
from tpustarter.tui.kit.page import EXPLAIN, PanelPage, Sheet
from tpustarter.tui.kit.row_list import Row, RowList, SidePanel
from tpustarter.tui.kit.safe_text import plain_source
from tpustarter.tui.kit.text_layout import HangingText, StackedText, style_sentence
from tpustarter.tui.lesson.references_screen import GlossaryEntry
from tpustarter.tui.library import lesson_details, lesson_rows, search_details
from tpustarter.tui.library.lesson_rows import CHECK, EXERCISE, LOG, MEANT, OLD

if TYPE_CHECKING:
    from tpustarter.learning.content.tutorial_claims import TutorialClaim
    from tpustarter.learning.progress.path_progress import PathProgress
    from tpustarter.learning.search.search import FoundLine

BESIDE, HIGH = 120, 20
"""Minimum width for details next to the list, and minimum height for a result's below it."""
HEAD, FOR_SENTENCE = 12, 10
"""Lines around the search results, and lines needed for one more sentence of each lesson."""
STATES = {"all": (True, False), "open": (False,), "done": (True,)}
"""The lessons that each filter shows: True for done ones, False for open ones."""


class SearchLine(TextField):
    """The search field; Enter opens the first result or searches for the suggested word."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "open the first", key_display="Enter"),
        Binding("enter", "submit_meant", "search for it", key_display="Enter"),
        Binding(
            "down", "screen.to_list", "to the list", key_display="Down", tooltip="choose among them"
        ),
    ]

    is_meant = False
    """True if Enter searches for the suggested word, because nothing was found."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only the current one of Enter's two actions."""
        if action in ("submit", "submit_meant"):
            return self.is_meant == (action == "submit_meant")
        return super().check_action(action, parameters)

    action_submit_meant = Input.action_submit

    def on_paste(self, event: Paste) -> None:
        """Explain pasted text of several lines, because it is an error and not a search."""
        if "\n" in event.text.strip():
            event.stop()
            event.prevent_default()
            find_session(self).go.open_explanation(read_failure(event.text))


class LessonListScreen(PanelPage):
    """The list of lessons."""

    CALLED = "the list of lessons"
    HELP = """
This is the list of all lessons, first those of your path by its stages, then the others. Enter
opens the marked one.

* `/` searches titles, lessons, exercises, the glossary, checks and what older tutorials say. The
  sentences that match best are below each title, and Enter on one opens the lesson there. The
  whole paragraph of the marked one is beside the list, or below it.
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
        """The initial search text."""
        self._course: Course | None = None
        self._library: SearchLibrary | None = None
        self._found: SearchResult | None = None
        self._titles: dict[str, str] = {}
        """The titles of exercises, keyed by id."""
        self._filter = "all"
        self._is_readable = True
        """False if the texts cannot be read, in which case a search would never end."""
        self._wanted: Callable[[], object] | None = None
        """The action of a key that waits for the search of the typed text to end."""
        self.is_ready = find

    def body(self) -> Iterable[Widget]:
        line = SearchLine(
            self._text,
            placeholder="search lessons, glossary, checks and older tutorials",
            id="search",
            select_on_focus=False,
        )
        line.border_title = "Search"
        line.display = self._find
        return (line, Horizontal(RowList(id="lessons"), SidePanel("detail"), id="shelf"))

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input) if self._find else self.query_one(RowList))

    def on_screen_resume(self) -> None:
        """Read the facts again, because a lesson may have been done."""
        self._read()

    def on_resize(self) -> None:
        self._place_detail()

    def _place_detail(self) -> None:
        """Place the details next to the list; a search result's may be below it."""
        is_beside = self.size.width >= BESIDE
        self.set_class(is_beside, "-beside")
        is_below = bool(self._found) and not is_beside and self.size.height >= HIGH
        self.set_class(is_below and not self.has_class("-empty"), "-below")

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        course = course_facts.read_course(self.tutor.lessons)
        self.post_message(FactsLoaded(course))
        self.post_message(FactsLoaded(exercises.read_exercise_titles(course.lessons.values())))
        try:
            sources = search.read_sources(self.tutor.lessons, self.tutor.checks)
            if self._library is None or self._library.sources != sources:
                synonyms = search.read_synonyms(self.tutor.lessons)
                self.post_message(FactsLoaded(SearchLibrary(sources, synonyms)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    @work(thread=True, exclusive=True, exit_on_error=False, group=SEARCH)
    def _search(self, library: SearchLibrary, text: str) -> None:
        path = self.tutor.find_path(self._course.paths) if self._course else None
        self.post_message(FactsLoaded(library.search(text, path.lessons if path else ())))

    def on_facts_loaded(
        self,
        message: FactsLoaded[Problem | Course | dict[str, str] | SearchLibrary | SearchResult],
    ) -> None:
        what = message.facts
        if isinstance(what, Problem):
            self._is_readable, self._wanted = False, None
            self.set_area_title("lessons", "Nothing can be looked up")
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
            self._titles = what
        elif isinstance(what, SearchLibrary):
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
        self.query_one(RowList).show(
            [Row(None, HangingText("", escape_text(line))) for line in lines]
        )

    @on(Input.Changed)
    def show_typed_search(self, event: Input.Changed) -> None:
        self.search_for(event.value)

    def search_for(self, text: str) -> None:
        """Show the lessons found for a query, or all lessons if the query is empty."""
        text = text.strip()
        if text and self._found is None and self._is_readable:  # the list shows all lessons
            self.set_area_title("lessons", f"Looking for {text} ...")
        if text and self._library:
            self._search(self._library, text)
        elif self._found and not text:
            self._found = None
            self._show()

    @on(Input.Submitted)
    def open_first(self) -> None:
        """Open the best result once the search has ended."""
        if not self._is_found:
            self._wait(self.open_first)
            return
        self.action_to_list()
        if self._found:
            self.query_one(RowList).action_select()

    def action_to_list(self) -> None:
        """Move the focus to the results once the search has ended."""
        if self._is_found:
            self.set_focus(self.query_one(RowList))
        else:
            self._wait(self.action_to_list)

    @property
    def _is_found(self) -> bool:
        """True if the displayed results belong to the typed text."""
        return self.query_one(Input).value.strip() == (self._found.text if self._found else "")

    def _wait(self, wanted: Callable[[], object]) -> None:
        """Perform a key's action when the search has ended, and hold back other keys until then."""
        if self._is_readable:
            self._wanted, self.is_ready = wanted, False

    def action_find(self, text: str = "") -> None:
        """Show the search field, and search if there is a query."""
        line = self.query_one(Input)
        line.display = True
        self.set_focus(line)
        if text:
            self._search_instead(text)
        else:
            line.select_all()

    def action_filter(self, kind: str) -> None:
        self._filter = kind
        self._show()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `filter` for the next filter only."""
        if action == "filter":
            kinds = [*STATES]
            return parameters == (kinds[(kinds.index(self._filter) + 1) % len(kinds)],)
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Close the search if it is open, otherwise the screen."""
        line = self.query_one(Input)
        if line.display:
            line.display = False
            line.value = ""
            self.set_focus(self.query_one(RowList))
        else:
            self.dismiss()

    def _show(self, *, from_first: bool = False) -> None:
        course = self._course
        if course is None or course.trouble:
            return
        rows, progress = list(self._rows(course)), self._progress(course)
        shown = self.query_one(RowList)
        first = next((row.id for row in rows if row.id), None)
        is_first_time = shown.highlighted_id is None and not self._found and progress
        target = progress.next if is_first_time and progress else first if from_first else None
        name, is_place, _ = (shown.highlighted_id or "").partition("#")
        if is_place and not self._found and any(row.id == name for row in rows):
            target = name  # after a search, highlight the lesson of the highlighted line
        shown.show(rows, highlight=target)
        if shown.highlighted_id is None:
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
        self.set_area_title("lessons", title)

    def _rows(self, course: Course) -> Iterator[Row]:
        states = STATES[self._filter]
        if self._found:
            if path := find_file(self._found.text):
                yield lesson_rows.make_log_row(path)
                yield Row(None, "")
            most = max((self.size.height - HEAD) // FOR_SENTENCE, 1)
            yield from lesson_rows.make_result_rows(
                course, self._found, states, titles=self._titles, max_lines=most
            )
            return
        rows = list(lesson_rows.make_lesson_rows(course, self._progress(course), states))
        yield from rows or [Row(None, "None yet. Press v to see the others.")]

    def _progress(self, course: Course) -> PathProgress | None:
        path = self.tutor.find_path(course.paths)
        return course.find_path_progress(path) if path else None

    @on(RowList.OptionHighlighted)
    def describe(self, event: RowList.OptionHighlighted) -> None:
        title, text = self._describe_row(str(event.option_id))
        detail, course = self.query_one(SidePanel), self._course
        name = str(event.option_id).partition("#")[0]
        detail.set_class(course is not None and name not in course.lessons, "-brief")
        detail.show(text)
        detail.border_title = style_sentence(title)  # this panel always has a full border

    def _describe_row(self, option: str) -> tuple[str, VisualType]:
        """Return a row's title and details."""
        name, _, rest = option.partition("#")
        course, sources = self._course, self._library.sources if self._library else None
        if course and name in course.lessons:
            lesson = course.lessons[name]
            found_line = self._leads_to(name, int(rest) if rest else None)
            said = lesson_details.describe_lesson(lesson, course, self._progress(course))
            return lesson.title, StackedText(
                [*search_details.lay_out_paragraph(found_line), said]
            ) if found_line else said
        if course and name == EXERCISE:
            with contextlib.suppress(Problem):  # the exercise's own screen shows the problem
                asked = exercises.find_exercise([*course.lessons.values()], rest)
                return asked.title, StackedText([*search_details.describe_exercise(asked)])
        if sources and not name and rest in sources.words:
            return sources.words[rest][0], search_details.describe_word(
                *sources.words[rest], course
            )
        if sources and name == CHECK:
            [check] = [check for check in sources.checks if check.id == rest]
            return rest, search_details.describe_check(check)
        if sources and name == OLD:
            return "Older tutorials", search_details.describe_tutorial_claim(self._claim(rest))
        return "", ""

    def _claim(self, name: str) -> TutorialClaim:
        claims = self._library.sources.claims if self._library else ()
        return next(claim for claim in claims if claim.id == name)

    @on(RowList.OptionSelected)
    def open_row(self, event: RowList.OptionSelected) -> None:
        name, hash_, rest = str(event.option_id).partition("#")
        sources = self._library.sources if self._library else None
        if name == CHECK:
            self._run_check(rest)
        elif name == EXERCISE:
            self.tutor.go.open_exercise(rest)
        elif name == MEANT:
            self._search_instead(rest)
        elif name == LOG and self._found:
            self.tutor.go.open_explanation(read_failure(self._found.text))
        elif name == OLD and sources:
            self.tutor.push_screen(TutorialClaimSheet(self._claim(rest)))
        elif not name and sources:
            self.tutor.push_screen(GlossaryEntry(*sources.words[rest], self._course))
        elif name:
            found_line = self._leads_to(name, int(rest) if hash_ else None)
            self.tutor.go.open_lesson(name, at=found_line.line if found_line else "")

    def _search_instead(self, text: str) -> None:
        """Put a query into the search field as if the user had typed it."""
        line = self.query_one(Input)
        line.value = text
        line.cursor_position = len(text)
        self.set_focus(line)

    def _run_check(self, check: str) -> None:
        from tpustarter.checking.machine_check import CheckRequest

        request = CheckRequest(ids=(check,), devices=self.tutor.choices.devices)
        self.tutor.go.open_checks(request, f"Check {escape_text(check)}")

    def _leads_to(self, lesson: str, number: int | None) -> FoundLine | None:
        """Return the line at which a result opens a lesson, or None for its beginning."""
        hits = self._found.select_kind("lesson") if self._found else []
        hit = next((hit for hit in hits if hit.id == lesson), None)
        if hit is None or (number is None and hit.in_title):
            return None
        return next((line for line in hit.lines if number in (None, line.number)), None)


class TutorialClaimSheet(Sheet):
    """A dialog with a claim of older tutorials and what is true today."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "lesson", "open lesson", tooltip="tpustarter learn LESSON"),
    ]

    def __init__(self, claim: TutorialClaim) -> None:
        self._lesson = (claim.lesson or "").partition("#")[0]
        fields = {"Then": claim.then, "Now": claim.now}
        fields |= {"Lesson": f"`{self._lesson}`"} if self._lesson else {}
        fields |= {"Shown by": f"`{claim.proof}`"} if claim.proof else {}
        fields |= {"Source": claim.source}
        text = "\n\n".join(f"**{name}:** {value}" for name, value in fields.items())
        title = escape_text(claim.heading)
        super().__init__(title, LessonText(plain_source(text)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    def action_lesson(self) -> None:
        """Close the dialog and open the lesson, in place of an open one."""
        find_session(self).go.replace_with_lesson(self._lesson)
