"""Values parsed from JSON: values of another type are left out without an error."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core.json_values import as_object, as_type, entries_of_type, items_of_type


@dataclass(frozen=True)
class Draft:
    """A sample type to parse into."""

    code: str
    hash: str


SOUND = {"code": "x", "hash": "1", "later": [1]}
BROKEN = ({**SOUND, "code": 1}, {"code": "x"}, {**SOUND, "\ud800": 1}, [], "x", None, 10**400)


def test_sound_value_becomes_its_type() -> None:
    """Unknown fields are ignored."""
    assert Draft("x", "1") == as_type(SOUND, Draft)


def test_value_of_another_type_is_left_out() -> None:
    """A value of another type, or with half a surrogate pair, is left out."""
    named = {str(number): value for number, value in enumerate(BROKEN)}

    assert [Draft("x", "1")] == items_of_type([*BROKEN, SOUND], Draft)
    assert [] == items_of_type([*BROKEN, SOUND], Draft, len(BROKEN))
    assert {"sound": Draft("x", "1")} == entries_of_type({**named, "sound": SOUND}, Draft)


def test_other_container_is_empty() -> None:
    """A list in place of an object, or the reverse, is read as empty."""
    assert ([], {}, {}) == (
        items_of_type({"a": SOUND}, Draft),
        entries_of_type([SOUND], Draft),
        as_object([1]),
    )
