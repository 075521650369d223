"""TPUs of Google Cloud: what exists, what its state means, and the keys to act on it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from tpustarter.cloud import client as tpu_client
from tpustarter.cloud import ledger, overview, places
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.overview import Row as Tpu
from tpustarter.cloud.places import Project
from tpustarter.cloud.power import Verb
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_plans, tpu_work
from tpustarter.tui.lines import Stack
from tpustarter.tui.messages import TPUS, Looked
from tpustarter.tui.screens.split import Split
from tpustarter.tui.screens.tpu_create import CreateForm
from tpustarter.tui.screens.tpu_following import Following
from tpustarter.tui.screens.tpu_run import RunForm
from tpustarter.tui.screens.typed_name import TypedName
from tpustarter.tui.tpu_plans import Plan
from tpustarter.tui.tpu_rows import TO_A_PROJECT, Seen, count, details_of, rows_of, summary
from tpustarter.tui.tpu_work import StoppedError
from tpustarter.tui.widgets import DetailRows, Rows

_ASK_GOOGLE = ("delete", "watch", "ask", "create", "switch", "command", "leftovers")
"""Actions that wait until Google has answered the question before."""
_PAST = {"stop": "stopped", "start": "started"}


@dataclass(frozen=True)
class Answer:
    """What one question to Google has come to."""

    number: int
    """Of the question: only the last one counts."""
    seen: Seen | None
    """Null where nobody waited for the answer."""


class Tpus(Split):
    """The TPUs of a project, those that want something of the user first."""

    HELP = """
Opening this screen asks Google's Cloud TPU API which TPUs and requests the project has, with your
own credentials; before that, nothing is sent. The project is the one that gcloud is configured for.

* Each line is a TPU or a request for one, with its state and the time since it was asked for.
  Below stand what the state means, and what you can do about the marked one. **Enter** gives that
  the whole screen, and back.
* **r** asks again. **n** asks for a TPU: a form shows the gcloud command first.
* **w** follows the marked one live. **d** deletes it: you see what goes, and type its name.
* **c** runs a command on its workers. **s** stops a TPU VM of one host, so that its chips are no
  longer billed, and starts it again.
* **l** finds requests that have no TPU but still take up a name and quota. It shows them, and
  deletes them once you have typed `leftovers`.
* What this program asked for stays in its **ledger** until Google has shown that it is gone. So a
  request whose answer was lost is listed here too, and may be billed.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "create", "new TPU", tooltip="tpustarter tpu create NAME --type T --zone Z"),
        Binding("w", "watch", "watch", tooltip="tpustarter tpu watch NAME"),
        Binding("d", "delete", "delete", tooltip="tpustarter tpu delete NAME"),
        Binding("c", "command", "run a command", tooltip="tpustarter tpu run NAME -- COMMAND"),
        Binding("s", "switch('stop')", "stop VM", tooltip="tpustarter tpu stop NAME"),
        Binding("s", "switch('start')", "start VM", tooltip="tpustarter tpu start NAME"),
        Binding("l", "leftovers", "leftovers", tooltip="tpustarter tpu delete --leftovers"),
        Binding("r", "ask", "ask again", tooltip="tpustarter tpu list"),
        Binding("x", "stop", "stop waiting", tooltip="Google's answer is not waited for"),
    ]

    def __init__(self) -> None:
        super().__init__("TPUs in Google Cloud")
        self._seen = Seen()
        self._number = 0
        self._stopped: threading.Event | None = None
        """Ends the wait that runs; null where nothing is waited for."""
        self._is_stale = True

    def on_mount(self) -> None:
        """Lead to lessons where there is no project to look into."""
        super().on_mount()
        self.query_one(DetailRows).leading = TO_A_PROJECT

    def on_screen_suspend(self) -> None:
        """Ask again after this: a TPU may be there by then, or gone."""
        if isinstance(self.tutor.screen, CreateForm | Following):
            self._is_stale = True

    def on_screen_resume(self) -> None:
        """Ask, and again after something was done; reading a help page changes nothing."""
        if self._is_stale:
            self._is_stale = False
            self.action_ask()

    def action_ask(self) -> None:
        """Ask Google what there is."""
        self._number += 1
        self._ask(self._number, self._wait("Asking Google which TPUs there are, usually 1 to 5 s."))

    def _wait(self, doing: str) -> threading.Event:
        """Begin to wait for Google; returns what ends the wait."""
        if self._stopped:
            self._stopped.set()
        self._stopped = threading.Event()
        self.say(doing)
        self.refresh_bindings()
        return self._stopped

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPUS)
    def _ask(self, number: int, stopped: threading.Event) -> None:
        seen = _remembered()
        self.post_message(Looked(Answer(0, seen)))
        try:
            seen = self._look(seen, stopped)
        except StoppedError:
            self.post_message(Looked(Answer(number, None)))
            return
        except Problem as problem:
            if project := places.find_project(None):
                seen = replace(seen, project=project, trouble=str(problem))
            else:
                seen = replace(seen, needs_project=True)
        self.post_message(Looked(Answer(number, seen)))

    def _look(self, before: Seen, stopped: threading.Event) -> Seen:
        """Return what Google lists; raises Problem where it does not answer."""
        project = places.project(None)
        client, clock = tpu_work.connect(self.tutor, project.name, stopped)
        found = overview.look(client, clock)
        left = {entry.key for entry in ledger.entries()}
        news = tuple(
            f"`{visible(tpu.name)}` in {visible(tpu.zone)} is gone, and nothing of it is billed."
            for tpu in before.tpus
            if (tpu.project, tpu.zone, tpu.name) not in left and tpu.project == project.name
        )
        elsewhere = tuple(tpu for tpu in before.tpus if tpu.project != project.name)
        return Seen(
            (*found.rows, *elsewhere),
            project,
            asked=clock.now(),
            unreachable=found.unreachable,
            news=news,
            endpoint=tpu_client.endpoint() or "",
            put_aside=before.put_aside,
        )

    def on_looked(self, message: Looked) -> None:
        """Show what is known now, what a key would do, or why it cannot be done."""
        what = message.what
        if isinstance(what, Answer):
            self._take(what)
        elif isinstance(what, Plan):
            self._end_wait()
            self._show()
            sheet = TypedName(what.title, Stack(what.lines), what.name, what.to_do)
            self.tutor.push_screen(sheet, lambda yes: self._begin(what, yes=yes))
        elif isinstance(what, str):
            self._end_wait()
            self.say(what)
        else:
            self._end_wait()
            self._show()
            self.show_error(what)
        self.refresh_bindings()

    def _take(self, answer: Answer) -> None:
        if answer.number == 0:  # what the ledger remembers, until Google has answered
            if self._seen.asked is None:
                self._seen = answer.seen or Seen()
                self._show(but_waiting=True)
            return
        if answer.number != self._number:
            return
        self._end_wait()
        self._seen = answer.seen or self._seen
        self._show()
        if answer.seen is None:
            self.say(f"No longer waiting for Google. Press r to ask again. {summary(self._seen)}")

    def _end_wait(self) -> None:
        self._stopped = None

    @property
    def _now(self) -> datetime:
        return self.tutor.clock.now() if self.tutor.clock else datetime.now(timezone.utc)

    def _show(self, *, but_waiting: bool = False) -> None:
        self.query_one(Rows).show(rows_of(self._seen, self._now))
        self.set_class(not self._seen.tpus, "-empty")
        self.entitle("rows", count(self._seen))
        self._show_opening()
        self._show_details()
        if not but_waiting:
            self.say(summary(self._seen))

    def _show_opening(self) -> None:
        seen = self._seen
        told: list[str] = []
        if seen.project:
            told.append(f"Project {visible(seen.project.name)} ({visible(seen.project.source)})")
        if seen.asked:
            told.append(f"asked at {seen.asked.astimezone():%H:%M:%S}")
        if seen.endpoint:
            told.append(f"not Google but {visible(seen.endpoint)}")
        self.say(", ".join(told), where="opening")

    @property
    def _marked(self) -> Tpu | None:
        return self._seen.of(self.query_one(Rows).chosen)

    @on(Rows.OptionHighlighted)
    def _show_details(self) -> None:
        marked = self._marked
        details = self.query_one("#details")
        details.display = marked is not None
        if marked:
            whole = self.has_class("-details")
            lines = details_of(marked, self._seen.project, self._now, whole=whole)
            self.show_details(Stack(lines))
            self.entitle("details", visible(marked.name))
            details.scroll_home(animate=False)
        self.refresh_bindings()

    @on(Rows.OptionSelected)
    def _open_lesson(self, event: Rows.OptionSelected) -> None:
        """Open the marked lesson, where the rows are not TPUs yet."""
        if event.option_id in TO_A_PROJECT:
            event.prevent_default()  # it has no details
            self.tutor.go.to_lesson(event.option_id)

    def action_details(self) -> None:
        """Give the details the whole screen, with the name of what they are about, and back."""
        super().action_details()
        self._show_details()

    def action_create(self) -> None:
        """Fill in a form."""
        self.tutor.push_screen(CreateForm())

    def action_watch(self) -> None:
        """Follow the marked one."""
        if marked := self._marked:
            self.tutor.push_screen(Following(tpu_work.watching(marked)))

    def action_delete(self) -> None:
        """Ask Google what would go with the marked one."""
        self._plan("what belongs to it", tpu_plans.deletion)

    def action_switch(self, verb: Verb) -> None:
        """Ask Google whether the marked one can be stopped, or started."""
        self._plan(f"whether it can be {_PAST[verb]}", partial(tpu_plans.switching, verb=verb))

    def _plan(self, asked: str, make: Callable[..., Plan | str]) -> None:
        """Find out what would be done to the marked one, and ask for its name then."""
        if marked := self._marked:
            project = tpu_work.project_of(marked)
            stopped = self._wait(f"Asking Google about `{visible(marked.name)}`: {asked} now.")
            self._find(project, partial(make, tpu=marked, project=project), stopped)

    def action_leftovers(self) -> None:
        """Ask Google what only holds its name and quota, in the project that is shown."""
        if project := self._seen.project:
            stopped = self._wait("Asking Google what is left over, usually 1 to 5 s.")
            self._find(project, partial(tpu_plans.leftovers, project=project), stopped)

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPUS)
    def _find(
        self,
        project: Project,
        make: Callable[[Client, Clock], Plan | str],
        stopped: threading.Event,
    ) -> None:
        try:
            client, clock = tpu_work.connect(self.tutor, project.name, stopped)
            self.post_message(Looked(make(client, clock)))
        except StoppedError:
            self.post_message(Looked(Answer(self._number, None)))
        except Problem as problem:
            self.post_message(Looked(problem))

    def _begin(self, plan: Plan, *, yes: bool | None) -> None:
        if yes:
            self.tutor.push_screen(Following(plan.work))

    def action_command(self) -> None:
        """Ask which command to run on the workers of the marked one."""
        if marked := self._marked:
            self.tutor.push_screen(RunForm(marked, tpu_work.project_of(marked)))

    def stop_work(self) -> bool:
        """Wait no longer for Google's answer."""
        if not self.can_stop or self._stopped is None:
            return False
        self._stopped.set()
        self.say("No longer waiting for Google.")
        return True

    @property
    def can_stop(self) -> bool:
        """Whether an answer is waited for."""
        return self._stopped is not None and not self._stopped.is_set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what works on the marked row now."""
        if action in _ASK_GOOGLE and self.can_stop:
            return False
        if action in ("delete", "watch", "switch", "command"):
            marked = self._marked if self.is_mounted else None
            return marked is not None and _can_be(action, marked, parameters)
        if action == "leftovers":
            return self._seen.asked is not None
        if action == "details" and self.is_mounted and not self.has_class("-details"):
            return self._marked is not None
        return super().check_action(action, parameters)


def _remembered() -> Seen:
    """Return what the ledger knows; nothing is sent."""
    return Seen(overview.remembered(), put_aside=tuple(ledger.put_aside()))


def _can_be(action: str, tpu: Tpu, parameters: tuple[object, ...]) -> bool:
    """Return whether a key makes sense for a TPU in its state."""
    if action == "watch":
        return _can_be_watched(tpu)
    if action == "switch":
        return tpu_plans.can_be_switched(tpu) in parameters
    if action == "command":
        return bool(tpu.nodes) and all(node.state == "READY" for node in tpu.nodes)
    return True


def _can_be_watched(tpu: Tpu) -> bool:
    """Return whether there is a request to follow: a node made without one has none."""
    return not tpu.nodes or any(node.queued_resource for node in tpu.nodes)
