"""Search for newcomers: the best passages first, with the lines to read; also as JSON.

Whole words rank above parts of words, passages with every word above those with some, and titles
above headings above text. Synonyms are in `synonyms.yml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tpustarter.core import cache, content, locations
from tpustarter.core.json_values import as_object, is_array
from tpustarter.core.problem import ExitCode
from tpustarter.learning.content import glossary, tutorial_claims
from tpustarter.learning.search import search_index, search_query
from tpustarter.learning.search.excerpts import Excerpt, extend_to_words, find_excerpts
from tpustarter.learning.search.passages import (
    BEGIN,
    END,
    Kind,
    PassageMatch,
    PassageSource,
    SearchSources,
    Terms,
)
from tpustarter.text.invocation import format_commands

MOST: Mapping[Kind, int] = {"lesson": 20, "word": 8, "check": 12, "old": 12}
"""Maximum number of hits of each kind."""
MAX_LINES = 3
"""Maximum number of lines shown for a lesson."""
SYNONYMS = "synonyms.yml"
_WEAK = 0.25
"""Lessons that fit less than this share of the best are dropped. It is the largest share that
loses no answer of the searches in `tests/support/searches.py`: 9 lessons per search remain of 14.5
(measured 2026-11; 0.3 loses two answers, 0.5 five).
"""
_ALWAYS = 3
"""Number of lessons that are shown however weak they are."""
_LEAST = 0.5
"""Hits of the other kinds that fit less than this share of the best are dropped."""
_OF_MANY: Mapping[Kind, int] = {"word": 3, "check": 5, "old": 3}
"""Maximum number of hits if there are more than `MOST`, because the word does not discriminate."""
_PREFERENCE = 1.35
"""Factor by which preferred lessons fit better. Over the searches and the nine paths, 173 of 188
then find a lesson of the path first if one answers (150 without), and of the 244 that no lesson of
the path answers, 10 miss first place (4 without; 22 with 1.5; measured 2026-11).
"""
_SECTIONS = 150
"""Maximum number of sections that are examined."""
SCHEMA = "tpustarter.search/1"
_COMMANDS: Mapping[Kind, str] = {
    "lesson": "tpustarter learn {}",
    "check": "tpustarter check {}",
    "old": "tpustarter learn --old {}",
}
"""The command that shows a hit; the meaning of a glossary term is in the hit itself."""
Parts = tuple[tuple[str, bool], ...]
"""A text in pieces, each with True for a match."""


@dataclass(frozen=True)
class FoundLine:
    """A line of a lesson with a match, and its sentence."""

    number: int
    """Line number in the file."""
    heading: str
    """The heading of its section."""
    line: str
    parts: Parts
    """The sentence to show, which the line may contain only in part; for code, the line."""
    paragraph: Parts
    """The paragraph that contains the sentence."""
    is_code: bool


@dataclass(frozen=True)
class SearchHit:
    """A lesson, glossary term, check or claim that a search found, with the matching lines."""

    kind: Kind
    id: str
    """The id of a lesson, check or claim, or the anchor of a glossary term."""
    title: Parts
    in_title: bool
    text: Parts = ()
    """The meaning of a term, or today's fact for an old claim."""
    lines: tuple[FoundLine, ...] = ()
    """The lines of a lesson to read."""
    has_every_word: bool = True
    """True if it contains every word of the search."""


@dataclass(frozen=True)
class SearchResult:
    """The results of a search."""

    text: str
    hits: tuple[SearchHit, ...]
    """The hits, best first within each kind."""
    synonyms: tuple[str, ...] = ()
    """The synonyms of its words, which were searched as well."""
    meant: str = ""
    """A guess for mistyped words, if nothing was found."""
    term: str = ""
    """The anchor of the glossary term that was typed; empty if none was."""

    def is_named(self, hit: SearchHit) -> bool:
        """Return whether the query is this lesson's or check's id."""
        return hit.kind in ("lesson", "check") and hit.id == self.text.strip().casefold()

    def is_asked_for(self, hit: SearchHit) -> bool:
        """Return whether the query is this glossary term."""
        return hit.kind == "word" and hit.id == self.term

    def select_kind(self, kind: Kind) -> list[SearchHit]:
        """Return the hits of a kind, best first."""
        return [hit for hit in self.hits if hit.kind == kind]


class SearchLibrary:
    """All searchable texts with their index; safe in any thread."""

    def __init__(self, sources: SearchSources, synonyms: Mapping[str, Sequence[str]]) -> None:
        self.sources = sources
        self._synonyms = synonyms
        self._texts: PassageSource = _searchable(sources)

    def search(self, text: str, preferred: Collection[str] = ()) -> SearchResult:
        """Search the lessons for a text; preferred lessons rank above equally good matches.

        If the text is a glossary term that only lessons of other frameworks have in their titles,
        preferred lessons that link to the term come first.
        """
        found = search(self._texts, text, self._synonyms, preferred)
        lessons = {lesson.id: lesson for lesson in self.sources.lessons}
        hits = {hit.id: hit for hit in found.select_kind("lesson")}
        own = {_framework(lesson) for lesson in lessons.values() if lesson.id in preferred} | {""}
        of_others = [one for one in hits if _framework(lessons[one]) not in own]
        titled = [one for one, hit in hits.items() if hit.in_title and one not in of_others]
        best = next(iter(hits.values()), None)
        if not (found.term and best and best.in_title and best.id in of_others) or titled:
            return found
        link = glossary.format_glossary_target(found.term)
        linking = [
            hits.get(name) or SearchHit("lesson", name, ((one.title, False),), in_title=False)
            for name, one in lessons.items()
            if name in preferred and link in one.text
        ]
        return replace(found, hits=tuple(dict.fromkeys((*linking, *found.hits))))


def _framework(lesson: content.Lesson) -> str:
    track = lesson.id.partition("/")[0]
    return lesson.framework or (track if track in ("pytorch", "tensorflow") else "")


def _searchable(sources: SearchSources) -> PassageSource:
    if search_index.has_fts5():
        return search_index.open_index(sources)
    from tpustarter.learning.search.linear_search import PassageScan

    return PassageScan(sources)


def read_sources(lessons: Path | None = None, checks: Path | None = None) -> SearchSources:
    """Read all searchable texts.

    Raises:
        Problem: One of them cannot be read.
    """
    return SearchSources(
        content.read_lessons(lessons),
        glossary.read_glossary(lessons),
        [check for check in content.read_checks(checks) if not check.broken],
        tutorial_claims.read_claims(lessons),
    )


def search(
    texts: PassageSource,
    text: str,
    synonyms: Mapping[str, Sequence[str]],
    preferred: Collection[str] = (),
) -> SearchResult:
    """Return the passages that match a query, best first.

    Args:
        texts: The passages to search.
        text: The query as typed.
        synonyms: Other words for typed ones.
        preferred: Ids of lessons that rank above others that fit about as well.
    """
    words = search_query.split_query(text, synonyms)
    if not words:
        return SearchResult(text, ())
    others = tuple(dict.fromkeys(other for word in words for other in synonyms.get(word, ())))
    hits = _collect_hits(texts, words, synonyms, preferred)
    ordered = tuple(_some(hits.values()))
    meant = "" if ordered else search_query.suggest_words({*texts.words(), *synonyms}, words)
    titles = {
        "".join(part for part, _ in hit.title).casefold(): hit.id
        for hit in hits.values()
        if hit.kind == "word"
    }
    asked = " ".join(words)
    names = [asked, *(other for other in others if search_query.is_abbreviation_of(asked, other))]
    term = next((titles[name] for name in names if name in titles), "")
    return SearchResult(text, ordered, others if ordered else (), meant, term)


def _collect_hits(
    texts: PassageSource,
    words: Sequence[str],
    synonyms: Mapping[str, Sequence[str]],
    preferred: Collection[str],
) -> dict[tuple[Kind, str], SearchHit]:
    """Return the hits, best first; parts of words count if whole words find too little."""
    whole: Terms = [[word, *synonyms.get(word, ())] for word in words]
    hits: dict[tuple[Kind, str], SearchHit] = {}
    for every in (True, False):
        if not every and (len(words) == 1 or any(kind == "lesson" for kind, _ in hits)):
            break
        for is_whole in (True, False):
            known = Counter(kind for kind, _ in hits)
            is_broad = known["lesson"] < _ALWAYS
            if not is_whole and known["lesson"] and all(map(search_query.is_short, words)):
                break  # `ray*` would find every `raise`
            terms = (
                whole
                if is_whole
                else [
                    # A word may be half typed; if much matches, parts inside words are noise.
                    [*same, *(search_query.expand_word(texts, word) if is_broad else [f"{word}*"])]
                    for word, same in zip(words, whole, strict=True)
                ]
            )
            for hit in _hits(texts, terms, words, preferred, every=every):
                if known[hit.kind] < (_ALWAYS if hit.kind == "lesson" else 1):
                    hits.setdefault((hit.kind, hit.id), hit)
    return hits


def _some(hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    kept: dict[Kind, int] = dict.fromkeys(MOST, 0)
    for hit in hits:
        kept[hit.kind] += 1
        if kept[hit.kind] <= MOST[hit.kind]:
            yield hit


def _hits(
    texts: PassageSource,
    terms: Terms,
    typed: Sequence[str],
    preferred: Collection[str],
    *,
    every: bool,
) -> Iterator[SearchHit]:
    """Yield the hits for some words: lessons with the lines to read, then other kinds."""
    lessons = texts.find(terms, ["lesson"], every=every, most=MOST["lesson"])
    sections: dict[str, list[PassageMatch]] = {}
    for match in texts.find(terms, ["section"], every=False, most=_SECTIONS) if lessons else ():
        sections.setdefault(match.id, []).append(match)
    fitness = {match.id: _fitness(match, sections) for match in lessons}
    least = _WEAK * max(fitness.values(), default=0.0)
    kept = sorted(lessons, key=lambda one: fitness[one.id], reverse=True)
    kept = [
        one
        for number, one in enumerate(kept)
        if number < _ALWAYS or (fitness[one.id] >= least and (one.id in sections or _titled(one)))
    ]
    for one in kept:
        fitness[one.id] *= _PREFERENCE if one.id in preferred else 1.0
    kept.sort(key=lambda one: fitness[one.id], reverse=True)
    if kept and len(typed) == 1 and not _has_typed(sections.get(kept[0].id, ()), typed):
        # The best lesson has only synonyms, so those of the path with the word itself come first.
        kept.sort(
            key=lambda one: one.id in preferred and _has_typed(sections.get(one.id, ()), typed),
            reverse=True,
        )
    for match in kept:
        title = _parts_of(match.columns[0].partition("\n")[0])
        found_lines = tuple(_choose_lines(sections.get(match.id, ()), typed))
        yield SearchHit("lesson", match.id, title, _titled(match), (), found_lines, every)
    for kind in ("word", "check", "old"):
        for match in _best(texts.find(terms, [kind], every=every, most=MOST[kind] + 1)):
            title, _, text, _ = (_parts_of(column) for column in match.columns)
            yield SearchHit(kind, match.id, title, _titled(match), text, (), every)


def _best(matches: Sequence[PassageMatch]) -> Sequence[PassageMatch]:
    """Return the matches of one kind that fit; a term's title counts before its meaning."""
    named = [one for one in matches if one.kind != "word" or _titled(one)] or matches
    least = _LEAST * max((one.weight for one in named), default=0.0)
    kept = [one for one in named if one.weight >= least]
    return kept[: _OF_MANY[kept[0].kind]] if kept and len(matches) > MOST[kept[0].kind] else kept


def _titled(match: PassageMatch) -> bool:
    return BEGIN in match.columns[0]


def _fitness(lesson: PassageMatch, sections: Mapping[str, Sequence[PassageMatch]]) -> float:
    """Return a score for a lesson: as a whole, in its best section, and by its title."""
    best = max((section.weight for section in sections.get(lesson.id, ())), default=0.0)
    names = [_parts_of(name) for name in lesson.columns[0].split("\n")]
    return (lesson.weight + best) * (1 + max(map(_share, names)))


def _share(name: Parts) -> float:
    found = sum(len(text) for text, is_found in name if is_found)
    return found / max(sum(len(text) for text, _ in name), 1)


def _choose_lines(sections: Sequence[PassageMatch], typed: Sequence[str]) -> Iterator[FoundLine]:
    """Yield the best sentence of each section, those with a typed word first.

    Other texts, such as table rows or code, are used only if no sentence of the lesson matches.
    """
    lines = [line for section in sections if (line := _sentence_of(section, typed))]
    lines.sort(
        key=lambda line: not _is_typed((text for text, is_found in line.parts if is_found), typed)
    )
    if not lines:
        others = (line for section in sections if (line := _line_of(section)))
        lines = list(islice(others, 1))
    yield from lines[:MAX_LINES]


def _is_typed(found: Iterable[str], typed: Sequence[str]) -> bool:
    """Return whether a match begins with a typed word instead of a synonym."""
    pieces = [piece.casefold() for piece in found]
    return any(piece.startswith(word) for piece in pieces for word in typed)


def _has_typed(sections: Iterable[PassageMatch], typed: Sequence[str]) -> bool:
    """Return whether some sections have a typed word itself, and not only its synonyms."""
    return any(_is_typed(_found(column), typed) for one in sections for column in one.columns)


def _sentence_of(section: PassageMatch, typed: Sequence[str]) -> FoundLine | None:
    lines = [*_unbroken(section.columns[2].split("\n"))]
    found = [one for one in find_excerpts(lines) if one.is_sentence]

    def fitness(one: Excerpt) -> tuple[bool, int]:
        pieces = _found(one.text)
        return _is_typed(pieces, typed), len(pieces)

    best = max(found, key=fitness, default=None)  # the first of the best
    return _make_found_line(section, best, lines[best.line], best.line + 1) if best else None


def _line_of(section: PassageMatch) -> FoundLine | None:
    """Return a match outside sentences, such as a table row, or else a line of code."""
    prose, code = ([*_unbroken(column.split("\n"))] for column in section.columns[2:])
    for row in find_excerpts(prose):
        return _make_found_line(section, row, prose[row.line], row.line + 1)
    before = 1 + (len(prose) if section.columns[2] else 0)
    for number, line in enumerate(code):
        if BEGIN in line:
            text = line.strip()
            found = Excerpt(number, text, text, is_sentence=False)
            return _make_found_line(section, found, text, before + number, is_code=True)
    return None


def _make_found_line(
    section: PassageMatch, found: Excerpt, line: str, number: int, *, is_code: bool = False
) -> FoundLine:
    """Return a found line; `number` indexes the section's lines."""
    heading = _plain(section.columns[1])
    if heading == _plain(section.columns[0]):
        heading = "Introduction"
    parts, paragraph = (_parts_of(text, is_code=is_code) for text in (found.text, found.paragraph))
    return FoundLine(section.numbers[number], heading, _plain(line), parts, paragraph, is_code)


def _unbroken(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with a match's marks closed at each line's end and reopened on the next."""
    is_open = False
    for line in lines:
        text = (BEGIN if is_open else "") + line
        is_open = text.count(BEGIN) > text.count(END)
        yield text + (END if is_open else "")


def _found(line: str) -> set[str]:
    return {piece.casefold() for piece in re.findall(f"{BEGIN}(.*?){END}", line)}


def _parts_of(text: str, *, is_code: bool = False) -> Parts:
    """Return a passage in pieces; in code, commands are rewritten as the user types them."""
    marked = extend_to_words(format_commands(text) if is_code else text)
    pieces = re.split(f"{BEGIN}(.*?){END}", marked, flags=re.DOTALL)
    return tuple((piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece)


def _plain(text: str) -> str:
    return text.replace(BEGIN, "").replace(END, "")


def read_synonyms(folder: Path | None = None) -> dict[str, list[str]]:
    """Read the synonyms of search words; empty if the file cannot be read."""
    file = (folder or locations.content_folder("lessons")) / SYNONYMS
    try:
        text = locations.read_text(file)
        with cache.open_cache("synonyms", __file__) as known:
            entries = known.get_or_read(text.encode(), lambda: content.read_yaml(text))
    except (OSError, ValueError):
        return {}
    return {
        str(word): [str(one) for one in others]
        for word, others in as_object(entries).items()
        if is_array(others)
    }


def make_json_document(found: SearchResult) -> dict[str, object]:
    """Return the hits, best first within each kind, with the exit code of the command."""
    return {
        "schema": SCHEMA,
        "text": found.text,
        "synonyms": [*found.synonyms],
        "meant": found.meant or None,
        "hits": [_hit_fields(hit) for hit in found.hits],
        "exit_code": int(exit_code(found)),
    }


def exit_code(found: SearchResult) -> ExitCode:
    """Return the exit code of a search."""
    return ExitCode.OK if found.hits else ExitCode.NOTHING_VERIFIED


def _hit_fields(hit: SearchHit) -> dict[str, object]:
    command = _COMMANDS.get(hit.kind)
    return {
        "kind": hit.kind,
        "id": hit.id,
        "title": _joined(hit.title),
        "text": _joined(hit.text) or None,
        "command": command.format(hit.id) if command else None,
        "has_every_word": hit.has_every_word,
        "lines": [
            {"line": line.number, "heading": line.heading, "text": _joined(line.parts)}
            for line in hit.lines
        ],
    }


def _joined(parts: Parts) -> str:
    return " ".join("".join(text for text, _ in parts).split())
