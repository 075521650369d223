"""The texts on a request for a TPU: the panels of the form, and the confirmation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import other_charges, prices
from tpustarter.cloud.text import event_text, slice_drawing
from tpustarter.core.problem import Problem
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word, style_sentence
from tpustarter.tui.tpus import tpu_work
from tpustarter.tui.tpus.grant_verdicts import GrantVerdicts
from tpustarter.tui.tpus.tpu_draft import TpuDraft
from tpustarter.tui.tpus.tpu_rows import colour_slice_drawing

WAY = ("ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE")
"""The states of a successful request, in order."""
_NO_PRICE = {
    "reserved": "A reservation has a contract",
    "flex-start": "Flex-start has prices of its own",
}
"""Reasons why the price table lacks a tier."""
LEAST_WIDTH = 20
"""Minimum width in columns to which a command is wrapped."""


class WrappedCommands(LaidOutLines):
    """Commands to paste into a shell, wrapped to the width of the screen."""

    def __init__(self, commands: Sequence[tuple[str, ...]]) -> None:
        self._commands = commands

    def lines(self, width: int) -> list[Content]:
        return [
            Content(clean_text(line))
            for command in self._commands
            for line in event_text.command_lines(command, max(width, LEAST_WIDTH))
        ]


def lay_out_commands(draft: TpuDraft, project: Project | None) -> Iterator[LaidOutLines]:
    """Yield the gcloud commands of a draft."""
    try:
        commands = draft.commands(project)
    except Problem as problem:
        yield HangingText("", style_sentence(problem.full_text))
        return
    if commands and (choice := draft.find_api()):
        yield HangingText("", style_sentence(choice.sentence))
    if commands:
        yield WrappedCommands(commands)
    if len(draft.zone_names) > 1 and commands:
        others = ", ".join(map(escape_text, draft.zone_names[1:]))
        yield HangingText("", f"and, where that zone has none within 15 minutes, in {others}")


def lay_out_slice(draft: TpuDraft) -> Iterator[LaidOutLines]:
    """Yield the drawing of a draft's slice, and its hourly price."""
    if draft.tpu is None:
        return
    yield HangingText("slice    ", slice_drawing.format_type_title(draft.tpu))
    for row in slice_drawing.align_rows(slice_drawing.draw_planned_slice_rows(draft.tpu)):
        yield HangingText(f"{' ' * 9}{row.label}  ", colour_slice_drawing(row.signs))
    if price := _price(draft):
        yield HangingText("price    ", price)


def lay_out_states(draft: TpuDraft) -> Iterator[LaidOutLines]:
    """Yield the states of a request by Google's names, and their usual times."""
    choice = draft.find_api()
    is_compute = choice is not None and choice.api == "compute"
    way = WAY[2:] if is_compute and draft.tier != "flex-start" else WAY[1 if is_compute else 0 :]
    width = len(max(WAY, key=len)) + 2
    for name in way:
        sample = QueuedResource("", "", "", name, api="compute" if is_compute else "cloud-tpu")
        state = resource_states.find_state_meaning(sample)
        yield HangingText(status_word("stage", name, width), escape_text(state.meaning))
        if state.usually:
            yield HangingText(" " * width, Content.styled(escape_text(state.usually), "$muted"))


def _price(draft: TpuDraft) -> str:
    """Return a sentence on the hourly price, or "" if the type or the zone is unknown."""
    tpu, zone = draft.tpu, next(iter(draft.zone_names), "")
    if tpu is None or not zone or draft.errors():
        return ""
    table = prices.read_prices()
    if draft.tier not in ("on-demand", "spot"):
        return f"{_NO_PRICE[draft.tier]}. Google's list: {table.page}"
    price = table.find(tpu, zone)
    if price is None:
        return f"The price of {tpu.name} in {escape_text(zone)} is not known here: {table.page}"
    rate = tpu.chips * price.usd_per_chip_hour
    if draft.tier == "spot":
        return (
            f"Less than {rate:,.2f} USD an hour for its chips, their price on demand (read "
            f"{price.read.isoformat()}). Spot prices change often: {table.page}"
        )
    return (
        f"{rate:,.2f} USD an hour for its chips ({tpu.chips} x {price.usd_per_chip_hour:g} USD, "
        f"on demand, read {price.read.isoformat()}), billed until you delete it."
    )


def lay_out_request(judged: GrantVerdicts, project: Project) -> Iterator[LaidOutLines]:
    """Yield the request, its costs and its commands, before the user types the name."""
    requests = judged.requests
    if judged.is_outside:
        yield from (HangingText("", style_sentence(note)) for note in judged.notes())
        yield HangingText("", "")
    for sentence in event_text.describe_request(requests[0]):
        yield HangingText("", style_sentence(sentence))
    if not judged.is_covered:
        yield HangingText("", "It is billed from the moment it is there until you delete it.")
    beside = ", ".join(row.what for row in other_charges.BESIDE_CHIPS[:3])
    yield HangingText("", f"Beside its chips, these cost something of their own: {beside}.")
    if judged.is_covered:
        yield from (HangingText("", style_sentence(note)) for note in judged.notes())
    yield HangingText("", "")
    yield HangingText("", f"In the project {escape_text(project.name)}. The same with gcloud:")
    yield WrappedCommands(tpu_work.make_creation_work(requests, project).commands)
