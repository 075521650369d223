"""Problems of `synonyms.yml`: keys that are never searched, and words that match nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tpustarter.core import content, locations
from tpustarter.core.content import Lesson
from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import Problem
from tpustarter.learning.content import glossary, tutorial_claims
from tpustarter.learning.search.passages import SearchSources
from tpustarter.learning.search.search import SYNONYMS, SearchLibrary
from tpustarter.learning.search.search_query import MOST_IN_A_ROW


def find_synonyms_file_mistakes(folder: Path, lessons: Sequence[Lesson]) -> Iterator[str]:
    """Yield a sentence for each problem in the `synonyms.yml` of a folder of lessons."""
    file = folder / SYNONYMS
    if not file.exists():
        return
    try:
        entries = content.read_yaml(locations.read_text(file))
    except (OSError, ValueError, Problem) as error:
        yield f"{SYNONYMS}: cannot be read: {error}"
        return
    if not is_object(entries):
        yield f"{SYNONYMS}: expected words, each with a list of other words"
        return
    library = _library(folder, lessons)
    leads = dict[str, bool]()
    for key, others in entries.items():
        yield from _check_key(key)
        if not is_array(others) or not others:
            yield f"{SYNONYMS}: `{key}` has `{others}`, expected a list of words"
            continue
        for other in others:
            if not isinstance(other, str):
                yield f"{SYNONYMS}: `{key}` has `{other}`, expected a text"
                continue
            if other not in leads:
                leads[other] = any(hit.has_every_word for hit in library.search(other).hits)
            if other.casefold() == key:
                yield f"{SYNONYMS}: `{key}` stands for itself"
            elif not leads[other]:
                yield f"{SYNONYMS}: `{key}` stands for `{other}`, which is in no lesson"


def _check_key(key: object) -> Iterator[str]:
    if not isinstance(key, str):
        yield f"{SYNONYMS}: `{key}` is no text; put it into quotation marks"
    elif key != key.casefold():
        yield f"{SYNONYMS}: `{key}` is never looked for, because what is typed is put in lower case"
    elif len(key.split()) > MOST_IN_A_ROW:
        yield f"{SYNONYMS}: `{key}` is never looked for: expected {MOST_IN_A_ROW} words at most"


def _library(folder: Path, lessons: Sequence[Lesson]) -> SearchLibrary:
    checks = [check for check in content.read_checks() if not check.broken]
    return SearchLibrary(
        SearchSources(
            list(lessons),
            glossary.read_glossary(folder),
            checks,
            tutorial_claims.read_claims(folder),
        ),
        {},
    )
