"""Following one queued resource through its states, despite network interruptions."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from datetime import datetime

from tpustarter.cloud.api.api_client import ApiClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import KEPT_AFTER_UNANSWERED_S, LedgerEntry
from tpustarter.cloud.create.events import (
    Event,
    RequestGone,
    RequestMayExist,
    RequestStateChanged,
    SendingPaused,
)
from tpustarter.cloud.delete import ownership
from tpustarter.text import phrases

LOOK_S = 15.0
"""Seconds between polls, plus or minus a fifth."""
_NOT_SHOWN = "Google has not shown it yet, and is asked again and again"
SILENCE_S = 1800.0
"""Seconds without a response, or without a sign of an accepted request, before giving up."""
LAG_S = 120.0
"""Seconds after which Google shows an operation's result."""
GONE_S = 900.0
"""Longest wait for a deletion, in seconds."""
ENDS = ("ACTIVE", "FAILED", "SUSPENDED", "INCOMPLETE")
"""States that no longer change by themselves."""
QUEUED = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES")
"""States in which nothing is billed and a request can be withdrawn."""
PASSING = ("network", "internal")
"""Error kinds after which a call is retried."""


def _is_end(state: str) -> bool:
    return state in ENDS


def follow_request(
    client: ApiClient,
    entry: LedgerEntry,
    clock: Clock,
    *,
    patience_s: float | None = None,
    until: Callable[[str], bool] = _is_end,
) -> Generator[Event, None, QueuedResource | None]:
    """Yield a queued resource's states; return it at the end, or None once it is gone.

    Args:
        client: The client for the entry's API.
        entry: The entry to follow.
        clock: Sleeps between polls.
        patience_s: Seconds in the queue after which the resource is returned; None for no limit.
        until: Returns True for a state that ends following.

    Raises:
        CloudProblem: Google refuses access, has not responded for `SILENCE_S`, or could not carry
            out the request.
    """
    started, answered, last = clock.now(), clock.now(), ""
    while True:
        try:
            resource = _look(client, entry, clock, is_new=not last)
        except _NeverMadeError as failed:
            yield from _forget(client, entry)
            raise failed.problem from None
        except CloudProblem as problem:
            if problem.kind not in PASSING or _seconds(answered, clock) > SILENCE_S:
                raise
            yield SendingPaused(LOOK_S, problem.summary)
        else:
            answered = clock.now()
            waited_s = (answered - started).total_seconds()
            if resource is None:
                return None
            if resource.state != last:
                last = resource.state
                entry = _note(entry, resource)
                yield RequestStateChanged(entry, resource, answered)
            is_impatient = patience_s is not None and waited_s >= patience_s
            if until(resource.state) or (is_impatient and resource.state in ("", *QUEUED)):
                return resource
            if not last and waited_s > SILENCE_S:
                raise _never_shown(entry)
            if not last and waited_s < LOOK_S / 2:  # the first poll
                yield SendingPaused(LOOK_S, _NOT_SHOWN)
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret


def _forget(client: ApiClient, entry: LedgerEntry) -> Generator[Event, None, None]:
    """Remove the entry for a TPU that was never created, and the parts created for it."""
    try:
        client.discard_parts(entry.zone, entry.name)
    except CloudProblem as problem:
        yield RequestMayExist(entry, problem.summary)
        return
    ledger.remove_ledger_entry(entry)
    yield RequestGone(entry)


def _seconds(since: datetime, clock: Clock) -> float:
    return (clock.now() - since).total_seconds()


class _NeverMadeError(Exception):
    """The operation that creates a resource failed."""

    def __init__(self, problem: CloudProblem) -> None:
        super().__init__(problem.full_text)
        self.problem = problem


def _look(
    client: ApiClient, entry: LedgerEntry, clock: Clock, *, is_new: bool
) -> QueuedResource | None:
    """Return an entry's queued resource, or None if its name is free or someone else's.

    A resource that is still being created, and was never seen, has an empty state.
    """
    resource = client.queued_resource(entry.zone, entry.name)
    is_there = resource is not None and resource.state != "INCOMPLETE"
    if resource is not None and is_there:
        return None if ownership.find_owner(entry, resource) == "other" else resource
    if client.api == "compute" and entry.operation:
        _require_made(client, entry)
    if resource is not None:
        return resource
    if not (is_new and _may_come(client, entry, clock)):
        return None
    return QueuedResource(entry.project, entry.zone, entry.name, state="")


def _require_made(client: ApiClient, entry: LedgerEntry) -> None:
    """Raise _NeverMadeError if the operation that creates a resource failed.

    Compute Engine lists an instance while it looks for capacity, and removes it if there is none.
    """
    if problem := client.operation(entry.operation).problem:
        raise _NeverMadeError(problem)


def _may_come(client: ApiClient, entry: LedgerEntry, clock: Clock) -> bool:
    """Return whether a resource that was never seen is still being created."""
    if entry.created:
        return False
    age_s = (clock.now() - entry.request_time).total_seconds()
    if not entry.operation:
        return age_s < KEPT_AFTER_UNANSWERED_S
    ending = client.operation(entry.operation)
    if ending.problem:
        raise _NeverMadeError(ending.problem)
    return not ending.done or age_s < LAG_S


def _note(entry: LedgerEntry, resource: QueuedResource) -> LedgerEntry:
    if entry.phase == "deleting" or (entry.phase == "seen" and entry.created):
        return entry
    return ledger.update_ledger_entry(
        entry, "seen", created=ownership.format_creation_time(resource)
    )


def _never_shown(entry: LedgerEntry) -> CloudProblem:
    silence = phrases.format_duration(SILENCE_S)
    what = f"Google took the request for `{entry.name}`, but has not shown it for {silence}"
    return CloudProblem(None, "state", "", what)


def wait_for_removal(client: ApiClient, entry: LedgerEntry, clock: Clock) -> bool:
    """Wait until Google lists neither a queued resource nor its nodes; return False on timeout.

    Raises:
        CloudProblem: Google refuses access.
    """
    started = clock.now()
    while (clock.now() - started).total_seconds() < GONE_S:
        try:
            if is_gone(client, entry):
                return True
            client.discard_parts(entry.zone, entry.name)
        except CloudProblem as problem:
            if problem.kind not in PASSING:
                raise
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret
    return False


def is_gone(client: ApiClient, entry: LedgerEntry) -> bool:
    """Ask Google, and return whether an entry's queued resource and all its nodes are gone.

    A resource still being created is not gone. One whose name someone else has taken is gone.
    """
    resource = client.queued_resource(entry.zone, entry.name)
    if resource is not None:
        return ownership.find_owner(entry, resource) == "other"
    if not entry.created and entry.operation and not client.operation(entry.operation).done:
        return False
    nodes = (client.node(entry.zone, name) for name in entry.nodes)
    return all(node is None or node.queued_resource not in ("", entry.name) for node in nodes)
