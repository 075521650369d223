"""Ownership of a queued resource: this program's, or someone else's with the same name.

Someone else's resource is never resumed, and never deleted without the user's consent. Names are
unique in a zone, so if someone else has the name, the entry's resource does not exist.
"""

from __future__ import annotations

from typing import Literal

from tpustarter.cloud.api import api_choice
from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.cloud.billing import chips
from tpustarter.cloud.billing.ledger import KEPT_AFTER_UNANSWERED_S, LedgerEntry
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.core.problem import ExitCode, Problem

Whose = Literal["ours", "other", "unclear"]

UNCLEAR = "something of this name exists, and it may be somebody else's"


def find_owner(entry: LedgerEntry, resource: QueuedResource) -> Whose:
    """Return a queued resource's owner: the ledger's entry, someone else, or unclear.

    It is `unclear` if the request got no response and a matching resource was not created at about
    the time it was sent.
    """
    if resource.state == "INCOMPLETE":
        return "ours"  # its parts carry this program's marks, but creation times of their own
    if entry.created:
        is_same = resource.created is None or resource.created.isoformat() == entry.created
        return "ours" if is_same else "other"
    if not matches_request(entry, resource):
        return "other"
    if entry.phase != "sent":
        return "ours"
    if resource.created is None:
        return "unclear"
    late_s = (resource.created - entry.request_time).total_seconds()
    # This machine's clock may be off, in both directions.
    return "ours" if abs(late_s) <= KEPT_AFTER_UNANSWERED_S else "unclear"


def find_node_owner(entry: LedgerEntry, node: TpuNode) -> Whose:
    """Return the owner of a node without a request: the ledger's entry, someone else, or unclear.

    A node has a creation time of its own, which may be days after the request.
    """
    if entry.phase == "sent" or node.created is None:
        return "unclear"
    early_s = (entry.request_time - node.created).total_seconds()
    is_same = is_same_type(entry.type, node.type) and entry.tier == node.tier
    return "ours" if is_same and early_s <= KEPT_AFTER_UNANSWERED_S else "other"


def format_creation_time(resource: QueuedResource | TpuNode) -> str:
    """Return a resource's creation time in the ledger's format."""
    return resource.created.isoformat() if resource.created else ""


def is_same_type(one: str, other: str) -> bool:
    """Return whether two names denote the same TPU, such as `v5e-8` and `v5litepod-8`."""
    return chips.short_type_name(one) == chips.short_type_name(other)


def matches_request(entry: LedgerEntry, resource: QueuedResource) -> bool:
    """Return whether a queued resource has the requested type, tier and nodes, where known."""
    return (
        (not resource.type or is_same_type(entry.type, resource.type))
        and entry.tier == resource.tier
        and (not (entry.nodes and resource.nodes) or {*entry.nodes} == {*resource.nodes})
    )


def make_unclear_owner_problem(entry: LedgerEntry, resource: QueuedResource) -> Problem:
    """Return the Problem for a resource of the same name that may belong to someone else."""
    made = f"{resource.created:%Y-%m-%d %H:%M} UTC" if resource.created else "an unknown time"
    return Problem(
        f"`{entry.name}` exists in `{entry.zone}` and was made at {made}, but you asked for it at "
        f"{entry.request_time:%Y-%m-%d %H:%M} UTC, so it may be somebody else's",
        hint=f"look at it with `tpustarter tpu show {entry.name} --zone {entry.zone}`, or take "
        "another name",
        code=ExitCode.USAGE,
    )


def require_same_resource(
    seen: QueuedResource | TpuNode, now: QueuedResource | TpuNode | None
) -> None:
    """Raise Problem if another resource has the name of one that the user was asked about.

    The question may have been open for hours.
    """
    if now and now.state == "INCOMPLETE":
        return  # its parts have creation times of their own
    if now and now.created and seen.created and now.created != seen.created:
        raise Problem(
            f"`{seen.name}` is another one by now, made at {now.created:%Y-%m-%d %H:%M} UTC, so "
            "it was left alone",
            hint="`tpustarter tpu list` shows it",
            code=ExitCode.INCONCLUSIVE,
        )


def require_same_tpu(entry: LedgerEntry, request: TpuRequest) -> None:
    """Raise Problem if an existing earlier request is for a different TPU."""
    is_same = (
        entry.api == request.api
        and is_same_type(entry.type, request.type.name)
        and entry.tier == request.tier
        and {*entry.nodes} == {*request.node_names}
    )
    if not is_same:
        raise Problem(
            f"`{entry.name}` exists already: you asked for it as {entry.type}, {entry.tier}, in "
            f"`{entry.zone}` through {api_choice.TITLES[entry.api]}, and now it is to be "
            f"{request.type.name}, {request.tier}, through {api_choice.TITLES[request.api]}",
            hint=f"delete the first one with `tpustarter tpu delete {entry.name}`, or take "
            "another name",
            code=ExitCode.USAGE,
        )
