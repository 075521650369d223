"""Exercises in the app: the editor, other editors and scrolling."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.content import Content

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.gates import wait_for
from tests.support.tutor import HELLO, on_screen, press, settle, tutor, until
from tests.tui.test_exercise import LESSON, add_another, learner_file, lessons_with_exercise
from tpustarter.tui.exercise.exercise_view import ExerciseView
from tpustarter.tui.kit.editor import CodeEditor


async def test_click_on_answer_selects_answer(tmp_path: Path) -> None:
    """A click on an answer's text selects it; a click on the question does nothing."""
    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        rows = (await press(pilot, "enter")).splitlines()
        question = next(row for row, line in enumerate(rows) if "How many devices" in line)
        await pilot.click(offset=(10, question))
        await settle(pilot)
        assert "press 1 or 2" in on_screen(pilot.app)
        right = next(row for row, line in enumerate(rows) if "2  4" in line)
        await pilot.click(offset=(10, right))
        await settle(pilot)
        assert "right  Two cores are one device." in on_screen(pilot.app)


async def test_judging_code_named_by_task_is_shown(tmp_path: Path) -> None:
    """Judging code that the task names is shown below the code, and no other part of it."""
    text = SHIPPED.replace("`double` must", "`is_even` is asked, so `double` must")
    named = "@functools.cache\ndef is_even(number):\n    return number % 2 == 0\n"
    text = text.replace("assert double(4)", f"import functools\n\n\n{named}\n\nassert double(4)")

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path, text)
        seen = await press(pilot, "enter", "p")
        assert "Named in the task; part of what judges your answer" in seen
        assert "@functools.cache" in seen
        assert "return number % 2 == 0" in seen
        assert "assert double(4)" not in seen
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        assert "part of what judges" not in await press(pilot, "enter", "p")


async def test_file_is_shown_as_last_saved(tmp_path: Path) -> None:
    """The file is shown as last saved, without its task and its judging code."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(149, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "enter", "p")
        assert seen.count("def double") == 1
        assert "Judged below" not in seen
        learner_file().write_text(SOLVED.replace("def double", "def  double"))
        await until(pilot, lambda: "def  double" in on_screen(pilot.app))
        await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
        await pilot.resize_terminal(150, 40)
        await settle(pilot)
        assert on_screen(pilot.app).count("def  double") == 1
        learner_file().unlink()
        await press(pilot, "u", "y")
        assert "def double" in on_screen(pilot.app)


async def test_right_answer_leads_back_to_previous_screen(tmp_path: Path) -> None:
    """After a right answer, Esc returns to the screen that opened the exercise, and says so."""
    lessons = {"asks": LESSON, "then": "# Then\n\nOn we go.\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        lessons_with_exercise(tmp_path)
        pilot.app.go.open_lesson("start/then")
        await settle(pilot)
        pilot.app.go.open_exercise("double")
        await settle(pilot)
        learner_file().write_text(SOLVED)
        await until(pilot, lambda: "Back to the lesson Then" in on_screen(pilot.app))
        assert "On we go." in await press(pilot, "escape")
        await press(pilot, "escape", "c")
        pilot.app.go.open_exercise("double")
        await settle(pilot)
        assert "Back to where you were" in await press(pilot, "r")


async def test_line_to_fix_is_seen_with_verdict(tmp_path: Path) -> None:
    """The verdict and the line to fix are both in sight, even below a long task."""
    long = SHIPPED.replace('"""', '"""A title.\n\n' + "Do this, then that.\n\n" * 12, 1)

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 24)) as pilot:
        lessons_with_exercise(tmp_path, long)
        await press(pilot, "enter", "p", "r")
        await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
        # The page scrolls once the verdict is laid out.
        await until(
            pilot,
            lambda: "# your code here" in on_screen(pilot.app).rpartition("Your file")[2],
        )
        assert "Your answer" in on_screen(pilot.app)


async def test_verdict_laid_out_late_is_in_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict scrolls into sight even if Textual calls back before the layout."""
    long = SHIPPED.replace('"""', '"""A title.\n\n' + "Do this, then that.\n\n" * 12, 1)
    marked = 1 + long.splitlines().index("    return number  # your code here")
    monkeypatch.setattr(ExerciseView, "call_after_refresh", lambda _view, call: call())

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 24)) as pilot:
        lessons_with_exercise(tmp_path, long)
        await press(pilot, "enter", "p")
        view = pilot.app.screen.query_one(ExerciseView)
        view.show_answer("fail", [Content("NOT YET" + "\nfound 4" * 4)])
        view.mark_lines([marked])
        view.show_more_of_answer()
        await settle(pilot)
        assert "# your code here" in on_screen(pilot.app).rpartition("Your file")[2]
        await press(pilot, "pageup", "pageup")
        assert "A title" in on_screen(pilot.app)


async def test_file_saved_elsewhere_during_typing_is_kept(tmp_path: Path) -> None:
    """A file saved by another editor while typing is kept as `.old`, with a message."""
    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e")
        other = SHIPPED.replace("number  # your code here", "an hour of work")
        learner_file().write_text(other)
        await press(pilot, "x")
        kept = learner_file().with_name("double.py.old")
        await until(pilot, kept.exists)
        await until(pilot, lambda: "another" in on_screen(pilot.app))  # a path may be broken
        await press(pilot, "y")
        await press(pilot, "escape")
        assert "xy" in learner_file().read_text()
        assert [learner_file(), kept] == sorted(learner_file().parent.iterdir())
        assert other == kept.read_text()


async def test_o_explains_external_editor_before_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is VISUAL's, then EDITOR's; a terminal that cannot be lent is named."""
    from tpustarter.tui.kit.external_editor import find_editor

    monkeypatch.setenv("VISUAL", "my-editor --wait")
    monkeypatch.setenv("EDITOR", "'no words")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_editor() is None
    for name, expected in (("nano", ["nano"]), ("my-editor", ["my-editor", "--wait"])):
        file = tmp_path / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        assert find_editor() == expected

    monkeypatch.setenv("PATH", os.defpath)
    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        (tmp_path / "vi").write_text("#!/bin/sh\n")
        (tmp_path / "vi").chmod(0o755)
        monkeypatch.setenv("VISUAL", str(tmp_path / "vi"))
        seen = await press(pilot, "enter", "p", "o")
        assert "vi opens" in seen
        assert ":wq" in seen
        assert "cannot open" not in await press(pilot, "n")
        assert "this terminal cannot open an editor" in await press(pilot, "o", "y")


async def test_typing_continues_during_judging(tmp_path: Path) -> None:
    """Letters typed while an answer is judged stay in the editor."""
    judges = tmp_path / "judges"
    text = SHIPPED.replace("assert double(4)", f"{wait_for(judges)}assert double(4)")

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path, text)
        await press(pilot, "enter", "p", "e", *"return 2 * number", "enter")
        await pilot.press("ctrl+r", *"# quite")
        judges.touch()
        await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
        assert "# quite sure" in await press(pilot, *" sure")
        assert "Enter go on" in await press(pilot, "escape")


async def test_shift_tab_dedents_and_stays_in_editor(tmp_path: Path) -> None:
    """Shift+Tab removes one indent and keeps the focus in the editor."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(120, 35)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e", "ctrl+end", "ctrl+home", "tab", "tab")
        editor = pilot.app.focused
        assert isinstance(editor, CodeEditor)
        assert editor.text.startswith("        def double")
        await press(pilot, "shift+tab", "shift+tab", "shift+tab")
        assert editor.text.startswith("def double")
        assert pilot.app.focused is editor


async def test_typing_can_begin_during_judging(tmp_path: Path) -> None:
    """Letters typed while the first answer is judged go into the editor."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p")
        await pilot.press("r", "enter", *"return 2 * number")
        await until(pilot, lambda: "return 2 * number" in on_screen(pilot.app))
        await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
        assert "RIGHT" in await press(pilot, "ctrl+r")


async def test_p_opens_exercise_in_sight(tmp_path: Path) -> None:
    """`p` opens the exercise in sight, not the first one of the lesson."""
    link = "\n\n[Exercise: Return the triple](exercises/triple.py)\n"

    async with tutor(tmp_path, lessons={"asks": LESSON + link}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        add_another(tmp_path)
        seen = await press(pilot, "enter", "end")
        assert "Exercise: Return the triple" in seen
        assert "Return the triple" in (await press(pilot, "p")).splitlines()[0]


async def test_visit_to_exercise_keeps_lesson_variables(tmp_path: Path) -> None:
    """Reading a task keeps the lesson's process; judging an answer ends it."""
    async with tutor(tmp_path, lessons={"asks": f"{HELLO}\n{LESSON}"}) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "r")
        holder = pilot.app.live.holder
        assert holder
        assert "double" in (await press(pilot, "p")).splitlines()[0]
        await press(pilot, "escape")
        assert holder == pilot.app.live.holder
        await press(pilot, "p", "r")
        await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
        await press(pilot, "escape")
        assert pilot.app.live.holder is None


async def test_typing_keeps_indentation_and_ends_with_right_answer(tmp_path: Path) -> None:
    """New lines are indented, lines are numbered as in the file, and a right answer ends it."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "enter", "p")
        first = SHIPPED[: SHIPPED.index("def double")].count("\n") + 1
        assert f"{first}  def double" in seen
        seen = await press(pilot, "e")
        assert f"{first}  def double" in seen
        assert f"{first + 1}      return number" in seen
        assert "Ctrl+R judges what you type" in seen
        await pilot.press(*"if number:", "enter", *"return 2 * number", "enter")
        seen = await press(pilot, "ctrl+r")
        assert "    if number:\n        return 2 * number\n" in learner_file().read_text()
        assert "RIGHT" in seen
        await until(pilot, lambda: "Enter go on" in on_screen(pilot.app))


async def test_editor_of_long_answer_fills_screen(tmp_path: Path) -> None:
    """The editor of a long answer has no scroll bar of its own."""
    text = SHIPPED.replace(
        "def double", "\n".join(f"a{n} = {n}" for n in range(26)) + "\n\n\ndef double"
    )

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 60)) as pilot:
        lessons_with_exercise(tmp_path, text)
        seen = await press(pilot, "enter", "p", "e")
        assert "a0 = 0" in seen
        assert "return number" in seen


async def test_typed_text_survives_wider_window(tmp_path: Path) -> None:
    """On a wider window the file is beside the task, with the typed text, and editable."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e", *"return 7 ")
        await pilot.resize_terminal(180, 40)
        await settle(pilot)
        assert "return 7" in on_screen(pilot.app)
        assert "Ctrl+R judge" in await press(pilot, "e")


async def test_typed_line_is_in_sight_below_long_verdict(tmp_path: Path) -> None:
    """The next letter scrolls from a long verdict back to the typed line."""
    loud = SHIPPED.replace("return", "print(*range(40), sep=chr(10)); return")
    assert loud != SHIPPED

    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path, loud)
        await press(pilot, "enter", "p", "enter", "ctrl+r")
        assert "NOT YET" in on_screen(pilot.app)
        assert "def double" not in on_screen(pilot.app)
        seen = await press(pilot, *"# typed")
        assert "# typed" in seen
