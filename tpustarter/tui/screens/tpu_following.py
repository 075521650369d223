"""What happens to one TPU, live: it is created, followed or deleted, an event after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.cloud import failures, words
from tpustarter.cloud.clock import format_age
from tpustarter.cloud.events import Cancelling, Event, NodeSeen, Ready, StateSeen
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.resources import QueuedResource
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, Stack, prose
from tpustarter.tui.messages import TPU_WORK, Arrived, Inbox, feed
from tpustarter.tui.plain import plain
from tpustarter.tui.screens.page import Page
from tpustarter.tui.tpu_work import StoppedError, Work

MOST_LINES = 500
"""Of the time line: what is older is dropped, and a note says so."""


@dataclass(frozen=True)
class Ended:
    """The work is over, or nobody waits for it any longer."""

    result: Any = None
    problem: Problem | None = None
    was_left: bool = False


class Following(Page):
    """The time line of one piece of work."""

    HELP = """
Each line is something that happened, with its time: what Google was asked, and each state that the
TPU was seen in, with what usually comes next. Google is asked about every 15 seconds.

* **Esc** or **x** ends the waiting at once. That cancels nothing, and the last line says what goes
  on at Google without this screen.
* **Esc** again goes back to the list of TPUs.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "stop", "stop waiting", tooltip="Ctrl+C of `tpustarter tpu watch NAME`"),
        Binding("down,space,pagedown", "scroll(1)", "read on", key_display="Down",
                tooltip="later lines"),
        Binding("up,pageup", "scroll(-1)", show=False),
    ]  # fmt: skip

    def __init__(self, what: Work) -> None:
        super().__init__(what.title)
        self._what = what
        self._events: list[Event] = []
        self._lines: list[Lines] = []
        self._inbox: Inbox[Event | Ended] = Inbox()
        self._stopped = threading.Event()
        self._is_over = False
        self._began = time.monotonic()
        self._timer: Timer | None = None

    def body(self) -> Iterable[Widget]:
        """Return the commands, the time line and the line below."""
        yield Static("", id="opening")
        with VerticalScroll(id="page"):
            events = Static("", id="events")
            events.border_title = "What has happened"
            yield events
        yield Static("", id="headline")

    def on_mount(self) -> None:
        """Begin: that is what the key, or the name typed, has asked for."""
        same = [
            line for command in self._what.commands[:1] for line in words.command_lines(command, 76)
        ]
        more = len(self._what.commands) - 1
        note = [f"... and {more} more, for the other zones or nodes"] if more else []
        lines = "\n".join(map(visible, ["The same with gcloud:", *same, *note, ""]))
        self.query_one("#opening", Static).update(Content(lines))
        self.set_focus(self.query_one("#page"))
        self._timer = self.set_interval(1.0, self._tick)
        self._tick()
        self._work()

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPU_WORK)
    def _work(self) -> None:
        over = [Ended(was_left=True)]
        try:
            feed(self, self._inbox, self._happenings(over))
        finally:
            feed(self, self._inbox, over)

    def _happenings(self, over: list[Ended]) -> Iterator[Event]:
        """Yield what happens, and leave in `over` how it ended."""
        try:
            client, clock = tpu_work.connect(self.tutor, self._what.project.name, self._stopped)
            happening = self._what.begin(client, clock)
            while True:
                event = next(happening)
                yield event
                # What is announced before it is sent must not be lost; all else may end here.
                if self._stopped.is_set() and not isinstance(event, Cancelling):
                    happening.close()
                    return
        except StopIteration as end:
            over[0] = Ended(end.value)
        except StoppedError:
            pass
        except Problem as problem:
            over[0] = Ended(problem=problem)

    def on_arrived(self, message: Arrived) -> None:
        """Show what has happened since."""
        for event in message.inbox.take():
            if isinstance(event, Ended):
                self._end(event)
            else:
                self._events.append(event)
                self._add(words.of_event(event), _time_of(event, self.tutor.clock))
        self._show()
        self.refresh_bindings()

    def _add(self, sentences: Iterable[str], label: str) -> None:
        for number, sentence in enumerate(sentences):
            start = label if number == 0 else " " * len(label)
            self._lines.append(Hanging(Content.styled(start, "$muted"), prose(sentence)))

    def _end(self, end: Ended) -> None:
        self._is_over = True
        if self._timer:
            self._timer.stop()
        if end.problem:
            self._add(_of_problem(end.problem), "          ")
        elif isinstance(end.result, QueuedResource):
            self._add(_of_result(end.result), "          ")
        self._say(self._last_line(end))

    def _last_line(self, end: Ended) -> str:
        if end.was_left:
            return self._what.left(self._events)
        if end.problem:
            return "This has ended with an error. Press Esc for the list of TPUs."
        if any(isinstance(event, Ready) for event in self._events):
            return "The TPU is there, and is billed until you delete it with d in the list of TPUs."
        return "This is done. Press Esc for the list of TPUs."

    def _tick(self) -> None:
        """Say how long it has been; runs only while the work does."""
        if self._stopped.is_set():
            self._say(f"No longer waiting. {self._what.left(self._events)}")
            return
        passed = format_age(time.monotonic() - self._began)
        text = (
            f"{self._what.doing}, {passed}. Google is asked about every 15 s; x ends the waiting."
        )
        self._say(text)

    def _say(self, text: str) -> None:
        self.query_one("#headline", Static).update(Content(text))

    def _show(self) -> None:
        dropped = len(self._lines) - MOST_LINES
        note = [Content(f"... {dropped} lines above")] if dropped > 0 else []
        self.query_one("#events", Static).update(Stack([*note, *self._lines[-MOST_LINES:]]))
        self.call_after_refresh(self.query_one("#page").scroll_end, animate=False)

    def stop_work(self) -> bool:
        """Wait no longer; what Google was asked for goes on."""
        if not self.can_stop:
            return False
        self._stopped.set()
        return True

    @property
    def can_stop(self) -> bool:
        """Whether something is waited for."""
        return not self._is_over and not self._stopped.is_set()

    def action_stop(self) -> None:
        """Wait no longer, and say at once what goes on."""
        super().action_stop()
        self._tick()

    def action_scroll(self, pages: int) -> None:
        """Read on, or back."""
        self.query_one("#page").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to read on where there is more than fits."""
        if action == "scroll":
            return self.query_one("#page").max_scroll_y > 0
        return super().check_action(action, parameters)


def _time_of(event: Event, clock: Any) -> str:
    at = event.at if isinstance(event, StateSeen | NodeSeen) else clock.now() if clock else None
    return f"{(at or datetime.now(timezone.utc)).astimezone():%H:%M:%S}  "


def _of_problem(problem: Problem) -> Iterator[str]:
    """Yield an error as the command line words it, with why it happens and all that helps."""
    yield from plain(str(problem)).splitlines()
    if isinstance(problem, CloudProblem):
        yield from filter(None, [problem.why])
        yield from (f"or: {fix}" for fix in problem.fixes[1:])


def _of_result(resource: QueuedResource) -> Iterator[str]:
    """Yield what to do with a request that has come to its end."""
    if resource.state == "ACTIVE" and resource.nodes:
        yield (
            f"Connect:  gcloud compute tpus tpu-vm ssh {resource.nodes[0]} --zone={resource.zone}"
        )
    elif resource.error:
        what = f"Google Cloud did not provide `{resource.name}`"
        yield from _of_problem(failures.problem(*resource.error, what))
