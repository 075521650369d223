"""Whose a queued resource is: of an entry in the ledger, or of somebody who took the same name.

What is not ours is never gone on with, and never deleted by itself. A name is given once in a zone,
so where somebody else has it, ours does not exist.
"""

from __future__ import annotations

from typing import Literal

from tpustarter.cloud.ledger import KEPT_AFTER_UNANSWERED_S, Entry
from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import QueuedResource
from tpustarter.machine import tpus
from tpustarter.problem import ExitCode, Problem

Whose = Literal["ours", "other", "unclear"]

UNCLEAR = "something of this name exists, and it may be somebody else's"


def whose(entry: Entry, resource: QueuedResource) -> Whose:
    """Return whether a queued resource of the same name is what an entry asked for.

    `unclear` is said of one that fits a request which was not answered, and which was made at
    another time than that was sent.
    """
    if entry.created:
        is_same = resource.created is None or resource.created.isoformat() == entry.created
        return "ours" if is_same else "other"
    if not fits(entry, resource):
        return "other"
    if entry.phase != "sent":
        return "ours"
    if resource.created is None:
        return "unclear"
    late_s = (resource.created - entry.asked_at).total_seconds()
    # This machine's clock may be off, in both directions.
    return "ours" if abs(late_s) <= KEPT_AFTER_UNANSWERED_S else "unclear"


def created(resource: QueuedResource) -> str:
    """Return when Google made something, as it stands in the ledger."""
    return resource.created.isoformat() if resource.created else ""


def same_type(one: str, other: str) -> bool:
    """Return whether two names mean the same TPU, such as `v5e-8` and `v5litepod-8`."""
    return one == other or _plain(one) == _plain(other)


def fits(entry: Entry, resource: QueuedResource) -> bool:
    """Return whether a queued resource is of the type, tier and nodes asked for, where given."""
    return (
        (not resource.type or same_type(entry.type, resource.type))
        and entry.tier == resource.tier
        and (not (entry.nodes and resource.nodes) or {*entry.nodes} == {*resource.nodes})
    )


def unclear(entry: Entry, resource: QueuedResource) -> Problem:
    """Return the Problem for what may be somebody else's and has the name of a request of ours."""
    made = f"{resource.created:%Y-%m-%d %H:%M} UTC" if resource.created else "an unknown time"
    return Problem(
        f"`{entry.name}` exists in `{entry.zone}` and was made at {made}, but you asked for it at "
        f"{entry.asked_at:%Y-%m-%d %H:%M} UTC, so it may be somebody else's",
        hint=f"look at it with `tpustarter tpu show {entry.name} --zone {entry.zone}`, or take "
        "another name",
        code=ExitCode.USAGE,
    )


def check_same(entry: Entry, request: Request) -> None:
    """Raise Problem if a request of ours that still exists is for another TPU than this one."""
    is_same = (
        same_type(entry.type, request.type.name)
        and entry.tier == request.tier
        and {*entry.nodes} == {*request.node_names}
    )
    if not is_same:
        raise Problem(
            f"`{entry.name}` exists already: you asked for it as {entry.type}, {entry.tier}, in "
            f"`{entry.zone}`, and now it is to be {request.type.name}, {request.tier}",
            hint=f"delete the first one with `tpustarter tpu delete {entry.name}`, or take "
            "another name",
            code=ExitCode.USAGE,
        )


def _plain(name: str) -> str:
    try:
        return tpus.parse_type(name).name
    except LookupError:
        return name
