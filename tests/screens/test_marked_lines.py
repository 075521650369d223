"""The line of the learner's code that a verdict is about: named and marked."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.tutor import on_screen, press, tutor, until
from tests.tui.test_exercise import LESSON, learner_file, lessons_with_exercise


def _marked(pilot: Pilot[None], attribute: str = "underline") -> str:
    """Return the text painted as marked lines."""
    return "".join(
        segment.text
        for strip in pilot.app.screen._compositor.render_strips()
        for segment in strip
        if segment.style and getattr(segment.style, attribute)
    ).strip()


def _bold(pilot: Pilot[None]) -> str:
    return _marked(pilot, "bold")


async def test_failed_line_is_marked_until_changed(tmp_path: Path) -> None:
    """The failed line is marked in the file and in the editor, with its line number."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e")
        assert "" == _marked(pilot)
        seen = await press(pilot, *"return numbers", "ctrl+k", "ctrl+r")
        assert "BROKEN  NameError" in seen
        number = learner_file().read_text().split("\n").index("    return numbers") + 1
        assert f"line {number}: return numbers" in seen
        assert "return numbers" in _marked(pilot)
        await press(pilot, "x")
        assert "return numbers" not in _marked(pilot)
        await press(pilot, "backspace", "ctrl+r", "escape")
        assert "return numbers" in _marked(pilot)


async def test_wrong_answer_marks_its_changed_line(tmp_path: Path) -> None:
    """The changed line of a wrong answer is marked; a right answer has no mark."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e")
        seen = await press(pilot, *"return 3 * number", "ctrl+k", "ctrl+r", "escape")
        assert "NOT YET  found 12, expected 8" in seen
        assert "you changed line 8: return 3 * number" in seen
        assert "return 3 * number" in _marked(pilot)
        learner_file().write_text(learner_file().read_text().replace("3 *", "2 *"))
        await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
        assert "return 2 * number" not in _marked(pilot)


async def test_solution_has_changed_lines_in_bold(tmp_path: Path) -> None:
    """Changed lines of the solution are bold."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "enter", "p", "s", "y")
        assert "The solution; what it changes is bold" in seen
        assert "return 2 * number" in _bold(pilot)
        assert "def double" not in _bold(pilot)


async def test_raising_line_of_block_stays_marked(tmp_path: Path) -> None:
    """The line that raised is marked, even if it wraps."""
    code = "first = 1\nsecond = first + first + first + first + first + first + (first / 0) + first"
    text = f"# T\n\n```python run id=one\n{code}\n```\n"

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        seen = await press(pilot, "enter", "enter")
        assert "ERROR, line 2  " in seen
        assert _marked(pilot).startswith("second = first")
        assert "2  second" not in seen
        seen = await press(pilot, "e", "ctrl+home")
        assert "2  second = first" in seen
        assert _marked(pilot).startswith("second = first")
        seen = await press(pilot, "x")
        assert "2  second = first" in seen  # nothing moves below the cursor
        assert "second" not in _marked(pilot)
        await press(pilot, "ctrl+a", *"a = [(" + " 1," * 30, "ctrl+r")
        rows = [row.strip("┃ ") for row in on_screen(pilot.app).split("\n")]
        mark = rows.index("^")
        assert "..." in rows[mark - 1]
        shown = on_screen(pilot.app).split("\n")
        assert "(" == shown[mark - 1][shown[mark].index("^")]
