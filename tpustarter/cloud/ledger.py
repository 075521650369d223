"""The ledger of what may be billed: written before a request leaves, kept until it is seen gone.

An entry is evidence that something may exist, not that it does. A crash or a lost connection
between request and answer therefore leaves an entry, never a TPU that nobody knows of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal, cast

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
    rows = state.load(STATE).get("entries")
    read = [_read(row) for row in cast("list[Any]", rows)] if isinstance(rows, list) else []
    return [entry for entry in read if entry is not None]


def _read(row: Any) -> Entry | None:
    """Return an entry; null for what was not written here."""
    try:
        values: Any = {**row, "nodes": tuple(row.get("nodes", ()))}
        entry = Entry(**values)
        return entry if entry.asked_at.tzinfo and all(map(str, entry.key)) else None
    except (AttributeError, TypeError, ValueError):
        return None


def add(entry: Entry) -> None:
    """Write an entry to the disk before its request leaves; raises Problem if that fails."""
    _change(lambda rows: [*(row for row in rows if row.key != entry.key), entry])


def update(entry: Entry, phase: Phase, note: str = "", operation: str = "") -> Entry:
    """Write how far an entry is; returns the new one."""
    changed = replace(entry, phase=phase, note=note, operation=operation or entry.operation)
    _change(lambda rows: [changed if row.key == entry.key else row for row in rows])
    return changed


def remove(entry: Entry) -> None:
    """Forget an entry: its request was refused, or its resource was seen to be gone."""
    _change(lambda rows: [row for row in rows if row.key != entry.key])


def _change(change: Callable[[list[Entry]], Iterable[Entry]]) -> None:
    busy = Problem(
        "another tpustarter is writing the ledger of TPUs", hint="try again", code=ExitCode.BUSY
    )
    with locations.alone(locations.state() / f"{STATE}.lock", wait_s=LOCK_WAIT_S, busy=busy):
        state.save(STATE, {"entries": [asdict(entry) for entry in change(entries())]})


def stamp(moment: datetime) -> str:
    """Return a time as it stands in an entry."""
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")
