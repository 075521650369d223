"""The sentences of a lesson that something was found in: its lines break where the file's do."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tpustarter.learning.passages import BEGIN, END

_ABBREVIATED = r"(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)"
_END = re.compile(rf"(?<=[.!?]){END}?{_ABBREVIATED}\s+|(?<=[.!?]{END})\s+")
"""Between two sentences."""
SHORT = 30
"""Letters of a sentence that says too little without the next one."""
_POINTS_BACK = re.compile(
    rf"{BEGIN}?(?:It|Its|They|Their|These|Those|Them|He|She|Both|Either|Neither|Others?|There|Then|"
    r"Here|So|But|Otherwise|In practice|Only (?:real|then|that|these|those)|(?:This|That|Each|One|"
    r"Such)(?= (?:is|was|are|were|means|holds|needs|takes|can|does|one|a|an)\b))\b"
)
"""How a sentence begins that says nothing without the one before."""
_CELL = re.compile(r" {2,}")
"""Between two cells of a table."""
_WORD = re.compile(rf"(\w*){BEGIN}([^{END}]*){END}(\w*)")
_NEIGHBOURS = re.compile(rf"{END}([ _-]?){BEGIN}")


@dataclass(frozen=True)
class Excerpt:
    """A sentence, or a piece of text that is none, such as a row of a table or a short answer.

    What was found in it stands between BEGIN and END.
    """

    line: int
    """The index of the line that holds the first thing found in it."""
    text: str
    paragraph: str
    """What the sentence stands in."""
    is_sentence: bool


def excerpts(lines: Sequence[str]) -> Iterator[Excerpt]:
    """Yield the sentences of a text in which something was found.

    Args:
        lines: With BEGIN and END around what was found, both in one line. An empty one ends a
            paragraph.
    """
    ends = [-1, *(n for n, line in enumerate(lines) if not line.strip()), len(lines)]
    for before, end in pairwise(ends):
        if any(BEGIN in line for line in lines[before + 1 : end]):
            yield from _of_paragraph(lines[before + 1 : end], before + 1)


def _of_paragraph(lines: Sequence[str], first: int) -> Iterator[Excerpt]:
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


def in_whole_words(text: str) -> str:
    """Return a text with the marks around whole words, and one mark around words in a row."""
    return _NEIGHBOURS.sub(r"\1", _WORD.sub(rf"{BEGIN}\1\2\3{END}", text))
