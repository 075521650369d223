"""What is named for a mistyped word: what it resembles, and nothing else."""

from __future__ import annotations

import pytest

from tpustarter.short_ids import nearest

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
def test_a_slip_is_a_letter_too_many_or_few_a_wrong_one_or_a_swapped_pair(
    typed: str, meant: str
) -> None:
    """One of them, or two in a long word; another letter makes another word of a short one."""
    assert ([meant] if meant else []) == nearest(typed, COMMANDS)


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
def test_a_part_may_be_missing_and_one_of_several_too_many(typed: str, meant: str) -> None:
    """What is left has to be alike, and to be a word."""
    assert ([meant] if meant else []) == nearest(typed, PARTS)


def test_of_several_those_with_the_fewest_slips_are_meant() -> None:
    """All of them where they are as near."""
    assert ["every-device", "any-device"] == nearest("device", ["every-device", "any-device"])
    assert ["devices"] == nearest("devicse", ["service", "devices", "diverse"])
