"""The accepted facts of a foreign report: those that a report of this version could contain.

Every fact passes through its field's rule again, and through the search for names and secrets.
Control characters, markup outside of a fence, and values of another type are therefore rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tpustarter.core.json_values import as_object, entries_of_type, items_of_type
from tpustarter.report import make_report, reproducers
from tpustarter.report.clean import name_shapes
from tpustarter.report.clean.allowed_fields import OmittedFact, select_allowed
from tpustarter.report.clean.cleaner import MAX_LINES, Cleaner, UncleanText
from tpustarter.report.clean.pseudonyms import KINDS, Pseudonyms
from tpustarter.report.collect import frameworks
from tpustarter.report.collect import known_failures as reported_failures
from tpustarter.report.collect.collector import Collector
from tpustarter.report.report_document import ReportSection, State

LONGEST_TEXT = 100_000
"""Maximum length of one text; in a report of this version it is at most half of that."""
ALL_TEXT = 1_000_000
"""Maximum length of all texts together, which take seconds to search for names."""
MOST_SECTIONS = 100
NOT_COLLECTED = "the report was made before this was asked"
_STATES: tuple[State, ...] = ("answered", "unanswered", "left out")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_NUMBERED = re.compile(rf"\b({'|'.join(KINDS)})-(\d{{1,4}})\b")


class _ReportPseudonyms(Pseudonyms):
    """Pseudonyms that keep the report's own; a name that is still found gets the next number."""

    def __init__(self, text: str) -> None:
        last = dict.fromkeys(KINDS, 0)
        for kind, number in _NUMBERED.findall(text):
            last[kind] = max(last[kind], int(number))
        super().__init__({kind: {str(n): n for n in range(1, last[kind] + 1)} for kind in KINDS})

    def make_pseudonym(self, kind: str, name: str) -> str:
        bare = name.strip("/")
        return bare if name_shapes.PSEUDONYM.fullmatch(bare) else super().make_pseudonym(kind, name)


class ForeignText(Cleaner):
    """Cleans texts from another machine, without searching for this machine's environment."""

    def __init__(self, text: str) -> None:
        """Collect the pseudonyms in the whole text of a report."""
        super().__init__({}, _ReportPseudonyms(text))
        self._left = ALL_TEXT

    def clean_text(self, text: str, lines: int = MAX_LINES) -> str:
        """Return the last lines of some text, cleaned.

        Raises:
            UncleanText: A name or a secret remains in it, or it is too long.
        """
        return super().clean_text(self._limit_length(text), lines)

    def pseudonymize_path(self, value: str) -> str:
        """Return a path, with pseudonyms unless it is public.

        Raises:
            UncleanText: A name or a secret remains in it, or it is too long.
        """
        return super().pseudonymize_path(self._limit_length(value, 1_000))

    def require_clean(self, text: str) -> str:
        """Return text unchanged, after verifying that it is clean.

        Raises:
            UncleanText: It contains control characters, secrets or known names, or it is too long.
        """
        if not all(line.isprintable() for line in text.split("\n")):
            raise UncleanText("it holds control characters")
        return super().require_clean(self._limit_length(text))

    def _limit_length(self, text: str, most: int = LONGEST_TEXT) -> str:
        self._left -= len(text)
        if len(text) > most or self._left < 0:
            raise UncleanText("it is longer than what a report tells")
        return text


def list_collectors() -> dict[str, Collector]:
    """Return all collectors of this version, keyed by name."""
    asked = (frameworks.make_framework_collector(name, 0) for name in frameworks.STEPS)
    made = reproducers.make_reproducer_collector(())
    return {
        one.name: one for one in (*make_report.STATIC, *asked, made, *reported_failures.COLLECTORS)
    }


def accept_sections(
    given: object, reader: ForeignText
) -> tuple[list[ReportSection], list[OmittedFact], list[str]]:
    """Return the sections of a report, the omitted fields, and the names of unknown sections."""
    asked = list_collectors()
    made: dict[str, ReportSection] = {}
    left_out: list[OmittedFact] = []
    unknown: list[str] = []
    for fields in items_of_type(given, dict[str, object], MOST_SECTIONS):
        name = fields.get("name")
        if not isinstance(name, str) or name not in asked:
            known_form = isinstance(name, str) and _NAME.fullmatch(name)
            unknown.append(str(name) if known_form else "a section without a name")
        elif name not in made:
            made[name], without = _accept_section(fields, asked[name], reader)
            left_out += without
    for one in make_report.STATIC:
        if one.name not in made:
            made[one.name] = ReportSection(one.name, one.title, "unanswered", NOT_COLLECTED)
    return list(made.values()), left_out, sorted(set(unknown))


def _accept_section(
    fields: Mapping[str, object], asked: Collector, reader: ForeignText
) -> tuple[ReportSection, list[OmittedFact]]:
    state: State = "unanswered"
    for one in _STATES:
        state = one if fields.get("state") == one else state
    given = as_object(fields.get("facts")) if state == "answered" else {}
    facts, left_out = select_allowed(given, asked.allowed, reader, f"{asked.name}.")
    took = parse_seconds(fields.get("seconds"))
    if asked.name in frameworks.STEPS and (facts.get("hung_in") or facts.get("unfinished_in")):
        facts["waited_s"] = parse_seconds(facts.get("waited_s")) or took
    why = clean_sentence(fields.get("why"), reader) or "it is not said why"
    why = None if state == "answered" else why
    return ReportSection(asked.name, asked.title, state, why, took, facts), left_out


def clean_sentence(value: object, reader: ForeignText) -> str:
    """Return a sentence, cleaned, or an empty string if there is none or it is unclean."""
    try:
        return reader.clean_text(value, 3) if isinstance(value, str) else ""
    except UncleanText:
        return ""


def parse_seconds(value: object) -> float:
    """Return a number of seconds, or 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return 0.0
    return round(float(value), 2)


def read_replacements(given: object) -> dict[str, int]:
    """Return how many names of each kind were replaced, with 0 for a kind that the report lacks."""
    sound = {
        kind: count for kind, count in entries_of_type(given, int).items() if 0 <= count < 10**9
    }
    return {kind: sound.get(kind, 0) for kind in (*KINDS, "secret")}


def read_omitted_fields(given: object, reader: ForeignText) -> Iterator[OmittedFact]:
    """Yield the fields that were omitted when the report was made."""
    for fields in items_of_type(given, dict[str, object], MOST_SECTIONS):
        what = fields.get("what")
        if isinstance(what, str) and re.fullmatch(r"[a-z][a-z0-9_]{0,40}(\.[a-z_ ]{1,40})?", what):
            yield OmittedFact(
                what, clean_sentence(fields.get("why"), reader) or "it is not said why"
            )
