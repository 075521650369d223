"""The timeline of an operation on one TPU, such as its creation or its deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.create.events import (
    Event,
    NodeStateChanged,
    RequestStateChanged,
    RequestWithdrawn,
    TpuReady,
)
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.text import event_text
from tpustarter.core.problem import Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import TPU_WORK, EventsArrived
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.screen_runner import ScreenRunner
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence
from tpustarter.tui.tpus import tpu_work
from tpustarter.tui.tpus.tpu_work import StoppedError, TpuWork

MOST_LINES = 500
"""Maximum number of lines in the timeline; older ones are dropped, with a note."""


@dataclass(frozen=True)
class WorkEnded:
    """Sent when the work has ended, unless the user has stopped waiting for it."""

    result: object = None
    problem: Problem | None = None


class FollowScreen(Page):
    """The timeline of one operation."""

    HELP = """
Each line is something that happened, with its time: what Google was asked, and each state that the
TPU was seen in, with what usually comes next. Google is asked about every 15 seconds.

* **Esc** or **x** ends the waiting at once. That cancels nothing, and the last line says what goes
  on at Google without this screen.
* **Esc** again goes back to the list of TPUs.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "stop waiting", tooltip="Ctrl+C of `tpustarter tpu watch NAME`"),
        Binding(
            "down,space,pagedown", "scroll(1)", "read on", key_display="Down", tooltip="later lines"
        ),
        Binding("up,pageup", "scroll(-1)", show=False),
    ]

    def __init__(self, what: TpuWork) -> None:
        super().__init__(what.title)
        self._what = what
        self._events: list[Event] = []
        self._lines: list[LaidOutLines] = []
        self._ended: WorkEnded | None = None
        self.runner = self._run = ScreenRunner[Event | WorkEnded](self, TPU_WORK, self._tick)

    def body(self) -> Iterable[Widget]:
        yield Static("", id="opening")
        with VerticalScroll(id="page"):
            events = Static("", id="events")
            events.border_title = "What has happened"
            yield events
        yield Static("", id="headline")

    def on_mount(self) -> None:
        same = [
            line
            for command in self._what.commands[:1]
            for line in event_text.command_lines(command, 76)
        ]
        more = len(self._what.commands) - 1
        note = [f"... and {more} more, for the other zones or nodes"] if more else []
        lines = "\n".join(map(escape_text, ["The same with gcloud:", *same, *note, ""]))
        self.query_one("#opening", Static).update(Content(lines))
        self.set_focus(self.query_one("#page"))
        self._run.begin(self._play)

    def _play(self) -> Iterator[Event | WorkEnded]:
        """Yield the events of the work and its end, in the worker."""
        stopped = self._run.stopped
        try:
            client, clock = tpu_work.make_client(self.tutor, self._what.project.name, stopped)
            happening = self._what.begin(client, clock)
            while True:
                event = next(happening)
                yield event
                # A withdrawal is announced before it is sent: stopping here would lose it.
                if stopped.is_set() and not isinstance(event, RequestWithdrawn):
                    happening.close()
                    return
        except StopIteration as end:
            yield WorkEnded(end.value)
        except StoppedError:
            return
        except Problem as problem:
            yield WorkEnded(problem=problem)

    def on_events_arrived(self, message: EventsArrived) -> None:
        for event in self._run.take_events(message):
            if isinstance(event, WorkEnded):
                self._ended = event
            else:
                self._events.append(event)
                self._add(event_text.describe_event(event), _time_of(event, self.tutor.now))
        if not self._run.is_busy:
            self._finish()
        self._show()
        self.refresh_bindings()

    def _add(self, sentences: Iterable[str], label: str) -> None:
        for number, sentence in enumerate(sentences):
            start = label if number == 0 else " " * len(label)
            self._lines.append(
                HangingText(Content.styled(start, "$muted"), style_sentence(sentence))
            )

    def _finish(self) -> None:
        ended = self._ended
        if ended and ended.problem:
            self._add(_describe_problem(ended.problem), "          ")
        elif ended and isinstance(ended.result, QueuedResource):
            self._add(_describe_result(ended.result), "          ")
        self._say(self._last_line(ended))

    def _last_line(self, ended: WorkEnded | None) -> str:
        if ended is None:
            return self._what.left(self._events)
        if ended.problem:
            return "This has ended with an error. Press Esc for the list of TPUs."
        if any(isinstance(event, TpuReady) for event in self._events):
            return "The TPU is there, and is billed until you delete it with d in the list of TPUs."
        return "This is done. Press Esc for the list of TPUs."

    def _tick(self) -> None:
        if self._run.is_stopped:
            self._say(f"No longer waiting. {self._what.left(self._events)}")
            return
        passed = phrases.format_duration(self._run.seconds)
        text = (
            f"{self._what.doing}, {passed}. Google is asked about every 15 s; x ends the waiting."
        )
        self._say(text)

    def _say(self, text: str) -> None:
        self.query_one("#headline", Static).update(Content(text))

    def _show(self) -> None:
        dropped = len(self._lines) - MOST_LINES
        note = [Content(f"... {dropped} lines above")] if dropped > 0 else []
        self.query_one("#events", Static).update(StackedText([*note, *self._lines[-MOST_LINES:]]))
        self.call_after_refresh(self.query_one("#page").scroll_end, animate=False)

    def action_scroll(self, pages: int) -> None:
        self.query_one("#page").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "scroll":
            return self.query_one("#page").max_scroll_y > 0
        return super().check_action(action, parameters)


def _time_of(event: Event, now: datetime) -> str:
    at = event.at if isinstance(event, RequestStateChanged | NodeStateChanged) else now
    return f"{at.astimezone():%H:%M:%S}  "


def _describe_problem(problem: Problem) -> Iterator[str]:
    """Yield an error as the command line shows it, with its reason and all fixes."""
    yield from clean_text(str(problem)).splitlines()
    if isinstance(problem, CloudProblem):
        yield from filter(None, [problem.why])
        yield from (f"or: {fix}" for fix in problem.fixes[1:])


def _describe_result(resource: QueuedResource) -> Iterator[str]:
    """Yield the next command for a request that is active, or the error of a failed one."""
    if resource.state == "ACTIVE" and resource.nodes:
        yield f"Connect:  {worker_connection.build_login_command(resource)}"
    elif resource.error:
        what = f"Google Cloud did not provide `{resource.name}`"
        yield from _describe_problem(api_errors.make_cloud_problem(*resource.error, what))
