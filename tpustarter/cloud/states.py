"""The states of queued resources and nodes in words: what each means, and what the user can do.

The words are data, in `states.yml`, with a source per row.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tpustarter import rows
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
    next: str = ""
    """What usually comes next; empty where nothing does."""
    usually: str = ""
    """How long that took in public reports; empty where none says."""
    billed: bool = True
    """Whether the chips are paid for while it lasts."""
    held: bool = True
    """Whether it keeps its name and its share of the quota."""
    sources: tuple[str, ...] = ()


@functools.cache
def read(file: Path = FILE) -> dict[str, dict[str, State]]:
    """Return the states by table and name; raises Problem for a row that cannot be used."""
    tables: Any = rows.load(file)
    expected = get_args(Table)
    if not isinstance(tables, dict) or {*cast("dict[Any, Any]", tables)} != {*expected}:
        raise Problem(f"`{file.name}` does not hold the tables {', '.join(expected)}, each once")
    return {name: _table(name, table, file) for name, table in cast("Any", tables).items()}


def _table(name: str, table: Any, file: Path) -> dict[str, State]:
    if not isinstance(table, dict):
        raise Problem(f"`{name}` in `{file.name}` holds no states")
    states: dict[str, State] = {}
    for state, row in cast("dict[Any, Any]", table).items():
        states[str(state)] = rows.made(
            lambda fields, state=str(state): _state(state, fields), row, f"{name}.{state}", file
        )
    return states


def _state(name: str, fields: Mapping[str, Any]) -> State:
    if fields["mark"] not in get_args(Mark):
        raise ValueError(f"its mark is {fields['mark']!r}, not one of {', '.join(get_args(Mark))}")
    return State(
        name=name,
        mark=fields["mark"],
        meaning=rows.text(fields, "meaning"),
        do=rows.text(fields, "do"),
        next=rows.text(fields, "next", ""),
        usually=rows.text(fields, "usually", ""),
        billed=rows.truth(fields, "billed", default=False),
        held=rows.truth(fields, "held", default=True),
        sources=rows.texts(fields, "sources"),
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
