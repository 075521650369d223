"""The app's use of this machine's devices, by a lesson's process or by a run of checks.

There is at most one lesson process, and it is ended when it is no longer needed. `run` and
`release` block, so call them in workers; `stop` does not block and may be called from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tpustarter.running.device_holder import DeviceHolder
from tpustarter.tui.app.machine_label import MachineLabelText

if TYPE_CHECKING:
    from tpustarter.learning.content.blocks import Block
    from tpustarter.learning.run.block_output import OutputChunk
    from tpustarter.learning.run.block_results import BlockResult
    from tpustarter.learning.run.lesson_process import (
        BlockPlots,
        EarlierBlockStarted,
        LessonSession,
    )


IDLE_S = 60.0
"""Idle timeout, in seconds, of a process that may own an accelerator."""
OPEN_S = 1800.0
"""Idle timeout, in seconds, of a process that does not block a device for others."""


class LessonSessionOwner:
    """The owner of the lesson's process, and of the record of who holds the device.

    `notify` is called with the process that holds the device, or None, whenever it may have
    changed.
    """

    def __init__(self, notify: Callable[[DeviceHolder | None], object]) -> None:
        self._notify = notify
        self.session: LessonSession | None = None
        self._lesson: str | None = None
        self._check_holder: tuple[DeviceHolder, Callable[[], object]] | None = None
        """The process of the checks that hold the device, and a function that stops them."""
        self.is_running = False
        """True if a block is running."""
        self._keep_running = True
        """False once the running block has been asked to stop."""
        self.lacks_tpu = False
        """True if a TPU is requested that this machine does not have, so no process can hold it."""
        self._condition = threading.Condition()

    @property
    def is_warm(self) -> bool:
        """True if a process has been started and is waiting for a block."""
        session = self.session
        return session is not None and session.is_warm

    @property
    def idle_s(self) -> float:
        """The idle timeout of the lesson's process, in seconds."""
        session = self.session
        return IDLE_S if session is not None and _may_own_accelerator(session) else OPEN_S

    @property
    def holder(self) -> DeviceHolder | None:
        """The process that uses the devices, or None."""
        session, holder = self.session, None
        if self._check_holder:
            holder, _ = self._check_holder
        elif session:
            holder = session.holder
        if holder and holder.accelerator == "TPU" and self.lacks_tpu:
            return replace(holder, accelerator=None)
        return holder

    @property
    def owns_accelerator(self) -> bool:
        """True if one of the app's processes may hold the TPU or GPU."""
        holder = self.holder
        return holder is not None and holder.accelerator is not None

    def choose_label(self, machine: MachineLabelText) -> MachineLabelText:
        """Return the label for all headings, which names the process that holds the device."""
        return machine if self.holder is None else machine.add_holder(self.holder)

    def is_warm_for_other(self, lesson: str) -> bool:
        """Return whether another lesson's idle process still exists."""
        return self.is_warm and self._lesson != lesson

    def has_run(self, block: str) -> bool:
        """Return whether the current process has run a block, and has its variables."""
        session = self.session
        return session is not None and session.has_run(block)

    def record_holder(self, holder: DeviceHolder, stop: Callable[[], object]) -> None:
        """Record that checks hold the device, and a function that stops them."""
        self._check_holder = (holder, stop)
        self._notify(self.holder)

    def record_release(self, stop: Callable[[], object]) -> None:
        """Record that the checks with this `stop` function have released the device."""
        if self._check_holder and self._check_holder[1] == stop:
            self._check_holder = None
            self._notify(self.holder)

    def stop_checks(self) -> None:
        """Stop the checks that hold the device, without waiting for their end."""
        if self._check_holder:
            self._check_holder[1]()

    def run(
        self,
        lesson: str,
        make: Callable[[], LessonSession],
        block: Block,
        code: str | None,
        above: Sequence[tuple[Block, str]] = (),
    ) -> Iterator[OutputChunk | BlockPlots | EarlierBlockStarted | BlockResult]:
        """Run a block in the lesson's process, after starting the process if necessary."""
        if self._lesson != lesson:
            self.release()
        with self._condition:
            self._condition.wait_for(lambda: not self.is_running)
            self.is_running, self._keep_running = True, True
        try:
            if self.session is None:
                self.session, self._lesson = make(), lesson
            if not self._keep_running:
                from tpustarter.learning.run.block_results import BlockResult

                yield BlockResult(block.id, "notrun", "interrupted")
                return
            for event in self.session.run(block, code, above=above):
                if not (self._keep_running or self.session.is_stopping):
                    self.session.stop()  # `stop` was called before the session existed
                self._notify(self.holder)
                yield event
        finally:
            with self._condition:
                self.is_running = False
                self._condition.notify_all()
            self._notify(self.holder)

    def stop(self, *, names_stay: bool = False) -> None:
        """Stop the running block without waiting. The block's result is then `interrupted`.

        See `LessonSession.stop` for `names_stay`.
        """
        self._keep_running = False
        session = self.session
        if session and self.is_running:
            session.stop(names_stay=names_stay)

    def release(self) -> None:
        """End the lesson's process and wait, for a bounded time, until it has ended."""
        self.stop()
        with self._condition:
            self._condition.wait_for(lambda: not self.is_running)
            session, self.session, self._lesson = self.session, None, None
        if session:
            session.close()
            self._notify(self.holder)


def _may_own_accelerator(session: LessonSession) -> bool:
    # A process without a framework inherits the environment unchanged, so it may use any chip.
    return session.target.get("platform") != "cpu" or bool(
        session.host.get("chips") and not session.lesson.framework
    )
