"""Starting, following and stopping runs of a lesson's blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.progress import last_outputs, lesson_progress
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import BlockPlots, EarlierBlockStarted, LessonSession
from tpustarter.tui.app.messages import BLOCK, DeviceHeld, EventsArrived
from tpustarter.tui.kit.heading import Heading
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.block.run_to_block import RunToBlock

if TYPE_CHECKING:
    from tpustarter.tui.kit.page import Page

Codes = Sequence[tuple[Block, str]]
Event = OutputChunk | BlockPlots | EarlierBlockStarted | BlockResult


class BlockRunner:
    """A runner for a block and the blocks above it; `ended` is called whenever a block ends."""

    def __init__(self, screen: Page, ended: Callable[[RunToBlock], object]) -> None:
        self._screen = screen
        self._ended = ended
        self._runner = ScreenRunner[Event](screen, BLOCK, self.tick)
        self._lesson: Lesson | None = None
        self.current_run: RunToBlock | None = None
        """The current run, or None."""

    def run(
        self, lesson: Lesson, view: BlockView, views: Sequence[BlockView], *, anew: bool = False
    ) -> None:
        """Run a block's current code after the blocks above it that have not run.

        Args:
            lesson: The block's lesson.
            view: The block.
            views: All blocks of the page, in order.
            anew: Whether to start a new process and run all blocks above again. Blocks with a
                gap are left out.
        """
        self._lesson = lesson
        fresh = anew or not self._screen.tutor.live.is_warm
        self.current_run = RunToBlock(view, views, fresh=fresh, runs_all=anew)
        requested = self.current_run.requested_block
        above = [item for item in views[: views.index(requested)] if not item.block.is_try]
        codes = [(item.block, item.code.exact_code) for item in (*above, requested)]
        self._runner.begin(partial(self._play, lesson, codes, anew=anew))

    def _play(self, lesson: Lesson, codes: Codes, *, anew: bool) -> Iterator[Event]:
        """Run the last block, after the others if needed; called in the worker thread."""
        app = self._screen.tutor
        *above, (block, code) = codes
        played = {item.id: (item, source) for item, source in codes}

        def make() -> LessonSession:
            return LessonSession(
                lesson, machine=app.machine, devices=app.choices.devices, growing=True
            )

        try:
            if anew:
                app.live.release()
            if self._runner.is_stopped:
                yield BlockResult(block.id, "notrun", "interrupted")
                return
            for event in app.live.run(lesson.id, make, block, code, above):
                if isinstance(event, BlockResult) and event.id in played:
                    _remember(lesson, event, *played[event.id])
                yield event
        except Problem as problem:
            yield BlockResult(block.id, "skip", None, problem.full_text)
            raise

    def show_events(self, message: EventsArrived) -> None:
        """Show the output, drawings and results in the inbox."""
        events: list[Any] = self._runner.take_events(message)  # no type says what a group holds
        for kind, group in groupby(events, type):
            if kind is OutputChunk:
                if self.current_run:
                    self.current_run.playing.add("".join(output.text for output in group))
                continue
            if kind is BlockPlots:
                *_, last = group
                if self.current_run:
                    self.current_run.playing.show_drawings(last.drawings)
                continue
            for event in group:
                self._follow(event)

    def _follow(self, event: EarlierBlockStarted | BlockResult) -> None:
        run = self.current_run
        if run is None:
            return
        if isinstance(event, EarlierBlockStarted):
            run.show_earlier_start(event)
            self.tick()
            return
        run.show_result(event)
        if run.is_over:
            self.current_run = None
        self.tick()
        self._ended(run)

    def tick(self) -> None:
        """Update the elapsed time; called every second during a run, and once at its end."""
        if self.current_run:
            tutor = self._screen.tutor
            tutor.post_message(DeviceHeld(tutor.live.holder))
            self.current_run.tick(self._starting())
        text = self.current_run.heading_text if self.current_run else ""
        self._screen.query_one(Heading).show_running(text)

    def _starting(self) -> str:
        session = self._screen.tutor.live.session
        if session and session.target.get("platform") == "tpu":
            return "starting the TPU runtime, usually 5 to 15 s"
        needs = self._lesson and self._lesson.header.get("needs")
        return "starting JAX, usually 2 to 5 s" if needs else "starting Python"

    def is_playing(self, view: BlockView) -> bool:
        """Return whether the given block is running."""
        return self.current_run is not None and view is self.current_run.playing

    def stop(self) -> bool:
        """Stop the running block; return whether one was running."""
        if self.current_run is None:
            return False
        self._runner.stop()
        self._screen.tutor.live.stop(names_stay=True)
        return True


def _remember(lesson: Lesson, result: BlockResult, block: Block, code: str) -> None:
    """Save a block's result and output.

    A run of an unchanged task does not count. An edited block counts once it has passed, and its
    failures do not undo an earlier pass.
    """
    last_outputs.save_output(lesson, block, result, code)
    is_changed = code != block.code
    if is_changed if block.is_try else not is_changed or result.status == "pass":
        lesson_progress.record_block(lesson, block, result, code)
    elif is_changed:
        lesson_progress.record_edit_failure(lesson, block, result, code)
