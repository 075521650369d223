"""Has an answer to an exercise judged on a screen: starts it, follows what it prints, stops it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tpustarter.learning import exercises
from tpustarter.learning.blocks import Block
from tpustarter.learning.exercises import Exercise, Judged
from tpustarter.learning.lesson_process import LessonSession
from tpustarter.learning.output import Output
from tpustarter.tui import exercise_words
from tpustarter.tui.messages import BLOCK, Arrived, Inbox, feed
from tpustarter.tui.plain import Tail

if TYPE_CHECKING:
    from tpustarter.tui.screens.page import Page


OTHER_ENDS = (
    "Only one process runs at a time, so the one of the lesson has ended. There, a runs its blocks "
    "again."
)
JUDGED_NEXT = "What you typed is judged next. Ctrl+C stops the answer that runs now."


class Judging:
    """Judges one answer at a time; keeps what the last one came to."""

    def __init__(self, screen: Page) -> None:
        self._screen = screen
        self._inbox: Inbox[Output | Judged | None] = Inbox()
        self._began = 0.0
        self._path = ""
        """The learner's file, as tracebacks name it."""
        self._tail = Tail()
        self.judged: Judged | None = None
        """What the answer came to."""
        self.is_busy = self.has_process = False
        """Whether an answer runs, and whether one ran: its process is up until the page is left."""
        self._is_next = False
        """Whether the file is judged once more when the answer that runs has ended."""

    @property
    def seconds(self) -> float:
        """How long the answer has been running."""
        return time.monotonic() - self._began

    @property
    def printed(self) -> str:
        """The last lines of what the answer printed."""
        return self._tail.text

    @property
    def is_due(self) -> bool:
        """Whether to judge the file once more, now that nothing runs."""
        return self._is_next and not self.is_busy

    def comes_next(self) -> bool:
        """Return whether an answer runs; the file as it is then comes after that."""
        if self.is_busy:
            self._is_next = True
            self._screen.notify(JUDGED_NEXT, markup=False)
        return self.is_busy

    def begin(self, exercise: Exercise) -> None:
        """Judge the learner's file as it is."""
        self._is_next = False
        if self._screen.tutor.live.is_warm_for_other(_name(exercise)):
            self._screen.notify(OTHER_ENDS, markup=False)
        self.is_busy = self.has_process = True
        self._began = time.monotonic()
        self._path = exercise_words.short_path(exercises.learner_file(exercise))
        inbox: Inbox[Output | Judged | None] = Inbox()
        self._inbox = inbox
        self.forget()
        self._screen.run_worker(
            lambda: self._work(exercise, inbox),
            thread=True, exclusive=True, exit_on_error=False, group=BLOCK,
        )  # fmt: skip

    def forget(self) -> None:
        """Show nothing of the last answer."""
        self.judged, self._tail = None, Tail()

    def _work(self, exercise: Exercise, inbox: Inbox[Output | Judged | None]) -> None:
        """Run the answer. Called in a worker."""
        app = self._screen.tutor

        def make() -> LessonSession:
            return LessonSession(exercise.lesson, machine=app.machine, devices=app.choices.devices)

        def play(block: Block) -> Iterator[Any]:
            return app.live.run(_name(exercise), make, block, block.code, [])

        try:
            feed(self._screen, inbox, exercises.judge(exercise, play))
        finally:
            feed(self._screen, inbox, [None])

    def arrived(self, message: Arrived) -> Judged | None:
        """Take what the answer printed; returns the verdict where that came."""
        verdict = None
        for event in message.inbox.take() if message.inbox is self._inbox else ():
            if isinstance(event, Output):
                name = self._path.rpartition("/")[2]  # it is said above where the file is
                self._tail.add(event.text.replace(f'File "{self._path}"', f'File "{name}"'))
            elif isinstance(event, Judged):
                self.judged = verdict = event
            else:
                self.is_busy = False
        return verdict

    def stop(self) -> bool:
        """Stop the answer that runs; returns whether one did."""
        self._is_next = False
        if self.is_busy:
            self._screen.tutor.live.stop()
        return self.is_busy


def _name(exercise: Exercise) -> str:
    """Return what the process is called that an exercise is judged in."""
    return f"exercise {exercise.id}"
