"""The lesson screen's base class, which restores the reader's place and records progress."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual import work
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import bookmarks, lesson_progress
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.page import NoticeSheet, Page
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.lesson.opened_lesson import OpenedLesson, read_lesson
from tpustarter.tui.lesson.page.bookmark import Bookmark
from tpustarter.tui.lesson.page.lesson_page import LessonPage
from tpustarter.tui.lesson.page.outline import BESIDE, LessonMargin

OPENING = "Opening the lesson ..."


class LessonScreen(Page):
    """A screen for reading a lesson; `LessonRunScreen` adds the actions on its blocks."""

    def __init__(self, lesson: str, *, at: str = "") -> None:
        """Open the lesson with the given id, at a line of its text if `at` is given."""
        super().__init__(escape_text(lesson))
        self.lesson = lesson
        self.is_ready = False
        self._at = at
        self._page = LessonPage(id="page")
        """Created before the screen is composed, because the key line needs it earlier."""
        self._bookmark = Bookmark(self._page, self._keep_place)
        self._margin = LessonMargin()
        self._curtain = Static(OPENING, id="opening-lesson")
        """A cover for the page until it is laid out and scrolled to the reader's place."""
        self._opened: OpenedLesson | None = None

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="reading"):
            yield self._page
            yield self._margin
            yield self._curtain

    def on_mount(self) -> None:
        """Read the lesson in the background, because a long one takes a second."""
        self.rename(escape_text(self.tutor.titles.get(self.lesson, self.lesson)))
        self.set_focus(self._page)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _read(self) -> None:
        try:
            self.post_message(FactsLoaded(read_lesson(self.tutor, self.lesson)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    async def on_facts_loaded(self, message: FactsLoaded[OpenedLesson | Problem]) -> None:
        if isinstance(message.facts, Problem):
            await self._curtain.remove()
            await self._page.mount(Static(Content(clean_text(str(message.facts)))))
            self.take_keys()
            return
        opened_lesson = self._opened = message.facts
        minutes = escape_text(str(opened_lesson.lesson.header.get("minutes", "?")))
        self.rename(f"{escape_text(opened_lesson.lesson.title)}  {minutes} min")
        await self._page.show(opened_lesson, "tpu" if self.tutor.on_tpu else "cpu")
        self._margin.show(self._page, opened_lesson.refers)
        if opened_lesson.lost:
            self.tutor.push_screen(NoticeSheet("What you had typed", opened_lesson.lost))
        self._page.call_after_refresh(self._go_to_place, opened_lesson.left_at)

    async def _go_to_place(self, left_at: str | None) -> None:
        await self._bookmark.open(None if self._at else left_at)
        self._page.go_to(self._at)
        self._page.call_after_refresh(self._bookmark.call_when_there, self._begin)

    def go_to(self, line: str) -> None:
        """Scroll to a line of the lesson after the next refresh."""
        self._page.stop_following()
        self.set_focus(self._page)
        self._page.call_after_refresh(self._page.go_to, line)

    def _begin(self) -> None:
        self._curtain.display = False
        self._bookmark.follow(peeks=bool(self._at))
        self.take_keys()
        self.show_status(self._page.position_text)

    def _keep_place(self, place: str | None) -> None:
        keep = partial(bookmarks.save_bookmark, self.lesson, place)
        if self.tutor.is_running:
            self.tutor.run_worker(keep, thread=True, exit_on_error=False, group="remember")
        else:
            keep()

    def _note_read(self) -> None:
        """Record a lesson without blocks as done once its end has been seen."""
        is_whole = self._page.end_was_seen and not self._page.has_open
        if self._opened and not self._opened.has_blocks and is_whole:
            self._remember_read(self._opened.lesson.id)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_read(self, lesson: str) -> None:
        lesson_progress.record_lesson_done(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_left(self, lesson: Lesson) -> None:
        lesson_progress.record_lesson_left(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_answer(self, quiz: str, answer: str, *, is_right: bool) -> None:
        if self._opened:
            lesson = self._opened.lesson
            lesson_progress.record_quiz_answer(lesson, quiz, is_right=is_right, answer=answer)
        self._page.update_end_panel()

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BESIDE, "-beside")

    def on_unmount(self) -> None:
        self._bookmark.remember()
