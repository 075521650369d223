"""The search without an index, for a SQLite that was built without FTS5: it reads all passages.

It is slower, and knows only the commonest endings of a word; its results are right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tpustarter.learning.search import passages
from tpustarter.learning.search.passages import (
    BEGIN,
    COLUMNS,
    END,
    MOST_TERMS,
    WEIGHTS,
    Kind,
    Passage,
    PassageMatch,
    SearchSources,
    Terms,
)

_ENDING = r"(?:s|es|ed|ing)?"
_ENOUGH = 6
"""Times that a word counts in one column."""


class PassageScan:
    """A search that reads all passages in turn, for a Python without SQLite's FTS5."""

    def __init__(self, sources: SearchSources) -> None:
        self._passages = list(passages.list_passages(sources))
        texts = " ".join(f"{one.title} {one.heading} {one.prose}" for one in self._passages)
        self._words = sorted(set(re.findall(r"\w{3,}", texts.casefold())))

    def find(
        self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int
    ) -> list[PassageMatch]:
        """Return the passages that contain every word, or any word; the best matches first."""
        patterns = [_pattern(texts) for texts in terms if texts]
        found: list[PassageMatch] = []
        for passage in self._passages:
            if passage.kind in kinds:
                columns = [str(getattr(passage, name)) for name in COLUMNS]
                counts = [
                    [len(pattern.findall(column)) for column in columns] for pattern in patterns
                ]
                if (all if every else any)(map(any, counts)):
                    found.append(_match(passage, columns, counts, terms))
        return sorted(found, key=lambda match: -match.weight)[:most]

    def find_words(self, piece: str) -> list[str]:
        """Return words of the lessons that contain a piece of a word."""
        return [word for word in self._words if piece.casefold() in word][:MOST_TERMS]

    def words(self) -> list[str]:
        """Return words of the lessons, for guesses at a mistyped word."""
        return self._words


def _match(
    passage: Passage, columns: Sequence[str], counts: Sequence[Sequence[int]], terms: Terms
) -> PassageMatch:
    weight = sum(
        weight * min(count, _ENOUGH)
        for row in counts
        for weight, count in zip(WEIGHTS, row, strict=True)
    )
    pattern = _pattern([text for texts in terms for text in texts])
    marked = tuple(pattern.sub(f"{BEGIN}\\g<0>{END}", column) for column in columns)
    if passage.kind == "lesson":
        marked = (marked[0], "", "", "")
    return PassageMatch(passage.kind, passage.id, marked, passage.numbers, weight)


def _pattern(texts: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for any of some texts; no letter or digit may be between two words."""
    pieces: list[str] = []
    for text in sorted(texts, key=len, reverse=True):
        words = r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", text)))
        pieces += [words + (r"[^\W_]*" if text.endswith("*") else _ENDING)] * bool(words)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(pieces) or '(?!)'})(?![^\W_])", re.IGNORECASE)
