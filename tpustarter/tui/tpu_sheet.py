"""What the form for a TPU says of a request: the commands below its fields, and the last sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpustarter.cloud import billed, words
from tpustarter.cloud.places import Project
from tpustarter.problem import Problem
from tpustarter.terminal import visible
from tpustarter.tui import tpu_work
from tpustarter.tui.lines import Hanging, Lines, prose
from tpustarter.tui.plain import plain
from tpustarter.tui.tpu_form import Draft
from tpustarter.tui.tpu_grant import Judged


def of_draft(draft: Draft, project: Project | None, width: int) -> Iterator[Lines]:
    """Yield the commands that do what is filled in so far."""
    yield Hanging("", "")
    try:
        commands = draft.commands(project)
    except Problem as problem:
        yield Hanging("", prose(problem.what))
        return
    if commands and draft.is_elsewhere and draft.tpu:
        title = visible(draft.tpu.generation.title)
        yield Hanging("", f"The Cloud TPU API does not make {title}; Compute Engine does:")
    elif commands:
        yield Hanging("", "The same with gcloud:")
    yield from _commands(commands, width)
    if len(draft.zone_names) > 1 and commands and not draft.is_elsewhere:
        others = ", ".join(map(visible, draft.zone_names[1:]))
        yield Hanging("", f"and, where that zone has none within 15 minutes, in {others}")


def of_request(judged: Judged, project: Project, width: int) -> Iterator[Lines]:
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
    yield from _commands(tpu_work.creating(requests, project).commands, width)


def _commands(commands: Sequence[tuple[str, ...]], width: int) -> Iterator[Lines]:
    for command in commands:
        for line in words.command_lines(command, max(width, 20)):
            yield Hanging("", plain(line))
