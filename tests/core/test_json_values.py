"""Values of JSON from anywhere: those of another type are left out, and nothing is raised."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core.json_values import as_object, as_type, entries_of_type, items_of_type


@dataclass(frozen=True)
class Draft:
    """A sample of what is read."""

    code: str
    hash: str


SOUND = {"code": "x", "hash": "1", "later": [1]}
BROKEN = ({**SOUND, "code": 1}, {"code": "x"}, {**SOUND, "\ud800": 1}, [], "x", None, 10**400)


def test_sound_value_becomes_its_type() -> None:
    """A field that this version does not know is passed over."""
    assert Draft("x", "1") == as_type(SOUND, Draft)


def test_value_of_another_type_is_left_out() -> None:
    """A name may be half of a character, which no text in UTF-8 can be."""
    named = {str(number): value for number, value in enumerate(BROKEN)}

    assert [Draft("x", "1")] == items_of_type([*BROKEN, SOUND], Draft)
    assert [] == items_of_type([*BROKEN, SOUND], Draft, len(BROKEN))
    assert {"sound": Draft("x", "1")} == entries_of_type({**named, "sound": SOUND}, Draft)


def test_other_container_is_empty() -> None:
    """Neither a list nor an object is expected where the other stands."""
    assert ([], {}, {}) == (
        items_of_type({"a": SOUND}, Draft),
        entries_of_type([SOUND], Draft),
        as_object([1]),
    )
