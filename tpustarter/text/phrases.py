"""Phrases shared by many texts: lists, counts, durations, and matches for a typo.

Every module above `probe/` uses it. Code that travels with the probe, such as the checks, needs
only durations, so those are defined below it, in `machine/`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpustarter.machine.duration import format_duration

__all__ = [
    "choose_plural",
    "format_approximate_duration",
    "format_count",
    "format_duration",
    "format_reading_time",
    "join_words",
    "near_matches",
]

_LIKENESS = 0.8
"""Smallest `difflib` ratio of a match: it allows one typo in five letters, but not in four."""
_SHORTEST = 3
"""Fewest letters of a word that can have a typo."""


def join_words(
    words: Iterable[object], conjunction: str = "and", *, most: int | None = None
) -> str:
    """Return `a`, `a and b` or `a, b and c`. A long list ends with the number of others."""
    listed = [str(word) for word in words]
    if most is not None and len(listed) > most + 1:  # the number takes as much room as one word
        listed = [*listed[:most], f"{len(listed) - most} more"]
    return f" {conjunction} ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))


def format_count(number: int, noun: str, nouns: str = "") -> str:
    """Return `1 chip` or `8 chips`; `nouns` is an irregular plural."""
    return f"{number} {choose_plural(number, noun, nouns or f'{noun}s')}"


def choose_plural(number: int, one: str, many: str) -> str:
    """Return the singular or plural form for a number."""
    return one if number == 1 else many


def format_reading_time(minutes: int) -> str:
    """Return the time that lessons take, never in days, as nobody reads for 24 hours: `26 h`."""
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours))


def format_approximate_duration(seconds: float) -> str:
    """Return an approximate duration in one unit: `0.5 s`, `12 s`, `3 min`."""
    if seconds >= 90:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 2 else f"{max(seconds, 0.1):.1f} s"


def near_matches(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names of which a word is most likely a typo, or an empty list.

    Two swapped letters count as one typo: `tup` matches `tpu`.
    """
    from difflib import SequenceMatcher

    word, names = typed.casefold(), list(names)
    if len(word) > 2 * max(map(len, names), default=0):  # a pasted page, which would take seconds
        return []
    swapped = {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(len(word) - 1)}
    matcher = SequenceMatcher(b=word, autojunk=False)

    def likeness(name: str) -> float:
        matcher.set_seq1(name)
        return 0.99 if name in swapped else matcher.ratio()

    rated = {name: likeness(name.casefold()) for name in names}
    best = max(rated.values(), default=0.0)
    is_near = best == 1 or (best >= _LIKENESS and len(word) >= _SHORTEST)
    return [name for name, rate in rated.items() if rate == best and is_near]
