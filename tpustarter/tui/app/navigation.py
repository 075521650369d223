"""Navigation between screens.

Each screen is imported when the user opens it, so that the first screen appears quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpustarter.tui.app.session import AppSession
from tpustarter.tui.kit.page import HelpSheet, Page

if TYPE_CHECKING:
    from tpustarter.checking.machine_check import CheckRequest
    from tpustarter.slices.start_options import StartOptions
    from tpustarter.tui.explain.failed_run import FailedRun


class Navigation:
    """The implementation of `session.Routes`, which describes its methods."""

    def __init__(self, app: AppSession) -> None:
        self._app = app

    def open_checks(self, request: CheckRequest | None = None, title: str = "") -> None:
        from tpustarter.checking.machine_check import CheckRequest
        from tpustarter.tui.checks.screen import ChecksScreen

        request = request or CheckRequest(devices=self._app.choices.devices)
        self._app.push_screen(ChecksScreen(request, title))

    def open_lessons(self) -> None:
        from tpustarter.tui.library.screen import LessonListScreen

        self._app.push_screen(LessonListScreen())

    def open_lesson(self, lesson: str, *, at: str = "") -> None:
        from tpustarter.tui.lesson.screen import LessonRunScreen

        self._app.push_screen(LessonRunScreen(lesson, at=at))

    def open_exercise(self, exercise: str) -> None:
        from tpustarter.tui.exercise.screen import ExerciseScreen

        self._app.push_screen(ExerciseScreen(exercise))

    def back_to_lesson(self, lesson: str, *, at: str = "") -> bool:
        from tpustarter.tui.lesson.screen import LessonRunScreen

        readers = [
            screen
            for screen in self._app.screen_stack
            if isinstance(screen, LessonRunScreen) and screen.lesson == lesson
        ]
        while readers and self._app.screen is not readers[-1]:
            self._app.pop_screen()
        if readers and at:
            readers[-1].go_to(at)
        return bool(readers)

    def replace_with_lesson(self, lesson: str) -> None:
        from tpustarter.tui.lesson.screen import LessonRunScreen

        if any(isinstance(screen, LessonRunScreen) for screen in self._app.screen_stack):
            while not isinstance(self._app.screen, LessonRunScreen):
                self._app.pop_screen()
        self._app.replace_screen(LessonRunScreen(lesson))

    def open_exercises(self) -> None:
        from tpustarter.tui.exercise.list_screen import ExerciseListScreen

        self._app.push_screen(ExerciseListScreen())

    def replace_with_exercise(self, exercise: str) -> None:
        from tpustarter.tui.exercise.screen import ExerciseScreen

        self._app.replace_screen(ExerciseScreen(exercise))

    def open_setups(self) -> None:
        from tpustarter.tui.setup.list_screen import SetupListScreen

        self._app.push_screen(SetupListScreen())

    def open_setup(self, *profiles: str) -> None:
        from tpustarter.setup.environment.setup_profiles import MACHINE
        from tpustarter.tui.setup.environment_screen import EnvironmentSetupScreen
        from tpustarter.tui.setup.list_screen import SetupListScreen
        from tpustarter.tui.setup.machine_screen import MachineSetupScreen

        first = profiles[0] if profiles else "jax"
        if len(profiles) > 1:
            self._app.push_screen(SetupListScreen(first))
        else:
            self._app.push_screen(
                MachineSetupScreen(first) if first in MACHINE else EnvironmentSetupScreen(first)
            )

    def open_rehearsal(self) -> None:
        from tpustarter.tui.rehearse.choice_screen import NAME, RehearsalChoiceScreen

        app: Any = self._app  # Textual's methods for installed screens are not typed
        if not app.is_screen_installed(NAME):
            app.install_screen(RehearsalChoiceScreen(), NAME)
        screen = app.get_screen(NAME)
        if screen not in app.screen_stack:
            app.push_screen(NAME)
        while app.screen is not screen:
            app.pop_screen()

    def open_explanation(self, failed: FailedRun, *, why_no_look: str = "") -> None:
        from tpustarter.tui.explain.screen import ExplanationScreen

        if not why_no_look and self._app.live.owns_accelerator:
            why_no_look = "a process of this app holds its TPU or GPU (`t` ends it)"
        self._app.push_screen(ExplanationScreen(failed, why_no_look=why_no_look))

    def open_explain(self) -> None:
        from tpustarter.tui.explain.input_screen import ExplainInput

        self._app.push_screen(ExplainInput())

    def open_tpus(self) -> None:
        from tpustarter.tui.tpus.screen import TpuListScreen

        self._app.push_screen(TpuListScreen())

    def open_slice(self, options: StartOptions) -> None:
        from tpustarter.tui.slices.screen import SliceScreen

        self._app.push_screen(SliceScreen(options))

    def open_slice_watch(self, options: StartOptions) -> None:
        from tpustarter.tui.slices.watch_screen import SliceWatchScreen

        self._app.push_screen(SliceWatchScreen(options))

    def open_watch(self) -> None:
        from tpustarter.tui.watch.screen import WatchScreen

        self._app.push_screen(WatchScreen())

    def open_settings(self) -> None:
        from tpustarter.tui.app.settings_screen import SettingsScreen

        self._app.push_screen(SettingsScreen())

    def open_search(self, text: str = "") -> None:
        from tpustarter.tui.library.screen import LessonListScreen

        if isinstance(self._app.screen, LessonListScreen):
            self._app.screen.action_find(text)
        else:
            self._app.push_screen(LessonListScreen(find=True, text=text))

    def open_palette(self) -> None:
        from tpustarter.tui.app.palette import Palette

        self._app.push_screen(Palette(id="--command-palette"))

    def open_help(self) -> None:
        if isinstance(screen := self._app.screen, Page):
            typed = screen.focused.HELP if screen.focused else None
            self._app.push_screen(HelpSheet(screen, typed or screen.HELP or ""))
