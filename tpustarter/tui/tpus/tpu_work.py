"""Operations on Google Cloud TPUs that a screen follows.

They run in worker threads. Every wait can be stopped: a stopped wait raises `StoppedError`, and the
operation goes on at Google without this program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api import gcloud_commands, project_and_zone
from tpustarter.cloud.api.api_client import ApiClient, OfferingClient, ProjectClient
from tpustarter.cloud.api.clock import Clock, WallClock
from tpustarter.cloud.api.cloud_client import CloudClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource, TpuNode, list_unreachable
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create.events import (
    Event,
    NodeStateChanged,
    RequestGone,
    RequestMayExist,
    RequestResumed,
    RequestSent,
    RequestWithdrawn,
    TpuReady,
)
from tpustarter.cloud.create.follow_request import follow_request
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import removal, stop_and_start
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.cloud.delete.stop_and_start import Verb
from tpustarter.cloud.delete.withdrawal import wait_until_gone
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.app.session import AppSession

Happening = Generator[Event, None, object]


class StoppedError(Exception):
    """The user has stopped the wait."""


class StoppableClock:
    """A clock whose waits end when an event is set."""

    def __init__(self, clock: Clock | None, stopped: threading.Event) -> None:
        self._clock = clock or WallClock(stopped.wait)
        self._stopped = stopped

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Return after this number of seconds; raises StoppedError once the wait is stopped."""
        if not self._stopped.is_set():
            self._clock.sleep(seconds)
            time.sleep(0)  # another thread may want to stop it
        if self._stopped.is_set():
            raise StoppedError


@dataclass(frozen=True)
class TpuWork:
    """A long operation that continues at Google if this program ends."""

    title: str
    doing: str
    """The activity, such as "Deleting `bert`", which is shown with its elapsed time."""
    project: Project
    commands: tuple[tuple[str, ...], ...]
    """The gcloud commands that do the same."""
    begin: Callable[[ProjectClient, Clock], Happening]
    left: Callable[[Sequence[Event]], str]
    """Returns the state after these events, for a user who stops waiting."""


def make_client(
    app: AppSession, project: str, stopped: threading.Event
) -> tuple[OfferingClient, Clock]:
    """Return the client of a project, and the clock for its waits."""
    clock = StoppableClock(app.clock, stopped)
    if app.connect:
        return app.connect(project, clock), clock
    return CloudClient(project, clock=clock), clock


def find_project_of_row(row: ListedTpu) -> Project:
    """Return the project of a row, which may differ from gcloud's."""
    current = project_and_zone.find_project(None)
    if current and current.name == row.project:
        return current
    return Project(row.project, "the ledger")


def plan_deletion_of_row(client: ProjectClient, row: ListedTpu) -> DeletionPlan:
    """Return the current request and nodes of a row; raises Problem if Google lists neither."""
    queued, nodes = client.of(row.api).resources(row.zone)
    for one in removal.plan_all_deletions(queued.items, nodes.items):
        if (one.zone, one.name) == (row.zone, row.name):
            return one
    if unreachable := list_unreachable(queued, nodes):
        places = escape_text(", ".join(unreachable))
        raise Problem(f"Google could not reach {places}", hint="try again later")
    raise Problem(
        f"Google lists nothing called `{escape_text(row.name)}` in `{escape_text(row.zone)}`",
        hint="nothing has to be deleted; r asks again, and what was gone for ten minutes leaves "
        "the list",
    )


def make_watch_work(row: ListedTpu) -> TpuWork:
    """Make the work that follows the TPU or request of a row through its states."""
    project, name = find_project_of_row(row), escape_text(row.name)

    def begin(project_client: ProjectClient, clock: Clock) -> Happening:
        client = project_client.of(row.api)
        entry = _entry_of(client, row)
        resource: QueuedResource | None = yield from follow_request(client, entry, clock)
        if resource is None:
            yield from wait_until_gone(client, entry, clock)
        elif resource.state == "ACTIVE":
            yield TpuReady(entry, resource)
        return resource

    def left(_: Sequence[Event]) -> str:
        return (
            f"You no longer follow `{name}`. Its request stays as it is: w follows it again, and "
            "d in the list of TPUs takes it back."
        )

    commands = gcloud_commands.build_follow_commands(row.api, row.zone, row.name, project)
    return TpuWork(f"Watch {name}", f"Following `{name}`", project, commands, begin, left)


def _entry_of(client: ApiClient, row: ListedTpu) -> LedgerEntry:
    """Return the ledger's entry of a row, or a new one; raises Problem if there is no request."""
    for entry in ledger.read_ledger():
        if entry.key == (row.api, client.project, row.zone, row.name):
            return entry
    resource = client.queued_resource(row.zone, row.name)
    if resource is None:
        raise removal.make_missing_tpu_problem(row.name)
    return removal.make_entry_for_foreign_tpu(
        client.project, DeletionPlan(row.zone, row.name, resource, ())
    )


def make_deletion_work(doomed: Sequence[DeletionPlan], project: Project) -> TpuWork:
    """Make the work that deletes TPUs and requests, one after the other."""
    name = phrases.choose_plural(
        len(doomed), f"`{escape_text(doomed[0].name)}`", f"{len(doomed)} leftovers"
    )

    def begin(client: ProjectClient, clock: Clock) -> Happening:
        if len(doomed) == 1:
            return (yield from removal.carry_out_deletion(client, doomed[0], clock))
        kept = 0
        for one in doomed:
            kept += not (yield from _delete(client, one, clock))
        if kept:
            raise Problem(
                f"{kept} of {len(doomed)} are still listed by Google",
                hint="the list of TPUs shows them until they are gone",
                code=ExitCode.INCONCLUSIVE,
            )

    def left(events: Sequence[Event]) -> str:
        return _describe_sent(doomed, events, name)

    commands = tuple(command for one in doomed for command in one.commands(project))
    title = f"Delete {name.strip('`')}"
    return TpuWork(title, f"Deleting {name}", project, commands, begin, left)


def _delete(client: ProjectClient, one: DeletionPlan, clock: Clock) -> Generator[Event, None, bool]:
    """Delete one of several; an error of one must not prevent the other deletions."""
    try:
        return (yield from removal.carry_out_deletion(client, one, clock))
    except Problem as problem:
        yield RequestMayExist(
            removal.make_entry_for_foreign_tpu(client.project, one), problem.summary
        )
        return False


def _describe_sent(doomed: Sequence[DeletionPlan], events: Sequence[Event], name: str) -> str:
    if len(doomed) > 1:
        sent = {
            event.entry.key for event in events if isinstance(event, RequestWithdrawn | RequestGone)
        }
        return (
            f"The deletion of {len(sent)} of {name} was sent. Press l in the list of TPUs for the "
            "others."
        )
    one = doomed[0]
    if one.is_too_early and not any(isinstance(event, RequestWithdrawn) for event in events):
        return (
            f"Nothing was deleted: Google refuses it until {name} has left the state "
            f"{one.queued_resource.state if one.queued_resource else ''}. It may be billed, so "
            "press d again in the list of TPUs."
        )
    return (
        f"The deletion of {name} was sent and goes on without this screen. The list of TPUs shows "
        "it until it is gone."
    )


def make_stop_or_start_work(verb: Verb, node: TpuNode, project: Project) -> TpuWork:
    """Make the work that stops or starts a TPU VM."""
    name = escape_text(node.name)

    def begin(client: ProjectClient, clock: Clock) -> Happening:
        return stop_and_start.stop_or_start(client, verb, node, clock)

    def left(events: Sequence[Event]) -> str:
        if not any(isinstance(event, NodeStateChanged) for event in events):
            return f"The request to {verb} `{name}` may be on its way. The list of TPUs shows it."
        return f"Google goes on to {verb} `{name}` without this screen. The list of TPUs shows it."

    command = gcloud_commands.build_node_command(verb, node.zone, node.name, project, node.api)
    doing = f"{'Stopping' if verb == 'stop' else 'Starting'} `{name}`"
    return TpuWork(f"{verb.capitalize()} {name}", doing, project, (command,), begin, left)


def make_creation_work(requests: Sequence[TpuRequest], project: Project) -> TpuWork:
    """Make the work that creates a TPU in the first zone with capacity."""
    name = requests[0].name

    def begin(client: ProjectClient, clock: Clock) -> Happening:
        return TpuCreation(client, project, clock).run(requests)

    def left(events: Sequence[Event]) -> str:
        if not any(isinstance(event, RequestSent | RequestResumed) for event in events):
            return (
                f"The request for `{name}` may be on its way to Google. The list of TPUs shows "
                "what came of it, and there you can delete it."
            )
        walk = " No other zone is tried without this screen." if len(requests) > 1 else ""
        return (
            f"The request for `{name}` stays in the queue, and is billed once the TPU is there."
            f"{walk} In the list of TPUs, w follows it and d takes it back."
        )

    commands = tuple(
        command
        for request in requests
        for command in gcloud_commands.build_create_commands(request, project)
    )
    return TpuWork(f"Create {name}", f"Getting `{name}`", project, commands, begin, left)
