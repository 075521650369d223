"""What a mistyped name was meant for: only what it really resembles, for a far guess helps nobody.

A slip is a letter too many, one too few, a wrong one, or two that are swapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHORTEST = 3
"""Letters of the shortest name that can be a slip of another."""
_SHORT = 4
"""Letters up to which one wrong letter makes another word, as in `jit` and `fit`."""
_TWO_SLIPS = 7
"""Letters from which on a name may have two slips."""

_MANY_PARTS = 3
"""Parts of a name of which one may be left out of account; else `a.log` would be like `log`."""


def nearest(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names with the fewest slips; else those with a part more or less than typed."""
    names = list(names)
    return _fewest((slips(typed, name), name) for name in names) or _fewest(
        (_parts_apart(typed, name), name) for name in names
    )


def slips(typed: str, name: str) -> int | None:
    """Return by how many slips two names differ; None where they are not alike."""
    typed, name = typed.casefold(), name.casefold()
    if typed == name:
        return 0
    length = min(len(typed), len(name))
    most = 2 if length >= _TWO_SLIPS else 1
    if length < _SHORTEST or abs(len(typed) - len(name)) > most:
        return None
    found = _distance(typed, name, wrong_letter=2 if length <= _SHORT else 1)
    return found if found <= most else None


def _distance(one: str, other: str, *, wrong_letter: int) -> int:
    """Return the cost of making one text the other, a neighbouring pair swapped being one slip."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        here = [row]
        for column, wanted in enumerate(other, 1):
            cost = 0 if letter == wanted else wrong_letter
            best = min(above[column] + 1, here[-1] + 1, above[column - 1] + cost)
            if row > 1 < column and one[row - 2] == wanted and letter == other[column - 2]:
                best = min(best, before[column - 2] + 1)
            here.append(best)
        before, above = above, here
    return above[-1]


def _parts_apart(typed: str, name: str) -> int | None:
    """Return how many parts two names differ by, where the one has all parts of the other.

    What was typed may lack any of the parts, as `jti` for `use-jit`. Of three or more, one may be
    too many.
    """
    wanted, there = _parts(typed), _parts(name)
    if len(wanted) > len(there) + 1:
        return None
    missing = [part for part in wanted if not any(_is_slip(part, one) for one in there)]
    extra = [part for part in there if not any(_is_slip(one, part) for one in wanted)]
    if missing and (extra or len(missing) > 1 or len(wanted) < _MANY_PARTS):
        return None
    is_clear = any(len(part) >= _SHORTEST for part in wanted if part not in missing)
    return len(missing) + len(extra) if is_clear else None


def _is_slip(one: str, other: str) -> bool:
    return slips(one, other) is not None


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\W_]+", name.casefold()) if part]


def _fewest(rated: Iterable[tuple[int | None, str]]) -> list[str]:
    known = [(count, name) for count, name in rated if count is not None]
    fewest = min((count for count, _ in known), default=None)
    return [name for count, name in known if count == fewest]
