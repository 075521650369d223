"""The plan of a deletion, stop or start, shown before the user types a name to confirm it.

A plan is built in a worker thread, because it queries Google for the current TPUs and requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode, list_unreachable
from tpustarter.cloud.billing import inventory
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.delete import removal, stop_and_start
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.cloud.delete.stop_and_start import Verb
from tpustarter.cloud.text import event_text
from tpustarter.core.problem import Problem
from tpustarter.slices.start_options import StartOptions
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, style_sentence
from tpustarter.tui.tpus import tpu_work
from tpustarter.tui.tpus.tpu_work import TpuWork

LEFTOVERS = "leftovers"
"""The text to type to delete all leftovers, as on the command line."""


@dataclass(frozen=True)
class TpuPlan:
    """An action on TPUs that waits for the user to type a name."""

    title: str
    lines: tuple[LaidOutLines, ...]
    """The effects, and the gcloud commands that do the same."""
    name: str
    """The text to type."""
    to_do: str
    """The action in words, such as "delete it"."""
    work: TpuWork


def plan_deletion(client: ProjectClient, clock: Clock, tpu: ListedTpu, project: Project) -> TpuPlan:
    """Return the plan to delete the TPU or request of a row; raises Problem if it is gone."""
    one = tpu_work.plan_deletion_of_row(client, tpu)
    lines = (*_show_deletion(one, project, clock.now()), *_commands(one.commands(project)))
    name = one.name
    return TpuPlan(
        f"Delete {escape_text(name)}?",
        lines,
        name,
        "delete it",
        tpu_work.make_deletion_work([one], project),
    )


def plan_leftovers(client: ProjectClient, clock: Clock, project: Project) -> TpuPlan | str:
    """Return the plan to delete the user's leftovers; a sentence if there are none."""
    queued, nodes = client.resources()
    found = removal.find_leftovers(project.name, queued.items, nodes.items)
    doomed = found.ours
    silent = list_unreachable(queued, nodes)
    missing = escape_text(event_text.describe_unreachable(silent)) if silent else ""
    others = _describe_others(found.others, project)
    if not doomed:
        nothing = event_text.describe_no_leftovers(is_rest=bool(others or missing))
        return " ".join(filter(None, [others, missing, nothing]))
    now = clock.now()
    lines: list[LaidOutLines] = []
    for one in doomed:
        lines += [*_show_deletion(one, project, now), HangingText("", "")]
    if others:
        lines += [HangingText("", style_sentence(others)), HangingText("", "")]
    if missing:
        lines.append(HangingText("", missing))
    commands = [command for one in doomed for command in one.commands(project)]
    return TpuPlan(
        f"Delete {phrases.format_count(len(doomed), 'leftover')}?",
        (*lines, *_commands(commands)),
        LEFTOVERS,
        f"delete {phrases.choose_plural(len(doomed), 'it', 'them all')}",
        tpu_work.make_deletion_work(doomed, project),
    )


def _describe_others(others: Sequence[DeletionPlan], project: Project) -> str:
    """Return a sentence on leftovers that may be somebody else's, or "" if there are none."""
    if not others:
        return ""
    names = phrases.join_words([f"`{one.name}` in {one.zone}" for one in others], most=4)
    verb = phrases.choose_plural(len(others), "is", "are")
    rows = [inventory.make_tpu_row(one, project.name) for one in others]
    sentence = event_text.describe_others_leftovers([row.owner for row in rows])
    return escape_text(f"{names} {verb} left over. {sentence}")


def plan_stop_or_start(
    client: ProjectClient, clock: Clock, tpu: ListedTpu, project: Project, verb: Verb
) -> TpuPlan:
    """Return the plan to stop or start a TPU VM; raises Problem if that is impossible."""
    (zone, name) = (tpu.nodes[0].zone, tpu.nodes[0].name)
    node = client.of(tpu.api).node(zone, name)
    if node is None:
        raise removal.make_missing_tpu_problem(name)
    stop_and_start.require_can_stop_or_start(verb, node)
    work = tpu_work.make_stop_or_start_work(verb, node, project)
    age = event_text.format_age(tpu, clock.now())
    lines = [
        _head(f"{name}  {event_text.format_type_and_zone(tpu)}", age),
        HangingText("", ""),
        *_show_switch(verb, node),
        *_commands(work.commands),
    ]
    return TpuPlan(
        f"{verb.capitalize()} {escape_text(name)}?", tuple(lines), name, f"{verb} it", work
    )


def _show_switch(verb: Verb, node: TpuNode) -> Iterator[LaidOutLines]:
    """Yield the effects on the TPU VM and on the bill."""
    if verb == "stop":
        yield HangingText("ends     ", "What runs on it. Files on its disk stay.")
        yield HangingText("billed   ", "Its disk, and no longer its chips.")
        yield HangingText("later    ", "To start it again, Google must have free capacity by then.")
        return
    yield HangingText(
        "needs    ", f"Free capacity in {escape_text(node.zone)}; otherwise it stays stopped."
    )
    yield HangingText(
        "billed   ", "Its chips, from the moment it runs until you stop or delete it."
    )


def _head(text: str, age: str) -> LaidOutLines:
    return HangingText("", style_sentence(f"{text}{f', {age}' if age else ''}"))


def _show_deletion(one: DeletionPlan, project: Project, now: datetime) -> Iterator[LaidOutLines]:
    row = inventory.make_tpu_row(one, project.name)
    yield _head(
        f"{row.name}  {event_text.format_type_and_zone(row)}", event_text.format_age(row, now)
    )
    yield HangingText("    ", f"{escape_text(row.state.name)}  {row.state.meaning}")
    names = ", ".join(node.name for node in one.nodes)
    yield HangingText(
        "goes     ", style_sentence(f"its nodes: {names}" if names else "it has no nodes")
    )
    yield HangingText("lost     ", _describe_loss(row))
    if one.is_too_early:
        wait = f"Google refuses to delete it while it is {row.state.name}, so that is waited for."
        yield HangingText("wait     ", wait)


def _describe_loss(row: ListedTpu) -> str:
    if row.nodes:
        return "What is on the disks of its TPU VMs."
    if row.is_leftover:
        return "Nothing, because it never becomes a TPU again."
    return "Its place in the queue."


def _commands(commands: Sequence[tuple[str, ...]]) -> Iterator[LaidOutLines]:
    yield HangingText("", "")
    yield HangingText("", "The same with gcloud:")
    for command in commands:
        for line in event_text.command_lines(command, 76):
            yield HangingText("", clean_text(line))


def choose_stop_or_start(tpu: ListedTpu) -> Verb | None:
    """Return `stop` or `start`, whichever the single TPU VM of a row allows, or None."""
    if len(tpu.nodes) != 1:
        return None
    for verb in ("stop", "start"):
        try:
            stop_and_start.require_can_stop_or_start(verb, tpu.nodes[0])
        except Problem:
            continue
        return verb
    return None


def plan_slice_check(tpu: ListedTpu, project: Project) -> StartOptions:
    """Return the options for a check on all hosts of a slice, without asking the user."""
    node = tpu.nodes[0]
    needs_iap = any(worker.needs_iap for worker in workers.choose_workers([node]))
    return StartOptions(
        engine="gcloud",
        names=(node.name,),
        settings={
            "zone": node.zone,
            **({} if project.gcloud_knows else {"project": project.name}),
            **({"iap": "yes"} if needs_iap else {}),
        },
        hosts=node.workers,
    )
