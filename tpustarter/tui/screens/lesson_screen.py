"""A screen that opens a lesson at the place where it was left, and remembers how far one read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import cast

from textual import work
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.content import Lesson
from tpustarter.learning import bookmarks, progress
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import opened
from tpustarter.tui.bookmark import Bookmark
from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.messages import LOOK, Looked
from tpustarter.tui.opened import Opened
from tpustarter.tui.outline import BESIDE, Margin
from tpustarter.tui.plain import plain
from tpustarter.tui.screens.page import Notice, Page

OPENING = "Opening the lesson ..."


class LessonScreen(Page):
    """A lesson, opened to be read, and what is remembered of that; what it does is the reader's."""

    def __init__(self, lesson: str, *, at: str = "") -> None:
        """Take the id of a lesson, and a line of its text to begin at."""
        super().__init__(visible(lesson))
        self.lesson = lesson
        self.is_ready = False
        self._at = at
        self._page = LessonPage(id="page")
        """Here before the screen is composed: the footer asks what works now before that, too."""
        self._bookmark = Bookmark(self._page, self._keep_place)
        self._margin = Margin()
        self._curtain = Static(OPENING, id="opening-lesson")
        """Before the page, until that is where the reader left it."""
        self._opened: Opened | None = None

    def body(self) -> Iterable[Widget]:
        """Return the page, empty at first."""
        with Horizontal(id="reading"):
            yield self._page
            yield self._margin
            yield self._curtain

    def on_mount(self) -> None:
        """Read the lesson in the background, and say so: a long one takes a second."""
        self.rename(visible(self.tutor.titles.get(self.lesson, self.lesson)))
        self.set_focus(self._page)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        try:
            self.post_message(Looked(opened.read(self.tutor, self.lesson)))
        except Problem as problem:
            self.post_message(Looked(problem))

    async def on_looked(self, message: Looked) -> None:
        """Show the lesson, or why there is none."""
        if isinstance(message.what, Problem):
            await self._curtain.remove()
            await self._page.mount(Static(Content(plain(str(message.what)))))
            self.take_keys()
            return
        opened_lesson = self._opened = cast("Opened", message.what)
        minutes = visible(str(opened_lesson.lesson.header.get("minutes", "?")))
        self.rename(f"{visible(opened_lesson.lesson.title)}  {minutes} min")
        await self._page.show(opened_lesson, "tpu" if self.tutor.on_tpu else "cpu")
        self._margin.show(self._page, opened_lesson.refers)
        if opened_lesson.lost:
            self.tutor.push_screen(Notice("What you had typed", opened_lesson.lost))
        self._page.call_after_refresh(self._go_to_place, opened_lesson.left_at)

    async def _go_to_place(self, left_at: str | None) -> None:
        """Go to the line that was asked for, else to where the lesson was left."""
        await self._bookmark.open(None if self._at else left_at)
        self._page.go_to(self._at)
        self._page.call_after_refresh(self._bookmark.when_there, self._begin)

    def go_to(self, line: str) -> None:
        """Show a line of the lesson, once the page is in front."""
        self._page.look_away()
        self.set_focus(self._page)
        self._page.call_after_refresh(self._page.go_to, line)

    def _begin(self) -> None:
        """Follow the reader and act on keys: the page is what is seen."""
        self._curtain.display = False
        self._bookmark.follow(peeks=bool(self._at))
        self.take_keys()
        self.show_status(self._page.place)

    def _keep_place(self, place: str | None) -> None:
        keep = partial(bookmarks.keep, self.lesson, place)
        if self.tutor.is_running:
            self.tutor.run_worker(keep, thread=True, exit_on_error=False, group="remember")
        else:
            keep()

    def _note_read(self) -> None:
        """Remember a lesson without blocks, once its end was seen."""
        is_whole = self._page.end_was_seen and not self._page.has_open
        if self._opened and not self._opened.has_blocks and is_whole:
            self._remember_read(self._opened.lesson.id)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_read(self, lesson: str) -> None:
        progress.lesson_done(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_left(self, lesson: Lesson) -> None:
        progress.lesson_left(lesson)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_answer(self, quiz: str, answer: str, *, is_right: bool) -> None:
        if self._opened:
            lesson = self._opened.lesson
            progress.quiz_answered(lesson, quiz, is_right=is_right, answer=answer)
        self._page.look_at_end()

    def on_resize(self) -> None:
        """Show the lesson's sections beside it where there is room."""
        self.set_class(self.size.width >= BESIDE, "-beside")

    def on_unmount(self) -> None:
        """Remember the place at which the lesson is left."""
        self._bookmark.remember()
