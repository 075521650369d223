"""Running and judging an exercise's answers, and the next steps after a right answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from tpustarter.core import content
from tpustarter.learning.content import exercises
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.progress import lesson_progress, lesson_summary
from tpustarter.learning.progress.lesson_summary import ExerciseSummary, NextLearningStep
from tpustarter.learning.run.block_output import OutputChunk
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.tui.app.messages import BLOCK, EventsArrived
from tpustarter.tui.app.session import AppSession
from tpustarter.tui.exercise import verdict_text
from tpustarter.tui.exercise.list_screen import ExerciseListScreen
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.safe_text import OutputTail
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.lesson.screen import LessonRunScreen

OTHER_ENDS = (
    "Only one process runs at a time, so the one of the lesson has ended. There, a runs its blocks "
    "again."
)
JUDGED_NEXT = "What you typed is judged next. Ctrl+C stops the answer that runs now."


class AnswerJudge:
    """Runs and judges one answer at a time, and keeps the last verdict."""

    def __init__(self, screen: Page) -> None:
        self._screen = screen
        self._runner = ScreenRunner[OutputChunk | AnswerVerdict](screen, BLOCK)
        self._path = ""
        """The learner's file as named in tracebacks."""
        self._tail = OutputTail()
        self.judged: AnswerVerdict | None = None
        """The verdict on the last answer, or None."""
        self.has_process = False
        """True once an answer has run; its process stays until the screen is closed."""
        self._is_next = False
        """True if the file will be judged again when the running answer has ended."""

    @property
    def is_busy(self) -> bool:
        """True if an answer is running and being judged."""
        return self._runner.is_busy

    @property
    def seconds(self) -> float:
        """Seconds since the answer was started."""
        return self._runner.seconds

    @property
    def output_tail(self) -> str:
        """The last lines of the answer's output."""
        return self._tail.text

    @property
    def is_due(self) -> bool:
        """True if the file should be judged again now."""
        return self._is_next and not self.is_busy

    def comes_next(self) -> bool:
        """Return whether an answer is running; if so, schedule another judgement after it."""
        if self.is_busy:
            self._is_next = True
            self._screen.notify(JUDGED_NEXT, markup=False)
        return self.is_busy

    def begin(self, exercise: Exercise) -> None:
        """Judge the learner's saved file."""
        self._is_next = False
        if self._screen.tutor.live.is_warm_for_other(_name(exercise)):
            self._screen.notify(OTHER_ENDS, markup=False)
        self.has_process = True
        self._path = verdict_text.short_path(exercises.learner_file_path(exercise))
        self.forget()
        self._runner.begin(partial(self._judge, exercise))

    def forget(self) -> None:
        """Clear the last answer's verdict and output."""
        self.judged, self._tail = None, OutputTail()

    def _judge(self, exercise: Exercise) -> Iterator[OutputChunk | AnswerVerdict]:
        """Run and judge the answer; called in the worker thread."""
        app = self._screen.tutor

        def make() -> LessonSession:
            return LessonSession(exercise.lesson, machine=app.machine, devices=app.choices.devices)

        def play(block: Block) -> Iterator[object]:
            return app.live.run(_name(exercise), make, block, block.code, [])

        return exercises.judge_answer(exercise, play)

    def take_events(self, message: EventsArrived) -> AnswerVerdict | None:
        """Handle the answer's events; return the verdict if it has arrived."""
        verdict = None
        for event in self._runner.take_events(message):
            if isinstance(event, OutputChunk):
                name = self._path.rpartition("/")[2]  # the full path is shown above
                self._tail.add(event.text.replace(f'File "{self._path}"', f'File "{name}"'))
            else:
                self.judged = verdict = event
        return verdict

    def stop(self) -> bool:
        """Stop the running answer; return whether one was running."""
        self._is_next = False
        if self.is_busy:
            self._screen.tutor.live.stop()
        return self.is_busy


def _name(exercise: Exercise) -> str:
    """Return the name of the process that judges an exercise."""
    return f"exercise {exercise.id}"


@dataclass(frozen=True)
class SolvedExerciseText:
    """The text below a correct answer: the exercise's summary, and where Esc leads."""

    end: ExerciseSummary
    back: str
    """The description of the screen to which Esc leads."""


def read_solved_exercise_text(
    tutor: AppSession, exercise: Exercise, below: Page
) -> SolvedExerciseText:
    """Read the achievements and the next step after a right answer.

    Args:
        tutor: The app session.
        exercise: The solved exercise.
        below: The screen from which the exercise was opened.
    """
    path, lessons = tutor.find_path(read_paths(tutor.lessons)), content.read_lessons(tutor.lessons)
    end, back = lesson_summary.read_exercise_summary(exercise, path, lessons), below.CALLED
    if isinstance(below, LessonRunScreen):  # not necessarily this exercise's lesson
        lesson = next(one for one in lessons if one.id == below.lesson)
        mark = lesson_progress.format_lesson_mark(
            lesson, lesson_progress.read_progress().lessons.get(lesson.id)
        )
        back = f"the lesson {lesson.title}{f', {mark}' if mark else ''}"
    if isinstance(below, ExerciseListScreen) and (other := below.find_next_open(exercise.id)):
        step = NextLearningStep(f"The next exercise of the list: {other.title}", exercise=other.id)
        end = replace(end, next_step=step)
    return SolvedExerciseText(end, back or "where you were")
