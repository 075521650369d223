"""What of ours holds the device: the one lesson process of the app, or a run of checks.

At most one lesson process lives, and it ends when it is not needed.

`run` and `release` are called in workers; `stop` comes back at once and may be called anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpustarter.learning.block_results import BlockResult
    from tpustarter.learning.blocks import Block
    from tpustarter.learning.lesson_process import Drawn, LessonSession, RunsFirst
    from tpustarter.learning.output import Output


IDLE_S = 60.0
"""A process that may own an accelerator is ended after this time without a running block."""
OPEN_S = 1800.0
"""One that locks nobody out is kept for so long, while its lesson is open."""

Tell = Callable[[str | None], object]


class Live:
    """Owns the lesson session; `notify` hears who holds the device, and None once nobody does."""

    def __init__(self, notify: Tell) -> None:
        self._notify = notify
        self._session: LessonSession | None = None
        self._lesson: str | None = None
        self._check_holder: tuple[str, Callable[[], object]] | None = None
        """Who to name for checks that hold the device, and what stops them."""
        self._busy = False
        self._keep_running = True
        """False once what is running is to end."""
        self.lacks_tpu = False
        """Whether a process asks for a TPU that is not here, so that it holds none."""
        self._condition = threading.Condition()

    @property
    def session(self) -> LessonSession | None:
        """The session, if there is one."""
        return self._session

    @property
    def is_running(self) -> bool:
        """Whether a block runs."""
        return self._busy

    @property
    def is_warm(self) -> bool:
        """Whether a process is up and waits for a block."""
        session = self._session
        return session is not None and session.is_warm

    @property
    def idle_s(self) -> float:
        """Seconds after which a process without a running block is ended."""
        session = self._session
        return IDLE_S if session is not None and _may_own_accelerator(session) else OPEN_S

    @property
    def holder(self) -> str | None:
        """Who holds what; None while there is no process."""
        holder = self._named_holder
        if holder and self.lacks_tpu and holder.startswith("TPU: "):
            return f"process {holder.rpartition(' ')[2]}"
        return holder

    @property
    def _named_holder(self) -> str | None:
        session, check_holder = self._session, self._check_holder
        if check_holder:
            return check_holder[0]
        if session is None or session.holder is None:
            return None
        if _owns_accelerator(session):
            return f"{session.target['platform'].upper()}: {session.holder}"
        return f"process {session.holder.rpartition(' ')[2]}"

    @property
    def owns_accelerator(self) -> bool:
        """Whether a process of the app may have the accelerator."""
        return not (self.holder or "process ").startswith("process ")

    def place(self, where: str) -> str:
        """Return what every heading says: the machine, or who holds its accelerator."""
        holder = self.holder
        if holder is None or not where:
            return holder or where
        return f"{where}, {holder}" if holder.startswith("process ") else holder

    def is_warm_for_other(self, lesson: str) -> bool:
        """Return whether a process waits that gives way once a block of this lesson runs."""
        return self.is_warm and self._lesson != lesson

    def has_run(self, block: str) -> bool:
        """Return whether the names a block made are in the process."""
        session = self._session
        return session is not None and session.has_run(block)

    def hold(self, holder: str, stop: Callable[[], object]) -> None:
        """Say that checks hold the device, and how they are stopped."""
        self._check_holder = (holder, stop)
        self._notify(self.holder)

    def let_go(self, stop: Callable[[], object]) -> None:
        """Say that these checks do not hold the device any more."""
        if self._check_holder and self._check_holder[1] == stop:
            self._check_holder = None
            self._notify(self.holder)

    def stop_checks(self) -> None:
        """Stop the checks that hold the device; comes back at once."""
        if self._check_holder:
            self._check_holder[1]()

    def run(
        self,
        lesson: str,
        make: Callable[[], LessonSession],
        block: Block,
        code: str | None,
        above: Sequence[tuple[Block, str]] = (),
    ) -> Iterator[Output | Drawn | RunsFirst | BlockResult]:
        """Run a block in the lesson's process, which is started if need be; see `LessonSession`."""
        if self._lesson != lesson:
            self.release()
        with self._condition:
            self._condition.wait_for(lambda: not self._busy)
            self._busy, self._keep_running = True, True
        try:
            if self._session is None:
                self._session, self._lesson = make(), lesson
            if not self._keep_running:
                from tpustarter.learning.block_results import BlockResult

                yield BlockResult(block.id, "notrun", "interrupted")
                return
            for event in self._session.run(block, code, above=above):
                if not (self._keep_running or self._session.is_stopping):
                    self._session.stop()  # it was not there yet when it was to stop
                self._notify(self.holder)
                yield event
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
            self._notify(self.holder)

    def stop(self, *, names_stay: bool = False) -> None:
        """End the block that runs; its result says so. See `LessonSession.stop`."""
        self._keep_running = False
        session = self._session
        if session and self._busy:
            session.stop(names_stay=names_stay)

    def release(self) -> None:
        """End the process and wait for it, in bounded time."""
        self.stop()
        with self._condition:
            self._condition.wait_for(lambda: not self._busy)
            session, self._session, self._lesson = self._session, None, None
        if session:
            session.close()
            self._notify(self.holder)


def _owns_accelerator(session: LessonSession) -> bool:
    """Return whether its process takes the accelerator as soon as a block asks for devices."""
    return bool(session.lesson.framework) and session.target["platform"] != "cpu"


def _may_own_accelerator(session: LessonSession) -> bool:
    """Return whether its process could: one without a framework has the environment as it is."""
    return session.target["platform"] != "cpu" or bool(
        session.host["chips"] and not session.lesson.framework
    )
