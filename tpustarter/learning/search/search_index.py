"""The search index: SQLite's full-text search (FTS5) over all passages.

Building it takes a fifth of a second, so it is cached in the state folder, keyed by the texts.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, TypeVar

import msgspec

from tpustarter.core import cache
from tpustarter.learning.search import passages
from tpustarter.learning.search.passages import (
    BEGIN,
    COLUMNS,
    END,
    LONGEST_PIECE,
    MOST_TERMS,
    WEIGHTS,
    Kind,
    Passage,
    PassageMatch,
    SearchSources,
    Terms,
)

_Row = TypeVar("_Row")


def has_fts5() -> bool:
    """Return whether this Python's SQLite has full-text search."""
    try:
        with closing(_opened()) as database:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.Error:
        return False
    return True


class SearchIndex:
    """An index of all passages; safe in any thread. It closes its database when it goes."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._lock = threading.Lock()
        weakref.finalize(self, database.close)

    def find(
        self, terms: Terms, kinds: Sequence[Kind], *, every: bool, most: int
    ) -> list[PassageMatch]:
        """Return the passages that contain every word, or any word, best matches first.

        Args:
            terms: The alternatives for each word.
            kinds: The kinds of passages to search.
            every: True if every word must occur.
            most: Maximum number of passages to return.
        """
        shown = range(1 if "lesson" in kinds else len(COLUMNS))  # a whole lesson is long
        marks = ", ".join(
            f"highlight(passages, {number + 3}, '{BEGIN}', '{END}')" if number in shown else "''"
            for number in range(len(COLUMNS))
        )
        weights = ", ".join(str(weight) for weight in (0, 0, 0, *WEIGHTS))
        rows = self._rows(
            f"SELECT kind, id, {marks}, numbers, -bm25(passages, {weights}) AS weight "  # noqa: S608
            f"FROM passages WHERE passages MATCH ? AND kind IN ({', '.join('?' * len(kinds))}) "
            "ORDER BY weight DESC LIMIT ?",
            (_expression(terms, every=every), *kinds, most),
            tuple[Kind, str, str, str, str, str, str, float],
        )
        return [
            PassageMatch(row[0], row[1], tuple(row[2:6]), tuple(map(int, row[6].split())), row[7])
            for row in rows
        ]

    def find_words(self, piece: str) -> list[str]:
        """Return the stemmed words of the index that contain part of a word."""
        piece = piece.casefold().replace("%", "")
        if len(piece) > LONGEST_PIECE:
            return []  # SQLite refuses patterns of more than 50,000 bytes
        stem = re.sub(r"(?<=...)(?:ers?|ing|ed|es|s|e)$", "", piece)
        found = self._rows(
            "SELECT term FROM vocabulary WHERE term LIKE ? OR term LIKE ? "
            "ORDER BY doc DESC LIMIT ?",
            (f"%{piece}%", f"%{stem}", MOST_TERMS),
            tuple[str],
        )
        return [term for (term,) in found]

    def words(self) -> list[str]:
        """Return the words of titles and headings, as candidates for a mistyped word."""
        texts = self._rows("SELECT title || ' ' || heading FROM passages", (), tuple[str])
        return sorted(
            {word for (text,) in texts for word in re.findall(r"\w{3,}", text.casefold())}
        )

    def _rows(self, statement: str, values: tuple[object, ...], kind: type[_Row]) -> list[_Row]:
        with self._lock:
            rows = self._database.execute(statement, values).fetchall()
        return [msgspec.convert(row, kind) for row in rows]


def open_index(sources: SearchSources) -> SearchIndex:
    """Return the index of the texts, from the cache if possible."""
    if not hasattr(sqlite3.Connection, "serialize"):  # before Python 3.11
        return SearchIndex(_made(sources))
    kept = cache.read_or_build("search", _source(sources), __file__, lambda: _bytes_of(sources))
    database: Any = _opened()  # Python 3.10 has no `deserialize`
    try:
        if kept:
            database.deserialize(kept)
            database.execute("SELECT count(*) FROM passages WHERE passages MATCH 'tpu'")
            return SearchIndex(database)
    except sqlite3.Error:  # written by another SQLite version
        pass
    database.close()
    return SearchIndex(_made(sources))


def _bytes_of(sources: SearchSources) -> bytes:
    with closing(_made(sources)) as opened:
        database: Any = opened
        return database.serialize()  # nor this


def _source(sources: SearchSources) -> bytes:
    """Return all indexed texts, as the cache key."""
    texts = [
        f"{lesson.id}\n{lesson.title}\n{lesson.first_line}\n{lesson.text}"
        for lesson in sources.lessons
    ]
    checks = [(check.id, check.title) for check in sources.checks]
    claims = [(claim.id, claim.then, claim.now) for claim in sources.claims]
    return repr(
        (passages.FORM, sqlite3.sqlite_version, texts, sources.words, checks, claims)
    ).encode()


def _opened() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _made(sources: SearchSources) -> sqlite3.Connection:
    database = _opened()
    _fill(database, passages.list_passages(sources))
    return database


def _fill(database: sqlite3.Connection, everything: Iterable[Passage]) -> None:
    database.execute(
        f"CREATE VIRTUAL TABLE passages USING fts5(kind UNINDEXED, id UNINDEXED, "
        f"numbers UNINDEXED, {', '.join(COLUMNS)}, tokenize = 'porter unicode61')"
    )
    database.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                one.kind,
                one.id,
                " ".join(map(str, one.numbers)),
                one.title,
                one.heading,
                one.prose,
                one.code,
            )
            for one in everything
        ),
    )
    database.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passages, row)")
    database.commit()


def _expression(terms: Terms, *, every: bool) -> str:
    """Return the FTS5 query. Each term is quoted, because it may contain FTS5's operators."""
    alternatives = [
        "(" + " OR ".join(_quoted(text) for text in texts) + ")" for texts in terms if texts
    ]
    return (" AND " if every else " OR ").join(alternatives)


def _quoted(text: str) -> str:
    star = text.endswith("*")
    return '"' + text.rstrip("*").replace('"', '""') + '"' + "*" * star
