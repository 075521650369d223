"""What of a report of somebody else is believed: what a report of ours could hold, and no more.

Every fact goes through the shape of its field again, and through the search for names and secrets.
So control characters, markup outside of a fence, or a value of another type never get any further.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tpustarter.report import asking, known, making, name_shapes, reproducers
from tpustarter.report.cleaning import LINES, Cleaner, Unclean
from tpustarter.report.collecting import Collector, Section, State
from tpustarter.report.pseudonyms import KINDS, Pseudonyms
from tpustarter.report.shapes import LeftOut, admitted

LONGEST_TEXT = 100_000
"""Characters of one text; that of a report of ours has half of that at most."""
ALL_TEXT = 1_000_000
"""Characters of all texts together: to search them for names takes seconds."""
MOST_SECTIONS = 100
NOT_ASKED = "the report was made before this was asked"
UNKNOWN_FIELD = ".a field"
"""How what was left out ends where a field is one that this version does not know."""
_STATES: tuple[State, ...] = ("answered", "unanswered", "left out")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_NUMBERED = re.compile(rf"\b({'|'.join(KINDS)})-(\d{{1,4}})\b")

Fields = dict[str, Any]


class _Kept(Pseudonyms):
    """Pseudonyms that stay what they are; a name that is found after all gets the next number."""

    def __init__(self, text: str) -> None:
        last = dict.fromkeys(KINDS, 0)
        for kind, number in _NUMBERED.findall(text):
            last[kind] = max(last[kind], int(number))
        super().__init__({kind: {str(n): n for n in range(1, last[kind] + 1)} for kind in KINDS})

    def of(self, kind: str, name: str) -> str:
        bare = name.strip("/")
        return bare if name_shapes.PSEUDONYM.fullmatch(bare) else super().of(kind, name)


class Reader(Cleaner):
    """Cleans the texts of another machine: nothing of this one's environment is looked for."""

    def __init__(self, text: str) -> None:
        """Take the whole text of the report, for the pseudonyms in it."""
        super().__init__({}, _Kept(text))
        self._left = ALL_TEXT

    def text(self, text: str, lines: int = LINES) -> str:
        """Return a text as it may be shown; raises Unclean."""
        return super().text(self._bounded(text), lines)

    def path(self, value: str) -> str:
        """Return a path as it may be shown; raises Unclean."""
        return super().path(self._bounded(value, 1_000))

    def proved(self, text: str) -> str:
        """Return a text that is printable and holds no secret; raises Unclean."""
        if not all(line.isprintable() for line in text.split("\n")):
            raise Unclean("it holds control characters")
        return super().proved(self._bounded(text))

    def _bounded(self, text: str, most: int = LONGEST_TEXT) -> str:
        self._left -= len(text)
        if len(text) > most or self._left < 0:
            raise Unclean("it is longer than what a report tells")
        return text


def collectors() -> dict[str, Collector]:
    """Return what this version can ask, by name."""
    asked = (asking.collector(name, 0) for name in asking.STEPS)
    made = reproducers.collector(())
    return {one.name: one for one in (*making.STATIC, *asked, made, *known.COLLECTORS)}


def sections(given: Any, reader: Reader) -> tuple[list[Section], list[LeftOut], list[str]]:
    """Return the sections of a report, what was left out of them, and names that are not known."""
    asked = collectors()
    made: dict[str, Section] = {}
    left_out: list[LeftOut] = []
    strange: list[str] = []
    for fields in _rows(given, MOST_SECTIONS):
        name = fields.get("name")
        if not isinstance(name, str) or name not in asked:
            known_form = isinstance(name, str) and _NAME.fullmatch(name)
            strange.append(str(name) if known_form else "a section without a name")
        elif name not in made:
            made[name], without = _section(fields, asked[name], reader)
            left_out += without
    for one in making.STATIC:
        if one.name not in made:
            made[one.name] = Section(one.name, one.title, "unanswered", {}, 0.0, NOT_ASKED)
    return list(made.values()), left_out, sorted(set(strange))


def _section(
    fields: Mapping[str, Any], asked: Collector, reader: Reader
) -> tuple[Section, list[LeftOut]]:
    state: State = "unanswered"
    for one in _STATES:
        state = one if fields.get("state") == one else state
    raw = fields.get("facts")
    given = cast("Fields", raw) if isinstance(raw, dict) and state == "answered" else {}
    facts, left_out = admitted(given, asked.allowed, reader, f"{asked.name}.")
    took = seconds(fields.get("seconds"))
    if asked.name in asking.STEPS and facts.get("hung_in"):
        facts["waited_s"] = seconds(facts.get("waited_s")) or took
    why = "" if state == "answered" else words(fields.get("why"), reader) or "it is not said why"
    return Section(asked.name, asked.title, state, facts, took, why), left_out


def words(value: Any, reader: Reader, lines: int = 3) -> str:
    """Return a sentence as it may be shown; empty where there is none."""
    try:
        return reader.text(value, lines) if isinstance(value, str) else ""
    except Unclean:
        return ""


def seconds(value: Any) -> float:
    """Return a time; 0 for what is none."""
    is_figure = isinstance(value, int | float) and not isinstance(value, bool)
    return round(float(value), 2) if is_figure and 0 <= value < 1e9 else 0.0


def replacements(given: Any) -> dict[str, int]:
    """Return how many names of each kind were replaced."""
    counts = cast("Fields", given) if isinstance(given, dict) else {}
    return {
        kind: int(count) if type(count := counts.get(kind)) is int and 0 <= count < 10**9 else 0
        for kind in (*KINDS, "secret")
    }


def left_out_then(given: Any, reader: Reader) -> Iterator[LeftOut]:
    """Yield what was left out of the report when it was made."""
    for fields in _rows(given, MOST_SECTIONS):
        what = fields.get("what")
        if isinstance(what, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,40}(\.[a-z_ ]{1,40})?", what):
            yield LeftOut(what, words(fields.get("why"), reader) or "it is not said why")


def _rows(given: Any, most: int) -> Iterator[Mapping[str, Any]]:
    for one in cast("list[Any]", given)[:most] if isinstance(given, list) else ():
        if isinstance(one, dict):
            yield cast("Fields", one)
