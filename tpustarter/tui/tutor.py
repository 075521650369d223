"""The app as its screens know it: content, machine, choices, who holds the device, where to go.

Screens import this and never each other's way: `navigation.py` knows every screen, and the app
that wires them hands it over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual import work
from textual.binding import Binding
from textual.filter import NoColor
from textual.notifications import Notify
from textual.reactive import reactive
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from tpustarter.learning import course
from tpustarter.machine.machine import Machine
from tpustarter.tui import messages, settings, theme
from tpustarter.tui.keys import SequentialKeys
from tpustarter.tui.live import Live

if TYPE_CHECKING:
    from tpustarter.checking.selfcheck import Request
    from tpustarter.cloud.client import Client
    from tpustarter.cloud.clock import Clock
    from tpustarter.learning.drafts import Draft
    from tpustarter.learning.paths import LessonPath
    from tpustarter.tui.failed import Failed
    from tpustarter.tui.tpu_form import Draft as TpuDraft

    Connect = Callable[[str, Clock], Client]


class Routes(Protocol):
    """The ways from one screen to another."""

    def to_checks(self, request: Request | None = None, title: str = "") -> None:
        """Run checks on a screen of their own; the lesson's process ends first."""

    def to_lessons(self) -> None:
        """Show all lessons."""

    def to_lesson(self, lesson: str, *, at: str = "") -> None:
        """Show one lesson, from a line of it if one is given."""

    def to_lesson_instead(self, lesson: str) -> None:
        """Show a lesson in the place of the one that is open, and of what is in front of it."""

    def back_to_lesson(self, lesson: str, *, at: str = "") -> bool:
        """Return to a lesson that is open below what is in front; returns whether one is.

        Where a line of it is given, that is shown.
        """
        ...

    def to_exercise(self, exercise: str) -> None:
        """Work on an exercise."""

    def to_exercises(self) -> None:
        """Show all exercises."""

    def to_exercise_instead(self, exercise: str) -> None:
        """Show an exercise in the place of the screen in front."""

    def to_setups(self) -> None:
        """Show what can be set up: environments, and this machine."""

    def to_setup(self, *profiles: str) -> None:
        """Show the plan of a set-up, or of several the list with the first of them marked."""

    def to_rehearsal(self) -> None:
        """Choose programs and TPUs; the app keeps the screen, and with it what was chosen."""

    def to_explanation(self, failed: Failed, *, why_no_look: str = "") -> None:
        """Explain a failure; that disturbs nothing that runs."""

    def to_explain(self) -> None:
        """Ask for an error, or the path of a log."""

    def to_tpus(self) -> None:
        """Show the TPUs of a project of Google Cloud; that asks Google."""

    def to_settings(self) -> None:
        """Show what can be chosen."""

    def to_search(self, text: str = "") -> None:
        """Show all lessons, ready to type what is looked for, or what there is about a text."""

    def to_palette(self) -> None:
        """Offer every action, to be found by typing."""

    def to_help(self) -> None:
        """Show the help of the screen in front."""


class Tutor(SequentialKeys, inherit_bindings=False):
    """What every screen may ask of the app."""

    place: reactive[str] = reactive("")
    """What every heading says on its right: the machine, or who holds its device."""
    go: Routes
    broke: BaseException | None = None
    """The first bug of ours: whatever ends the app after it, it ends as one."""

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
        """What makes the client of a project of Google Cloud; Google's own where it is null."""
        self.clock = clock
        """What tells the time of TPUs; the wall clock where it is null."""
        self.lessons, self.checks = lessons, checks
        self.live = Live(lambda holder: self.post_message(messages.Holding(holder)))
        self.edits: dict[tuple[str, str], Draft | None] = {}
        """What was typed since the start, by lesson and block; null for the lesson's code."""
        self.titles: dict[str, str] = {}
        """What lessons are called, by id, as far as they were read."""
        self.setup_values: dict[str, dict[str, str]] = {}
        """What was typed for the steps of a set-up, by profile."""
        self.tpu_draft: TpuDraft | None = None
        """What was typed into the form for a TPU, and not asked for yet."""
        self.where = self.holder = ""
        self.on_tpu: bool | None = None
        """Whether lessons and checks run on a TPU; null until the machine was looked at."""
        self._idle_timer: Timer | None = None
        self._on_light: bool | None = None
        """Whether the terminal's ground is light; null while it has not said so."""
        for known in theme.CHOICES.values():
            self.register_theme(known)
        self.choose(settings.read())

    def choose(self, choices: settings.Settings) -> None:
        """Follow the learner's choices."""
        self.choices = choices
        self._choose_theme()
        no_color = [NoColor()] if choices.plain or self.no_color else []
        self._filters = [item for item in self._filters if not isinstance(item, NoColor)] + no_color

    @property
    def has_colours(self) -> bool:
        """Whether colours are shown: the terminal has some, and nobody asked for none."""
        return bool(self.console.color_system) and not (self.choices.plain or self.no_color)

    def _choose_theme(self) -> None:
        """Take the theme that was chosen, else the one that suits the terminal."""
        choices, colors = self.choices, self.console.color_system
        if choices.plain or self.no_color:
            chosen = theme.TERMINAL
        else:
            suitable = theme.suitable(colors, os.environ, on_light=self._on_light)
            chosen = theme.CHOICES.get(choices.theme or "", suitable)
        self.theme = chosen.name

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  as Textual has it
        """Follow a change of theme; before the first screen, with what was parsed kept for that.

        Textual (8.2.8) parses every rule anew here and forgets it: a tenth of the first paint.
        """
        if self.screen_stack:
            super().refresh_css(animate)
            return
        self.stylesheet.set_variables(self.get_css_variables())
        self.stylesheet.parse()
        self.stylesheet.update(self, animate=animate)

    @property
    def asks_for_ground(self) -> bool:
        """Whether the theme depends on what the terminal says of its ground."""
        is_free = not (self.choices.theme or self.choices.plain)
        return is_free and self.theme != theme.TERMINAL.name

    def on_ground(self, message: messages.Ground) -> None:
        """Follow the terminal, where nothing was chosen."""
        self._on_light = message.is_light
        self._choose_theme()

    def get_key_display(self, binding: Binding) -> str:
        """Return what a key is called; the space bar as every text of ours calls it."""
        shown = super().get_key_display(binding)
        return "Space" if shown == "space" else shown

    def path_of(self, paths: Iterable[LessonPath]) -> LessonPath | None:
        """Return the path to follow: the one chosen, else the one for this kind of machine."""
        on_tpu = self.on_tpu is not False
        return course.path_to_follow(paths, on_tpu=on_tpu, chosen=self.choices.path)

    def on_notify(self, event: Notify) -> None:
        """Take what is said again for what is there still: it stays longer, and stands once.

        Of keys that come together, each is acted on before what the first one says is there.
        """
        for said in [*self._notifications]:
            if said.message == event.notification.message:
                self._unnotify(said, refresh=False)

    def show_place(self, where: str, *, on_tpu: bool, lacks_tpu: bool) -> None:
        """Say what the machine is, once that is known; see `Facts`."""
        self.where, self.on_tpu, self.live.lacks_tpu = where, on_tpu, lacks_tpu
        self.place = self.live.place(where)

    def on_holding(self, message: messages.Holding) -> None:
        """Say who holds the device, and let go of it when it is not used for a while."""
        if self._idle_timer:
            self._idle_timer.stop()
        idle = self.live.is_warm and not self.live.is_running
        self._idle_timer = self.set_timer(self.live.idle_s, self.release_lesson) if idle else None
        holder = message.holder or ""
        if holder != self.holder:
            self.holder = holder
            self.place = self.live.place(self.where)
            if self.screen_stack:  # none is left while the app closes
                self.screen.refresh_bindings()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Swallow no error of a worker that belongs to no screen."""
        if event.state == WorkerState.ERROR:
            raise cast("Any", event).worker.error

    @work(thread=True, exit_on_error=False, group=messages.RELEASE)
    def release_lesson(self) -> None:
        """End the lesson's process."""
        self.live.release()
