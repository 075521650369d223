"""What happens, and what there is, in sentences: both front ends show the same ones.

Google's texts and names are in these sentences as they came, so whoever shows them makes them
safe for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from tpustarter.cloud import drawing, events, failures, states
from tpustarter.cloud.clock import format_age
from tpustarter.cloud.gcloud import shell_word
from tpustarter.cloud.overview import Row
from tpustarter.cloud.request import Request

SHOWN_AT_MOST = 600
"""Characters of a text of Google's."""
CLOCKS_DIFFER_S = 120
"""Seconds from the future that are taken for a small difference between two clocks."""


def of_event(event: events.Event) -> Iterator[str]:
    """Yield what has happened, each as a sentence or two."""
    if isinstance(event, events.Asked):
        yield f"Google has taken the request for `{event.entry.name}` in {event.entry.zone}."
    elif isinstance(event, events.Resumed):
        yield f"`{event.entry.name}` was asked for before, and this goes on with that request."
    elif isinstance(event, events.StateSeen):
        yield from _of_state(states.of_resource(event.resource))
    elif isinstance(event, events.NodeSeen):
        yield from _of_state(states.of_resource(event.node))
    elif isinstance(event, events.Refused):
        yield f"{event.entry.zone}: {event.problem.what.partition(chr(10))[0]}."
        if event.goes_on:  # else it is the error that follows
            yield f"Google's text: {event.problem.text[:SHOWN_AT_MOST]}"
            yield "Another zone is tried, or this one again later."
    elif isinstance(event, events.Pausing):
        yield f"Waiting {format_age(event.seconds)}: {event.why}."
    elif isinstance(event, events.Cancelling):
        yield f"Taking `{event.entry.name}` in {event.entry.zone} back, because {event.why}."
    elif isinstance(event, events.Gone):
        yield f"`{event.entry.name}` in {event.entry.zone} is gone, and nothing of it is billed."
    elif isinstance(event, events.Kept):
        yield f"`{event.entry.name}` in {event.entry.zone} may still exist: {event.why}."
        yield "It stays in the ledger, and `tpustarter tpu list` shows it until it is gone."
    else:
        yield f"`{event.entry.name}` is ready in {event.entry.zone}."


def _of_state(state: states.State) -> Iterator[str]:
    yield f"{state.name}  {state.meaning}"
    if state.next:
        yield f"Next: {state.next}" + (f" {state.usually}" if state.usually else "")


def of_clocks(row: Row, now: datetime) -> str:
    """Return that a clock is wrong, where that is sure; empty otherwise."""
    age_s = row.age_s(now)
    if age_s is None or age_s > -CLOCKS_DIFFER_S:
        return ""
    return (
        "It was created later than this machine's clock says, so the clock is wrong, and ages and "
        "costs are as well."
    )


def place(row: Row) -> str:
    """Return what a TPU is and where: `v6e-8 spot in us-central1-b`."""
    return f"{row.type} {row.tier} in {row.zone}"


def age(row: Row, now: datetime) -> str:
    """Return how long ago a TPU was asked for; empty where Google or a clock does not say."""
    age_s = row.age_s(now)
    return format_age(age_s) if age_s is not None and age_s > -CLOCKS_DIFFER_S else ""


def of_row(row: Row) -> Iterator[str]:
    """Yield what is known of a TPU besides what its state means."""
    if row.error:
        yield f"Google's text: {row.error[:SHOWN_AT_MOST]}"
    yield from row.troubles
    if row.note:
        yield f"From the ledger: {row.note}."


def of_workers(row: Row) -> str:
    """Return how many workers of a slice are in which state; empty for a single one."""
    hosts = [host for node in row.nodes for host in drawing.hosts_of(node)]
    return f"{len(hosts)} workers: {drawing.counted(hosts)}." if len(hosts) > 1 else ""


def of_put_aside(file: str) -> str:
    """Return what a ledger that could not be read may hold, and what to do with it."""
    return (
        f"A ledger that could not be read was put aside as `{file}`. It may name TPUs that this "
        "program asked for and that are in no list, for example in another project. Look each of "
        "them up, delete what you don't want, and then delete the file."
    )


def of_error(row: Row) -> tuple[str, tuple[str, ...]]:
    """Return why a request failed, and what can be done about it; empty where it is not known."""
    if not row.error:
        return "", ()
    problem = failures.problem(None, row.error, "")
    return problem.why, problem.fixes


def of_request(request: Request) -> Iterator[str]:
    """Yield what a request is, and what is not obvious about it."""
    slices = f"{request.slices} slices of " if request.slices > 1 else ""
    tpu = request.type
    hosts = "1 host" if tpu.hosts == 1 else f"{tpu.hosts} hosts"
    chips = "1 chip" if tpu.chips == 1 else f"{tpu.chips} chips"
    yield f"{slices}{tpu.name} ({chips}, {hosts}), {request.tier}."
    if request.tier == "spot":
        yield "Google may take a spot TPU back at any time, and its disk goes with it."
    if request.internal_addresses:
        yield (
            "Without external addresses the workers reach nothing outside, not even the package "
            "index, unless the subnetwork has Private Google Access or Cloud NAT."
        )
    if request.slices > 1 or tpu.hosts > 1:
        yield "It has several hosts, so it cannot be stopped, only deleted."


def command_lines(command: tuple[str, ...], width: int = 80) -> Iterator[str]:
    """Yield a command as it is pasted into a shell, over as many lines as it needs."""
    line = "$"
    for word in map(shell_word, command):
        if len(line) + len(word) + 3 > width and line.strip() != "$":
            yield f"{line} \\"
            line = "" if len(word) + 6 > width else "   "
        line += f" {word}"
    yield line
