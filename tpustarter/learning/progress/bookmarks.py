"""The learner's place in each lesson: a heading, block or question.

Losing one costs only a scroll, so errors are ignored: an unreadable or unwritable file counts as
missing.
"""

from __future__ import annotations

import contextlib
from datetime import datetime, timezone

from tpustarter.core import json_values, locations, state
from tpustarter.core.problem import Problem

NAME = "bookmarks"
MOST = 200
"""Maximum number of lessons whose place is stored; the oldest is dropped first."""
MOST_LETTERS = 200
"""Maximum characters of a place."""
LOCK_WAIT_S = 1.0


def read_bookmark(lesson_id: str) -> str | None:
    """Return the position saved in a lesson, or None if there is none."""
    with contextlib.suppress(Problem):
        place = _entries().get(lesson_id, {}).get("place")
        return place if isinstance(place, str) and 0 < len(place) <= MOST_LETTERS else None
    return None


def save_bookmark(lesson_id: str, place: str | None) -> None:
    """Save the position at which the reader left a lesson, or delete it if it is None."""
    busy = Problem("another tpustarter is saving where you are in a lesson")
    with (
        contextlib.suppress(Problem),
        locations.hold_lock(
            locations.make_state_folder() / f"{NAME}.lock", wait_s=LOCK_WAIT_S, busy=busy
        ),
    ):
        entries = _entries()
        entries.pop(lesson_id, None)
        if place:
            when = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            entries[lesson_id] = {"place": place[:MOST_LETTERS], "when": when}
        newest = sorted(entries.items(), key=lambda item: str(item[1].get("when")))[-MOST:]
        state.save_state(NAME, {"lessons": dict(newest)})


def _entries() -> dict[str, dict[str, object]]:
    return json_values.entries_of_type(state.load_state(NAME).get("lessons"), dict[str, object])
