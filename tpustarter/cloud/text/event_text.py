"""Sentences that describe events and TPUs, shared by both front ends.

Google's names and texts appear unchanged in these sentences, so the caller must escape them for a
terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from tpustarter.cloud.api import api_choice, compute_requests, resource_states
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api.gcloud_commands import quote_for_shell
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.create import events
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete.ownership import Whose
from tpustarter.cloud.text import slice_drawing
from tpustarter.text import phrases

SHOWN_AT_MOST = 600
"""Longest excerpt of a Google text, in characters."""
CLOCKS_DIFFER_S = 120
"""Seconds in the future that are put down to a small difference between clocks."""


def describe_event(event: events.Event) -> Iterator[str]:
    """Yield the sentences that describe an event."""
    if isinstance(event, events.RequestSent):
        yield f"Google has taken the request for `{event.entry.name}` in {event.entry.zone}."
    elif isinstance(event, events.RequestResumed):
        yield f"`{event.entry.name}` was asked for before, and this goes on with that request."
    elif isinstance(event, events.RequestStateChanged):
        yield from _describe_state(resource_states.find_state_meaning(event.resource))
    elif isinstance(event, events.NodeStateChanged):
        yield from _describe_state(resource_states.find_state_meaning(event.node))
    elif isinstance(event, events.RequestRefused):
        yield f"{event.entry.zone}: {event.problem.summary}."
        if event.goes_on:  # else the error is shown next
            yield f"Google's text: {event.problem.text[:SHOWN_AT_MOST]}"
            yield "Another zone is tried, or this one again later."
    elif isinstance(event, events.SendingPaused):
        yield f"Waiting {phrases.format_duration(event.seconds)}: {event.why}."
    elif isinstance(event, events.RequestWithdrawn):
        yield f"Taking `{event.entry.name}` in {event.entry.zone} back, because {event.why}."
    elif isinstance(event, events.RequestGone):
        yield f"`{event.entry.name}` in {event.entry.zone} is gone, and nothing of it is billed."
    elif isinstance(event, events.RequestMayExist):
        yield f"`{event.entry.name}` in {event.entry.zone} may still exist: {event.why}."
        yield "It stays in the ledger, and `tpustarter tpu list` shows it until it is gone."
    else:
        yield f"`{event.entry.name}` is ready in {event.entry.zone}."


def _describe_state(state: resource_states.StateMeaning) -> Iterator[str]:
    yield f"{state.name}  {state.meaning}"
    if state.next:
        yield f"Next: {state.next}" + (f" {state.usually}" if state.usually else "")


def warn_of_wrong_clock(row: ListedTpu, now: datetime) -> str:
    """Return a warning if the clock is certainly wrong, or ""."""
    age_s = row.age_s(now)
    if age_s is None or age_s > -CLOCKS_DIFFER_S:
        return ""
    return (
        "It was created later than this machine's clock says, so the clock is wrong, and ages and "
        "costs are as well."
    )


def format_type_and_zone(row: ListedTpu) -> str:
    """Return a TPU's type, tier and zone: `v6e-8 spot in us-central1-b`."""
    through = f", {api_choice.TITLES[row.api]}" if row.api == "compute" else ""
    return f"{row.type} {row.tier} in {row.zone}{through}"


def format_age(row: ListedTpu, now: datetime) -> str:
    """Return the time since a TPU was requested, or "" if it is unknown."""
    age_s = row.age_s(now)
    return phrases.format_duration(age_s) if age_s is not None and age_s > -CLOCKS_DIFFER_S else ""


def describe_tpu_row(row: ListedTpu) -> Iterator[str]:
    """Yield the sentences that describe a TPU, other than its state's meaning."""
    if row.error:
        yield f"Google's text: {row.error[:SHOWN_AT_MOST]}"
    yield from row.troubles
    if row.note:
        yield f"From the ledger: {row.note}."


def format_worker_states(row: ListedTpu) -> str:
    """Return how many of a slice's workers are in each state, or "" for a single worker."""
    hosts = [host for node in row.nodes for host in slice_drawing.list_hosts(node)]
    return (
        f"{len(hosts)} workers: {slice_drawing.format_state_counts(hosts)}."
        if len(hosts) > 1
        else ""
    )


def format_unreadable_warning(file: str) -> str:
    """Return the warning about a ledger that cannot be read."""
    return (
        f"The ledger in `{file}` cannot be read. It may name TPUs that this program asked for and "
        "that are in no list, for example in another project. Look each of them up, delete what "
        "you don't want, and then delete the file."
    )


def describe_others_leftovers(owners: Sequence[Whose]) -> str:
    """Return the sentence on leftovers that the ledger does not show to be the user's."""
    one = f"It {describe_owner(owners)}, so only its name deletes it."
    many = f"They {describe_owner(owners)}, so only their names delete them."
    return phrases.choose_plural(len(owners), one, many)


def describe_owner(owners: Sequence[Whose]) -> str:
    """Return the predicate on TPUs that may be somebody else's, as far as the ledger shows it."""
    if "unclear" in owners:
        return "may be yours or somebody else's"
    verb = phrases.choose_plural(len(owners), "was", "were")
    return f"{verb} not asked for from here and may be somebody else's"


def describe_no_leftovers(*, is_rest: bool) -> str:
    """Return the sentence for no leftovers, or for none beside those just named."""
    if is_rest:
        return "Nothing else is left over, as far as Google lists it."
    return "Nothing is left over, and no name or quota is taken up by an old request."


def describe_unreachable(zones: Iterable[str]) -> str:
    """Return the sentence on zones whose resources a list lacks."""
    return f"Google could not reach {', '.join(zones)}, so what is there is not in this list."


def describe_error(row: ListedTpu) -> tuple[str, tuple[str, ...]]:
    """Return the reason why a TPU request failed, and its fixes; both are empty if unknown."""
    if not row.error:
        return "", ()
    problem = api_errors.make_cloud_problem(None, row.error, "")
    return problem.why, problem.fixes


def describe_request(request: TpuRequest) -> Iterator[str]:
    """Yield the sentences that describe a request, including its less obvious consequences."""
    slices = f"{request.slices} slices of " if request.slices > 1 else ""
    tpu = request.type
    hosts = phrases.format_count(tpu.hosts, "host")
    chips = phrases.format_count(tpu.chips, "chip")
    yield f"{slices}{tpu.name} ({chips}, {hosts}), {request.tier}."
    if request.tier == "flex-start":
        runs = phrases.format_duration(request.run_s)
        yield f"Google deletes it {runs} after it has started, with its disk."
        wait = phrases.format_duration(compute_requests.choose_wait_s(request))
        if request.type.hosts == 1:
            yield f"It waits {wait} at most for capacity, and is then gone."
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
    """Yield a command in a form that can be pasted into a shell, wrapped to `width`."""
    line = "$"
    for word in map(quote_for_shell, command):
        if len(line) + len(word) + 3 > width and line.strip() != "$":
            yield f"{line} \\"
            line = "" if len(word) + 6 > width else "   "
        line += f" {word}"
    yield line
