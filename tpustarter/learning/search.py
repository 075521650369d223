"""What a newcomer types, and what there is to read about it: the best first, with the lines to see.

Whole words come before parts of words, what holds every word before what holds some of them, and
titles before headings before texts. Other words for the same thing stand in `synonyms.yml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from tpustarter import cache, content, locations
from tpustarter.invocation import as_typed
from tpustarter.learning import glossary, index, then_now, typed_words
from tpustarter.learning.excerpts import Excerpt, excerpts, in_whole_words
from tpustarter.learning.passages import BEGIN, END, Kind, Match, Searchable, Shelf, Terms

MOST: Mapping[Kind, int] = {"lesson": 20, "word": 8, "check": 12, "old": 12}
"""Of each kind, what is shown at most."""
SPOTS = 3
"""Lines of a lesson that are shown below it."""
SYNONYMS = "synonyms.yml"
_WEAK = 0.25
"""A lesson that fits less than so much of the best one is left out. Of the searches in
`tests/support/searches.py` this is the largest share that loses no answer: 9 lessons a search are
left of 14.5 (measured 2026-11; 0.3 loses two answers, 0.5 five)."""
_ALWAYS = 3
"""Lessons that are shown however weak they are."""
_LEAST = 0.5
"""What else fits less than so much of the best of its kind is left out."""
_OF_MANY: Mapping[Kind, int] = {"word": 3, "check": 5, "old": 3}
"""What is shown where more hold it than `MOST`: what stands everywhere tells none apart."""
_PREFERENCE = 1.35
"""So many times better fits a lesson that is preferred. Over the searches and the nine paths, 173
of 188 then find a lesson of the path first where one answers (150 without), and of the 244 that
no lesson of the path answers 10 miss first place (4 without; 22 with 1.5; measured 2026-11)."""
_SECTIONS = 150
"""Sections that are looked at more closely."""
Parts = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it is what was found."""


@dataclass(frozen=True)
class Spot:
    """A line of a lesson that holds what was looked for, and its sentence."""

    number: int
    """Where it stands in the file."""
    heading: str
    """The section it stands in."""
    line: str
    parts: Parts
    """The sentence to show, of which the line holds at least a part; of code the line."""
    paragraph: Parts
    """What that sentence stands in."""
    is_code: bool


@dataclass(frozen=True)
class Hit:
    """Something that was found."""

    kind: Kind
    id: str
    """Of a lesson, a check or a claim; of a word its anchor."""
    title: Parts
    in_title: bool
    text: Parts = ()
    """What a word means, or what is true today of an old claim."""
    spots: tuple[Spot, ...] = ()
    """Of a lesson: where to look."""
    is_whole: bool = True
    """Whether it holds every word that was looked for."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    text: str
    hits: tuple[Hit, ...]
    """Of each kind the best first."""
    also: tuple[str, ...] = ()
    """What was looked for beside the words that were typed."""
    meant: str = ""
    """Where nothing was found: what may have been meant."""
    term: str = ""
    """The word of the glossary that was asked for, by its anchor; empty where it was none."""

    def is_named(self, hit: Hit) -> bool:
        """Return whether the id of a lesson or a check is what was typed."""
        return hit.kind in ("lesson", "check") and hit.id == self.text.strip().casefold()

    def is_asked_for(self, hit: Hit) -> bool:
        """Return whether a hit is the word of the glossary that was asked for."""
        return hit.kind == "word" and hit.id == self.term

    def of(self, kind: Kind) -> list[Hit]:
        """Return the hits of a kind, the best first."""
        return [hit for hit in self.hits if hit.kind == kind]


class Library:
    """All there is to read, and a search in it; may be asked from any thread."""

    def __init__(self, shelf: Shelf, synonyms: Mapping[str, Sequence[str]]) -> None:
        self.shelf = shelf
        self._synonyms = synonyms
        self._texts: Searchable = _searchable(shelf)

    def search(self, text: str, preferred: Collection[str] = ()) -> Found:
        """Return what there is to read about a text; preferred lessons come before their like.

        Where a word of the glossary is asked for that only lessons of other frameworks have in
        their titles, those of them that link to the word come first.
        """
        found = search(self._texts, text, self._synonyms, preferred)
        lessons = {lesson.id: lesson for lesson in self.shelf.lessons}
        hits = {hit.id: hit for hit in found.of("lesson")}
        own = {_framework(lesson) for lesson in lessons.values() if lesson.id in preferred} | {""}
        of_others = [one for one in hits if _framework(lessons[one]) not in own]
        titled = [one for one, hit in hits.items() if hit.in_title and one not in of_others]
        best = next(iter(hits.values()), None)
        if not (found.term and best and best.in_title and best.id in of_others) or titled:
            return found
        link = glossary.link(found.term)
        linking = [
            hits.get(name) or Hit("lesson", name, ((one.title, False),), in_title=False)
            for name, one in lessons.items()
            if name in preferred and link in one.text
        ]
        return replace(found, hits=tuple(dict.fromkeys((*linking, *found.hits))))


def _framework(lesson: content.Lesson) -> str:
    """Return the framework that a lesson is about; empty where it is about any."""
    track = lesson.id.partition("/")[0]
    return lesson.framework or (track if track in ("pytorch", "tensorflow") else "")


def _searchable(shelf: Shelf) -> Searchable:
    if index.has_fts5():
        return index.open_index(shelf)
    from tpustarter.learning.scanning import Scan

    return Scan(shelf)


def read_shelf(lessons: Path | None = None, checks: Path | None = None) -> Shelf:
    """Read all there is to search; raises Problem naming what cannot be read."""
    return Shelf(
        content.read_lessons(lessons),
        glossary.read(lessons),
        [check for check in content.read_checks(checks) if not check.broken],
        then_now.read(lessons),
    )


def search(
    texts: Searchable,
    text: str,
    synonyms: Mapping[str, Sequence[str]],
    preferred: Collection[str] = (),
) -> Found:
    """Return what there is to read about a text.

    Args:
        texts: Where to look.
        text: What was typed.
        synonyms: Other words for what people type.
        preferred: Ids of lessons that come before those which fit about as well.
    """
    words = typed_words.words(text, synonyms)
    if not words:
        return Found(text, ())
    also = tuple(dict.fromkeys(other for word in words for other in synonyms.get(word, ())))
    hits = _gathered(texts, words, synonyms, preferred)
    ordered = tuple(_some(hits.values()))
    meant = "" if ordered else typed_words.meant({*texts.words(), *synonyms}, words)
    titles = {"".join(part for part, _ in hit.title).casefold(): hit.id
              for hit in hits.values() if hit.kind == "word"}  # fmt: skip
    asked = " ".join(words)
    names = [asked, *(other for other in also if typed_words.is_short_for(asked, other))]
    term = next((titles[name] for name in names if name in titles), "")
    return Found(text, ordered, also if ordered else (), meant, term)


def _gathered(
    texts: Searchable,
    words: Sequence[str],
    synonyms: Mapping[str, Sequence[str]],
    preferred: Collection[str],
) -> dict[tuple[Kind, str], Hit]:
    """Return what holds the words, the best first; by parts of words what no whole one found."""
    whole: Terms = [[word, *synonyms.get(word, ())] for word in words]
    hits: dict[tuple[Kind, str], Hit] = {}
    for every in (True, False):
        if not every and (len(words) == 1 or any(kind == "lesson" for kind, _ in hits)):
            break
        for is_whole in (True, False):
            known = Counter(kind for kind, _ in hits)
            is_broad = known["lesson"] < _ALWAYS
            terms = whole if is_whole else [
                # More of a word may yet be typed; where much has it, inner parts are noise.
                [*same, *(typed_words.parts(texts, word) if is_broad else [f"{word}*"])]
                for word, same in zip(words, whole, strict=True)
            ]  # fmt: skip
            for hit in _hits(texts, terms, words, preferred, every=every):
                if known[hit.kind] < (_ALWAYS if hit.kind == "lesson" else 1):
                    hits.setdefault((hit.kind, hit.id), hit)
    return hits


def _some(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Yield of each kind as many as are shown."""
    kept: dict[Kind, int] = dict.fromkeys(MOST, 0)
    for hit in hits:
        kept[hit.kind] += 1
        if kept[hit.kind] <= MOST[hit.kind]:
            yield hit


def _hits(
    texts: Searchable,
    terms: Terms,
    typed: Sequence[str],
    preferred: Collection[str],
    *,
    every: bool,
) -> Iterator[Hit]:
    """Yield what holds these words: lessons with the lines to look at."""
    lessons = texts.find(terms, ["lesson"], every=every, most=MOST["lesson"])
    sections: dict[str, list[Match]] = {}
    for match in texts.find(terms, ["section"], every=False, most=_SECTIONS) if lessons else ():
        sections.setdefault(match.id, []).append(match)
    fitness = {match.id: _fitness(match, sections) for match in lessons}
    least = _WEAK * max(fitness.values(), default=0.0)
    kept = sorted(lessons, key=lambda one: fitness[one.id], reverse=True)
    kept = [
        one for number, one in enumerate(kept)
        if number < _ALWAYS or (fitness[one.id] >= least and (one.id in sections or _titled(one)))
    ]  # fmt: skip
    boost = {one.id: _PREFERENCE if one.id in preferred else 1.0 for one in kept}
    for match in sorted(kept, key=lambda one: fitness[one.id] * boost[one.id], reverse=True):
        title = _parts_of(match.columns[0].partition("\n")[0])
        spots = tuple(_spots(sections.get(match.id, ()), typed))
        yield Hit("lesson", match.id, title, _titled(match), (), spots, every)
    for kind in ("word", "check", "old"):
        for match in _best(texts.find(terms, [kind], every=every, most=MOST[kind] + 1)):
            title, _, text, _ = (_parts_of(column) for column in match.columns)
            yield Hit(kind, match.id, title, _titled(match), text, (), every)


def _best(matches: Sequence[Match]) -> Sequence[Match]:
    """Return of one kind what fits; what words mean gives way to what they are called."""
    named = [one for one in matches if one.kind != "word" or _titled(one)] or matches
    least = _LEAST * max((one.weight for one in named), default=0.0)
    kept = [one for one in named if one.weight >= least]
    return kept[: _OF_MANY[kept[0].kind]] if kept and len(matches) > MOST[kept[0].kind] else kept


def _titled(match: Match) -> bool:
    """Return whether its title has what was found."""
    return BEGIN in match.columns[0]


def _fitness(lesson: Match, sections: Mapping[str, Sequence[Match]]) -> float:
    """Return how well a lesson fits: as a whole, in its best section, and by its title."""
    best = max((section.weight for section in sections.get(lesson.id, ())), default=0.0)
    names = [_parts_of(name) for name in lesson.columns[0].split("\n")]
    return (lesson.weight + best) * (1 + max(map(_share, names)))


def _share(name: Parts) -> float:
    """Return how much of a name is what was looked for."""
    found = sum(len(text) for text, is_found in name if is_found)
    return found / max(sum(len(text) for text, _ in name), 1)


def _spots(sections: Sequence[Match], typed: Sequence[str]) -> Iterator[Spot]:
    """Yield the sentences that say most about what was looked for, one of a section.

    Only where no sentence of the lesson holds it, something else is shown. Those with a word that
    was typed come before those with another word for it.
    """
    spots = [spot for section in sections if (spot := _sentence_of(section, typed))]
    spots.sort(
        key=lambda spot: not _is_typed((text for text, is_found in spot.parts if is_found), typed)
    )
    if not spots:
        others = (spot for section in sections if (spot := _line_of(section)))
        spots = list(islice(others, 1))
    yield from spots[:SPOTS]


def _is_typed(found: Iterable[str], typed: Sequence[str]) -> bool:
    """Return whether something was found because it was typed, and not as another word for it."""
    pieces = [piece.casefold() for piece in found]
    return any(piece.startswith(word) for piece in pieces for word in typed)


def _sentence_of(section: Match, typed: Sequence[str]) -> Spot | None:
    lines = [*_unbroken(section.columns[2].split("\n"))]
    found = [one for one in excerpts(lines) if one.is_sentence]

    def fitness(one: Excerpt) -> tuple[bool, int]:
        pieces = _found(one.text)
        return _is_typed(pieces, typed), len(pieces)

    best = max(found, key=fitness, default=None)  # the first of the best
    return _spot(section, best, lines[best.line], best.line + 1) if best else None


def _line_of(section: Match) -> Spot | None:
    """Return a piece of text that is no sentence, such as a row of a table, else a line of code."""
    prose, code = ([*_unbroken(column.split("\n"))] for column in section.columns[2:])
    for row in excerpts(prose):
        return _spot(section, row, prose[row.line], row.line + 1)
    before = 1 + (len(prose) if section.columns[2] else 0)
    for number, line in enumerate(code):
        if BEGIN in line:
            text = line.strip()
            found = Excerpt(number, text, text, is_sentence=False)
            return _spot(section, found, text, before + number, is_code=True)
    return None


def _spot(section: Match, found: Excerpt, line: str, number: int, *, is_code: bool = False) -> Spot:
    """Return where something was found; the number counts the lines of the section."""
    heading = _plain(section.columns[1])
    if heading == _plain(section.columns[0]):
        heading = "Introduction"
    parts, paragraph = (_parts_of(text, is_code=is_code) for text in (found.text, found.paragraph))
    return Spot(section.numbers[number], heading, _plain(line), parts, paragraph, is_code)


def _unbroken(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, with what was found marked in each where it goes over an end of a line."""
    is_open = False
    for line in lines:
        text = (BEGIN if is_open else "") + line
        is_open = text.count(BEGIN) > text.count(END)
        yield text + (END if is_open else "")


def _found(line: str) -> set[str]:
    return {piece.casefold() for piece in re.findall(f"{BEGIN}(.*?){END}", line)}


def _parts_of(text: str, *, is_code: bool = False) -> Parts:
    """Return a text in pieces; code is typed as it stands, and a sentence names the program."""
    marked = in_whole_words(as_typed(text) if is_code else text)
    pieces = re.split(f"{BEGIN}(.*?){END}", marked, flags=re.DOTALL)
    return tuple((piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece)


def _plain(text: str) -> str:
    return text.replace(BEGIN, "").replace(END, "")


def read_synonyms(folder: Path | None = None) -> dict[str, list[str]]:
    """Return the other words for what people type; none where the file cannot be read."""
    file = (folder or locations.content("lessons")) / SYNONYMS
    try:
        text = locations.read_text(file)
        with cache.opened("synonyms", __file__) as known:
            entries: Any = known.value(text.encode(), lambda: content.read_yaml(text))
    except (OSError, ValueError):
        return {}
    pairs = cast("dict[Any, Any]", entries).items() if isinstance(entries, dict) else ()
    return {str(word): [str(one) for one in cast("list[Any]", others)]
            for word, others in pairs if isinstance(others, list)}  # fmt: skip
