"""The ledger of what may be billed: written before a request is sent, kept until the TPU is gone.

An entry is evidence that something may exist, not that it does. Therefore a crash or a lost
connection between request and response leaves an entry, never a TPU that nobody knows about.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from tpustarter.cloud.api.resources import Api
from tpustarter.core import locations, state
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem

STATE = "tpus"
LOCK_WAIT_S = 10.0
KEPT_AFTER_UNANSWERED_S = 600.0
"""Seconds for which an entry is kept if its request got no response and its resource is not listed,
because Google may list it late."""

Phase = Literal["sent", "taken", "seen", "deleting"]


@dataclass(frozen=True)
class LedgerEntry:
    """A TPU that was requested through this program, and may exist and be billed."""

    project: str
    zone: str
    name: str
    type: str
    chips: int
    tier: str
    asked: str
    """Request time in UTC: `2026-11-22T16:00:00+00:00`."""
    phase: Phase = "sent"
    """`sent` until Google has responded, then `taken`; `seen` once it was listed; `deleting`."""
    nodes: tuple[str, ...] = ()
    operation: str = ""
    """Name of the operation that creates it; empty until Google has responded."""
    note: str = ""
    """Reason why it is kept although its state is unknown."""
    api: Api = "cloud-tpu"
    created: str = ""
    """Creation time by Google's clock; empty until it was listed. Another resource of the same name
    has a different one."""

    @property
    def key(self) -> tuple[Api, str, str, str]:
        """Return API, project, zone and name, which together are unique in the ledger."""
        return (self.api, self.project, self.zone, self.name)

    @property
    def request_time(self) -> datetime:
        """Return the request time."""
        return datetime.fromisoformat(self.asked)


_FIELDS = {field.name for field in fields(LedgerEntry)}
_Changed = TypeVar("_Changed", LedgerEntry, LedgerEntry | None)


def read_ledger() -> list[LedgerEntry]:
    """Return all entries, oldest first; none if the ledger is unreadable."""
    with contextlib.suppress(Problem):
        read = [entry for row in _rows() if (entry := _read(row)) is not None]
        return sorted(read, key=lambda entry: entry.request_time)
    return []


def find_ledger_entries(project: str, name: str) -> list[LedgerEntry]:
    """Return a project's entries with this name, in all zones."""
    return [entry for entry in read_ledger() if (entry.project, entry.name) == (project, name)]


def reread_ledger_entry(entry: LedgerEntry) -> LedgerEntry:
    """Return an entry's current version in the ledger, or the entry itself if it was removed."""
    return next((row for row in read_ledger() if row.key == entry.key), entry)


def list_unreadable_files() -> list[Path]:
    """Return unreadable ledger files: those moved aside, and the current one."""
    present: list[Path] = []
    try:
        _rows()
    except Problem:
        present = [state.find_state_path(STATE)]
    return [*sorted(locations.state_folder_path().glob(f"{STATE}.broken-*.json")), *present]


def require_readable_ledger() -> None:
    """Raise Problem if any part of the ledger cannot be read.

    That part may name a live request, so a user who sends another would pay for two TPUs.
    """
    rows = _rows()  # moves aside a file that is not a ledger
    unread = sum(_read(row) is None for row in rows)
    if not unread and not list_unreadable_files():
        return
    file = state.find_state_path(STATE) if unread else list_unreadable_files()[-1]
    entries = f"{unread} of its {len(rows)} entries cannot be read" if unread else "it is broken"
    raise Problem(
        f"the ledger of TPUs in `{file}` may name one that is billed, and {entries}",
        hint="`tpustarter tpu list` and the Google Cloud console show what exists; delete what you "
        f"don't want, and then {'those entries' if unread else 'that file'}",
    )


def _rows() -> list[object]:
    """Return the file's rows, including those that cannot be parsed; raises Problem."""
    return state.load_rows(STATE, "entries")


def _read(row: object) -> LedgerEntry | None:
    """Return an entry, or None for a row that this version did not write."""
    try:
        entry = msgspec.convert(row, LedgerEntry)
        is_ours = {*as_object(row)} <= _FIELDS and entry.request_time.tzinfo and all(entry.key)
    except ValueError:
        return None
    return entry if is_ours else None


def add_ledger_entry(entry: LedgerEntry) -> None:
    """Write an entry to disk before its request is sent; raises Problem if that fails."""
    _change(entry, lambda _: entry)


def update_ledger_entry(
    entry: LedgerEntry, phase: Phase, note: str = "", **facts: str
) -> LedgerEntry:
    """Write an entry's progress, and return the changed entry.

    An entry that another process has removed in the meantime is written again, because it was just
    seen.

    Args:
        entry: The entry to change.
        phase: The new phase.
        note: The reason why it is kept although its state is unknown.
        facts: The `operation`, or the time it was `created`.
    """
    known = {name: value for name, value in facts.items() if value}

    def change(row: LedgerEntry | None) -> LedgerEntry:
        return replace(row or entry, phase=phase, note=note, **known)

    return _change_if_possible(entry, change)


def remove_ledger_entry(entry: LedgerEntry) -> None:
    """Remove an entry whose request was refused, or whose resource is gone.

    If another process has requested it again in the meantime, the entry stays.
    """
    _change_if_possible(entry, lambda row: row if row and row.asked != entry.asked else None)


def _change_if_possible(
    entry: LedgerEntry, change: Callable[[LedgerEntry | None], _Changed]
) -> _Changed:
    """Change an entry; if the disk cannot be written, an existing entry stays unchanged.

    It is then out of date, but nothing is lost, and a full disk keeps nobody from following or
    deleting a TPU.
    """
    try:
        return _change(entry, change)
    except Problem:
        before = next((row for row in read_ledger() if row.key == entry.key), None)
        if before is None:
            raise
        return change(before)


def _change(entry: LedgerEntry, change: Callable[[LedgerEntry | None], _Changed]) -> _Changed:
    """Replace one row with the result of `change`, and return that; all other rows stay."""
    busy = Problem(
        "another tpustarter is writing the ledger of TPUs",
        hint="try again in a moment",
        code=ExitCode.BUSY,
    )
    path = locations.make_state_folder() / f"{STATE}.lock"
    with locations.hold_lock(path, wait_s=LOCK_WAIT_S, busy=busy, is_needed=True):
        rows = [(row, _read(row)) for row in _rows()]
        before = next((read for _, read in rows if read and read.key == entry.key), None)
        after = change(before)
        kept = [row for row, read in rows if read is None or read.key != entry.key]
        written = [] if after is None else [asdict(after)]
        state.save_state(STATE, {"entries": [*kept, *written]})
    return after


def format_ledger_time(moment: datetime) -> str:
    """Return a time in the ledger's format."""
    return moment.astimezone(timezone.utc).isoformat(timespec="seconds")
