"""The part of a long document that an agent asks for: a section, the problems, or a length.

A document that fits is passed on as it is. Any other says under `shortened` what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tpustarter.core.json_values import as_object, is_array, is_object
from tpustarter.core.problem import ExitCode, Problem

MOST_CHARACTERS = 65_536
"""Longest answer. Agents refuse longer ones: by default Claude Code does from 25,000 tokens on.
Source: https://developers.figma.com/docs/figma-mcp-server/mcp-clients-issues (read 2026-11).
"""
LEAST_CHARACTERS = 1000
_SIZES = (
    *((2000, 1000), (1000, 500), (500, 200), (300, 120), (200, 80), (150, 40), (100, 25)),
    *((80, 14), (60, 8), (50, 5), (40, 3), (40, 2), (40, 1)),
)
"""Most characters of a text and entries of a list; the first pair that is short enough is used."""
_GOOD = ("pass", "skip")
"""Statuses of a result that is no problem."""


@dataclass(frozen=True)
class AnswerShape:
    """The part of a document that is wanted, and its most characters as JSON."""

    characters: int = MOST_CHARACTERS
    section: str = ""
    """A heading of the lesson, or its anchor; empty for the whole text."""
    problems: bool = False
    """True to leave out results that pass or were skipped."""

    def choose(self, document: Mapping[str, object]) -> dict[str, object]:
        """Return the part of a document that is wanted, whatever its length.

        Raises:
            Problem: The lesson has no such section.
        """
        chosen = dict(document)
        results, lessons = chosen.get("results"), chosen.get("lessons")
        if self.problems and is_array(results):
            kept = [one for one in results if as_object(one).get("status") not in _GOOD]
            chosen["results"] = kept
            left = len(results) - len(kept)
            chosen["shortened"] = f"{left} results that pass or were skipped are left out"
        if self.section and is_array(lessons):
            chosen["lessons"] = [self._choose_section(as_object(one)) for one in lessons]
            chosen["shortened"] = "the other sections are left out"
        return chosen

    def _choose_section(self, lesson: Mapping[str, object]) -> dict[str, object]:
        from tpustarter.learning.content import markdown

        text = str(lesson.get("text"))
        found = markdown.find_section(text, markdown.heading_anchor(self.section.strip("# ")))
        if found is None:
            headings = "".join(f"\n  {one}" for one in markdown.list_headings(text))
            what = f"the lesson `{lesson.get('id')}` has no section `{self.section}`"
            raise Problem(what, hint=f"its sections are{headings}", code=ExitCode.USAGE)
        return {**lesson, "text": found}

    def shorten(self, document: Mapping[str, object], command: str) -> str | None:
        """Return a document as JSON with shorter texts and lists; None if none is short enough."""
        note = f"ends of long texts and lists are left out; `{command}` prints all of it"
        if chosen := document.get("shortened"):
            note = f"{chosen}; {note}"
        for characters, entries in _SIZES:
            short = as_object(_cut(dict(document), characters, entries))
            text = json.dumps({**short, "shortened": note})
            if len(text) <= self.characters:
                return text
        return None


def _cut(value: object, characters: int, entries: int) -> object:
    if isinstance(value, str):
        left = len(value) - characters
        return value if left <= 0 else f"{value[:characters]} [{left} characters left out]"
    if is_array(value):
        return [_cut(one, characters, entries) for one in value[:entries]]
    if is_object(value):
        return {name: _cut(one, characters, entries) for name, one in value.items()}
    return value
