"""Search without an index, for a SQLite built without FTS5: it scans all passages.

It is slower and recognises only the commonest word endings, but its results are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
"""Maximum number of occurrences that count per column."""


class PassageScan:
    """A search that scans all passages, for a Python whose SQLite lacks FTS5."""

    def __init__(self, sources: SearchSources) -> None:
        self._passages = [_ReadPassage(one) for one in passages.list_passages(sources)]
        texts = " ".join(f"{one.title} {one.heading} {one.prose}" for one in self._read())
        self._words = sorted(set(re.findall(r"\w{3,}", texts.casefold())))

    def find(
        self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int
    ) -> list[PassageMatch]:
        """Return the passages that contain every word, or any word, best matches first."""
        searched = [(_pattern(texts), _beginnings(texts)) for texts in terms if texts]
        anything = _pattern([text for texts in terms for text in texts])
        found: list[tuple[float, _ReadPassage]] = []
        for one in self._passages:
            if one.passage.kind in kinds:
                counts = [one.count(*word) for word in searched]
                if (all if every else any)(map(any, counts)):
                    found.append((_weigh(counts), one))
        best = sorted(found, key=lambda pair: -pair[0])[:most]
        return [_match(one, weight, anything) for weight, one in best]

    def _read(self) -> Iterator[Passage]:
        return (one.passage for one in self._passages)

    def find_words(self, piece: str) -> list[str]:
        """Return words of the lessons that contain part of a word."""
        return [word for word in self._words if piece.casefold() in word][:MOST_TERMS]

    def words(self) -> list[str]:
        """Return words of the lessons, as candidates for a mistyped word."""
        return self._words


class _ReadPassage:
    """A passage with its columns extracted once."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.columns = [str(getattr(passage, name)) for name in COLUMNS]
        self._folded = " ".join(self.columns).casefold()

    def count(self, pattern: re.Pattern[str], beginnings: Sequence[str]) -> list[int]:
        """Return the number of matches in each column, quickly rejecting most passages."""
        if not any(beginning in self._folded for beginning in beginnings):
            return [0] * len(self.columns)
        return [len(pattern.findall(column)) for column in self.columns]


def _weigh(counts: Sequence[Sequence[int]]) -> float:
    return sum(
        weight * min(count, _ENOUGH)
        for row in counts
        for weight, count in zip(WEIGHTS, row, strict=True)
    )


def _match(one: _ReadPassage, weight: float, pattern: re.Pattern[str]) -> PassageMatch:
    passage = one.passage
    columns = one.columns[:1] if passage.kind == "lesson" else one.columns
    marked = [pattern.sub(f"{BEGIN}\\g<0>{END}", column) for column in columns]
    marked += [""] * (len(COLUMNS) - len(marked))
    return PassageMatch(passage.kind, passage.id, tuple(marked), passage.numbers, weight)


def _beginnings(texts: Sequence[str]) -> list[str]:
    """Return the first word of each search term, as it appears in a matching folded passage."""
    words = (re.search(r"[^\W_]+", text) for text in texts)
    return [word[0].casefold() for word in words if word]


def _pattern(texts: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for any of some texts; no letter or digit may be between two words."""
    pieces: list[str] = []
    for text in sorted(texts, key=len, reverse=True):
        words = r"[\W_]+".join(map(re.escape, re.findall(r"[^\W_]+", text)))
        pieces += [words + (r"[^\W_]*" if text.endswith("*") else _ENDING)] * bool(words)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(pieces) or '(?!)'})(?![^\W_])", re.IGNORECASE)
