"""The states of queued resources and nodes in words: what each means, and what the user can do.

The words are data, in `states.yml`, with a source per row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tpustarter import content, locations
from tpustarter.cloud.resources import Node, QueuedResource
from tpustarter.problem import Problem

FILE = Path(__file__).with_name("states.yml")

Table = Literal["queued_resources", "nodes", "health", "symptoms"]
Mark = Literal["good", "wait", "act", "bad", "unknown"]
"""Whether there is a TPU, whether to wait, whether the user must act, whether it is lost."""


@dataclass(frozen=True)
class State:
    """One state in words."""

    name: str
    mark: Mark
    meaning: str
    do: str
    """What the user can do now, in a sentence."""
    next: str
    """What usually comes next; empty where nothing does."""
    usually: str
    """How long that took in public reports; empty where none says."""
    billed: bool
    """Whether the chips are paid for while it lasts."""
    held: bool
    """Whether it keeps its name and its share of the quota."""
    sources: tuple[str, ...]


@functools.cache
def read(file: Path = FILE) -> dict[str, dict[str, State]]:
    """Return the states by table and name; raises Problem for a row that cannot be used."""
    tables: Any = content.read_yaml(locations.read_text(file))
    try:
        return {
            table: {name: _state(name, row) for name, row in rows.items()}
            for table, rows in tables.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Problem(f"a row of `{file.name}` cannot be used: {error}") from error


def _state(name: str, row: Any) -> State:
    if not row["sources"]:
        raise ValueError(f"`{name}` has no source")
    return State(
        name=name,
        mark=row["mark"],
        meaning=row["meaning"],
        do=row["do"],
        next=row.get("next", ""),
        usually=row.get("usually", ""),
        billed=row.get("billed", False),
        held=row.get("held", True),
        sources=tuple(row["sources"]),
    )


def of(table: Table, name: str) -> State:
    """Return a state; one that Google has added since is named, and nothing is guessed of it."""
    known = read()[table].get(name)
    if known:
        return known
    return State(
        name=name or "not given",
        mark="unknown",
        meaning="This program doesn't know this state, so Google may have added it lately.",
        do="Look it up in Google's documentation of the Cloud TPU API.",
        next="",
        usually="",
        billed=True,
        held=True,
        sources=(),
    )


def of_resource(resource: QueuedResource | Node) -> State:
    """Return the state that a queued resource or a node is in."""
    table: Table = "queued_resources" if isinstance(resource, QueuedResource) else "nodes"
    return of(table, resource.state)


def is_leftover(resource: QueuedResource | Node) -> bool:
    """Return whether something never becomes a TPU again, and only holds its name and quota."""
    if isinstance(resource, QueuedResource):
        return resource.state in ("FAILED", "SUSPENDED")
    return resource.state in ("PREEMPTED", "TERMINATED")
