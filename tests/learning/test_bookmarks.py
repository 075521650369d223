"""Bookmarks in lessons: saved, forgotten, limited in number, and harmless if unreadable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpustarter.core import state
from tpustarter.learning.progress import bookmarks


def test_a_place_is_kept_until_it_is_forgotten() -> None:
    """Each lesson has its own bookmark, which can be removed."""
    bookmarks.save_bookmark("jax/one", "heading One")
    bookmarks.save_bookmark("jax/two", "block two")

    assert bookmarks.read_bookmark("jax/one") == "heading One"

    bookmarks.save_bookmark("jax/one", None)

    assert bookmarks.read_bookmark("jax/one") is None
    assert bookmarks.read_bookmark("jax/two") == "block two"


def test_the_oldest_place_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file has a limit, and the oldest bookmark is dropped first."""
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
    """A broken file is read as no bookmark, and the next one is saved."""
    state.prepare_state_path(bookmarks.NAME).write_text(text)

    assert bookmarks.read_bookmark("jax/a") is None

    bookmarks.save_bookmark("jax/a", "block a")

    assert bookmarks.read_bookmark("jax/a") == "block a"


def test_unwritable_folder_breaks_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With an unwritable folder a bookmark is not saved, and nothing fails."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "file"))

    bookmarks.save_bookmark("jax/a", "block a")

    assert bookmarks.read_bookmark("jax/a") is None
