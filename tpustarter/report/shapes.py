"""What a collector may tell: an allow-list of fields, each with the shape that its value must have.

What has no row is left out, and so is a value of another shape. Only `text` takes words that were
not foreseen, and it is cleaned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from tpustarter.report.cleaning import Cleaner, Unclean

Shape = Callable[[Any, Cleaner], Any]
"""Returns what may be told of a value; raises Unclean for one that may not be told."""
NOT_TOLD = "(not told)"
"""Stands for a value of a row that may not be told."""
MOST = 64
"""Rows of a list that are told."""


class LeftOut(NamedTuple):
    """Something that a report does not tell."""

    what: str
    """The section, and the field after a dot."""
    why: str


def figure(value: Any, _: Cleaner) -> Any:
    """Tell a number, or a yes or no."""
    if isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e18):
        return round(value, 3) if isinstance(value, float) else value
    raise Unclean("it is not a number")


def like(pattern: str) -> Shape:
    """Tell a short text that matches a pattern as a whole."""
    compiled = re.compile(pattern)

    def told(value: Any, cleaner: Cleaner) -> Any:
        if isinstance(value, str) and len(value) <= 200 and compiled.fullmatch(value):
            return cleaner.proved(value)
        raise Unclean("it does not have the form that is allowed")

    return told


def one_of(*words: str) -> Shape:
    """Tell one of these words."""
    return like("|".join(map(re.escape, words)))


VERSION = (
    r"\d{1,8}(?:\.\d{1,8}){0,5}(?:[._-]?(?:a|b|rc|dev|post|alpha|beta|nightly)[.-]?\d{0,14}){0,3}"
)
_LOCAL = re.compile(r"cpu|cu\d{2,4}|cxx11|(?:git)?[0-9a-f]{6,40}(?:\.d\d{8})?")
"""What may follow a plus in a version: kinds of builds, and the commit; others name a company."""


def version(value: Any, cleaner: Cleaner) -> Any:
    """Tell a version; of a build that is nobody else's it is told that it is one."""
    public, plus, local = _string(value).partition("+")
    if public != "unknown" and not re.fullmatch(VERSION, public):
        raise Unclean("it does not have the form of a version")
    shown = local if _LOCAL.fullmatch(local) else "(local)"
    return cleaner.proved(f"{public}+{shown}" if plus else public)


def path(value: Any, cleaner: Cleaner) -> Any:
    """Tell a path, public or by its pseudonym."""
    return cleaner.path(_string(value))


def named(kind: str) -> Shape:
    """Tell a name of a kind by its pseudonym."""

    def told(value: Any, cleaner: Cleaner) -> Any:
        name = _string(value)
        common = ("root", "nobody", "unknown user", "localhost")
        return name if name in common else cleaner.name(kind, name)

    return told


def text(lines: int = 60) -> Shape:
    """Tell a text of at most so many lines, cleaned."""
    return lambda value, cleaner: cleaner.text(_string(value), lines)


def ours(value: Any, cleaner: Cleaner) -> Any:
    """Tell a text that stands in a data file of this program."""
    return cleaner.proved(_string(value))


def rows(fields: Mapping[str, Shape]) -> Shape:
    """Tell a list of things with fields; each has all of them, null where one is missing."""

    def told(value: Any, cleaner: Cleaner) -> Any:
        given = cast("list[dict[str, Any]]", list(value)[:MOST])
        shown = (_told_or_not(row, fields, cleaner) for row in given)
        return [row | {name: None for name in fields if name not in row} for row in shown]

    return told


def listed(shape: Shape) -> Shape:
    """Tell a list of things of one shape."""
    return lambda value, cleaner: [shape(item, cleaner) for item in list(value)[:MOST]]


def pairs(keys: Mapping[str, Shape]) -> Shape:
    """Tell those keys of a mapping that are allowed, and nothing of the others."""

    def told(value: Any, cleaner: Cleaner) -> Any:
        given = cast("dict[str, Any]", value)
        kept = {key: given[key] for key in keys if given.get(key) is not None}
        return _told_or_not(kept, keys, cleaner)

    return told


def _told_or_not(
    facts: Mapping[str, Any], fields: Mapping[str, Shape], cleaner: Cleaner
) -> dict[str, Any]:
    """Return fields, with a word in the place of those that may not be told."""
    told, left_out = admitted(facts, fields, cleaner)
    return told | {one.what: NOT_TOLD for one in left_out if one.what in fields}


def admitted(
    facts: Mapping[str, Any], allowed: Mapping[str, Shape], cleaner: Cleaner, prefix: str = ""
) -> tuple[dict[str, Any], list[LeftOut]]:
    """Return those facts that may be told, cleaned, and what was left out and why.

    Args:
        facts: What a collector found.
        allowed: What it may tell.
        cleaner: Takes names and secrets out.
        prefix: What stands before a field's name in the list of what was left out.
    """
    told: dict[str, Any] = {}
    left_out: list[LeftOut] = []
    for name, value in facts.items():
        if name not in allowed:
            left_out.append(LeftOut(f"{prefix}a field", "it is not on the list of what is told"))
            continue
        try:
            told[name] = None if value is None else allowed[name](value, cleaner)
        except Unclean as error:
            left_out.append(LeftOut(prefix + name, str(error)))
        except Exception as error:  # noqa: BLE001  what cannot be cleaned is not told
            why = f"it could not be cleaned ({type(error).__name__})"
            left_out.append(LeftOut(prefix + name, why))
    return told, left_out


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise Unclean("it is not a text")
    return value
