"""The file with the learner's progress, in the state folder.

Every change re-reads the file under a lock and replaces it atomically. Two programs that write at
once lose nothing, and a kill loses only the change that it interrupted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime, timezone

from tpustarter.core import locations, state
from tpustarter.core.json_values import entries_of_type
from tpustarter.core.problem import Problem

SCHEMA = "tpustarter.progress/1"
LOCK_WAIT_S = 5.0
"""Seconds to wait for another program's write, which takes milliseconds."""

Fields = dict[str, object]


def read_stored_lessons() -> dict[str, Fields]:
    """Return the stored fields of each lesson, keyed by lesson id."""
    return parse_lessons(state.load_state("progress"))


def update_stored_lessons(change: Callable[[dict[str, Fields]], None]) -> None:
    """Change the stored fields of lessons under the lock."""
    with _lock():
        stored = state.load_state("progress")
        lessons = parse_lessons(stored)
        change(lessons)
        state.save_state("progress", {**stored, "schema": SCHEMA, "lessons": lessons})


def _lock() -> contextlib.AbstractContextManager[int]:
    path = locations.make_state_folder() / "progress.lock"
    busy = Problem(
        f"another tpustarter has kept `{path}` locked for {LOCK_WAIT_S:g} s",
        hint="end the other tpustarter, then try again",
    )
    return locations.hold_lock(path, wait_s=LOCK_WAIT_S, busy=busy)


def format_current_time() -> str:
    """Return the current UTC time in ISO format."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def parse_text(value: object) -> str | None:
    """Return a stored value if it is a non-empty string, or else None."""
    return value if isinstance(value, str) and value else None


def parse_count(value: object) -> int | None:
    """Return a stored value if it is a non-negative integer, or else None."""
    return value if isinstance(value, int) and value >= 0 else None


def parse_lessons(value: dict[str, object]) -> dict[str, Fields]:
    """Return the fields of each lesson in stored progress, keyed by lesson id."""
    return parse_entries(value.get("lessons"))


def parse_entries(value: object) -> dict[str, Fields]:
    """Return the entries of a mapping that are mappings themselves, skipping others."""
    return entries_of_type(value, Fields)
