"""What the form for a TPU says of a request: the commands below its fields, and the last sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.cloud import billed, drawing, prices, states, words
from tpustarter.cloud.places import Project
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, prose, word
from tpustarter.tui.plain import plain
from tpustarter.tui.tpu_form import Draft
from tpustarter.tui.tpu_grant import Judged
from tpustarter.tui.tpu_rows import signs

WAY = ("ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE")
"""The states of a request that comes to a TPU, in their order."""
LEAST_WIDTH = 20
"""Columns below which a command is broken as if there were so many."""


class Commands(Lines):
    """Commands as they are pasted into a shell, over as many lines as they need."""

    def __init__(self, commands: Sequence[tuple[str, ...]]) -> None:
        self._commands = commands

    def lines(self, width: int) -> list[Content]:
        """Return the commands."""
        return [
            Content(plain(line))
            for command in self._commands
            for line in words.command_lines(command, max(width, LEAST_WIDTH))
        ]


def of_draft(draft: Draft, project: Project | None) -> Iterator[Lines]:
    """Yield the commands that do what is filled in so far."""
    try:
        commands = draft.commands(project)
    except Problem as problem:
        yield Hanging("", prose(problem.what))
        return
    if commands and draft.is_elsewhere and draft.tpu:
        title = visible(draft.tpu.generation.title)
        yield Hanging("", f"The Cloud TPU API does not make {title}; Compute Engine does:")
    if commands:
        yield Commands(commands)
    if len(draft.zone_names) > 1 and commands and not draft.is_elsewhere:
        others = ", ".join(map(visible, draft.zone_names[1:]))
        yield Hanging("", f"and, where that zone has none within 15 minutes, in {others}")


def of_tpu(draft: Draft) -> Iterator[Lines]:
    """Yield the slice that is filled in as a picture, and what an hour of it costs."""
    if draft.tpu is None:
        return
    yield Hanging("slice    ", drawing.title_of_type(draft.tpu))
    for row in drawing.aligned(drawing.rows_of_type(draft.tpu)):
        yield Hanging(f"{' ' * 9}{row.label}  ", signs(row.signs))
    if price := _price(draft):
        yield Hanging("price    ", price)


def of_queue(draft: Draft) -> Iterator[Lines]:
    """Yield the states of a request as Google calls them, and how long they usually take."""
    if draft.is_elsewhere:
        return
    width = len(max(WAY, key=len)) + 2
    for name in WAY:
        state = states.of("queued_resources", name)
        yield Hanging(word("stage", name, width), visible(state.meaning))
        if state.usually:
            yield Hanging(" " * width, Content.styled(visible(state.usually), "$muted"))


def _price(draft: Draft) -> str:
    """Return what an hour of the TPU costs, in a sentence; empty while it is not known which."""
    tpu, zone = draft.tpu, next(iter(draft.zone_names), "")
    if tpu is None or not zone or draft.errors():
        return ""
    table = prices.read()
    if draft.tier != "on-demand":
        why = "Spot prices change often" if draft.tier == "spot" else "A reservation has a contract"
        return f"{why}. Google's list: {table.page}"
    price = table.find(tpu, zone)
    if price is None:
        return f"The price of {tpu.name} in {visible(zone)} is not known here: {table.page}"
    rate = tpu.chips * price.usd_per_chip_hour
    return (
        f"{rate:,.2f} USD an hour for its chips ({tpu.chips} x {price.usd_per_chip_hour:g} USD, "
        f"on demand, read {price.read.isoformat()}), billed until you delete it."
    )


def of_request(judged: Judged, project: Project) -> Iterator[Lines]:
    """Yield what is asked for and what it costs, before the name is typed."""
    requests = judged.requests
    if judged.is_outside:
        yield from (Hanging("", prose(note)) for note in judged.notes())
        yield Hanging("", "")
    for sentence in words.of_request(requests[0]):
        yield Hanging("", prose(sentence))
    if not judged.is_covered:
        yield Hanging("", "It is billed from the moment it is there until you delete it.")
    beside = ", ".join(row.what for row in billed.BESIDE_CHIPS[:3])
    yield Hanging("", f"Beside its chips, these cost something of their own: {beside}.")
    if judged.is_covered:
        yield from (Hanging("", prose(note)) for note in judged.notes())
    yield Hanging("", "")
    yield Hanging("", f"In the project {visible(project.name)}. The same with gcloud:")
    yield Commands(tpu_work.creating(requests, project).commands)
