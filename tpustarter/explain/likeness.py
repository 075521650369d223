"""Finds the failure that a log reads like, where the patterns of no failure are in it.

A version that nobody has listed words a message in another way. So the error lines at the end of a
log are held against the examples of all rows, line by line, as sets of words: numbers, paths and
what only says who speaks (the class of an exception, a status code, a launcher) are left out, and
identifiers are split. A word counts the more, the fewer rows use it, and two lines are alike by
the cosine of their weighted words. A line that shows a notice, or is most like one, says nothing.

This is the weaker way, and it only ever gives one failure, as possible. It looks at no more than
the kept end of the log, so its time and memory do not grow with the log.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import keyword
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.explain import reading
from tpustarter.explain.known import Failure
from tpustarter.explain.scanning import QUOTED, Scan, Seen

ALIKE = 0.55
"""Cosine from which two lines are taken for the same message."""
INFORMATION = 8.0
"""What the words that two lines share must weigh together, so that no single word decides."""
VERBATIM = 0.9
"""Cosine from which a line is the example but for its names and numbers."""
EXCERPT = 4
"""Lines of a log up to which what a failure `needs` may be missing, where a line is verbatim."""
MOST = 60
"""How many different lines are compared, the last ones of the log."""
_ABOUT = re.compile(r"tpu|jax|xla|pjrt|flax|orbax|pallas|mosaic|gcloud|googleapis", re.IGNORECASE)
"""One of these must be in the end of a log that is longer than an excerpt."""
_LONGEST = 400
_SHARED = 2

_ERROR = re.compile(
    r"Error|Exception|Interrupt|[A-Z]{3,}_[A-Z_]{4,}|\b[EFW]\d{4}\b|"
    r"(?i:\b(?:fatal|error|fail(?:ed|ure|s)?|abort(?:ed)?|killed|terminated|cannot|can't|not|no|"
    r"invalid|unavailable|exceed(?:s|ed)?|denied|refused|removed|deprecated|warning|mismatch)\b)"
)
_SPEAKER = re.compile(
    r"(?:[\w.]+\.)?\w*(?:Error|Exception|Warning)\b:?|/job:\S+|Exception in device=\S+|"
    r"\b(?:[A-Z]{5,}_[A-Z]{5,}|INTERNAL|UNKNOWN|NOT_FOUND|UNAVAILABLE|ABORTED|UNIMPLEMENTED|"
    r"Unimplemented|Invalid argument|Internal|CANCELLED|OUT_OF_RANGE)\b:|"
    r"Unable to initialize backend '\w+':|\(set JAX_PLATFORMS[^)]*\)|Bad StatusOr access:|"
    r"Non-OK-status:.*?status:|Cloud TPU received a bad request\.|\[EID: \S+\]|gcloud[.\w-]+"
)
_NO_WORD = re.compile(r"0x[0-9a-f]+|\b\d[\w.:-]*|/(?:[\w.@+-]+/)+|https?://\S+")
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{2,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_COMMON = frozenset(
    {name.casefold() for name in dir(builtins)}
    | set(keyword.kwlist)
    | {"file", "line", "module", "traceback", "error", "exception", "errno", "most", "recent"}
    | {"call", "last", "name", "warning", "info", "has", "the", "was"}
)


@dataclass(frozen=True)
class Likeness:
    """A line of a log, and what of a failure it reads like."""

    failure: Failure
    line: int
    """The number of the line, counted from 1."""
    quote: str
    example: str
    """The line of the row's example that it is most like."""


@dataclass(frozen=True)
class _Example:
    failure: Failure
    words: frozenset[str]
    length: float
    text: str


def find(scan: Scan, failures: Sequence[Failure]) -> Likeness | None:
    """Return the failure that a log reads most like; null where it is like none."""
    if scan.lines > EXCERPT and not _ABOUT.search(scan.last):
        return None
    examples, weights = _examples(tuple(failures))
    if not examples:
        return None
    likely: Likeness | None = None
    most = ALIKE
    known = {
        sign.line
        for row in failures
        if row.role == "notice" and row.id in scan.seen
        for part in ("shows", "suggests")
        for sign in scan.seen[row.id].signs.get(part, ())
    }
    for words, (number, line) in _error_lines(scan).items():
        if number in known:
            continue
        length = _length(words, weights)
        alike, example = max(
            ((_alike(words, length, one, weights), one) for one in examples), key=lambda it: it[0]
        )
        if example.failure.role == "notice":
            continue
        if alike < most or (likely and alike == most) or not _may_be(example.failure, alike, scan):
            continue
        most = alike
        quote = " ".join(line.replace("\0", "").split())[:QUOTED]
        likely = Likeness(example.failure, number, quote, example.text)
    return likely


def _may_be(failure: Failure, alike: float, scan: Scan) -> bool:
    signs = scan.seen.get(failure.id, Seen()).signs
    is_cut_out = scan.lines <= EXCERPT and alike >= VERBATIM
    return "unless" not in signs and (not failure.needs or "needs" in signs or is_cut_out)


def _alike(
    words: frozenset[str], length: float, example: _Example, weights: dict[str, float]
) -> float:
    shared = words & example.words
    if len(shared) < _SHARED or sum(weights[word] for word in shared) < INFORMATION:
        return 0.0
    return sum(weights[word] ** 2 for word in shared) / (length * example.length)


def _error_lines(scan: Scan) -> dict[frozenset[str], tuple[int, str]]:
    """Return the last different lines that speak of an error, with their numbers."""
    lines = scan.last.replace(reading.BREAK.decode(), "").splitlines()
    found: dict[frozenset[str], tuple[int, str]] = {}
    for number, line in enumerate(lines, scan.lines - len(lines) + 1):
        if _ERROR.search(line) and (words := _words(line[:_LONGEST])):
            found.setdefault(words, (number, line))
    return dict(itertools.islice(reversed(found.items()), MOST))


@functools.lru_cache(maxsize=2)
def _examples(failures: tuple[Failure, ...]) -> tuple[list[_Example], dict[str, float]]:
    """Return the lines of all examples, and what each word weighs."""
    lines = [
        (row, words, line)
        for row in failures
        for example in row.examples
        for line in example.splitlines()
        if len(words := _words(line)) >= _SHARED
    ]
    used = Counter(
        word for _, word in {(row.id, word) for row, words, _ in lines for word in words}
    )
    weights = {word: math.log(1 + len(failures) / count) for word, count in used.items()}
    examples = [_Example(row, words, _length(words, weights), text) for row, words, text in lines]
    return examples, weights


def _length(words: frozenset[str], weights: dict[str, float]) -> float:
    """Return the norm of a line; a word that no row uses counts little."""
    return math.sqrt(sum(weights.get(word, 2.0) ** 2 for word in words))


def _words(line: str) -> frozenset[str]:
    found: set[str] = set()
    for word in _WORD.findall(_NO_WORD.sub(" ", _SPEAKER.sub(" ", line))):
        found.add(word.casefold())
        found.update(part.casefold() for part in _PART.findall(word) if len(part) > 2)
    return frozenset(found - _COMMON)
