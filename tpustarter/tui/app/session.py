"""The app as its screens know it: content, machine, settings, holder of the device, navigation.

Screens import this module and never one another: `navigation.py` knows every screen, and the app
hands it to them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from textual import work
from textual.binding import Binding
from textual.filter import NoColor
from textual.message_pump import MessagePump
from textual.notifications import Notify
from textual.reactive import reactive
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from tpustarter.learning.progress import course
from tpustarter.machine.machine import Machine
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.tui.app import messages, settings, theme
from tpustarter.tui.app.device_use import DeviceUse
from tpustarter.tui.app.machine_label import MachineLabel
from tpustarter.tui.kit.row_list import get_app
from tpustarter.tui.terminal.app_internals import AppInternals

if TYPE_CHECKING:
    from tpustarter.checking.machine_check import CheckRequest
    from tpustarter.cloud.api.api_client import OfferingClient
    from tpustarter.cloud.api.clock import Clock
    from tpustarter.learning.content.paths import LessonPath
    from tpustarter.learning.progress.drafts import BlockDraft
    from tpustarter.slices.start_options import StartOptions
    from tpustarter.tui.explain.failed_run import FailedRun
    from tpustarter.tui.tpus.tpu_draft import TpuDraft

    Connect = Callable[[str, Clock], OfferingClient]


class Routes(Protocol):
    """The methods that open each screen, as other screens call them."""

    def open_checks(self, request: CheckRequest | None = None, title: str = "") -> None:
        """Run checks on a screen of their own; the lesson's process ends first."""

    def open_lessons(self) -> None:
        """Open the list of lessons."""

    def open_lesson(self, lesson: str, *, at: str = "") -> None:
        """Open a lesson, at the place of one of its lines if one is given."""

    def replace_with_lesson(self, lesson: str) -> None:
        """Open a lesson in place of the open one and of the screens in front of it."""

    def back_to_lesson(self, lesson: str, *, at: str = "") -> bool:
        """Return to the open lesson below the current screen; return False if there is none.

        With `at`, the lesson scrolls to that line.
        """
        ...

    def open_exercise(self, exercise: str) -> None:
        """Open an exercise."""

    def open_exercises(self) -> None:
        """Open the list of exercises."""

    def replace_with_exercise(self, exercise: str) -> None:
        """Open an exercise in place of the screen in front."""

    def open_setups(self) -> None:
        """Open the list of set-ups: environments, and this machine."""

    def open_setup(self, *profiles: str) -> None:
        """Open the plan of a set-up; for several set-ups, open the list with the first marked."""

    def open_rehearsal(self) -> None:
        """Open the choice of programs and TPUs; the app keeps that screen and the choices on it."""

    def open_explanation(self, failed: FailedRun, *, why_no_look: str = "") -> None:
        """Open the explanation of a failure; that disturbs nothing that runs."""

    def open_explain(self) -> None:
        """Open the screen where the user pastes an error or the path of a log."""

    def open_tpus(self) -> None:
        """Open the list of a project's TPUs, which asks Google Cloud."""

    def open_slice(self, options: StartOptions) -> None:
        """Open the screen of a slice, which shows the commands before it starts anything."""

    def open_settings(self) -> None:
        """Open the settings."""

    def open_search(self, text: str = "") -> None:
        """Open the lessons with the search line; a text is searched for at once."""

    def open_palette(self) -> None:
        """Open the command palette."""

    def open_help(self) -> None:
        """Open the help of the screen in front."""


def find_session(node: MessagePump) -> AppSession:
    """Return the app of a widget or screen."""
    app = get_app(node)
    if not isinstance(app, AppSession):
        raise TypeError(f"{node!r} belongs to another app")
    return app


def find_worker_error(event: Worker.StateChanged) -> BaseException | None:
    """Return the error of a worker that has failed, or None."""
    if event.state != WorkerState.ERROR:
        return None
    return event.worker.error  # pyright: ignore[reportUnknownMemberType]


class AppSession(AppInternals, inherit_bindings=False):
    """The state of the app that all screens share."""

    place: reactive[MachineLabel] = reactive(MachineLabel())
    """The right part of each screen's heading: the machine, or the holder of its device."""
    go: Routes
    broke: BaseException | None = None
    """The program's first bug; whatever ends the app after it, the app ends with that bug."""

    def __init__(
        self,
        *,
        machine: Machine | None = None,
        lessons: Path | None = None,
        checks: Path | None = None,
        connect: Connect | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(ansi_color=True)
        self.machine = machine or Machine()
        self.connect = connect
        """The function that makes the client of a Google Cloud project; None for Google's own."""
        self.clock = clock
        """The clock for TPUs; None for the wall clock."""
        self.lessons, self.checks = lessons, checks
        self.live = DeviceUse(lambda holder: self.post_message(messages.DeviceHeld(holder)))
        self.edits: dict[tuple[str, str], BlockDraft | None] = {}
        """Code typed since the start, by lesson and block; None for the lesson's own code."""
        self.titles: dict[str, str] = {}
        """The titles of the lessons read so far, by id."""
        self.setup_values: dict[str, dict[str, str]] = {}
        """Values typed for the steps of a set-up, by profile."""
        self.tpu_draft: TpuDraft | None = None
        """Values typed into the form for a TPU that has not been requested yet."""
        self.where = MachineLabel()
        self.holder: DeviceHolder | None = None
        self.on_tpu: bool | None = None
        """True if lessons and checks run on a TPU; None until the machine was looked at."""
        self._idle_timer: Timer | None = None
        self._on_light: bool | None = None
        """True if the terminal's background is light; None while the terminal has not answered."""
        for known in theme.CHOICES.values():
            self.register_theme(known)
        self.choose(settings.read_settings())

    def choose(self, choices: settings.Settings) -> None:
        """Apply the user's settings."""
        self.choices = choices
        self._choose_theme()
        self.use_filters(NoColor, [NoColor()] if choices.plain or self.no_color else [])

    @property
    def has_colours(self) -> bool:
        """True if colours are shown: the terminal has some, and the user did not turn them off."""
        return bool(self.console.color_system) and not (self.choices.plain or self.no_color)

    def _choose_theme(self) -> None:
        """Use the theme that was chosen, else the one that suits the terminal."""
        choices, colors = self.choices, self.console.color_system
        if choices.plain or self.no_color:
            chosen = theme.TERMINAL
        else:
            suitable = theme.choose_theme(colors, os.environ, on_light=self._on_light)
            chosen = theme.CHOICES.get(choices.theme or "", suitable)
        self.theme = chosen.name

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  as Textual has it
        """Apply a changed theme; before the first screen, without parsing all style sheets again.

        Textual (8.2.8) would do that here: a tenth of the time to the first paint.
        """
        if self.screen_stack:
            super().refresh_css(animate)
            return
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.parse()
        self.stylesheet.update(self, animate=animate)

    @property
    def needs_background(self) -> bool:
        """True if the theme depends on the terminal's background colour."""
        is_free = not (self.choices.theme or self.choices.plain)
        return is_free and self.theme != theme.TERMINAL.name

    def on_background_colour(self, message: messages.BackgroundColour) -> None:
        self._on_light = message.is_light
        self._choose_theme()

    def get_key_display(self, binding: Binding) -> str:
        """Return a key's name; the space bar is `Space`, as in every text of the program."""
        shown = super().get_key_display(binding)
        return "Space" if shown == "space" else shown

    def find_path(self, paths: Iterable[LessonPath]) -> LessonPath | None:
        """Return the path that the user has chosen, or else the path for this kind of machine."""
        on_tpu = self.on_tpu is not False
        return course.find_path_to_follow(paths, on_tpu=on_tpu, chosen=self.choices.path)

    def on_notify(self, event: Notify) -> None:
        """Replace a toast that has the same text: the message stays longer, and is shown once.

        Of keys that arrive together, each is acted on before the toast of the first one is shown.
        """
        self.remove_toasts(event.notification.message)

    def show_place(self, where: MachineLabel, *, on_tpu: bool, lacks_tpu: bool) -> None:
        """Show the machine in the heading, once the facts about it are known."""
        self.where, self.on_tpu, self.live.lacks_tpu = where, on_tpu, lacks_tpu
        self.place = self.live.choose_place(where)

    def on_device_held(self, message: messages.DeviceHeld) -> None:
        """Show the holder of the device, and release the device once it is idle for a while."""
        if self._idle_timer:
            self._idle_timer.stop()
        idle = self.live.is_warm and not self.live.is_running
        self._idle_timer = self.set_timer(self.live.idle_s, self.release_lesson) if idle else None
        if message.holder != self.holder:
            self.holder = message.holder
            self.place = self.live.choose_place(self.where)
            if self.screen_stack:  # empty while the app closes
                self.screen.refresh_bindings()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Raise the error of a worker that belongs to no screen."""
        if error := find_worker_error(event):
            raise error

    @work(thread=True, exit_on_error=False, group=messages.RELEASE)
    def release_lesson(self) -> None:
        """End the lesson's process, in a worker."""
        self.live.release()
