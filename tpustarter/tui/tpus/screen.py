"""The list of Google Cloud TPUs, with the meaning of their states and the keys to act on them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from tpustarter.cloud.api import project_and_zone, tpu_client
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.billing import inventory, ledger
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.delete.stop_and_start import Verb
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.messages import TPUS, FactsLoaded
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.row_list import DetailRows, RowList
from tpustarter.tui.kit.text_layout import StackedText
from tpustarter.tui.tpus import plans_to_confirm, tpu_work
from tpustarter.tui.tpus.create_screen import CreateTpuScreen
from tpustarter.tui.tpus.follow_screen import FollowScreen
from tpustarter.tui.tpus.plans_to_confirm import TpuPlan
from tpustarter.tui.tpus.run_form_screen import RunCommandScreen
from tpustarter.tui.tpus.tpu_rows import (
    TO_A_PROJECT,
    KnownTpus,
    describe_tpu,
    format_bill_and_leftovers,
    format_tpu_count,
    make_tpu_rows,
)
from tpustarter.tui.tpus.tpu_work import StoppedError

_ASK_GOOGLE = (
    "delete",
    "watch",
    "ask",
    "create",
    "switch",
    "command",
    "jobs",
    "check_hosts",
    "watch_hosts",
    "leftovers",
)
"""Actions that are disabled until Google has responded to the previous query."""
_PAST = {"stop": "stopped", "start": "started"}


@dataclass(frozen=True)
class TpuQueryResult:
    """The TPUs of a project from one query to Google, or from the ledger."""

    number: int
    """The number of the query, of which only the latest counts; 0 for the ledger."""
    seen: KnownTpus | None
    """None if the wait was stopped."""


class TpuListScreen(ListWithDetails):
    """The TPUs of a project."""

    HELP = """
Opening this screen asks Google's Cloud TPU API and Compute Engine which TPUs and requests the
project has, with your own credentials; before that, nothing is sent. The project is the one that
gcloud is configured for.

* Each line is a TPU or a request for one, with its state and the time since it was asked for.
  Below you see what the state means, and what you can do about the marked one. **Enter** gives that
  the whole screen, and back.
* **r** asks again. **n** asks for a TPU: a form shows the gcloud command first. **o** looks for
  what keeps the project from a TPU.
* **w** follows the marked one live. **d** deletes it: you see what goes, and type its name.
* **c** runs a command on its workers, and **h** checks all hosts of a slice as one. **m** shows
  live what they do. **s** stops a TPU VM of one host, so that its chips are no longer billed, and
  starts it again.
* **b** shows the jobs on your TPUs, and starts one on the marked TPU. A job goes on when you close
  the laptop.
* **l** finds requests that have no TPU but still take up a name and quota. It shows them, and once
  you have typed `leftovers` it deletes those that you asked for from here. What may be somebody
  else's is deleted with **d** alone, by its name.
* What this program asked for stays in its **ledger** until Google has shown that it is gone. So a
  request whose answer was lost is listed here too, and may be billed.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "create", "new TPU", tooltip="tpustarter tpu create NAME --type T --zone Z"),
        Binding("b", "jobs", "jobs", tooltip="tpustarter tpu job list"),
        Binding("w", "watch", "watch", tooltip="tpustarter tpu watch NAME"),
        Binding("d", "delete", "delete", tooltip="tpustarter tpu delete NAME"),
        Binding("c", "command", "run a command", tooltip="tpustarter tpu run NAME -- COMMAND"),
        Binding(
            "h",
            "check_hosts",
            "check all hosts",
            tooltip="tpustarter check --all-hosts --start gcloud --on NAME",
        ),
        Binding(
            "m",
            "watch_hosts",
            "watch all hosts",
            tooltip="tpustarter watch --all-hosts --start gcloud --on NAME",
        ),
        Binding("s", "switch('stop')", "stop VM", tooltip="tpustarter tpu stop NAME"),
        Binding("s", "switch('start')", "start VM", tooltip="tpustarter tpu start NAME"),
        Binding("l", "leftovers", "leftovers", tooltip="tpustarter tpu delete --leftovers"),
        Binding("o", "doctor", "doctor", tooltip="tpustarter tpu doctor"),
        Binding("r", "ask", "ask again", tooltip="tpustarter tpu list"),
        Binding("x", "stop", "stop waiting", tooltip="Google's answer is not waited for"),
    ]

    def __init__(self) -> None:
        super().__init__("TPUs in Google Cloud")
        self._seen = KnownTpus()
        self._number = 0
        self._stopped: threading.Event | None = None
        """Stops the current wait; None if there is none."""
        self._is_stale = True

    def on_mount(self) -> None:
        self.query_one(DetailRows).leading = TO_A_PROJECT

    def on_screen_suspend(self) -> None:
        """Mark the list as stale: the screen that opens may add or delete a TPU."""
        if isinstance(self.tutor.screen, CreateTpuScreen | FollowScreen):
            self._is_stale = True

    def on_screen_resume(self) -> None:
        """Query Google if the list is stale; a help page does not make it stale."""
        if self._is_stale:
            self._is_stale = False
            self.action_ask()

    def action_ask(self) -> None:
        self._number += 1
        self._ask(self._number, self._wait("Asking Google which TPUs there are, usually 1 to 5 s."))

    def _wait(self, doing: str) -> threading.Event:
        """Begin to wait for Google, and return the event that stops the wait."""
        if self._stopped:
            self._stopped.set()
        self._stopped = threading.Event()
        self.show_text(doing)
        self.refresh_bindings()
        return self._stopped

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPUS)
    def _ask(self, number: int, stopped: threading.Event) -> None:
        seen = _read_known_tpus()
        self.post_message(FactsLoaded(TpuQueryResult(0, seen)))
        try:
            seen = self._look(seen, stopped)
        except StoppedError:
            self.post_message(FactsLoaded(TpuQueryResult(number, None)))
            return
        except Problem as problem:
            if project := project_and_zone.find_project(None):
                seen = replace(seen, project=project, trouble=str(problem))
            else:
                seen = replace(seen, needs_project=True)
        self.post_message(FactsLoaded(TpuQueryResult(number, seen)))

    def _look(self, before: KnownTpus, stopped: threading.Event) -> KnownTpus:
        """Return Google's list; raises Problem if there is no answer."""
        project = project_and_zone.require_project(None)
        client, clock = tpu_work.make_client(self.tutor, project.name, stopped)
        found = inventory.fetch_overview(client, clock)
        left = {entry.key for entry in ledger.read_ledger()}
        news = tuple(
            f"`{escape_text(tpu.name)}` in {escape_text(tpu.zone)} is gone, "
            "and nothing of it is billed."
            for tpu in before.tpus
            if (tpu.api, tpu.project, tpu.zone, tpu.name) not in left
            and tpu.project == project.name
        )
        elsewhere = tuple(tpu for tpu in before.tpus if tpu.project != project.name)
        return KnownTpus(
            (*found.rows, *elsewhere),
            project,
            asked=clock.now(),
            unreachable=found.unreachable,
            news=news,
            endpoint=tpu_client.find_tpu_test_server() or "",
            unreadable=before.unreadable,
        )

    def on_facts_loaded(
        self, message: FactsLoaded[TpuQueryResult | TpuPlan | str | Problem]
    ) -> None:
        what = message.facts
        if isinstance(what, TpuQueryResult):
            self._take(what)
        elif isinstance(what, TpuPlan):
            self._stopped = None
            self._show()
            sheet = ConfirmName(what.title, StackedText(what.lines), what.name, what.to_do)
            self.tutor.push_screen(sheet, lambda yes: self._begin(what, yes=yes))
        elif isinstance(what, str):
            self._stopped = None
            self.show_text(what)
        else:
            self._stopped = None
            self._show()
            self.show_error(what)
        self.refresh_bindings()

    def _take(self, answer: TpuQueryResult) -> None:
        if answer.number == 0:  # from the ledger, until Google has answered
            if self._seen.asked is None:
                self._seen = answer.seen or KnownTpus()
                self._show(but_waiting=True)
            return
        if answer.number != self._number:
            return
        self._stopped = None
        self._seen = answer.seen or self._seen
        self._show()
        if answer.seen is None:
            self.show_text(
                "No longer waiting for Google. Press r to ask again. "
                f"{format_bill_and_leftovers(self._seen)}"
            )

    def _show(self, *, but_waiting: bool = False) -> None:
        self.query_one(RowList).show(make_tpu_rows(self._seen, self.tutor.now))
        self.set_class(not self._seen.tpus, "-empty")
        self.set_area_title("rows", format_tpu_count(self._seen))
        self._show_opening()
        self._show_details()
        if not but_waiting:
            self.show_text(format_bill_and_leftovers(self._seen))

    def _show_opening(self) -> None:
        seen = self._seen
        told: list[str] = []
        if seen.project:
            told.append(
                f"Project {escape_text(seen.project.name)} ({escape_text(seen.project.source)})"
            )
        if seen.asked:
            told.append(f"asked at {seen.asked.astimezone():%H:%M:%S}")
        if seen.endpoint:
            told.append(f"not Google but {escape_text(seen.endpoint)}")
        self.show_text(", ".join(told), where="opening")

    @property
    def _marked(self) -> ListedTpu | None:
        return self._seen.find_tpu(self.query_one(RowList).highlighted_id)

    @on(RowList.OptionHighlighted)
    def _show_details(self) -> None:
        marked = self._marked
        details = self.query_one("#details")
        details.display = marked is not None
        if marked:
            whole = self.has_class("-details")
            lines = describe_tpu(marked, self._seen.project, self.tutor.now, whole=whole)
            self.show_details(StackedText(lines))
            self.set_area_title("details", escape_text(marked.name))
            details.scroll_home(animate=False)
        self.refresh_bindings()

    @on(RowList.OptionSelected)
    def _open_lesson(self, event: RowList.OptionSelected) -> None:
        """Open the marked lesson, if the rows are lessons and not TPUs."""
        if event.option_id in TO_A_PROJECT:
            event.prevent_default()  # a lesson has no details
            self.tutor.go.open_lesson(event.option_id)

    def action_details(self) -> None:
        super().action_details()
        self._show_details()

    def action_doctor(self) -> None:
        from tpustarter.tui.tpus.doctor_screen import DoctorScreen

        self.tutor.push_screen(DoctorScreen())

    def action_create(self) -> None:
        self.tutor.push_screen(CreateTpuScreen())

    def action_watch(self) -> None:
        if marked := self._marked:
            self.tutor.push_screen(FollowScreen(tpu_work.make_watch_work(marked)))

    def action_delete(self) -> None:
        self._plan("what belongs to it", plans_to_confirm.plan_deletion)

    def action_switch(self, verb: Verb) -> None:
        self._plan(
            f"whether it can be {_PAST[verb]}",
            partial(plans_to_confirm.plan_stop_or_start, verb=verb),
        )

    def _plan(self, asked: str, make: Callable[..., TpuPlan | str]) -> None:
        """Build a plan for the marked TPU, which the user confirms by typing its name."""
        if marked := self._marked:
            project = tpu_work.find_project_of_row(marked)
            stopped = self._wait(f"Asking Google about `{escape_text(marked.name)}`: {asked} now.")
            self._find(project, partial(make, tpu=marked, project=project), stopped)

    def action_leftovers(self) -> None:
        if project := self._seen.project:
            stopped = self._wait("Asking Google what is left over, usually 1 to 5 s.")
            self._find(project, partial(plans_to_confirm.plan_leftovers, project=project), stopped)

    @work(thread=True, exclusive=True, exit_on_error=False, group=TPUS)
    def _find(
        self,
        project: Project,
        make: Callable[[ProjectClient, Clock], TpuPlan | str],
        stopped: threading.Event,
    ) -> None:
        try:
            client, clock = tpu_work.make_client(self.tutor, project.name, stopped)
            self.post_message(FactsLoaded(make(client, clock)))
        except StoppedError:
            self.post_message(FactsLoaded(TpuQueryResult(self._number, None)))
        except Problem as problem:
            self.post_message(FactsLoaded(problem))

    def _begin(self, plan: TpuPlan, *, yes: bool | None) -> None:
        if yes:
            self.tutor.push_screen(FollowScreen(plan.work))

    def action_command(self) -> None:
        if marked := self._marked:
            self.tutor.push_screen(RunCommandScreen(marked, tpu_work.find_project_of_row(marked)))

    def action_jobs(self) -> None:
        from tpustarter.tui.tpus.job_list_screen import JobListScreen

        if project := self._seen.project:
            marked = self._marked
            is_ready = (
                marked is not None
                and marked.project == project.name
                and _can_be("command", marked, ())
            )
            self.tutor.push_screen(JobListScreen(project, marked if is_ready else None))

    def action_check_hosts(self) -> None:
        if marked := self._marked:
            project = tpu_work.find_project_of_row(marked)
            self.tutor.go.open_slice(plans_to_confirm.plan_slice_check(marked, project))

    def action_watch_hosts(self) -> None:
        if marked := self._marked:
            project = tpu_work.find_project_of_row(marked)
            self.tutor.go.open_slice_watch(plans_to_confirm.plan_slice_check(marked, project))

    def stop_work(self) -> bool:
        if not self.can_stop or self._stopped is None:
            return False
        self._stopped.set()
        self.show_text("No longer waiting for Google.")
        return True

    @property
    def can_stop(self) -> bool:
        return self._stopped is not None and not self._stopped.is_set()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _ASK_GOOGLE and self.can_stop:
            return False
        if action in ("delete", "watch", "switch", "command", "check_hosts", "watch_hosts"):
            marked = self._marked if self.is_mounted else None
            return marked is not None and _can_be(action, marked, parameters)
        if action == "leftovers":
            return self._seen.asked is not None
        if action == "jobs":
            return self._seen.project is not None
        if action == "details" and self.is_mounted and not self.has_class("-details"):
            return self._marked is not None
        return super().check_action(action, parameters)


def _read_known_tpus() -> KnownTpus:
    """Return the TPUs in the ledger, without sending a request."""
    return KnownTpus(inventory.read_ledger_rows(), unreadable=tuple(ledger.list_unreadable_files()))


def _can_be(action: str, tpu: ListedTpu, parameters: tuple[object, ...]) -> bool:
    if action == "watch":
        # Only a request is followed, and a node made without one has none.
        return not tpu.nodes or any(node.queued_resource for node in tpu.nodes)
    if action == "switch":
        return plans_to_confirm.choose_stop_or_start(tpu) in parameters
    if action in ("check_hosts", "watch_hosts"):
        return tpu.is_slice
    if action == "command":
        return bool(tpu.nodes) and all(node.state == "READY" for node in tpu.nodes)
    return True
