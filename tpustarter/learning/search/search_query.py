"""The words of a search: those typed, their completions, and guesses for mistyped ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tpustarter.learning.search.passages import PassageSource
from tpustarter.text import phrases

MOST_IN_A_ROW = 3
"""Maximum number of words in a phrase of the synonyms."""
_MOST_WORDS = 12
_LEAST_INSIDE = 3
"""Longest word, in letters, that is not searched inside others: `ray` is in every `array`."""

_LEAST_TO_GUESS = 4
"""Fewest letters of a word that may be mistyped: `cnn` is not a typo of `nan`."""
_NOISE = re.compile(
    "an?|about|and|are|at|be|by|can(not)?|do(es)?|for|from|get|give[ns]?|how|i|if|in|is|its?|me|my|"
    "not|of|on|ones?|or|our|s|set|should|so|t|than|that|the|their|then|there|these|they|this|to|up|"
    "used?|using|vs|was|we|what|when|where|which|who|why|will|with|works?|would|yours?"
)
"""Common words with little meaning, searched only if nothing else is typed."""


def split_query(text: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words to search; consecutive words that have synonyms form one phrase."""
    typed = re.findall(r"\w+(?:[-./]\w+)*", text.casefold())[:_MOST_WORDS]
    found: list[str] = []
    while typed:
        for count in range(MOST_IN_A_ROW, 0, -1):
            phrase = " ".join(typed[:count])
            if count == 1 or (len(typed) >= count and phrase in synonyms):
                found.append(phrase)
                typed = typed[count:]
                break
    return [word for word in found if not _NOISE.fullmatch(word)] or found


def expand_word(texts: PassageSource, word: str) -> list[str]:
    """Return the search terms for a typed word: words that begin with it or contain it."""
    pieces = re.findall(r"\w+", word)
    if len(pieces) != 1:
        return [f"{word}*"]
    return [f"{word}*", *(texts.find_words(word) if len(word) > _LEAST_INSIDE else [])]


def is_short(word: str) -> bool:
    """Return whether a word has so few letters that its parts are noise where it is found whole."""
    return len(word) <= _LEAST_INSIDE


def suggest_words(known: Collection[str], words: Sequence[str]) -> str:
    """Return the query with unknown words replaced by similar known ones, or "" without a guess."""
    near = [word if word in known else _near(word, known) for word in words]
    return " ".join(near) if all(near) and near != list(words) else ""


def _near(word: str, known: Collection[str]) -> str:
    """Return a similar word with the same first letter, or "" if there is none."""
    alike = [one for one in known if one[:1] == word[:1]] if len(word) >= _LEAST_TO_GUESS else []
    return next(iter(phrases.near_matches(word, alike)), "")


def is_abbreviation_of(word: str, other: str) -> bool:
    """Return whether a word abbreviates another by leaving out letters, as bf16 does bfloat16."""
    letters = iter(other.casefold())
    return word[:1] == other[:1].casefold() and all(letter in letters for letter in word)
