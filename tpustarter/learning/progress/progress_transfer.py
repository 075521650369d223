"""Export the learner's progress, and merge an export from another machine."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tpustarter.core import state
from tpustarter.core.json_values import as_object
from tpustarter.learning.progress.progress_file import (
    SCHEMA,
    Fields,
    parse_count,
    parse_entries,
    parse_lessons,
    parse_text,
    read_stored_lessons,
    update_stored_lessons,
)


def make_progress_export() -> Fields:
    """Return the progress in all lessons, in the form that `merge_progress_export` accepts."""
    return {"schema": SCHEMA, "lessons": read_stored_lessons()}


def parse_progress_export(text: str) -> dict[str, object]:
    """Parse the text of an export.

    Raises:
        ValueError: It is not JSON, or has another schema.
    """
    value = as_object(state.parse_json(text))
    if value.get("schema") != SCHEMA:
        raise ValueError(f"found the schema `{value.get('schema')}`, expected `{SCHEMA}`")
    return value


def merge_progress_export(exported: dict[str, object]) -> None:
    """Merge exported progress into this machine's."""

    def change(lessons: dict[str, Fields]) -> None:
        both = merge_progress_exports({"lessons": lessons}, exported)
        lessons.clear()
        lessons.update(parse_lessons(both))

    update_stored_lessons(change)


def merge_progress_exports(
    first: dict[str, object], second: dict[str, object]
) -> dict[str, object]:
    """Merge two exports: a lesson done in either is done, and each block's newer entry wins."""
    first_lessons, second_lessons = parse_lessons(first), parse_lessons(second)
    lessons: dict[str, Fields] = {}
    for name in sorted({*first_lessons, *second_lessons}):
        pair = [side[name] for side in (first_lessons, second_lessons) if name in side]
        dates = [date for fields in pair if (date := parse_text(fields.get("done")))]
        combined = {key: value for fields in pair for key, value in fields.items()}
        newest: dict[str, object] = {
            kind: _newest(pair, kind)
            for kind in ("blocks", "edits", "exercises", "quizzes")
            if kind == "blocks" or kind in combined
        }
        left = [count for fields in pair if (count := parse_count(fields.get("open"))) is not None]
        newest |= {"open": min(left)} if left else {}
        lessons[name] = {**combined, "done": min(dates, default=None), **newest}
    return {"schema": SCHEMA, "lessons": lessons}


def _newest(pair: Sequence[Fields], kind: str) -> dict[str, Fields]:
    newest: dict[str, Fields] = {}
    for fields in pair:
        for name, entry in parse_entries(fields.get(kind)).items():
            newest[name] = max(newest.get(name, {}), entry, key=_sort_key)
    return newest


def _sort_key(entry: Fields) -> tuple[str, str]:
    """Return a key that orders entries by time, with the same tie-break on every machine."""
    return (str(entry.get("when") or ""), json.dumps(entry, sort_keys=True, default=str))
