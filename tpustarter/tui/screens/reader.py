"""One lesson: read it, and run its code where it stands."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tpustarter import blocks, content, progress
from tpustarter.blocks import Block, Part
from tpustarter.content import Lesson
from tpustarter.lesson import BlockResult, LessonSession, Output
from tpustarter.problem import Problem
from tpustarter.report.text import visible
from tpustarter.selfcheck import Request
from tpustarter.tui import commands
from tpustarter.tui.block import BlockView
from tpustarter.tui.messages import BLOCK, LOOK, Arrived, Holding, Inbox, Looked, feed
from tpustarter.tui.plain import plain, plain_source
from tpustarter.tui.reading import LessonText
from tpustarter.tui.screens.page import Page
from tpustarter.tui.screens.words import Reference, Words, references, texts


@dataclass(frozen=True)
class Opened:
    """A lesson, read."""

    lesson: Lesson
    parts: list[Part]
    following: Lesson | None
    known: progress.LessonProgress
    refers: list[Reference]
    """The words it uses, and where its links lead."""


class LessonPage(VerticalScroll):
    """The page; it keeps its place while blocks grow."""


class Reader(Page):
    """The lesson reader."""

    HELP = """
Read with the arrow keys, Space and PageUp. The block with the bar on its left is the one that
`r` runs; Tab goes to the next one.

* **Running** is up to you: nothing runs by being shown. All blocks of a lesson share their names,
  as in a notebook. What a block prints appears below it, with where it ran.
* **Esc** stops what runs. The next block then starts afresh.
* **e** lets you change the code: Esc ends typing, `r` runs it, `u` brings the lesson's code back.
  A lesson counts as done when its own code, unchanged, printed what it should.
* The first block starts a process. It ends when you leave the lesson, when checks or set-up
  start, and after 60 s without a block. The first line says so while it has the device, and `t`
  ends it.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "run", "run", tooltip="tpustarter learn LESSON --run"),
        Binding("enter", "run", show=False),
        Binding("e", "edit", "edit", tooltip="change the block's code here"),
        Binding("u", "reset", "undo edit", tooltip="the code as the lesson has it"),
        Binding("c", "check", "check", tooltip="tpustarter check, for this lesson"),
        Binding("n", "next", "next", tooltip="tpustarter learn"),
        Binding("w", "words", "words, links", tooltip="what the words mean, where links lead"),
        Binding("space", "page_down", show=False),
        Binding("b", "page_up", show=False),
    ]

    def __init__(self, lesson: str) -> None:
        super().__init__(visible(lesson))
        self._lesson_id = lesson
        self._opened: Opened | None = None
        self._inbox: Inbox[Output | BlockResult] | None = None
        self._playing: BlockView | None = None
        self._began = 0.0
        self._fresh = False
        """Whether the block that runs had to start the process."""
        self._clock: Timer | None = None

    def body(self) -> Iterable[Widget]:
        """Return the page, empty at first."""
        yield LessonPage(id="page")

    def on_mount(self) -> None:
        """Read the lesson in the background."""
        page = self.query_one(LessonPage)
        self.set_focus(page)
        self.watch(page, "scroll_y", self._mark, init=False)
        self._read()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOOK)
    def _read(self) -> None:
        try:
            self.post_message(Looked(self._opened_now()))
        except Problem as problem:
            self.post_message(Looked(problem))

    def _opened_now(self) -> Opened:
        app = self.starter
        lessons = content.read_lessons(app.lessons)
        lesson = next((one for one in lessons if one.id == self._lesson_id), None)
        if lesson is None:
            raise Problem(
                f"there is no lesson `{self._lesson_id}`", hint="`tpustarter learn` lists them"
            )
        paths = content.read_paths(app.lessons)
        order = next((one.lessons for one in paths if one.id == app.choices.path), ())
        following = _after(lesson, order, {one.id: one for one in lessons})
        known = progress.read().lessons.get(lesson.id, progress.LessonProgress())
        refers = references(lesson, lessons, app.lessons)
        return Opened(lesson, blocks.parse(lesson), following, known, refers)

    async def on_looked(self, message: Looked) -> None:
        """Show the lesson, or why there is none."""
        page = self.query_one(LessonPage)
        if isinstance(message.what, Problem):
            await page.mount(Static(Content(plain(str(message.what)))))
            return
        opened = self._opened = cast("Opened", message.what)
        minutes = visible(str(opened.lesson.header.get("minutes", "?")))
        self.rename(f"{visible(opened.lesson.title)}  {minutes} min")
        await page.mount(*self._widgets(opened))
        self.call_after_refresh(self._mark)

    def _widgets(self, opened: Opened) -> Iterator[Widget]:
        facts_on_tpu = self.starter.where and not self.starter.where.startswith("no TPU")
        platform = "tpu" if facts_on_tpu else "cpu"
        for part in opened.parts:
            if part.block:
                before = opened.known.status(part.block)
                yield BlockView(part.block, before=before, platform=platform)
            else:
                yield LessonText(plain_source(part.text))
        yield Static(_ending(opened), id="ending")

    @property
    def _views(self) -> list[BlockView]:
        return list(self.query(BlockView))

    def _current(self) -> BlockView | None:
        """Return the block that `r` runs: the one with the focus, else the first one in sight."""
        page = self.query_one(LessonPage)
        views = self._views
        seen = [one for one in views if page.region.overlaps(one.region)]
        focused = next((one for one in views if one.has_focus_within or one.has_focus), None)
        if focused and (focused in seen or focused.is_editing):
            return focused
        waiting = [one for one in seen if not (one.result and one.result.status == "pass")]
        below = [one for one in views if one.region.y >= page.region.bottom]
        return next(iter([*waiting, *seen, *below, *views]), None)

    def _mark(self) -> None:
        """Mark the block that `r` runs."""
        current = self._current()
        for view in self._views:
            view.set_class(view is current, "-current")

    def on_descendant_focus(self) -> None:
        """Mark the block that has the focus now."""
        self._mark()
        self.refresh_bindings()

    def action_run(self) -> None:
        """Run the marked block, as it stands."""
        view = self._current()
        if view is None or self._playing is not None or self._opened is None:
            return
        if view.is_editing:
            view.end_edit()
        view.scroll_visible(animate=False)
        view.begin()
        self._playing, self._began = view, time.monotonic()
        self._fresh = not self.starter.live.is_warm
        self._inbox = Inbox()
        self._clock = self.set_interval(1.0, self._tick)
        self._tick()
        self.refresh_bindings()
        edited = view.code if view.is_edited else None
        self._play(self._opened.lesson, view.block, edited, self._inbox)

    @work(thread=True, exclusive=True, exit_on_error=False, group=BLOCK)
    def _play(
        self, lesson: Lesson, block: Block, code: str | None, inbox: Inbox[Output | BlockResult]
    ) -> None:
        app = self.starter

        def make() -> LessonSession:
            return LessonSession(lesson, machine=app.machine, devices=app.choices.devices)

        def events() -> Iterator[Output | BlockResult]:
            for event in app.live.run(lesson.id, make, block, code):
                if isinstance(event, BlockResult) and code is None:
                    progress.block_ended(lesson, block, event)
                yield event

        try:
            feed(self, inbox, events())
        except Problem as problem:
            skipped = BlockResult(block.id, "skip", None, problem.what)
            feed(self, inbox, [skipped])
            raise

    def _tick(self) -> None:
        """Say what is waited for; runs only while a block does."""
        view = self._playing
        if view is None:
            return
        self.starter.post_message(Holding(self.starter.live.holder))
        what = "running" if view.has_output or not self._fresh else self._starting()
        view.wait(time.monotonic() - self._began, what)

    def _starting(self) -> str:
        session = self.starter.live.session
        if session and session.target["platform"] == "tpu":
            return "starting the TPU runtime, usually 5 to 15 s"
        needs = self._opened and self._opened.lesson.header.get("needs")
        return "starting JAX, usually 2 to 5 s" if needs else "starting Python"

    def on_arrived(self, message: Arrived) -> None:
        """Show what a block printed, and how it ended."""
        view = self._playing
        if view is None or message.inbox is not self._inbox:
            return
        events: list[Any] = message.inbox.take()
        text = "".join(one.text for one in events if isinstance(one, Output))
        if text:
            view.add(text)
        for event in events:
            if isinstance(event, BlockResult):
                self._end(view, event)

    def _end(self, view: BlockView, result: BlockResult) -> None:
        if self._clock:
            self._clock.stop()
        self._playing, self._clock = None, None
        view.end(result)
        self._mark()
        self.refresh_bindings()

    @property
    def can_stop(self) -> bool:
        """Whether a block runs."""
        return self._playing is not None

    def stop_work(self) -> bool:
        """Stop the block that runs."""
        if self._playing is None:
            return False
        self.starter.live.stop()
        return True

    def action_back(self) -> None:
        """End typing, else stop what runs, else leave."""
        view = next((one for one in self._views if one.is_editing), None)
        if view:
            view.end_edit()
            self.refresh_bindings()
        elif not self.stop_work():
            self.dismiss()

    def on_unmount(self) -> None:
        """End the lesson's process: the lesson is left."""
        self.stop_work()
        if self.starter.is_running:
            self.starter.release_lesson()

    async def action_edit(self) -> None:
        """Let the learner change the marked block."""
        view = self._current()
        if view and not view.is_editing and view is not self._playing:
            await view.edit()
            self.call_after_refresh(view.scroll_visible, animate=False)

    def action_reset(self) -> None:
        """Bring back the marked block's code."""
        view = self._current()
        if view:
            view.reset()
            self.refresh_bindings()

    def action_check(self) -> None:
        """Run the lesson's checks."""
        if self._opened:
            ids = tuple(_checks(self._opened.lesson))
            request = Request(ids=ids, devices=self.starter.choices.devices)
            commands.open_checks(self.starter, request, "Checks of this lesson")

    def action_next(self) -> None:
        """Go to the next lesson."""
        opened = self._opened
        if opened and opened.following:
            if not any(part.block for part in opened.parts):
                self._remember_read(opened.lesson.id)
            commands.open_instead(self.starter, opened.following.id)

    @work(thread=True, exit_on_error=False, group="remember")
    def _remember_read(self, lesson: str) -> None:
        progress.lesson_done(lesson)

    def action_words(self) -> None:
        """Show what the words mean, and where links lead."""
        if self._opened:
            title = visible(self._opened.lesson.title)
            self.starter.push_screen(Words(title, self._opened.refers))

    def action_page_down(self) -> None:
        """Read on."""
        self.query_one(LessonPage).scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        """Read back."""
        self.query_one(LessonPage).scroll_page_up(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works now."""
        opened, running = self._opened, self._playing is not None
        if action == "back" and any(one.is_editing for one in self._views):
            return True
        if action in ("run", "edit"):
            return bool(self._views) and not running
        if action == "reset":
            view = self._current() if opened else None
            return bool(view and (view.is_edited or view.is_editing)) and not running
        if action == "check":
            return bool(opened and _checks(opened.lesson)) and not running
        if action == "next":
            return bool(opened and opened.following) and not running
        if action == "words":
            return bool(opened and opened.refers)
        return super().check_action(action, parameters)


def _checks(lesson: Lesson) -> list[str]:
    return texts(lesson, "checks")


def _after(lesson: Lesson, order: tuple[str, ...], lessons: dict[str, Lesson]) -> Lesson | None:
    """Return the lesson that follows on the path, else the one the lesson itself names."""
    if lesson.id in order:
        later = order[order.index(lesson.id) + 1 :]
        return next((lessons[one] for one in later if one in lessons), None)
    return lessons.get(str(lesson.header.get("next")))


def _ending(opened: Opened) -> Content:
    lines: list[str] = []
    if checks := _checks(opened.lesson):
        lines.append(f"c  run the checks that prove it: {visible(', '.join(checks))}")
    if opened.following:
        minutes = visible(str(opened.following.header.get("minutes", "?")))
        lines.append(f"n  next lesson: {visible(opened.following.title)}, {minutes} min")
    return Content("\n".join(lines or ["This is the last lesson here."]))
