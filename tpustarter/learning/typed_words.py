"""What is looked for: the words that were typed, their beginnings, and what was meant by a slip."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tpustarter.learning.passages import Searchable

MOST_IN_A_ROW = 3
"""Words in a row that can mean one thing."""
_MOST_WORDS = 12
_LIKENESS = 0.8
"""How alike two words are, from 0 to 1, of which one may be the other with a slip."""
_LEAST_TO_GUESS = 4
"""Letters of a word from which it is guessed what was meant: `cnn` is not a mistyped `nan`."""
_NOISE = re.compile(
    "an?|about|and|are|at|be|by|can(not)?|do(es)?|for|from|get|give[ns]?|how|i|if|in|is|its?|me|my|"
    "not|of|on|ones?|or|our|s|set|should|so|t|than|that|the|their|then|there|these|they|this|to|up|"
    "used?|using|vs|was|we|what|when|where|which|who|why|will|with|works?|would|yours?"
)
"""Words that stand everywhere and say little; looked for only where nothing else is typed."""


def words(text: str, synonyms: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what is looked for: words, and some words in a row where they mean one thing."""
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


def parts(texts: Searchable, word: str) -> list[str]:
    """Return what begins with a word, and the words that it is a part of."""
    pieces = re.findall(r"\w+", word)
    if len(pieces) != 1:
        return [f"{word}*"]
    return [f"{word}*", *(texts.containing(word) if len(word) > 2 else [])]


def meant(known: Collection[str], words: Sequence[str]) -> str:
    """Return the words with those that nothing has replaced by near ones; empty without any."""
    near = [word if word in known else _near(word, known) for word in words]
    return " ".join(near) if all(near) and near != list(words) else ""


def _near(word: str, known: Collection[str]) -> str:
    """Return the word that was mistyped, which begins like it; empty for one too short to tell."""
    from difflib import get_close_matches

    alike = [one for one in known if one[:1] == word[:1]] if len(word) >= _LEAST_TO_GUESS else []
    swapped = {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(1, len(word) - 1)}
    neighbours = [one for one in alike if one in swapped]  # too unlike by letters where they are 4
    return next(iter(neighbours or get_close_matches(word, alike, n=1, cutoff=_LIKENESS)), "")


def is_short_for(word: str, other: str) -> bool:
    """Return whether a word is another one with letters left out, as bf16 is bfloat16."""
    letters = iter(other.casefold())
    return word[:1] == other[:1].casefold() and all(letter in letters for letter in word)
