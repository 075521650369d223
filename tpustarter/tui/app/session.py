"""The app's shared state: content, machine, settings, device holder and navigation.

Screens import this module and never one another. They open other screens through the app's
`Routes`, which `navigation.py` implements.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
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
from tpustarter.tui.app.device_use import LessonSessionOwner
from tpustarter.tui.app.machine_label import MachineLabelText
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
    """The methods with which screens open other screens."""

    def open_checks(self, request: CheckRequest | None = None, title: str = "") -> None:
        """Open a screen that ends the lesson's process and runs checks."""

    def open_lessons(self) -> None:
        """Open the list of lessons."""

    def open_lesson(self, lesson: str, *, at: str = "") -> None:
        """Open a lesson at its beginning, or scrolled to the line `at`."""

    def replace_with_lesson(self, lesson: str) -> None:
        """Open a lesson in place of the open one, and close the screens in front of it."""

    def back_to_lesson(self, lesson: str, *, at: str = "") -> bool:
        """Go back to the lesson under the current screen, scrolled to the line `at` unless "".

        Returns:
            False if the lesson is not open.
        """
        ...

    def open_exercise(self, exercise: str) -> None:
        """Open an exercise."""

    def open_exercises(self) -> None:
        """Open the list of exercises."""

    def replace_with_exercise(self, exercise: str) -> None:
        """Replace the current screen with an exercise."""

    def open_setups(self) -> None:
        """Open the list of set-ups for environments and this machine."""

    def open_setup(self, *profiles: str) -> None:
        """Open a set-up's plan, or for several profiles the list with the first one highlighted.

        Nothing is run. Without a profile, this opens the plan for JAX.
        """

    def open_rehearsal(self) -> None:
        """Open the choice of programs and TPUs; the app keeps this screen and its choices."""

    def open_explanation(self, failed: FailedRun, *, why_no_look: str = "") -> None:
        """Open the explanation of a failure, without disturbing running work."""

    def open_explain(self) -> None:
        """Open the screen for pasting an error or the path of a log."""

    def open_tpus(self) -> None:
        """Open the list of a project's TPUs, which queries Google Cloud."""

    def open_slice(self, options: StartOptions) -> None:
        """Open a slice's screen, which shows the commands before it starts anything."""

    def open_slice_watch(self, options: StartOptions) -> None:
        """Open the live view of a slice's hosts, which shows the commands first."""

    def open_watch(self) -> None:
        """Open the live view of the TPU."""

    def open_settings(self) -> None:
        """Open the settings."""

    def open_search(self, text: str = "") -> None:
        """Open the list of lessons with its search field, and search if there is a query."""

    def open_palette(self) -> None:
        """Open the command palette."""

    def open_help(self) -> None:
        """Open the help of the focused editor, if it has one, or of the current screen."""


def find_session(node: MessagePump) -> AppSession:
    """Return the app session of a widget or screen."""
    app = get_app(node)
    if not isinstance(app, AppSession):
        raise TypeError(f"{node!r} belongs to another app")
    return app


def find_worker_error(event: Worker.StateChanged) -> BaseException | None:
    """Return the error of a failed worker, or None."""
    if event.state != WorkerState.ERROR:
        return None
    return event.worker.error  # pyright: ignore[reportUnknownMemberType]


class AppSession(AppInternals, inherit_bindings=False):
    """The app state shared by all screens.

    The machine and the content are arguments, so that tests can replace them.
    """

    heading_label: reactive[MachineLabelText] = reactive(MachineLabelText())
    """The right part of each screen's heading: the machine or the holder of its device."""
    go: Routes
    first_error: BaseException | None = None
    """The first unexpected exception, which `run_app` raises when the app has ended."""

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
        self.animation_level = "none"
        self.machine = machine or Machine()
        self.connect = connect
        """The function that creates a Google Cloud project's client; None for Google's client."""
        self.clock = clock
        """The clock for TPUs; None for the wall clock."""
        self.lessons, self.checks = lessons, checks
        self.live = LessonSessionOwner(
            lambda holder: self.post_message(messages.DeviceHeld(holder))
        )
        self.edits: dict[tuple[str, str], BlockDraft | None] = {}
        """Code edited since the start, by lesson and block id; None for the lesson's own code."""
        self.titles: dict[str, str] = {}
        """The titles of the lessons read so far, keyed by id."""
        self.setup_values: dict[str, dict[str, str]] = {}
        """Values entered for a set-up's steps, keyed by profile."""
        self.tpu_draft: TpuDraft | None = None
        """Values entered for a TPU that has not been requested yet."""
        self.machine_label = MachineLabelText()
        self.holder: DeviceHolder | None = None
        self.on_tpu: bool | None = None
        """True if lessons and checks run on a TPU; None until the machine has been examined."""
        self._idle_timer: Timer | None = None
        self._on_light: bool | None = None
        """True if the terminal's background is light; None until the terminal responds."""
        for known in theme.CHOICES.values():
            self.register_theme(known)
        self.choose(settings.read_settings())

    @property
    def now(self) -> datetime:
        """The current time on the clock for TPUs."""
        return self.clock.now() if self.clock else datetime.now(timezone.utc)

    def choose(self, choices: settings.Settings) -> None:
        """Apply the user's settings."""
        self.choices = choices
        self._choose_theme()
        self.use_filters(NoColor, [NoColor()] if choices.plain or self.no_color else [])

    @property
    def has_colours(self) -> bool:
        """True if the terminal has colours and the user has not turned them off."""
        return bool(self.console.color_system) and not (self.choices.plain or self.no_color)

    def _choose_theme(self) -> None:
        """Use the chosen theme, or the one that suits the terminal if none is chosen."""
        choices, colors = self.choices, self.console.color_system
        if choices.plain or self.no_color:
            chosen = theme.TERMINAL
        else:
            suitable = theme.choose_theme(colors, os.environ, on_light=self._on_light)
            chosen = theme.CHOICES.get(choices.theme or "", suitable)
        self.theme = chosen.name

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  Textual's
        """Apply a changed theme, without parsing all style sheets again before the first screen.

        Textual (8.2.8) would parse them, which takes a tenth of the time to the first paint.
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
        """Return a key's name, with `Space` capitalized as in all texts of the program."""
        shown = super().get_key_display(binding)
        return "Space" if shown == "space" else shown

    def find_path(self, paths: Iterable[LessonPath]) -> LessonPath | None:
        """Return the user's chosen learning path, or else the one that suits the machine."""
        on_tpu = self.on_tpu is not False
        return course.find_path_to_follow(paths, on_tpu=on_tpu, chosen=self.choices.path)

    def on_notify(self, event: Notify) -> None:
        """Replace a notification that has the same text, so that it is shown only once.

        Keys that arrive together are all handled before the first one's notification is shown.
        """
        self.remove_toasts(event.notification.message, refresh=False)

    def show_machine(self, label: MachineLabelText, *, on_tpu: bool, lacks_tpu: bool) -> None:
        """Show the machine in the heading, once facts about it are available."""
        self.machine_label, self.on_tpu, self.live.lacks_tpu = label, on_tpu, lacks_tpu
        self.heading_label = self.live.choose_label(label)

    def on_device_held(self, message: messages.DeviceHeld) -> None:
        """Show the device's holder, and schedule the release of an idle process."""
        if self._idle_timer:
            self._idle_timer.stop()
        idle = self.live.is_warm and not self.live.is_running
        self._idle_timer = self.set_timer(self.live.idle_s, self.release_lesson) if idle else None
        if message.holder != self.holder:
            self.holder = message.holder
            self.heading_label = self.live.choose_label(self.machine_label)
            if self.screen_stack:  # empty while the app closes
                self.screen.refresh_bindings()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Raise the error of a worker that does not belong to a screen."""
        if error := find_worker_error(event):
            raise error

    @work(thread=True, exit_on_error=False, group=messages.RELEASE)
    def release_lesson(self) -> None:
        """End the lesson's process in a worker."""
        self.live.release()
