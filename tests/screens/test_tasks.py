"""Tasks of a lesson: opening them, naming the line to change, and keeping them done."""

from __future__ import annotations

from pathlib import Path

from tests.screens.test_open_items import ANSWERED, LONG, TASK, named, on_one_line
from tests.support.made_lessons import TASK_AND_QUESTION
from tests.support.tutor import on_screen, press, tutor


async def test_enter_opens_task_with_end_out_of_sight(tmp_path: Path) -> None:
    """Enter opens a task whose end is out of sight, so typed letters go into the editor."""
    tall = TASK.replace("print(", "x = 1\n" * 30 + "print(")

    for task in (tall, tall.replace("1 + ...", "1  # change")):
        async with tutor(tmp_path, lessons={"tall": f"# Tall\n\n{task}\n"}) as pilot:
            await press(pilot, "enter", "enter")
            assert "Ctrl+R run" in named(pilot)
            assert "print(" in on_screen(pilot.app)


async def test_task_names_edit_key_outside_editor(tmp_path: Path) -> None:
    """The key `e` is not named while the editor is open."""
    task = ANSWERED.replace("1 + ...", "1  # change")

    async with tutor(tmp_path, lessons={"turn": f"# Turn\n\n{task}\n"}) as pilot:
        seen = await press(pilot, "enter", "enter", "ctrl+r")
        assert "change it first" in seen
        assert "with e" not in seen
        assert "To see the answer, press Esc, and then o." in on_one_line(seen)
        assert "change it first, with e" in await press(pilot, "escape")


async def test_enter_opens_task_to_change_line(tmp_path: Path) -> None:
    """Enter opens a task with a line to change; left unchanged, Enter reads on."""
    text = "```python try id=turn\nprint(1)  # change\n```\n\n"
    text += "```python answer of=turn\nprint(2)\n```\n"

    async with tutor(tmp_path, lessons={"turn": f"# Turn\n\n{text}\n{LONG}\n"}) as pilot:
        await press(pilot, "enter")
        assert "Enter change it" in named(pilot)
        assert "your turn: change it here; Ctrl+R runs it" in await press(pilot, "enter")
        seen = await press(pilot, "enter")  # meant to read on, it would move the line down
        assert "Change this line first. To read on without that, press Esc." in on_one_line(seen)
        assert "your turn" in seen
        await press(pilot, "escape")
        assert "Enter read on" in named(pilot)
        await press(pilot, "e", "delete", "escape")
        assert "Enter run" in named(pilot)


async def test_undone_task_stays_done(tmp_path: Path) -> None:
    """An undone task stays done, Enter reads on, and `j` goes to what is open."""
    task = TASK_AND_QUESTION.partition("```quiz")[0]
    lesson = f"# T\n\n{task}\n\n```python run id=below\nprint('ran', 7)\n```\n"

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        await press(pilot, "enter", "enter", "3", "ctrl+r", "escape")
        seen = await press(pilot, "k", "u")
        assert "done before; this is the lesson's code" in seen
        assert named(pilot).startswith(" Enter read on")
        await press(pilot, "j")
        assert "ran 7" in await press(pilot, "enter")


async def test_enter_reopens_task_after_return(tmp_path: Path) -> None:
    """At the end, Enter goes back to the open task and then into it."""
    task = TASK_AND_QUESTION.partition("```quiz")[0]

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{task}\n{LONG}\n"}) as pilot:
        await press(pilot, "enter", "enter", "escape")
        assert named(pilot).startswith(" Enter read on")
        await press(pilot, "end")
        assert named(pilot).startswith(" Enter next open")
        await press(pilot, "enter")
        assert named(pilot).startswith(" Enter fill the gap")
