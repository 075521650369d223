"""Progress that is carried from one machine to another: written out, read, and added there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from tpustarter import state
from tpustarter.learning.progress_file import (
    SCHEMA,
    Fields,
    as_count,
    as_date,
    as_entries,
    lessons_in,
    read_lessons,
    update,
)


def export() -> dict[str, Any]:
    """Return everything that is remembered of lessons, as `merge` takes it."""
    return {"schema": SCHEMA, "lessons": read_lessons()}


def read_export(text: str) -> dict[str, Any]:
    """Return what `export` gave, from its text; raises ValueError with what it is not."""
    value = state.parse(text)
    schema = cast("dict[str, Any]", value).get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"found the schema `{schema}`, expected `{SCHEMA}`")
    return cast("dict[str, Any]", value)


def merge(exported: dict[str, Any]) -> None:
    """Add what was exported elsewhere to what is remembered here."""

    def change(lessons: dict[str, Fields]) -> None:
        both = merged({"lessons": lessons}, exported)["lessons"]
        lessons.clear()
        lessons.update(both)

    update(change)


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return both progresses as one: whatever is done in either is done, the newer block counts."""
    first_lessons, second_lessons = lessons_in(first), lessons_in(second)
    lessons: dict[str, Fields] = {}
    for name in sorted({*first_lessons, *second_lessons}):
        pair = [side[name] for side in (first_lessons, second_lessons) if name in side]
        dates = [date for fields in pair if (date := as_date(fields.get("done")))]
        combined = {key: value for fields in pair for key, value in fields.items()}
        newest = {kind: _newest(pair, kind) for kind in ("blocks", "edits", "exercises", "quizzes")
                  if kind == "blocks" or kind in combined}  # fmt: skip
        left = [count for fields in pair if (count := as_count(fields.get("open"))) is not None]
        newest |= {"open": min(left)} if left else {}
        lessons[name] = {**combined, "done": min(dates, default=None), **newest}
    return {"schema": SCHEMA, "lessons": lessons}


def _newest(pair: Sequence[Fields], kind: str) -> Fields:
    """Return the newer entry of each block, edit, exercise or quiz."""
    newest: dict[str, Fields] = {}
    for fields in pair:
        for name, entry in as_entries(fields.get(kind)).items():
            newest[name] = max(newest.get(name, {}), entry, key=_sort_key)
    return newest


def _sort_key(entry: Fields) -> tuple[str, str]:
    """Return what orders two entries of a block: when, then anything that is the same anywhere."""
    return (str(entry.get("when") or ""), json.dumps(entry, sort_keys=True, default=str))
