"""Searches of newcomers, and how often the first answer is the right lesson."""

from __future__ import annotations

from functools import cache

from tests.learning.test_search import LIBRARY, SHELF, SYNONYMS, first
from tests.support.searches import SEARCHES
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.search import search
from tpustarter.learning.search.linear_search import PassageScan


@cache
def found_anywhere(typed: str) -> list[str]:
    """Return the lessons that a search finds for somebody on no path, best first."""
    return first(LIBRARY.search(typed), 99)


def test_most_searches_find_expected_lesson_first() -> None:
    """With an index, and without: a SQLite that lacks FTS5 costs time, and the finest ranking."""
    scan = PassageScan(SHELF)
    with_index = [
        typed for typed, answers in SEARCHES if not {*found_anywhere(typed)[:1]} & {*answers}
    ]
    without = [
        typed
        for typed, answers in SEARCHES
        if not {*first(search.search(scan, typed, SYNONYMS), 3)} & {*answers}
    ]

    assert len(with_index) <= 2, with_index
    assert len(without) <= 3, without


def test_path_lessons_come_first_where_relevant() -> None:
    """The path puts its answers first, and hides none of the others."""
    on_path = before = own = others = off = 0
    for path in read_paths():
        for typed, answers in SEARCHES:
            wanted = {*answers} & {*path.lessons}
            found = LIBRARY.search(typed, path.lessons)
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
