"""The live view of all hosts of a slice, as `tpustarter watch --all-hosts` shows it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.core.problem import Problem
from tpustarter.slices import slice_watch
from tpustarter.slices.slice_watch import SliceWatch, WatchedSlice
from tpustarter.slices.slice_watch_text import render_slice
from tpustarter.slices.start_options import StartOptions, make_engine
from tpustarter.slices.starting.launch_request import HostCommand
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import LOAD, SLICE, EventsArrived, FactsLoaded
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.slices.start_question import StartQuestion
from tpustarter.tui.watch.painted_frame import paint_frame

SECONDS = 2.0
DOES = (
    "which read the numbers of every host's TPU until you end it. They open no device and start no "
    "framework, so they are safe beside a job. Each host needs tpustarter in its python3."
)


@dataclass(frozen=True)
class PreparedWatch:
    """Commands that have been built but not started, and the number of hosts if it is known."""

    commands: tuple[HostCommand, ...]
    count: int | None


class SliceWatchScreen(Page):
    """One table of all hosts, and the sentence on what they do together."""

    HELP = """
Each host of the slice reads the numbers of its own TPU every two seconds, as `tpustarter watch`
does. Before anything runs, you see the commands that start that. **Enter** or **y** runs them.

* One line is one host. A host that does not answer has its reason there. Of more hosts than there
  is room for, those with a problem and those that compute least are shown.
* The sentence says what the hosts do together, and **Enter** opens the lesson that explains it.
* **x** ends it on every host, and **a** starts it again, after you have seen the commands.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "lesson", "the lesson", key_display="Enter", tooltip="on what it means"),
        Binding("a", "again", "again", tooltip="tpustarter watch --all-hosts --start ENGINE"),
    ]

    def __init__(self, options: StartOptions) -> None:
        super().__init__(f"What {escape_text(', '.join(options.names) or 'the slice')} does")
        self._options = options
        self._seen: WatchedSlice | None = None
        self.runner = self._runner = ScreenRunner[WatchedSlice](self, SLICE)

    def body(self) -> Iterable[Widget]:
        yield Static("", id="live")

    def on_mount(self) -> None:
        self.action_again()

    def _say(self, text: str) -> None:
        self.query_one("#live", Static).update(escape_text(text))

    def action_again(self) -> None:
        """Prepare the commands, and then ask whether to start them."""
        self._seen = None
        self._say("Preparing the commands; nothing runs on a host yet.")
        self._prepare()

    @work(thread=True, exclusive=True, exit_on_error=False, group=LOAD)
    def _prepare(self) -> None:
        try:
            engine = make_engine(self._options)
            commands = slice_watch.prepare_watch(engine, once=False, seconds=SECONDS)
            self.post_message(FactsLoaded(PreparedWatch(commands, engine.count)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def on_facts_loaded(self, message: FactsLoaded[PreparedWatch | Problem]) -> None:
        facts = message.facts
        if isinstance(facts, Problem):
            self._say("Nothing was started. Press a to try again, or Esc to go back.")
            self.show_error(facts)
            return
        self._say("Nothing has been started yet.")
        words = self._options.list_words("watch")
        question = StartQuestion("Watch all hosts: nothing runs yet", DOES, facts.commands, words)
        self.tutor.push_screen(question, lambda yes: self._answer(facts, yes=yes))

    def _answer(self, prepared: PreparedWatch, *, yes: bool | None) -> None:
        if not yes:
            self._say("Nothing was started. Press a to see the commands again, or Esc to go back.")
        else:
            self._say("Waiting for the first answer of a host, usually 3 to 20 s.")
            self._runner.begin(lambda: self._play(prepared))
        self.refresh_bindings()

    def _play(self, prepared: PreparedWatch) -> Iterator[WatchedSlice]:
        """Watch the hosts; called in the worker thread."""
        with tempfile.TemporaryDirectory() as folder:
            watched = SliceWatch(prepared.commands, Path(folder), SECONDS, prepared.count)
            self._runner.on_stop(watched.stop)
            yield from watched.follow()

    def on_events_arrived(self, message: EventsArrived) -> None:
        for seen in self._runner.take_events(message):
            self._seen = seen
        if self._seen is None and not self._runner.is_busy:
            self._say("It has ended without an answer. Press a to try again, or Esc to go back.")
        self._draw()
        self.refresh_bindings()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        live, seen = self.query_one("#live", Static), self._seen
        if seen is None or not live.size.width:
            return
        size, ended = live.size, 0 if self._runner.is_busy else 2
        lines = paint_frame(
            lambda paint: render_slice(seen, paint, size.width, size.height - ended)
        )
        more = "\n\nIt has ended on every host. Press a to start it again." if ended else ""
        live.update(lines + more)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `lesson` once there is a sentence, and `again` once it has ended."""
        if action == "again":
            return not self._runner.is_busy
        if action == "lesson":
            return bool(self._lesson)
        return super().check_action(action, parameters)

    @property
    def _lesson(self) -> str:
        told = self._seen.situation if self._seen else None
        return told.lesson if told else ""

    def action_lesson(self) -> None:
        self.tutor.go.open_lesson(self._lesson)
