"""The pictures of the screens: all are there in every look, named, and small; none calls out."""

from __future__ import annotations

import re

import pytest

from tests.support.places import TESTS

GITHUB = TESTS.parent / ".github"
LOOKS = ("dark-80", "light-80", "dark-160", "light-160")


@pytest.mark.skipif(not GITHUB.is_dir(), reason="the pictures are in the checkout only")
def test_every_named_picture_exists_and_no_other() -> None:
    """The pictures that SCREENS.md and README name are those that exist, in each look."""
    page = (GITHUB / "SCREENS.md").read_text() + (TESTS.parent / "README.md").read_text()
    named = set(re.findall(r"(?:screens/[\w-]+/[\w-]+|recording)\.svg", page))
    there = {str(path.relative_to(GITHUB)) for path in GITHUB.rglob("*.svg")}

    assert named == there
    for look in LOOKS:
        names = {path.name for path in (GITHUB / "screens" / look).iterdir()}
        assert names == {path.name for path in (GITHUB / "screens" / LOOKS[0]).iterdir()}


@pytest.mark.skipif(not GITHUB.is_dir(), reason="the pictures are in the checkout only")
def test_no_picture_loads_anything_or_is_large() -> None:
    """No picture loads anything or is large, because they are shown by GitHub and cloned."""
    for path in GITHUB.rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(\W*http|<script|xlink:href|@import", text), path
        assert len(text) < (400_000 if path.name == "recording.svg" else 150_000), path
