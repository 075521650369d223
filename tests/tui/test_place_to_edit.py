"""Where typing begins in code that a learner is to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.document._document import Document

from tests.support.made_lessons import fence
from tests.support.tutor import press, run, tutor
from tpustarter.tui.editor import Editor, place_to_edit


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("    return x  # your code here", "return x"),
        ("    total = 0.0  # your code here", "total = 0.0"),
        ("    self.step += 1  # your code here", "self.step += 1"),
        ("    y = f(x, ...)", "..."),
        ("    with path.open() as file:  # your code here", ""),
        ("    )  # your code here", ""),
        ("    size = 256  # change to 512", ""),
    ],
)
def test_typing_replaces_what_stands_for_the_learners_own(line: str, replaced: str) -> None:
    """A gap or a statement is marked; what is changed in parts stays."""
    code = f"def clean(x):\n{line}\n"
    place = place_to_edit(code)

    assert place is not None
    assert 1 == place.start[0]
    assert replaced == Document(code).get_text_range(place.start, place.end)
    assert replaced or 4 == place.start[1]


def test_a_wrapped_line_of_code_is_one_line(tmp_path: Path) -> None:
    """Home, End and what deletes to an end go by lines of the file, not by rows of the screen."""
    long = "total = " + " + ".join(map(str, range(30)))
    lesson = "# T\n\n" + fence(f"if True:\n    {long}")

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
            await press(pilot, "enter", "e", "ctrl+end", "up", "end")
            editor = pilot.app.screen.query_one(Editor)
            await press(pilot, "home")
            assert editor.cursor_location == (1, 4)
            await press(pilot, "home")
            assert editor.cursor_location == (1, 0)
            await press(pilot, "end")
            assert editor.cursor_location == (1, 4 + len(long))
            await press(pilot, "home", "ctrl+k")
            assert editor.text.splitlines() == ["if True:", "    "]

    run(journey)
