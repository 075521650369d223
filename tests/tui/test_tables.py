"""Tables of a lesson: widths of columns and contents of cells."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.content import Content

from tests.support.tutor import on_screen, press, tutor
from tpustarter.tui.kit.tables import GAP, TableRows, column_widths

ENDS = [
    ["the end of the message", "what it means"],
    ["No jellyfish device found", "libtpu is there, and the chips are not. " * 5],
    ["already in use by process", "Another program holds the chips."],
]


def contents(rows: list[list[str]]) -> list[list[Content]]:
    """Return rows in the form that a table takes."""
    return [[Content(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("width", [56, 76, 102])
def test_short_column_is_not_broken_beside_long(width: int) -> None:
    """A short column keeps its width beside a long one, which wraps."""
    header, *rows = contents(ENDS)
    lines = [line.plain for line in TableRows(header, rows).lines(width)]

    assert [25, width - 25 - GAP] == column_widths([header, *rows], width)
    assert any(line.startswith("No jellyfish device found  libtpu") for line in lines)
    assert max(map(len, lines)) <= width


def test_fitting_column_has_width_of_content() -> None:
    """A column that fits is as wide as its content."""
    assert [3, 2] == column_widths(contents([["a", "b"], ["abc", "de"]]), 100)


@pytest.mark.parametrize("width", [1, 5, 12, 30])
def test_word_breaks_only_without_room(width: int) -> None:
    """A word breaks only if its column has no room, and no line is wider than the page."""
    header, *rows = contents([["one", "another"], ["unbreakable", "a b c"]])
    lines = [line.plain for line in TableRows(header, rows).lines(width)]

    assert max(map(len, lines)) <= max(width, 2 + GAP)
    assert ("unbreakable" in "\n".join(lines)) == (width == 30)


LINKED = """# Linked

| what | where |
|---|---|
| a [word](../glossary.md#word) and `code here` | somewhere |
"""


async def test_lesson_shows_its_table(tmp_path: Path) -> None:
    """A lesson shows its table, and a click on a link in it does nothing."""
    async with tutor(tmp_path, lessons={"linked": LINKED}, size=(80, 24)) as pilot:
        seen = await press(pilot, "enter")
        row = next(n for n, line in enumerate(seen.split("\n")) if "a word and" in line)
        line = seen.split("\n")[row]
        assert "a word and code here  somewhere" in line
        await pilot.click(offset=(line.index("word") + 1, row))
        assert "a word and code here  somewhere" in on_screen(pilot.app)  # type: ignore[arg-type]
