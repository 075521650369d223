"""The reproducers of a report: in the form, and as files of the bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from tpustarter.report.clean.allowed_fields import NOT_TOLD
from tpustarter.report.forms.view import Fields, View, fenced, plain

SECTION = FOLDER = "reproducers"
_FAILS = ("fails", "raises", "crashes")
"""Beginnings of the outcome of a run that failed."""
SHORT = 150
"""Lines of a file up to which it is in the issue too; a longer one is only in the bundle."""


def files(sections: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Return the reproducers and their output, by their names in the bundle."""
    made: dict[str, bytes] = {}
    for one in _rows(sections, "files"):
        if _is_told(one):
            made[f"{FOLDER}/{one['name']}.py"] = str(one["code"]).encode()
            made[f"{FOLDER}/{one['name']}.txt"] = "\n".join(_text(one)).encode()
    return made


def markdown(view: View) -> Iterator[str]:
    """Yield the part of an issue that reproduces the failures."""
    for one in _rows(view.sections, "files"):
        claim = "Claim: " if "." in one["id"] else ""  # of a check, which did not hold
        yield from (f"**`{one['id']}`**: {claim}{plain(one['title'])}. {plain(one['says'])}", "")
        if one["variants"]:
            yield from ("| variant | outcome |", "|---|---|")
            for row in one["variants"]:
                yield f"| {_variant(row['variant'])} | {plain(row['outcome'])} |"
            yield ""
        if one.get("conclusion"):
            yield from (plain(one["conclusion"]), "")
        yield from (*_file(one), "")
    for one in _rows(view.sections, "without"):
        yield from (f"No file reproduces `{one['id']}`: {plain(one['why'])}.", "")


def _rows(sections: Sequence[Mapping[str, Any]], name: str) -> list[Fields]:
    """Return the rows of a report; malformed rows of a foreign report are dropped."""
    facts = next((one["facts"] for one in sections if one["name"] == SECTION), Fields())
    rows = cast("list[Any]", facts.get(name) or [])
    return [cast("Fields", row) for row in rows if isinstance(row, dict) and _is_whole(row, name)]


def _is_whole(row: Any, name: str) -> bool:
    texts = (
        ("id", "why") if name == "without" else ("id", "name", "title", "says", "command", "code")
    )
    whole = all(isinstance(row.get(key), str) for key in texts)
    if name == "without" or not whole:
        return whole
    variants = row.get("variants")
    told = cast("list[Fields]", variants) if isinstance(variants, list) else [Fields()]
    return isinstance(row.get("lines"), int) and all(
        {"variant", "outcome"} <= set(one) for one in told
    )


def failing(view: View) -> Iterator[str]:
    """Yield a clause for each reproducer that failed when it was run for this report."""
    for one in _rows(view.sections, "files"):
        if any(str(row["outcome"]).startswith(_FAILS) for row in one["variants"][:1]):
            yield f"`{one['id']}` fails, and so does a file that needs no tpustarter (below)."


def _variant(title: Any) -> str:
    return f"`{title}`" if re.fullmatch(r"\w+=[\w.:-]+", str(title)) else plain(title)


def _is_told(one: Fields) -> bool:
    return NOT_TOLD not in (one.get("code"), one.get("name"))


def _file(one: Fields) -> Iterator[str]:
    file = f"{FOLDER}/{one['name']}.py"
    if not _is_told(one):
        yield "Its code is left out, because it could not be cleaned."
    elif one["lines"] > SHORT:
        yield f"The file is `{file}` of the bundle, with {one['lines']} lines."
    else:
        yield from (f"<details><summary>{file}</summary>", "")
        yield from (*fenced(str(one["code"]).rstrip(), "python"), "", "</details>")


def _text(one: Fields) -> Iterator[str]:
    yield from (str(one["says"]), *([str(one["conclusion"])] if one.get("conclusion") else ()), "")
    yield from (f"{row['variant']}: {row['outcome']}" for row in one["variants"])
    yield from ("", f"$ {one['command']}", str(one.get("output") or "(nothing)"), "")
