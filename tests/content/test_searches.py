"""Searches of newcomers, and how often the expected lesson is the first hit."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learning.test_search import first, shipped_library
from tests.support.searches import SEARCHES
from tpustarter.core import content
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.search import search
from tpustarter.learning.search.linear_search import PassageScan


@cache
def found_anywhere(typed: str) -> list[str]:
    """Return the lessons that a search finds for somebody on no path, best first."""
    return first(shipped_library().search(typed), 99)


def test_most_searches_find_expected_lesson_first() -> None:
    """The SQLite index and the plain scan find the expected lesson; the scan ranks less finely."""
    scan, synonyms = PassageScan(search.read_sources()), search.read_synonyms()
    with_index = [
        typed for typed, answers in SEARCHES if not {*found_anywhere(typed)[:1]} & {*answers}
    ]
    without = [
        typed
        for typed, answers in SEARCHES
        if not {*first(search.search(scan, typed, synonyms), 3)} & {*answers}
    ]

    assert len(with_index) <= 2, with_index
    assert len(without) <= 3, without


def test_path_lessons_come_first_where_relevant() -> None:
    """Lessons of the path come first where they answer, and no other is hidden."""
    on_path = before = own = others = off = 0
    for path in read_paths():
        for typed, answers in SEARCHES:
            wanted = {*answers} & {*path.lessons}
            found = shipped_library().search(typed, path.lessons)
            assert {*first(found, 99)} >= {*found_anywhere(typed)[:3]}
            if wanted:
                own += 1
                on_path += first(found)[0] in wanted
                before += found_anywhere(typed)[0] in wanted
            else:
                others += 1
                off += first(found)[0] not in answers

    assert on_path >= before + 20, (on_path, before, own)
    assert off <= 12, (off, others)


@given(st.text())
@settings(deadline=None, max_examples=60)
def test_any_typed_text_can_be_searched(typed: str) -> None:
    """No part of the typed text is interpreted as an operator of the index."""
    assert shipped_library().search(typed).text == typed


@pytest.mark.parametrize(
    "typed",
    [
        '"',
        "a OR b",
        "NEAR(",
        "title:x",
        "*",
        "-x",
        "^x",
        "a AND",
        "{}",
        pytest.param("a" * 100_000, id="a long word"),
    ],
)
def test_operators_are_words(typed: str) -> None:
    """Operators of FTS5 are searched for as ordinary words."""
    shipped_library().search(typed)


def test_synonym_finds_its_word() -> None:
    """Each synonym finds a lesson, and each key is in lower case."""
    synonyms = search.read_synonyms()

    assert {} == {
        word: others
        for word, others in synonyms.items()
        if not any(shipped_library().search(str(other)).select_kind("lesson") for other in others)
    }
    assert {word: word for word in synonyms} == {word: word.casefold() for word in synonyms}
    assert content.read_lessons()


def test_broad_search_drops_weakest_hits() -> None:
    """A broad search returns fewer hits but keeps at least 76 expected answers."""
    found = {typed: found_anywhere(typed) for typed, _ in SEARCHES}
    kept = sum(len({*found[typed]} & {*answers}) for typed, answers in SEARCHES)

    assert 76 <= kept
    assert sum(map(len, found.values())) / len(found) < len(content.read_lessons()) / 9
    assert len(found["checkpoint"]) >= 3
