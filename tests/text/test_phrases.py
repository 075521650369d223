"""Lists, counts and lengths of time, as sentences have them."""

from __future__ import annotations

import pytest

from tpustarter.text import phrases


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
        ([4, 8], "4 and 8"),
    ],
)
def test_list_ends_with_its_conjunction(words: list[object], expected: str) -> None:
    """A list that is too long ends with the number of the others."""
    assert expected == phrases.join_words(words, most=3)


def test_alternatives_are_joined_by_or() -> None:
    """The conjunction is an argument."""
    assert "a, b or c" == phrases.join_words("abc", "or")


@pytest.mark.parametrize(
    ("number", "forms", "expected"),
    [
        (0, ("chip",), "0 chips"),
        (1, ("chip",), "1 chip"),
        (8, ("chip",), "8 chips"),
        (1, ("process", "processes"), "1 process"),
        (2, ("chip is", "chips are"), "2 chips are"),
    ],
)
def test_count_agrees_with_its_noun(number: int, forms: tuple[str, ...], expected: str) -> None:
    """A count agrees with its noun: one is singular, and everything else plural."""
    assert expected == phrases.format_count(number, *forms)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0 s"),
        (59.9, "59 s"),
        (61, "1 min"),
        (7200, "2 h"),
        (11_400, "3 h 10 min"),
        (86_400, "1 day"),
        (2 * 86_400 + 4 * 3600, "2 days 4 h"),
    ],
)
def test_duration_has_at_most_two_units(seconds: float, expected: str) -> None:
    """A duration has at most two units, and smaller ones are left out."""
    assert expected == phrases.format_duration(seconds)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0.1 s"), (0.5, "0.5 s"), (12.4, "12 s"), (89, "89 s"), (170, "3 min")],
)
def test_estimate_has_one_unit(seconds: float, expected: str) -> None:
    """Tenths are shown below two seconds alone."""
    assert expected == phrases.format_approximate_duration(seconds)


@pytest.mark.parametrize(
    ("minutes", "text"), [(0, "0 min"), (8, "8 min"), (60, "1 h"), (1570, "26 h 10 min")]
)
def test_reading_time_has_no_days(minutes: int, text: str) -> None:
    """A day of reading has fewer than 24 hours."""
    assert text == phrases.format_reading_time(minutes)
