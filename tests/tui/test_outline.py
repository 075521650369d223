"""The outline of a lesson's sections on a wide terminal."""

from __future__ import annotations

from pathlib import Path

from tests.screens.test_open_items import TASK
from tests.support.made_lessons import fence
from tests.support.tutor import on_screen, press, settle, tutor
from tpustarter.core import content
from tpustarter.learning.progress import lesson_progress

QUIZ = """```quiz id=q
? How many?
( ) One
  Too few.
(x) Two
  Yes.
```"""
LESSON = "\n\n".join(
    [
        "# Parts",
        fence("print('first')", name="one"),
        *(f"Paragraph {n}." for n in range(30)),
        "## The second part",
        fence("print('second')", name="two"),
        fence("print('third')", name="three"),
        *(f"Paragraph {n}." for n in range(30)),
        "## Only words",
        "Words.",
        "## A question",
        QUIZ,
    ]
)


def _outline(seen: str) -> list[str]:
    """Return the rows of the panel."""
    panel = [line.partition("│ ")[2] for line in seen.split("\n")]
    rows = [" ".join(line.rstrip("│ ").split()) for line in panel]
    return [row for row in rows if row]


async def test_outline_shows_current_section_and_open_items(tmp_path: Path) -> None:
    """Questions answered in an earlier session count as done in the outline."""
    async with tutor(tmp_path, lessons={"parts": LESSON}, size=(160, 40)) as pilot:
        [lesson] = content.read_lessons(pilot.app.lessons)
        lesson_progress.record_quiz_answer(lesson, "q", is_right=True)
        rows = _outline(await press(pilot, "enter"))
        assert rows[:2] == ["> Parts 0 of 1 done", "The second part 0 of 2 done"]
        assert rows[2:4] == ["Only words", "A question done"]
        assert _outline(await press(pilot, "enter"))[0] == "> Parts done"
        rows = _outline(await press(pilot, "tab", "enter"))
        assert rows[:2] == ["Parts done", "> The second part 1 of 2 done"]


async def test_heading_code_has_no_backticks(tmp_path: Path) -> None:
    """Code in a heading is shown without backticks."""
    text = f"# Parts\n\n{fence('1')}\n\n## What `[tpu]` adds\n\nWords."

    async with tutor(tmp_path, lessons={"parts": text}, size=(160, 40)) as pilot:
        assert "What [tpu] adds" in _outline(await press(pilot, "enter"))


async def test_glossary_words_of_lesson_are_below_outline(tmp_path: Path) -> None:
    """The glossary words that the lesson links are listed below its sections."""
    async with tutor(tmp_path, size=(160, 40)) as pilot:
        seen = await press(pilot, "enter")
        assert seen.index("In this lesson") < seen.index("Words of this lesson")
        assert "What is said at once." in seen
    async with tutor(tmp_path / "b", lessons={"parts": LESSON}, size=(160, 40)) as pilot:
        assert "Words of this lesson" not in await press(pilot, "enter")


async def test_outline_hides_below_150_columns(tmp_path: Path) -> None:
    """Below 150 columns the outline is hidden, also after a resize."""
    async with tutor(tmp_path, lessons={"parts": LESSON}, size=(150, 40)) as pilot:
        assert "In this lesson" in await press(pilot, "enter")
        await pilot.resize_terminal(149, 40)
        await settle(pilot)
        assert "In this lesson" not in on_screen(pilot.app)


async def test_task_counts_as_open_item(tmp_path: Path) -> None:
    """A section with an open task is not done, and the task's answer does not count."""
    block = fence("print('first')", name="one")
    text = f"# Parts\n\n{block}\n\n## Your turn\n{TASK}"

    async with tutor(tmp_path, lessons={"parts": text}, size=(160, 40)) as pilot:
        rows = _outline(await press(pilot, "enter"))
        assert rows[:2] == ["> Parts 0 of 1 done", "Your turn 0 of 1 done"]
        await press(pilot, "r", "tab", "e", "2", "ctrl+r")
        assert "Your turn done" in " ".join(_outline(on_screen(pilot.app)))
