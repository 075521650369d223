"""Suggestions for a mistyped word: only names that resemble it."""

from __future__ import annotations

import pytest

from tpustarter.core.short_ids import find_nearest

COMMANDS = (
    "check",
    "learn",
    "rehearse",
    "setup",
    "tpu",
    "trc",
    "explain",
    "run",
    "report",
    "serve",
    "plan",
)
PARTS = ("use-jit", "fit-once", "every-device", "out-of-bounds", "first-arrays")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("chek", "check"),
        ("cehck", "check"),
        ("chack", "check"),
        ("CHECKS", "check"),
        ("lern", "learn"),
        ("rhrsee", ""),
        ("reheasre", "rehearse"),
        ("rehaersee", "rehearse"),
        ("tup", "tpu"),
        ("gpu", ""),
        ("rn", ""),
        ("install", ""),
        ("exercise", ""),
        ("", ""),
    ],
)
def test_slip_is_single_wrong_letter_or_swap(typed: str, meant: str) -> None:
    """A slip is one wrong letter or swap, or two in a long word."""
    assert ([meant] if meant else []) == find_nearest(typed, COMMANDS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("jti", "use-jit"),
        ("device", "every-device"),
        ("divice", "every-device"),
        ("the-first-arrays", "first-arrays"),
        ("out-bounds", "out-of-bounds"),
        ("bogus", ""),
        ("last-arrays", ""),
        ("of", ""),
    ],
)
def test_missing_part_matches_and_superfluous_part_too(typed: str, meant: str) -> None:
    """A missing or superfluous part still matches, if the rest is a similar word."""
    assert ([meant] if meant else []) == find_nearest(typed, PARTS)


def test_nearest_words_are_suggested() -> None:
    """The nearest words are suggested, all of them if they are equally near."""
    assert ["every-device", "any-device"] == find_nearest("device", ["every-device", "any-device"])
    assert ["devices"] == find_nearest("devicse", ["service", "devices", "diverse"])
