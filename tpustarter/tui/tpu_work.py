"""Work on TPUs of Google Cloud that a screen follows: what it does, and what is said at its end.

All of it runs in workers. Whatever waits can be stopped: a stopped wait raises `StoppedError`, and
what Google was asked for goes on without this program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from tpustarter.cloud import gcloud, ledger, places, power, removal
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.create import Creation
from tpustarter.cloud.events import Asked, Cancelling, Event, Gone, Kept, NodeSeen, Ready, Resumed
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.follow import follow
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.overview import Row
from tpustarter.cloud.places import Project
from tpustarter.cloud.power import Verb
from tpustarter.cloud.removal import Doomed
from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import Node, QueuedResource
from tpustarter.cloud.withdrawal import wait_until_gone
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible
from tpustarter.tui.tutor import Tutor

Happening = Generator[Event, None, Any]


class StoppedError(Exception):
    """The user does not want to wait any longer."""


class StoppableClock:
    """A clock whose waits end when somebody stops them."""

    def __init__(self, clock: Clock | None, stopped: threading.Event) -> None:
        self._clock = clock
        self._stopped = stopped

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return self._clock.now() if self._clock else datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds; raises StoppedError as soon as the wait is stopped."""
        if self._clock and not self._stopped.is_set():
            self._clock.sleep(seconds)
            time.sleep(0)  # another thread may want to stop it
        if self._stopped.is_set() or (self._clock is None and self._stopped.wait(seconds)):
            raise StoppedError


@dataclass(frozen=True)
class Work:
    """Something that takes a while, and goes on at Google's when nobody looks."""

    title: str
    doing: str
    """What is done, for the line that says how long it has taken: "Deleting `bert`"."""
    project: Project
    commands: tuple[tuple[str, ...], ...]
    """The gcloud commands that do the same."""
    begin: Callable[[Client, Clock], Happening]
    left: Callable[[Sequence[Event]], str]
    """What is true once nobody waits any longer, after these events."""


def connect(app: Tutor, project: str, stopped: threading.Event) -> tuple[Client, Clock]:
    """Return the client of a project, and the clock that it waits by."""
    clock = StoppableClock(app.clock, stopped)
    if app.connect:
        return app.connect(project, clock), clock
    return Client(project, clock=clock), clock


def project_of(row: Row) -> Project:
    """Return the project of a row, which may be another one than gcloud's."""
    current = places.find_project(None)
    if current and current.name == row.project:
        return current
    return Project(row.project, "the ledger")


def find(client: Client, row: Row) -> Doomed:
    """Return what a row stands for now, with its nodes; raises Problem where that is nothing."""
    queued, nodes = client.queued_resources(row.zone), client.nodes(row.zone)
    for one in removal.everything(queued.items, nodes.items):
        if (one.zone, one.name) == (row.zone, row.name):
            return one
    if row.zone in (*queued.unreachable, *nodes.unreachable):
        raise Problem(f"Google could not reach `{visible(row.zone)}`", hint="try again later")
    raise Problem(
        f"Google lists nothing called `{visible(row.name)}` in `{visible(row.zone)}`",
        hint="nothing has to be deleted; r asks again, and what was gone for ten minutes leaves "
        "the list",
    )


def watching(row: Row) -> Work:
    """Return the work of following what a row stands for."""
    project, name = project_of(row), visible(row.name)

    def begin(client: Client, clock: Clock) -> Happening:
        entry = _entry_of(client, row)
        resource: QueuedResource | None = yield from follow(client, entry, clock)
        if resource is None:
            yield from wait_until_gone(client, entry, clock)
        elif resource.state == "ACTIVE":
            yield Ready(entry, resource)
        return resource

    def left(_: Sequence[Event]) -> str:
        return (
            f"You no longer follow `{name}`. Its request stays as it is: w follows it again, and "
            "d in the list of TPUs takes it back."
        )

    command = gcloud.describe("queued-resources", row.zone, row.name, project)
    return Work(f"Watch {name}", f"Following `{name}`", project, (command,), begin, left)


def _entry_of(client: Client, row: Row) -> Entry:
    """Return the ledger's entry of a row; raises Problem where there is no such request."""
    for entry in ledger.entries():
        if entry.key == (client.project, row.zone, row.name):
            return entry
    resource = client.queued_resource(row.zone, row.name)
    if resource is None:
        raise removal.nothing_of(visible(row.name))
    return removal.entry_for(client.project, Doomed(row.zone, row.name, resource, ()))


def deleting(doomed: Sequence[Doomed], project: Project) -> Work:
    """Return the work of deleting what was shown, one after the other."""
    name = f"`{visible(doomed[0].name)}`" if len(doomed) == 1 else f"{len(doomed)} leftovers"

    def begin(client: Client, clock: Clock) -> Happening:
        if len(doomed) == 1:
            return (yield from removal.delete(client, doomed[0], clock))
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
        return _of_deletion_left(doomed, events, name)

    commands = tuple(command for one in doomed for command in one.commands(project))
    title = f"Delete {name.strip('`')}"
    return Work(title, f"Deleting {name}", project, commands, begin, left)


def _delete(client: Client, one: Doomed, clock: Clock) -> Generator[Event, None, bool]:
    """Delete one of several; what Google refuses must not keep the others."""
    try:
        return (yield from removal.delete(client, one, clock))
    except CloudProblem as problem:
        yield Kept(removal.entry_for(client.project, one), problem.what.partition("\n")[0])
        return False


def _of_deletion_left(doomed: Sequence[Doomed], events: Sequence[Event], name: str) -> str:
    """Return what is true of deletions that nobody waits for any longer."""
    if len(doomed) > 1:
        sent = {event.entry.key for event in events if isinstance(event, Cancelling | Gone)}
        return (
            f"The deletion of {len(sent)} of {name} was sent. Press l in the list of TPUs for the "
            "others."
        )
    one = doomed[0]
    if one.must_wait and not any(isinstance(event, Cancelling) for event in events):
        return (
            f"Nothing was deleted: Google refuses it until {name} has left the state "
            f"{one.queued_resource.state if one.queued_resource else ''}. It may be billed, so "
            "press d again in the list of TPUs."
        )
    return (
        f"The deletion of {name} was sent and goes on without this screen. The list of TPUs shows "
        "it until it is gone."
    )


def switching(verb: Verb, node: Node, project: Project) -> Work:
    """Return the work of stopping or starting a TPU VM."""
    name = visible(node.name)

    def begin(client: Client, clock: Clock) -> Happening:
        return power.switch(client, verb, node, clock)

    def left(events: Sequence[Event]) -> str:
        if not any(isinstance(event, NodeSeen) for event in events):
            return f"The request to {verb} `{name}` may be on its way. The list of TPUs shows it."
        return f"Google goes on to {verb} `{name}` without this screen. The list of TPUs shows it."

    command = gcloud.on_node(verb, node.zone, node.name, project)
    doing = f"{'Stopping' if verb == 'stop' else 'Starting'} `{name}`"
    return Work(f"{verb.capitalize()} {name}", doing, project, (command,), begin, left)


def creating(requests: Sequence[Request], project: Project) -> Work:
    """Return the work of getting a TPU in the first of some zones that has it."""
    name = requests[0].name

    def begin(client: Client, clock: Clock) -> Happening:
        return Creation(client, project, clock).run(requests)

    def left(events: Sequence[Event]) -> str:
        if not any(isinstance(event, Asked | Resumed) for event in events):
            return (
                f"The request for `{name}` may be on its way to Google. The list of TPUs shows "
                "what came of it, and there you can delete it."
            )
        walk = " No other zone is tried without this screen." if len(requests) > 1 else ""
        return (
            f"The request for `{name}` stays in the queue, and is billed once the TPU is there."
            f"{walk} In the list of TPUs, w follows it and d takes it back."
        )

    commands = tuple(gcloud.create(request, project) for request in requests)
    return Work(f"Create {name}", f"Getting `{name}`", project, commands, begin, left)
