"""What a key would do to TPUs, found out before anything is sent: the sheet that asks for a name.

A plan is made in a worker, because Google is asked what there is now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud import overview, power, removal, words
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.overview import Row as Tpu
from tpustarter.cloud.places import Project
from tpustarter.cloud.power import Verb
from tpustarter.cloud.removal import Doomed
from tpustarter.cloud.resources import Node
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, prose
from tpustarter.tui.plain import plain
from tpustarter.tui.tpu_work import Work

LEFTOVERS = "leftovers"
"""What is typed to delete them all, as on the command line."""


@dataclass(frozen=True)
class Plan:
    """What is done once the user has typed a name."""

    title: str
    lines: tuple[Lines, ...]
    """What happens, and the gcloud commands that do the same."""
    name: str
    """What must be typed."""
    to_do: str
    """What that does: "delete it"."""
    work: Work


def deletion(client: Client, clock: Clock, tpu: Tpu, project: Project) -> Plan:
    """Return the plan to delete what a row stands for now; raises Problem where it is gone."""
    one = tpu_work.find(client, tpu)
    lines = (*_of_doomed(one, project, clock.now()), *_commands(one.commands(project)))
    name = one.name
    return Plan(
        f"Delete {visible(name)}?", lines, name, "delete it", tpu_work.deleting([one], project)
    )


def leftovers(client: Client, clock: Clock, project: Project) -> Plan | str:
    """Return the plan to delete all that is left over; a sentence where nothing is."""
    queued, nodes = client.queued_resources(), client.nodes()
    doomed = removal.leftovers(queued.items, nodes.items)
    silent = tuple(dict.fromkeys((*queued.unreachable, *nodes.unreachable)))
    missing = f"Google could not reach {', '.join(map(visible, silent))}." if silent else ""
    if not doomed:
        nothing = "Nothing is left over, and no name or quota is taken up by an old request."
        return f"{nothing} {missing}".strip()
    now = clock.now()
    lines: list[Lines] = []
    for one in doomed:
        lines += [*_of_doomed(one, project, now), Hanging("", "")]
    if missing:
        lines.append(Hanging("", f"{missing} What is left over there is not in this list."))
    commands = [command for one in doomed for command in one.commands(project)]
    noun = "leftover" if len(doomed) == 1 else "leftovers"
    return Plan(
        f"Delete {len(doomed)} {noun}?",
        (*lines, *_commands(commands)),
        LEFTOVERS,
        f"delete {'it' if len(doomed) == 1 else 'them all'}",
        tpu_work.deleting(doomed, project),
    )


def switching(client: Client, clock: Clock, tpu: Tpu, project: Project, verb: Verb) -> Plan:
    """Return the plan to stop or start a TPU VM; raises Problem for one that cannot be."""
    (zone, name) = (tpu.nodes[0].zone, tpu.nodes[0].name)
    node = client.node(zone, name)
    if node is None:
        raise removal.nothing_of(visible(name))
    power.refuse_what_cannot_be(verb, node)
    work = tpu_work.switching(verb, node, project)
    age = words.age(tpu, clock.now())
    lines = [
        _head(f"{name}  {words.place(tpu)}", age),
        Hanging("", ""),
        *_of_switch(verb, node),
        *_commands(work.commands),
    ]
    return Plan(f"{verb.capitalize()} {visible(name)}?", tuple(lines), name, f"{verb} it", work)


def _of_switch(verb: Verb, node: Node) -> Iterator[Lines]:
    """Yield what becomes of the TPU VM and of the bill."""
    if verb == "stop":
        yield Hanging("ends     ", "What runs on it. Files on its disk stay.")
        yield Hanging("billed   ", "Its disk, and no longer its chips.")
        yield Hanging("later    ", "To start it again, Google must have free capacity by then.")
        return
    yield Hanging(
        "needs    ", f"Free capacity in {visible(node.zone)}; otherwise it stays stopped."
    )
    yield Hanging("billed   ", "Its chips, from the moment it runs until you stop or delete it.")


def _head(text: str, age: str) -> Lines:
    return Hanging("", prose(f"{text}{f', {age}' if age else ''}"))


def _of_doomed(one: Doomed, project: Project, now: datetime) -> Iterator[Lines]:
    """Yield what a deletion takes away."""
    row = overview.row_of(one, project.name)
    yield _head(f"{row.name}  {words.place(row)}", words.age(row, now))
    yield Hanging("    ", f"{visible(row.state.name)}  {row.state.meaning}")
    names = ", ".join(node.name for node in one.nodes)
    yield Hanging("goes     ", prose(f"its nodes: {names}" if names else "it has no nodes"))
    yield Hanging("lost     ", _what_is_lost(row))
    if one.must_wait:
        wait = f"Google refuses to delete it while it is {row.state.name}, so that is waited for."
        yield Hanging("wait     ", wait)


def _what_is_lost(row: Tpu) -> str:
    if row.nodes:
        return "What is on the disks of its TPU VMs."
    if row.is_leftover:
        return "Nothing, because it never becomes a TPU again."
    return "Its place in the queue."


def _commands(commands: Sequence[tuple[str, ...]]) -> Iterator[Lines]:
    """Yield the commands that do the same."""
    yield Hanging("", "")
    yield Hanging("", "The same with gcloud:")
    for command in commands:
        for line in words.command_lines(command, 76):
            yield Hanging("", plain(line))


def can_be_switched(tpu: Tpu) -> Verb | None:
    """Return what can be done to the one TPU VM of a row: stop or start; null for neither."""
    if len(tpu.nodes) != 1:
        return None
    for verb in ("stop", "start"):
        try:
            power.refuse_what_cannot_be(verb, tpu.nodes[0])
        except Problem:
            continue
        return verb
    return None
