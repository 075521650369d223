"""Excerpts of a lesson with a match: sentences, or shorter texts such as table rows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tpustarter.learning.search.passages import BEGIN, END

_ABBREVIATED = r"(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)"
_END = re.compile(rf"(?<=[.!?]){END}?{_ABBREVIATED}\s+|(?<=[.!?]{END})\s+")
"""The gap between two sentences."""
SHORT = 30
"""Letters below which a sentence is too short to be shown without the next one."""
_POINTS_BACK = re.compile(
    rf"{BEGIN}?(?:It|Its|They|Their|These|Those|Them|He|She|Both|Either|Neither|Others?|There|Then|"
    r"Here|So|But|Otherwise|In practice|Only (?:real|then|that|these|those)|(?:This|That|Each|One|"
    r"Such)(?= (?:is|was|are|were|means|holds|needs|takes|can|does|one|a|an)\b))\b"
)
"""The beginning of a sentence that makes no sense without the one before it."""
_CELL = re.compile(r" {2,}")
"""The gap between two cells of a table."""
_WORD = re.compile(rf"(\w*){BEGIN}([^{END}]*){END}(\w*)")
_NEIGHBOURS = re.compile(rf"{END}([ _-]?){BEGIN}")


@dataclass(frozen=True)
class Excerpt:
    """A sentence, or a shorter text such as a table row or a short answer.

    Matches in it are enclosed in BEGIN and END.
    """

    line: int
    """The index of the line with its first match."""
    text: str
    paragraph: str
    """The paragraph that contains it."""
    is_sentence: bool


def find_excerpts(lines: Sequence[str]) -> Iterator[Excerpt]:
    """Yield the sentences of a passage that contain a match.

    Args:
        lines: Lines with BEGIN and END around each match, both on one line. An empty line ends a
            paragraph.
    """
    ends = [-1, *(n for n, line in enumerate(lines) if not line.strip()), len(lines)]
    for before, end in pairwise(ends):
        if any(BEGIN in line for line in lines[before + 1 : end]):
            yield from _split_paragraph(lines[before + 1 : end], before + 1)


def _split_paragraph(lines: Sequence[str], first: int) -> Iterator[Excerpt]:
    stripped = [line.strip() for line in lines]
    if len(lines) == 1 and _CELL.search(stripped[0]):
        name, *rest = _CELL.split(stripped[0])
        text = f"{name}: {', '.join(rest)}"
        yield Excerpt(first, text, text, is_sentence=False)
        return
    whole = " ".join(stripped)
    begins = [0, *accumulate(len(line) + 1 for line in stripped)]
    cuts = [0, *(cut.end() for cut in _END.finditer(whole)), len(whole)]
    for number, begin in enumerate(cuts[:-1]):
        end = cuts[number + 1]
        if BEGIN in (text := whole[begin:end].strip()):
            if len(text) < SHORT:
                text = whole[begin : cuts[min(number + 2, len(cuts) - 1)]].strip()
            if number and _POINTS_BACK.match(text):
                text = f"{whole[cuts[number - 1] : begin].strip()} {text}"
            line = bisect_right(begins, whole.index(BEGIN, begin)) - 1
            is_sentence = text.rstrip(f"{END})\"'").endswith((".", "!", "?", ":"))
            yield Excerpt(first + line, text, whole, is_sentence)


def extend_to_words(text: str) -> str:
    """Extend the marks around matches to whole words, and merge those of adjacent words."""
    return _NEIGHBOURS.sub(r"\1", _WORD.sub(rf"{BEGIN}\1\2\3{END}", text))
