"""The ledger of what may be billed: written before a request leaves, kept until it is seen gone.

An entry is evidence that something may exist, not that it does. A crash or a lost connection
between request and answer therefore leaves an entry, never a TPU that nobody knows of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tpustarter import locations, state
from tpustarter.problem import ExitCode, Problem

STATE = "tpus"
LOCK_WAIT_S = 10.0
KEPT_AFTER_UNANSWERED_S = 600.0
"""Seconds for which an entry stays whose request was not answered and whose resource is not seen:
a request that Google received may show late."""

Phase = Literal["sent", "taken", "seen", "deleting"]


@dataclass(frozen=True)
class Entry:
    """One thing that was asked for and may exist."""

    project: str
    zone: str
    name: str
    type: str
    chips: int
    tier: str
    asked: str
    """When, in UTC: `2026-11-22T16:00:00+00:00`."""
    phase: Phase = "sent"
    """`sent` until Google has answered, `taken` then, `seen` once it was listed, `deleting`."""
    nodes: tuple[str, ...] = ()
    operation: str = ""
    """The name of the operation that makes it; empty where Google has not answered."""
    note: str = ""
    """Why it is here although its state is not known, in words."""
    created: str = ""
    """When Google made it, by Google's clock; empty until it was seen. Another thing that has the
    same name was made at another time."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what tells it from the others."""
        return (self.project, self.zone, self.name)

    @property
    def asked_at(self) -> datetime:
        """Return when it was asked for."""
        return datetime.fromisoformat(self.asked)


def entries() -> list[Entry]:
    """Return what may exist, oldest first."""
    read = [entry for row in _rows() if (entry := _read(row)) is not None]
    return sorted(read, key=lambda entry: entry.asked_at)


def of_name(project: str, name: str) -> list[Entry]:
    """Return the entries of one name, in whatever zones they are."""
    return [entry for entry in entries() if (entry.project, entry.name) == (project, name)]


def current(entry: Entry) -> Entry:
    """Return an entry as it stands in the ledger; itself if it is not there."""
    return next((row for row in entries() if row.key == entry.key), entry)


def put_aside() -> list[Path]:
    """Return ledgers that could not be read, oldest first: what they held is not in `entries`."""
    return sorted(locations.state_place().glob(f"{STATE}.broken-*.json"))


def _rows() -> list[Any]:
    """Return the rows of the file, also those that cannot be read here."""
    rows = state.load(STATE).get("entries")
    return cast("list[Any]", rows) if isinstance(rows, list) else []


def _read(row: Any) -> Entry | None:
    """Return an entry; null for what this version did not write."""
    try:
        values: dict[str, Any] = {**row}
        nodes = cast("list[Any]", values.pop("nodes", []))
        texts = [*nodes, *(value for name, value in values.items() if name != "chips")]
        fits = type(nodes) is list and type(values["chips"]) is int
        if not (fits and all(isinstance(text, str) for text in texts)):
            return None
        entry = Entry(**values, nodes=tuple(nodes))
        is_ours = entry.phase in get_args(Phase) and entry.asked_at.tzinfo and all(entry.key)
        return entry if is_ours else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def add(entry: Entry) -> None:
    """Write an entry to the disk before its request leaves; raises Problem if that fails."""
    _change(entry, lambda _: entry)


def update(entry: Entry, phase: Phase, note: str = "", **facts: str) -> Entry:
    """Write how far an entry is; returns the new one.

    One that another process has taken out meanwhile is written again, for it was just seen.

    Args:
        entry: What it is about.
        phase: How far it is now.
        note: Why it is here although its state is not known.
        facts: An `operation`, or when it was `created`.
    """
    known = {name: value for name, value in facts.items() if value}

    def change(row: Entry | None) -> Entry:
        return replace(row or entry, phase=phase, note=note, **known)

    return cast("Entry", _change_if_possible(entry, change))


def remove(entry: Entry) -> None:
    """Forget an entry: its request was refused, or its resource was seen to be gone.

    One that was asked for anew meanwhile, by another process, stays.
    """
    _change_if_possible(entry, lambda row: row if row and row.asked != entry.asked else None)


def _change_if_possible(
    entry: Entry, change: Callable[[Entry | None], Entry | None]
) -> Entry | None:
    """Change an entry; one that is on the disk stays as it was where that cannot be written.

    What it says is then out of date, but nothing is forgotten, and a full disk keeps nobody from
    following or deleting a TPU.
    """
    try:
        return _change(entry, change)
    except Problem:
        before = next((row for row in entries() if row.key == entry.key), None)
        if before is None:
            raise
        return change(before)


def _change(entry: Entry, change: Callable[[Entry | None], Entry | None]) -> Entry | None:
    """Replace one row by what is made of it, and return that; all other rows stay as they are."""
    busy = Problem(
        "another tpustarter is writing the ledger of TPUs",
        hint="try again in a moment",
        code=ExitCode.BUSY,
    )
    with locations.alone(locations.state() / f"{STATE}.lock", wait_s=LOCK_WAIT_S, busy=busy):
        rows = [(row, _read(row)) for row in _rows()]
        before = next((read for _, read in rows if read and read.key == entry.key), None)
        after = change(before)
        kept = [row for row, read in rows if read is None or read.key != entry.key]
        written = [] if after is None else [asdict(after)]
        state.save(STATE, {"entries": [*kept, *written]})
    return after


def stamp(moment: datetime) -> str:
    """Return a time as it stands in an entry."""
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")
