"""The rules for fields that a report may contain; a collector's values must match them.

A field without a rule is left out, and so is a value that does not match its rule. Only
`cleaned_text_rule` accepts arbitrary text, and cleans it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tpustarter.core.json_values import is_object
from tpustarter.report.clean.cleaner import Cleaner, UncleanText

FieldRule = Callable[[object, Cleaner], object]
"""Cleans a value for the report, or raises UncleanText if the report may not contain it."""
WITHHELD = "(not told)"
"""Replaces a value of a row if the report may not contain it."""
MAX_ROWS = 64
"""Maximum number of rows of a list in a report."""


class OmittedFact(NamedTuple):
    """A field or a section that is left out of a report, with the reason."""

    what: str
    """The section, or `section.field`."""
    why: str
    is_unknown: bool = False
    """True if this version has no such field."""


def clean_number(value: object, _: Cleaner) -> float:
    """Return a number or a boolean, with floats rounded to three places.

    Raises:
        UncleanText: The value is not a number, or it is too large.
    """
    if isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < 1e18):
        return round(value, 3) if isinstance(value, float) else value
    raise UncleanText("it is not a number")


def pattern_rule(pattern: str) -> FieldRule:
    """Return a rule for text of at most 200 characters that matches a pattern as a whole."""
    compiled = re.compile(pattern)

    def clean(value: object, cleaner: Cleaner) -> str:
        if isinstance(value, str) and len(value) <= 200 and compiled.fullmatch(value):
            return cleaner.require_clean(value)
        raise UncleanText("it does not have the form that is allowed")

    return clean


def choice_rule(*words: str) -> FieldRule:
    """Return a rule for text that is one of the given words."""
    return pattern_rule("|".join(map(re.escape, words)))


VERSION = (
    r"\d{1,8}(?:\.\d{1,8}){0,5}(?:[._-]?(?:a|b|rc|dev|post|alpha|beta|nightly)[.-]?\d{0,14}){0,3}"
)
_LOCAL_VERSION = re.compile(r"cpu|cu\d{2,4}|cxx11|(?:git)?[0-9a-f]{6,40}(?:\.d\d{8})?")
"""Local version parts, after the plus, that are kept: types of builds, and commits. Others may name
a company."""


def clean_version(value: object, cleaner: Cleaner) -> str:
    """Return a version, with the local part of a private build replaced by `(local)`."""
    public, plus, local = _require_text(value).partition("+")
    if public != "unknown" and not re.fullmatch(VERSION, public):
        raise UncleanText("it does not have the form of a version")
    shown = local if _LOCAL_VERSION.fullmatch(local) else "(local)"
    return cleaner.require_clean(f"{public}+{shown}" if plus else public)


def pseudonymize_path(value: object, cleaner: Cleaner) -> str:
    """Return a path, with pseudonyms unless it is public."""
    return cleaner.pseudonymize_path(_require_text(value))


def name_rule(kind: str) -> FieldRule:
    """Return a rule for names of one kind, which are replaced by pseudonyms."""

    def clean(value: object, cleaner: Cleaner) -> str:
        name = _require_text(value)
        common = ("root", "nobody", "unknown user", "localhost")
        return name if name in common else cleaner.names.make_pseudonym(kind, name)

    return clean


def cleaned_text_rule(lines: int = 60) -> FieldRule:
    """Return a rule for text, which is cleaned and cut to its last lines."""
    return lambda value, cleaner: cleaner.clean_text(_require_text(value), lines)


def clean_own_text(value: object, cleaner: Cleaner) -> str:
    """Return text from one of this program's own data files, cleaned."""
    return cleaner.require_clean(_require_text(value))


def rows_rule(
    fields: Mapping[str, FieldRule],
) -> Callable[[object, Cleaner], list[dict[str, object]]]:
    """Return a rule for a list of rows; fields that a row lacks become None."""

    def clean(value: object, cleaner: Cleaner) -> list[dict[str, object]]:
        shown = (
            _clean_fields(_require_object(row), fields, cleaner) for row in _require_items(value)
        )
        return [row | {name: None for name in fields if name not in row} for row in shown]

    return clean


def list_rule(rule: FieldRule) -> FieldRule:
    """Return a rule for a list whose items all follow the same rule."""
    return lambda value, cleaner: [rule(item, cleaner) for item in _require_items(value)]


def mapping_rule(keys: Mapping[str, FieldRule]) -> FieldRule:
    """Return a rule for a mapping of which only some keys are allowed."""

    def clean(value: object, cleaner: Cleaner) -> dict[str, object]:
        facts = _require_object(value)
        kept = {key: facts[key] for key in keys if facts.get(key) is not None}
        return _clean_fields(kept, keys, cleaner)

    return clean


def _require_object(value: object) -> dict[str, object]:
    if not is_object(value):
        raise UncleanText("it is not a mapping")
    return value


def _require_items(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise UncleanText("it is not a list")
    items: list[object] = [*value]
    return items[:MAX_ROWS]


def _clean_fields(
    facts: Mapping[str, object], fields: Mapping[str, FieldRule], cleaner: Cleaner
) -> dict[str, object]:
    cleaned, left_out = select_allowed(facts, fields, cleaner)
    return cleaned | {one.what: WITHHELD for one in left_out if one.what in fields}


def select_allowed(
    facts: Mapping[str, object],
    allowed: Mapping[str, FieldRule],
    cleaner: Cleaner,
    prefix: str = "",
) -> tuple[dict[str, object], list[OmittedFact]]:
    """Return the allowed facts, cleaned, and the omitted ones with the reasons.

    Args:
        facts: The facts that a collector found.
        allowed: The rule for each field that a report may contain.
        cleaner: Removes names and secrets.
        prefix: Text before a field's name in the list of omitted facts.
    """
    cleaned: dict[str, object] = {}
    left_out: list[OmittedFact] = []
    for name, value in facts.items():
        if name not in allowed:
            why = "it is not on the list of what is told"
            left_out.append(OmittedFact(f"{prefix}a field", why, is_unknown=True))
            continue
        try:
            cleaned[name] = None if value is None else allowed[name](value, cleaner)
        except UncleanText as error:
            left_out.append(OmittedFact(prefix + name, str(error)))
        except Exception as error:  # noqa: BLE001  a value that cannot be cleaned is left out
            why = f"it could not be cleaned ({type(error).__name__})"
            left_out.append(OmittedFact(prefix + name, why))
    return cleaned, left_out


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise UncleanText("it is not a text")
    return value
