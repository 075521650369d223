"""The ways from screen to screen: the one place that knows them all.

A screen is imported when somebody goes there, so that the first one is painted at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tpustarter.tui.screens.page import Help, Page
from tpustarter.tui.tutor import Tutor

if TYPE_CHECKING:
    from tpustarter.checking.selfcheck import Request
    from tpustarter.tui.failed import Failed


class Navigation:
    """Opens screens; `tutor.Routes` is what other screens see of it."""

    def __init__(self, app: Tutor) -> None:
        self._app = app

    def to_checks(self, request: Request | None = None, title: str = "") -> None:
        """Run checks on a screen of their own; the lesson's process ends first."""
        from tpustarter.checking.selfcheck import Request
        from tpustarter.tui.screens.checks import Checks

        self._app.push_screen(Checks(request or Request(devices=self._app.choices.devices), title))

    def to_lessons(self) -> None:
        """Show all lessons."""
        from tpustarter.tui.screens.lessons import Lessons

        self._app.push_screen(Lessons())

    def to_lesson(self, lesson: str, *, at: str = "") -> None:
        """Show one lesson, from a line of it if one is given."""
        from tpustarter.tui.screens.reader import Reader

        self._app.push_screen(Reader(lesson, at=at))

    def to_exercise(self, exercise: str) -> None:
        """Work on an exercise."""
        from tpustarter.tui.screens.exercise import ExercisePage

        self._app.push_screen(ExercisePage(exercise))

    def back_to_lesson(self, lesson: str, *, at: str = "") -> bool:
        """Return to a lesson that is open below what is in front; returns whether one is.

        Where a line of it is given, that is shown.
        """
        from tpustarter.tui.screens.reader import Reader

        readers = [
            screen
            for screen in self._app.screen_stack
            if isinstance(screen, Reader) and screen.lesson == lesson
        ]
        while readers and self._app.screen is not readers[-1]:
            self._app.pop_screen()
        if readers and at:
            readers[-1].go_to(at)
        return bool(readers)

    def to_lesson_instead(self, lesson: str) -> None:
        """Show a lesson in the place of the one that is open, and of what is in front of it."""
        from tpustarter.tui.screens.reader import Reader

        if any(isinstance(screen, Reader) for screen in self._app.screen_stack):
            while not isinstance(self._app.screen, Reader):
                self._app.pop_screen()
        cast("Any", self._app).switch_screen(Reader(lesson))

    def to_exercises(self) -> None:
        """Show all exercises."""
        from tpustarter.tui.screens.exercises import Exercises

        self._app.push_screen(Exercises())

    def to_exercise_instead(self, exercise: str) -> None:
        """Show an exercise in the place of the screen in front."""
        from tpustarter.tui.screens.exercise import ExercisePage

        cast("Any", self._app).switch_screen(ExercisePage(exercise))

    def to_setups(self) -> None:
        """Show what can be set up: environments, and this machine."""
        from tpustarter.tui.screens.setups import Setups

        self._app.push_screen(Setups())

    def to_setup(self, *profiles: str) -> None:
        """Show the plan of a set-up, or of several the list with the first of them marked.

        Nothing is run for that. Without a name it is the one for JAX.
        """
        from tpustarter.setup.profiles import MACHINE
        from tpustarter.tui.screens.machine_plan import MachinePlan
        from tpustarter.tui.screens.setup import SetupPlan
        from tpustarter.tui.screens.setups import Setups

        first = profiles[0] if profiles else "jax"
        if len(profiles) > 1:
            self._app.push_screen(Setups(first))
        else:
            self._app.push_screen(MachinePlan(first) if first in MACHINE else SetupPlan(first))

    def to_rehearsal(self) -> None:
        """Choose programs and TPUs; the app keeps the screen, and with it what was chosen."""
        from tpustarter.tui.screens.rehearse import NAME, Rehearse

        app = cast("Any", self._app)
        if not app.is_screen_installed(NAME):
            app.install_screen(Rehearse(), NAME)
        screen = app.get_screen(NAME)
        if screen not in app.screen_stack:
            app.push_screen(NAME)
        while app.screen is not screen:
            app.pop_screen()

    def to_explanation(self, failed: Failed, *, why_no_look: str = "") -> None:
        """Explain a failure; that disturbs nothing that runs."""
        from tpustarter.tui.screens.explained import Explained

        if not why_no_look and self._app.live.owns_accelerator:
            why_no_look = "a process of this app holds its TPU or GPU (`t` ends it)"
        self._app.push_screen(Explained(failed, why_no_look=why_no_look))

    def to_explain(self) -> None:
        """Ask for an error, or the path of a log."""
        from tpustarter.tui.screens.explain import Explain

        self._app.push_screen(Explain())

    def to_tpus(self) -> None:
        """Show the TPUs of a project of Google Cloud; that asks Google."""
        from tpustarter.tui.screens.tpus import Tpus

        self._app.push_screen(Tpus())

    def to_settings(self) -> None:
        """Show what can be chosen."""
        from tpustarter.tui.screens.settings import Choices

        self._app.push_screen(Choices())

    def to_search(self, text: str = "") -> None:
        """Show all lessons, ready to type what is looked for, or what there is about a text."""
        from tpustarter.tui.screens.lessons import Lessons

        if isinstance(self._app.screen, Lessons):
            self._app.screen.action_find(text)
        else:
            self._app.push_screen(Lessons(find=True, text=text))

    def to_palette(self) -> None:
        """Offer every action, to be found by typing."""
        from tpustarter.tui.screens.palette import Palette

        self._app.push_screen(Palette(id="--command-palette"))

    def to_help(self) -> None:
        """Show the help of the screen in front, or of the field in which one types there."""
        if isinstance(screen := self._app.screen, Page):
            typed = screen.focused.HELP if screen.focused else None
            self._app.push_screen(Help(screen, typed or screen.HELP or ""))
