"""Where lessons were left: kept, forgotten, bounded, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpustarter.core import state
from tpustarter.learning.progress import bookmarks


def test_a_place_is_kept_until_it_is_forgotten() -> None:
    """Each lesson has one of its own."""
    bookmarks.save_bookmark("jax/one", "heading One")
    bookmarks.save_bookmark("jax/two", "block two")

    assert bookmarks.read_bookmark("jax/one") == "heading One"

    bookmarks.save_bookmark("jax/one", None)

    assert bookmarks.read_bookmark("jax/one") is None
    assert bookmarks.read_bookmark("jax/two") == "block two"


def test_the_oldest_place_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file cannot grow for ever, and neither can a place."""
    monkeypatch.setattr(bookmarks, "MOST", 3)
    for number in range(5):
        bookmarks.save_bookmark(f"jax/{number}", "x" * 999)

    places = [bookmarks.read_bookmark(f"jax/{number}") for number in range(5)]

    assert [None, None] == places[:2]
    assert [bookmarks.MOST_LETTERS] * 3 == [len(place or "") for place in places[2:]]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"lessons": []}',
        '{"lessons": {"jax/a": 1}}',
        '{"lessons": {"jax/a": {}}}',
        '{"lessons": {"jax/a": {"place": 7}}}',
        '{"lessons": {"jax/a": {"place": ""}}}',
    ],
)
def test_a_broken_file_is_no_place(text: str) -> None:
    """The lesson opens at its beginning, and the next place is kept."""
    state.prepare_state_path(bookmarks.NAME).write_text(text)

    assert bookmarks.read_bookmark("jax/a") is None

    bookmarks.save_bookmark("jax/a", "block a")

    assert bookmarks.read_bookmark("jax/a") == "block a"


def test_unwritable_folder_breaks_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A place is not worth an error."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "file"))

    bookmarks.save_bookmark("jax/a", "block a")

    assert bookmarks.read_bookmark("jax/a") is None
