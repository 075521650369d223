"""An unattended run of lessons: every block of each, with its result.

Each lesson has its own session. The verdict is reached as for the self-check, with blocks as
claims.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from tpustarter.checking.results.results import Result, Run
from tpustarter.checking.results.verdict import exit_code
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content.blocks import Block, list_blocks
from tpustarter.learning.progress import last_outputs, lesson_progress
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import EarlierBlockStarted, LessonSession
from tpustarter.machine import host
from tpustarter.version import __version__


@dataclass(frozen=True)
class LessonStarted:
    """A lesson begins. From here on, `session.target` describes its Python and devices."""

    session: LessonSession


@dataclass(frozen=True)
class BlockStarted:
    """A block begins."""

    block: Block


@dataclass(frozen=True)
class BlockEnded:
    """A block has finished, or was skipped and will not run."""

    lesson: Lesson
    block: Block
    result: BlockResult


Event = LessonStarted | BlockStarted | OutputChunk | BlockEnded


class LessonsRun:
    """A run of lessons. `events` runs it, and `stop` ends it from any thread."""

    def __init__(
        self,
        lessons: Sequence[Lesson],
        *,
        machine: host.Machine | None = None,
        python: str | None = None,
        devices: int | None = None,
        fresh: bool = False,
    ) -> None:
        self.lessons = list(lessons)
        self.blocks = {lesson.id: list_blocks(lesson) for lesson in lessons}
        self.results: dict[str, dict[str, BlockResult]] = {lesson.id: {} for lesson in lessons}
        self._machine = machine or host.Machine()
        self._python, self._devices, self._fresh = python, devices, fresh
        self._session: LessonSession | None = None
        started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.run = Run(__version__, started, "quick", [lesson.id for lesson in lessons])
        """The results as for a run of checks, to reuse its verdict and texts."""
        self.not_kept: Problem | None = None
        """The reason why progress cannot be saved, such as a full disk; the run continues."""

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the run; blocks that have not run are reported as interrupted."""
        self.run.stopped_by = number
        session = self._session
        if session:
            session.stop()

    def events(self) -> Iterator[Event]:
        """Run every block of every lesson, yielding events and saving each block's result."""
        started_at = time.monotonic()
        try:
            for lesson in self.lessons:
                for event in self._run_lesson(lesson):
                    if isinstance(event, BlockEnded):
                        self._record(event)
                    yield event
                self._remember(lambda lesson=lesson: lesson_progress.record_lesson_left(lesson))
        finally:
            self.run.seconds = time.monotonic() - started_at

    def exit_code(self) -> ExitCode:
        """Return the exit code that a run of checks with the same results would have."""
        return exit_code(self.run)

    def _run_lesson(self, lesson: Lesson) -> Iterator[Event]:
        session = LessonSession(
            lesson,
            machine=self._machine,
            python=self._python,
            devices=self._devices,
            fresh=self._fresh,
        )
        self._session = session
        self.run.target, self.run.host = session.target, session.host
        yield LessonStarted(session)
        try:
            for block in self.blocks[lesson.id]:
                yield from self._run_block(session, block)
        finally:
            session.close()
        self.run.blocked = self.run.blocked or session.blocked

    def _run_block(self, session: LessonSession, block: Block) -> Iterator[Event]:
        result = BlockResult(block.id, "notrun", "interrupted")
        if self.run.stopped_by is None:
            yield BlockStarted(block)
            is_rerun = False
            for item in session.run(
                block, block.expected_code, above=self._usable_blocks(session.lesson)
            ):
                if self.run.stopped_by is not None:  # stop() may have come before the block
                    session.stop()
                if isinstance(item, EarlierBlockStarted):
                    is_rerun = True
                    notice = f"[its process is gone: {item.block.name} runs again first]\n"
                    yield OutputChunk(notice)
                elif isinstance(item, BlockResult):
                    is_rerun, result = False, item
                elif isinstance(item, OutputChunk) and not is_rerun:  # reruns were shown before
                    yield item
        yield BlockEnded(session.lesson, block, result)

    def _usable_blocks(self, lesson: Lesson) -> list[tuple[Block, str]]:
        """Return the blocks whose names the next block may use, with their code."""
        results = self.results[lesson.id]
        usable = [name for name, result in results.items() if result.status in ("pass", "fail")]
        return [
            (block, block.code)
            for block in self.blocks[lesson.id]
            if block.id in usable and not block.is_try
        ]

    def _remember(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Problem as problem:
            self.not_kept = problem

    def _record(self, event: BlockEnded) -> None:
        lesson, result = event.lesson, event.result
        self.results[lesson.id][result.id] = result
        self.run.stored_programs += result.stored_programs
        if not event.block.is_try:  # a task ran the lesson's answer, not the learner's
            last_outputs.save_output(lesson, event.block, result, event.block.code)
            self._remember(lambda: lesson_progress.record_block(lesson, event.block, result))
        used_no_device = result.status == "pass" and result.ran_on is None  # no device was used
        self.run.results.append(
            Result(
                f"{lesson.id}#{result.id}",
                lesson.title,
                result.status,
                result.reason,
                result.detail,
                result.seconds,
                result.ran_on,
                log=result.output,
                lesson=lesson.id,
                framework="host" if used_no_device else lesson.framework or "host",
            )
        )
        if result.ran_on:  # found devices outrank planned ones
            self.run.target = {**self.run.target, "devices": result.ran_on.count}
