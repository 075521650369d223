"""Says what is wrong with `synonyms.yml`: what is never looked for, or leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from tpustarter import content, locations
from tpustarter.content import Lesson
from tpustarter.learning import glossary, then_now
from tpustarter.learning.passages import Shelf
from tpustarter.learning.search import SYNONYMS, Library
from tpustarter.learning.typed_words import MOST_IN_A_ROW
from tpustarter.problem import Problem


def complaints(folder: Path, lessons: Sequence[Lesson]) -> Iterator[str]:
    """Yield what is wrong with the synonyms of a folder of lessons; nothing where it has none."""
    file = folder / SYNONYMS
    if not file.exists():
        return
    try:
        entries: Any = content.read_yaml(locations.read_text(file))
    except (OSError, ValueError, Problem) as error:
        yield f"{SYNONYMS}: cannot be read: {error}"
        return
    if not isinstance(entries, dict):
        yield f"{SYNONYMS}: expected words, each with a list of other words"
        return
    library = _library(folder, lessons)
    leads = dict[str, bool]()
    for key, others in cast("dict[Any, Any]", entries).items():
        yield from _of_key(key)
        if not isinstance(others, list) or not others:
            yield f"{SYNONYMS}: `{key}` has `{others}`, expected a list of words"
            continue
        for other in cast("list[Any]", others):
            if not isinstance(other, str):
                yield f"{SYNONYMS}: `{key}` has `{other}`, expected a text"
                continue
            if other not in leads:
                leads[other] = any(hit.is_whole for hit in library.search(other).hits)
            if other.casefold() == key:
                yield f"{SYNONYMS}: `{key}` stands for itself"
            elif not leads[other]:
                yield f"{SYNONYMS}: `{key}` stands for `{other}`, which is in no lesson"


def _of_key(key: Any) -> Iterator[str]:
    """Yield why what is typed never matches a key."""
    if not isinstance(key, str):
        yield f"{SYNONYMS}: `{key}` is no text; put it into quotation marks"
    elif key != key.casefold():
        yield f"{SYNONYMS}: `{key}` is never looked for, because what is typed is put in lower case"
    elif len(key.split()) > MOST_IN_A_ROW:
        yield f"{SYNONYMS}: `{key}` is never looked for: expected {MOST_IN_A_ROW} words at most"


def _library(folder: Path, lessons: Sequence[Lesson]) -> Library:
    checks = [check for check in content.read_checks() if not check.broken]
    return Library(Shelf(list(lessons), glossary.read(folder), checks, then_now.read(folder)), {})
