"""The states of queued resources and nodes: the meaning of each, and the user's next action.

The texts are data in `states.yml`, with a source for each row.
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

Table = Literal["queued_resources", "nodes", "health", "infra_health", "symptoms"]
Mark = Literal["good", "wait", "act", "bad", "unknown"]
"""The state's effect for the user: a TPU, a wait, an action to take, a loss, or unknown."""


class StateMeaning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The meaning of a queued resource's or node's state, and the user's next action."""

    name: str
    mark: Mark
    meaning: Text
    do: Text
    """The user's next action, as a sentence."""
    next: str = ""
    """The usual next state, if any."""
    spot_next: str = ""
    """The next state of a spot TPU, if it is another."""
    usually: str = ""
    """The usual time until the next state, according to public reports; empty if there are none."""
    billed: bool = True
    """True if the chips are billed in this state."""
    held: bool = True
    """True if a resource in this state keeps its name and its share of the quota."""
    sources: tuple[Text, ...] = ()


class InstanceStates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request state and node state that correspond to a Compute Engine instance status."""

    request: Text
    node: Text


class _FileState(StateMeaning, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A state in `states.yml`, which requires sources and is not billed unless the file sets it."""

    billed: bool = False

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError("it has no `sources`")


@functools.cache
def read_states(file: Path = FILE) -> dict[str, dict[str, StateMeaning]]:
    """Return the states by table and name; raises Problem if a row is invalid."""
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
    """Return a state's meaning; a state missing from the table is marked `unknown`."""
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
def read_compute_states() -> dict[str, StateMeaning]:
    """Return the states that only Compute Engine has, or to which it gives another meaning."""
    return _table("compute_engine", yaml_rows.load_yaml(COMPUTE), COMPUTE)


@functools.cache
def read_instance_states() -> dict[str, InstanceStates]:
    """Return the instance statuses by name; raises Problem if a row is invalid."""
    return yaml_rows.read_table(INSTANCES, InstanceStates)


def find_instance_states(status: str) -> InstanceStates:
    """Return an instance status as request and node states; an unknown status is kept as it is."""
    unknown = InstanceStates(request=status, node=status)
    return read_instance_states().get(status, unknown)


def find_state_meaning(resource: QueuedResource | TpuNode) -> StateMeaning:
    """Return the meaning of a queued resource's or node's state."""
    table: Table = "queued_resources" if isinstance(resource, QueuedResource) else "nodes"
    of_compute = read_compute_states() if resource.api == "compute" else {}
    state = of_compute.get(resource.state) or find_state(table, resource.state)
    if resource.tier == "spot" and state.spot_next:
        return msgspec.structs.replace(state, next=state.spot_next, usually="")
    return state


def is_leftover(resource: QueuedResource | TpuNode) -> bool:
    """Return whether a resource can no longer become a TPU but still holds its name and quota."""
    if isinstance(resource, QueuedResource):
        return resource.state in ("FAILED", "SUSPENDED", "INCOMPLETE")
    return resource.state in ("PREEMPTED", "TERMINATED")
