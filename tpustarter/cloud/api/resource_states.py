"""The states of queued resources and nodes: what each means, and what the user can do.

The words are data, in `states.yml`, with a source per row.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal, get_args

import msgspec

from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.core import yaml_rows
from tpustarter.core.json_values import is_object
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text

FILE = Path(__file__).with_name("states.yml")
COMPUTE = Path(__file__).with_name("compute_states.yml")
INSTANCES = Path(__file__).with_name("instance_states.yml")

Table = Literal["queued_resources", "nodes", "health", "symptoms"]
Mark = Literal["good", "wait", "act", "bad", "unknown"]
"""The outcome for the user: a TPU, a wait, an action to take, a loss, or an unknown state."""


class StateMeaning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state of a queued resource or a node: its meaning, and what the user can do."""

    name: str
    mark: Mark
    meaning: Text
    do: Text
    """The user's next action, in a sentence."""
    next: str = ""
    """The usual next state; empty where there is none."""
    usually: str = ""
    """The usual time until then in public reports; empty where there are none."""
    billed: bool = True
    """True if the chips are billed in this state."""
    held: bool = True
    """True if it keeps its name and its share of the quota."""
    sources: tuple[Text, ...] = ()


class InstanceStates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A status of an instance of Compute Engine, as a request and as a node."""

    request: Text
    node: Text


class _FileState(StateMeaning, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state of `states.yml`: it has sources, and costs nothing unless the file says so."""

    billed: bool = False

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError("it has no `sources`")


@functools.cache
def read_states(file: Path = FILE) -> dict[str, dict[str, StateMeaning]]:
    """Return the states by table and name; raises Problem for a row that cannot be used."""
    tables = yaml_rows.load_yaml(file)
    expected = get_args(Table)
    if not is_object(tables) or {*tables} != {*expected}:
        raise Problem(f"`{file.name}` does not hold the tables {', '.join(expected)}, each once")
    return {name: _table(name, table, file) for name, table in tables.items()}


def _table(name: str, table: object, file: Path) -> dict[str, StateMeaning]:
    if not is_object(table):
        raise Problem(f"`{name}` in `{file.name}` holds no states")
    return {
        str(state): yaml_rows.convert_row(
            {"name": str(state), **row} if is_object(row) else row,
            _FileState,
            f"{name}.{state}",
            file,
        )
        for state, row in table.items()
    }


def find_state(table: Table, name: str) -> StateMeaning:
    """Return the meaning of a state; a state missing from the table is marked `unknown`."""
    known = read_states()[table].get(name)
    if known:
        return known
    return StateMeaning(
        name=name or "not given",
        mark="unknown",
        meaning="This program doesn't know this state, so Google may have added it lately.",
        do="Look it up in Google's documentation of the Cloud TPU API.",
    )


@functools.cache
def read_compute_states(file: Path = COMPUTE) -> dict[str, StateMeaning]:
    """Return the states that Compute Engine alone has, or has with another meaning."""
    return _table("compute_engine", yaml_rows.load_yaml(file), file)


@functools.cache
def read_instance_states(file: Path = INSTANCES) -> dict[str, InstanceStates]:
    """Return the statuses of instances by name; raises Problem for a row that cannot be used."""
    rows = yaml_rows.load_yaml(file)
    if not is_object(rows):
        raise Problem(f"`{file.name}` holds no rows")
    return {
        str(name): yaml_rows.convert_row(row, InstanceStates, str(name), file)
        for name, row in rows.items()
    }


def find_instance_states(status: str) -> InstanceStates:
    """Return a status of an instance in both words; an unknown one stands for itself."""
    unknown = InstanceStates(request=status, node=status)
    return read_instance_states().get(status, unknown)


def find_resource_state(resource: QueuedResource | TpuNode) -> StateMeaning:
    """Return the state of a queued resource or a node."""
    if resource.api == "compute" and (known := read_compute_states().get(resource.state)):
        return known
    table: Table = "queued_resources" if isinstance(resource, QueuedResource) else "nodes"
    return find_state(table, resource.state)


def is_leftover(resource: QueuedResource | TpuNode) -> bool:
    """Return whether a resource can't become a TPU any more, but still holds name and quota."""
    if isinstance(resource, QueuedResource):
        return resource.state in ("FAILED", "SUSPENDED", "INCOMPLETE")
    return resource.state in ("PREEMPTED", "TERMINATED")
