"""Wrapped code and its line numbers: continued lines are marked."""

from __future__ import annotations

import re
from pathlib import Path

from textual.selection import Selection

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.made_lessons import fence
from tests.support.tutor import press, tutor
from tests.tui.test_exercise import LESSON, learner_file, lessons_with_exercise
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.kit.wrapped_code import CodeText

LONG = "total = [number ** 3 for number in range(100)] + [number for number in range(12345)]"


async def test_wrapped_code_line_has_mark(tmp_path: Path) -> None:
    """A wrapped line has a mark in the block and its editor, and copies without it."""
    code = f"{LONG}\nprint(len(total))"

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{fence(code)}"}, size=(60, 30)) as pilot:
        seen = await press(pilot, "enter")
        assert 1 == seen.count("↳")
        assert re.search(r"^┃ total = .*\n┃↳\S.*\n┃ print\(len", seen, re.MULTILINE)
        (shown,) = pilot.app.screen.query(CodeText)
        assert (code, "\n") == shown.get_selection(Selection(None, None))
        assert re.search(r"┃ total = .*\n┃↳\S.*\n┃ print\(len", await press(pilot, "e"))
        editor = pilot.app.screen.query_one(CodeEditor)
        assert code == editor.text.rstrip()
        assert "↳" not in await press(pilot, "ctrl+home", "ctrl+k")


async def test_exercise_and_solution_mark_wrapped_lines(tmp_path: Path) -> None:
    """Wrapped lines of an exercise and its solution have a mark behind their numbers."""
    text = SHIPPED.replace("    return number", f"    {LONG}\n    return number")
    solved = SOLVED.replace("    return 2", f"    {LONG}\n    return 2")

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(60, 60)) as pilot:
        lessons_with_exercise(tmp_path, text)
        (tmp_path / "lessons/start/solutions/double.py").write_text(solved)
        seen = await press(pilot, "enter", "p")
        assert re.search(r"│8      total = .*\n│  ↳\S", seen)
        assert re.search(r"┃8      total = .*\n┃  ↳\S", await press(pilot, "e"))
        assert LONG in learner_file().read_text()
        seen = await press(pilot, "escape", "s", "y")
        assert re.search(r"│      total = .*\n│ ↳\S", seen)


async def test_first_typed_letter_does_not_move_code(tmp_path: Path) -> None:
    """The first typed letter leaves the code in place, also if it brings back an error's code."""
    gap = "```python {} {}=gap\nprint('sum', 1 + {})\n```\n\n"
    folded = f"<details><summary>Answer</summary>\n\n{gap.format('answer', 'of', 2)}</details>\n"
    text = f"# G\n\n{gap.format('try', 'id', '...')}```output of=gap\nsum 3\n```\n\n{folded}"

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        seen = await press(pilot, "enter", "enter", "x", "ctrl+r")
        assert "not yet, line 1" in seen
        before = await press(pilot, "escape", "u", "enter")
        after = await press(pilot, "x")
        assert _place(after) == _place(before)
        assert "1  print" in before


def _place(seen: str) -> int:
    """Return the column in which the code begins."""
    return next(line.index("print(") for line in seen.split("\n") if "print(" in line)


async def test_scroll_bar_does_not_change_wrapping(tmp_path: Path) -> None:
    """The wrapping is the same with and without a scroll bar, so the layout settles."""
    async with tutor(tmp_path, lessons={"asks": f"{LESSON}\n{fence('print(1)')}"}) as pilot:
        lessons_with_exercise(tmp_path)
        for keys in (("enter", "e"), ("escape", "p", "e")):
            await press(pilot, *keys)
            editor = pilot.app.screen.query_one(CodeEditor)
            editor.set_reactive(CodeEditor.show_vertical_scrollbar, False)
            without = editor.wrap_width
            editor.set_reactive(CodeEditor.show_vertical_scrollbar, True)
            assert without == editor.wrap_width
