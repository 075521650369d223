"""The live view of the TPU, as `tpustarter watch` shows it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.tui.app.messages import LOAD, FactsLoaded
from tpustarter.tui.kit.page import Page
from tpustarter.tui.watch.painted_frame import paint_frame
from tpustarter.watch import watch_text
from tpustarter.watch.reading import TpuReading
from tpustarter.watch.situations import find_situation
from tpustarter.watch.tpu_watch import TpuWatch

PAUSE_S = 2.0


class WatchScreen(Page):
    """Memory, duty cycle and matrix unit of each device, and the sentence on what they mean."""

    HELP = """
Every two seconds this asks the libtpu of the program that uses the TPU for its numbers. It opens no
device and starts no framework, so it is safe beside a job.

* The sentence says what the numbers mean together, and **Enter** opens the lesson that explains it.
* The curves are the medians over all devices in the last five minutes.
* If there are no numbers, the screen says why, and it goes on looking.
* This is one host. The list of TPUs shows all hosts of a slice, with its key **m**, as
  `tpustarter watch --all-hosts` does.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "lesson", "the lesson", key_display="Enter", tooltip="on what it means"),
        Binding("r", "look", "look again", tooltip="tpustarter watch --once"),
    ]

    def __init__(self) -> None:
        super().__init__("What the TPU does")
        self._watch: TpuWatch | None = None
        self._reading: TpuReading | None = None
        self._is_looking = False

    def body(self) -> Iterable[Widget]:
        yield Static("Asking libtpu.", id="live")

    def on_mount(self) -> None:
        self.action_look()
        self.set_interval(PAUSE_S, self.action_look)

    def action_look(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._look()

    @work(thread=True, exclusive=True, exit_on_error=False, group=f"{LOAD}-watch")
    def _look(self) -> None:
        try:
            if self._watch is None:
                # It prefers the Python of the settings, and does without one that is gone.
                self._watch = TpuWatch(self.tutor.machine, Path.cwd())
            self.post_message(FactsLoaded(self._watch.look()))
        finally:
            self._is_looking = False

    def on_facts_loaded(self, message: FactsLoaded[TpuReading]) -> None:
        self._reading = message.facts
        self._draw()
        self.refresh_bindings()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        live = self.query_one("#live", Static)
        if self._watch is None or self._reading is None or not live.size.width:
            return
        seen = (self._reading, self._watch.history, self._watch.problem)
        live.update(
            paint_frame(lambda paint: watch_text.render_frame(*seen, live.size, paint, in_app=True))
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `lesson` once there is a reading."""
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    @property
    def _lesson(self) -> str:
        if self._reading is None:
            return ""
        told = self._reading.missing or find_situation(self._reading)
        return told.lesson if told else ""

    def action_lesson(self) -> None:
        self.tutor.go.open_lesson(self._lesson)

    def on_unmount(self) -> None:
        if self._watch:
            self._watch.close(waits=False)
