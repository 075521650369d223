"""Runs blocks of the lesson on a screen: starts them, follows them, and stops them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from textual.timer import Timer

from tpustarter.content import Lesson
from tpustarter.learning import printouts, progress
from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import Block
from tpustarter.learning.lesson_process import Drawn, LessonSession, RunsFirst
from tpustarter.learning.output import Output
from tpustarter.problem import Problem
from tpustarter.tui.block import BlockView
from tpustarter.tui.heading import Heading
from tpustarter.tui.messages import BLOCK, Arrived, Holding, Inbox, feed
from tpustarter.tui.turn import Turn

if TYPE_CHECKING:
    from tpustarter.tui.screens.page import Page

Codes = Sequence[tuple[Block, str]]
Event = Output | Drawn | RunsFirst | BlockResult


class Player:
    """Runs one block at a time, after those above it; `ended` hears of each that has ended."""

    def __init__(self, screen: Page, ended: Callable[[Turn], object]) -> None:
        self._screen = screen
        self._ended = ended
        self._inbox: Inbox[Event] | None = None
        self._lesson: Lesson | None = None
        self._clock: Timer | None = None
        self.turn: Turn | None = None
        """The run that goes on; None while nothing runs."""
        self._is_stopped = False
        """Whether it is to end, also before it has begun."""

    def run(
        self, lesson: Lesson, view: BlockView, views: Sequence[BlockView], *, anew: bool = False
    ) -> None:
        """Run a block as it stands, after those above that have not run.

        Args:
            lesson: Whose block it is.
            view: The block.
            views: All blocks of the page, in order.
            anew: In a new process, so that all blocks above run again. A block that waits for the
                learner's code does not run with them.
        """
        self._lesson, self._is_stopped = lesson, False
        fresh = anew or not self._screen.tutor.live.is_warm
        self.turn = Turn(view, views, fresh=fresh, runs_all=anew)
        self._inbox = Inbox()
        self._clock = self._screen.set_interval(1.0, self.tick)
        self.tick()
        asked = self.turn.asked
        above = [item for item in views[: views.index(asked)] if not item.block.is_try]
        codes = [(item.block, item.code.exact) for item in (*above, asked)]
        play = partial(self._play, lesson, codes, self._inbox, anew=anew)
        self._screen.run_worker(play, thread=True, exclusive=True, exit_on_error=False, group=BLOCK)

    def _play(self, lesson: Lesson, codes: Codes, inbox: Inbox[Event], *, anew: bool) -> None:
        """Run the last of some blocks; the others stand above it. Called in a worker."""
        app = self._screen.tutor
        *above, (block, code) = codes
        played = {item.id: (item, source) for item, source in codes}

        def make() -> LessonSession:
            return LessonSession(lesson, machine=app.machine, devices=app.choices.devices,
                                 growing=True)  # fmt: skip

        def events() -> Iterator[Event]:
            if anew:
                app.live.release()
            if self._is_stopped:
                yield BlockResult(block.id, "notrun", "interrupted")
                return
            for event in app.live.run(lesson.id, make, block, code, above):
                if isinstance(event, BlockResult) and event.id in played:
                    _remember(lesson, event, *played[event.id])
                yield event

        try:
            feed(self._screen, inbox, events())
        except Problem as problem:
            feed(self._screen, inbox, [BlockResult(block.id, "skip", None, problem.what)])
            raise

    def arrived(self, message: Arrived) -> None:
        """Show what a block printed, and how it ended."""
        if message.inbox is not self._inbox:
            return
        events: list[Any] = message.inbox.take()
        for kind, group in groupby(events, type):
            if kind is Output:
                if self.turn:
                    self.turn.playing.add("".join(output.text for output in group))
                continue
            if kind is Drawn:
                *_, last = group
                if self.turn:
                    self.turn.playing.grow(last.drawings)
                continue
            for event in group:
                self._follow(event)

    def _follow(self, event: RunsFirst | BlockResult) -> None:
        turn = self.turn
        if turn is None:
            return
        if isinstance(event, RunsFirst):
            turn.runs_first(event)
            self.tick()
            return
        turn.ended(event)
        if turn.is_over:
            if self._clock:
                self._clock.stop()
            self.turn = self._clock = None
        self.tick()
        self._ended(turn)

    def tick(self) -> None:
        """Say what is waited for; runs only while a block does, and once after that."""
        if self.turn:
            tutor = self._screen.tutor
            tutor.post_message(Holding(tutor.live.holder))
            self.turn.tick(self._starting())
        self._screen.query_one(Heading).show_running(self.turn.sign if self.turn else "")

    def _starting(self) -> str:
        session = self._screen.tutor.live.session
        if session and session.target["platform"] == "tpu":
            return "starting the TPU runtime, usually 5 to 15 s"
        needs = self._lesson and self._lesson.header.get("needs")
        return "starting JAX, usually 2 to 5 s" if needs else "starting Python"

    def is_playing(self, view: BlockView) -> bool:
        """Return whether a block runs now."""
        return self.turn is not None and view is self.turn.playing

    def stop(self) -> bool:
        """Stop the block that runs; returns whether one did."""
        if self.turn is None:
            return False
        self._is_stopped = True
        self._screen.tutor.live.stop(names_stay=True)
        return True


def _remember(lesson: Lesson, result: BlockResult, block: Block, code: str) -> None:
    """Remember how a block ended, and what it printed.

    A task that was not changed has not been tried. What was typed into another block counts once it
    has passed, and undoes nothing if it fails.
    """
    printouts.block_ended(lesson, block, result, code)
    is_changed = code != block.code
    if is_changed if block.is_try else not is_changed or result.status == "pass":
        progress.block_ended(lesson, block, result, code)
    elif is_changed:
        progress.edit_ended(lesson, block, result, code)
