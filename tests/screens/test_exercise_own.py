"""The learner's part of an exercise: cursor, replaced text and verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.gates import wait_for
from tests.support.tutor import HELLO, on_screen, press, settle, tutor, until
from tests.tui.test_exercise import LESSON, learner_file, lessons_with_exercise
from tpustarter.tui.exercise.answer_editor import LearnerCode
from tpustarter.tui.exercise.answer_judge import JUDGED_NEXT, OTHER_ENDS
from tpustarter.tui.kit.editor import CodeEditor


def _write(code: str) -> None:
    """Save the learner's part of the file, as another editor does."""
    text = learner_file().read_text()
    own = text[text.index("def double") : text.index("# Judged")]
    learner_file().write_text(text.replace(own, f"{code}\n\n"))


@pytest.mark.parametrize(
    ("code", "verdict", "column"),
    [
        ("def double(number):\n    a = 1\n      b = 2\n    return a\n", "unexpected indent", 6),
        ("def double(number):\n    a = 1\n    b = a / 0\n    return a\n", "ZeroDivisionError", 4),
        ("def double(number):\n    return x\n    return number\n", "NameError", 4),
    ],
)
async def test_enter_opens_line_named_by_verdict(
    tmp_path: Path, code: str, verdict: str, column: int
) -> None:
    """Enter puts the cursor on the line of the verdict, not on the last edited line."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e", "ctrl+home", "escape")
        _write(code)
        await until(pilot, lambda: verdict in on_screen(pilot.app))
        seen = await press(pilot, "enter")
        editor = pilot.app.screen.query_one(CodeEditor)
        line = editor.cursor_location[0]
        named = seen.partition("line ")[2].partition(":")[0]
        assert int(named) == line + 7
        assert (column, column) == (editor.selection.start[1], editor.selection.end[1])


async def test_enter_returns_to_column_typed_in_failed_line(tmp_path: Path) -> None:
    """Enter returns to the typed column if that line failed, and else to the failed line."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e", *"return nmber", "ctrl+r", "escape", "enter")
        editor = pilot.app.screen.query_one(CodeEditor)
        assert (1, len("    return nmber")) == editor.cursor_location
        await press(pilot, "ctrl+home", "ctrl+r", "escape", "enter")
        assert (1, 4) == pilot.app.screen.query_one(CodeEditor).cursor_location


async def test_replaced_text_is_named_until_first_letter(tmp_path: Path) -> None:
    """The text that typing replaces is named above the code until the first letter."""
    above, replaced = "Lines 1 to 6 are the task's text.", "What you type replaces return number."

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "enter", "p")
        assert above in seen
        assert "7  def double" in seen
        before = await press(pilot, "enter")
        assert replaced in before
        assert above not in before
        after = await press(pilot, "x")
        assert above in after
        assert "replaces" not in after
        assert _row(before) == _row(after)
        await press(pilot, "ctrl+z")
        assert above in await press(pilot, "escape")
        await press(pilot, "enter", "end", "shift+home")
        assert "replaces" not in on_screen(pilot.app)


async def test_long_statement_to_replace_fits_single_line(tmp_path: Path) -> None:
    """A long statement is named in one line, so that the code does not move."""
    long = "return number + " + " + ".join("number" for _ in range(12))

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(60, 40)) as pilot:
        lessons_with_exercise(tmp_path, SHIPPED.replace("return number ", f"{long} "))
        before = await press(pilot, "enter", "p", "enter")
        assert "What you type replaces return number + number" in before
        row = _row(before)
        await press(pilot, "x")
        await until(pilot, lambda: "7  def double" in on_screen(pilot.app))
        assert row == _row(on_screen(pilot.app))


async def test_long_solution_is_shown_from_its_beginning(tmp_path: Path) -> None:
    """A solution taller than the screen is shown from its first line."""
    steps = "".join(f"    step_{number} = number\n" for number in range(30))

    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        long = SOLVED.replace("    return", f"{steps}    return")
        (tmp_path / "lessons/start/solutions/double.py").write_text(long)
        seen = await press(pilot, "enter", "p", "s", "y")
        assert "The solution" in seen
        assert "step_0 = number" in seen
        assert "step_29" not in seen


def _row(seen: str) -> int:
    """Return the row in which the code begins."""
    return next(row for row, line in enumerate(seen.split("\n")) if "7  def double" in line)


async def test_verdict_above_changed_text_is_marked_stale(tmp_path: Path) -> None:
    """The verdict is marked as old from the first letter typed after it was asked for."""
    old = "Your answer, before your change"

    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e")
        assert old not in await press(pilot, *"return 3")
        assert old not in await press(pilot, "ctrl+r")
        assert "NOT YET" in on_screen(pilot.app)
        assert old in await press(pilot, "0")
        await pilot.press("ctrl+r", "1")
        await until(pilot, lambda: "found 30" in on_screen(pilot.app))
        assert old in on_screen(pilot.app)
        assert old in await press(pilot, "escape")
        assert old not in await press(pilot, "r")


@pytest.mark.parametrize("size", [(80, 40), (150, 40)])
async def test_right_answer_offers_solution(tmp_path: Path, size: tuple[int, int]) -> None:
    """A right answer offers the solution first, and shows both codes."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=size) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p")
        learner_file().write_text(SOLVED.replace("2 * number", "number + number"))
        await until(pilot, lambda: "Enter go on" in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert "s      The shipped solution, to compare with yours" in seen
        assert "Enter go on  s solution" in seen.splitlines()[-1]
        seen = await press(pilot, "s")
        assert "return number + number" in seen
        assert "return 2 * number" in seen
        assert "to compare with yours" not in seen
        assert "s solution" not in seen.splitlines()[-1]


async def test_first_judging_names_ended_lesson_process(tmp_path: Path) -> None:
    """Judging the first answer ends the lesson's process, and says so; the second does not."""
    async with tutor(tmp_path, lessons={"asks": HELLO}) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "r", "p")
        said = OTHER_ENDS.split(". ")[0].rpartition(",")[2]
        assert said not in on_screen(pilot.app)
        assert said in await press(pilot, "r")
        assert said not in await press(pilot, "r")


async def test_text_typed_during_judging_is_judged_next(tmp_path: Path) -> None:
    """Text typed while judging, with Ctrl+R again, is judged next; stopping cancels that."""
    judges = tmp_path / "judges"
    text = SHIPPED.replace("assert double(4)", f"{wait_for(judges)}assert double(4)")

    async with tutor(tmp_path, lessons={"asks": HELLO}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path, text)
        await press(pilot, "enter", "p", "e", *"return number")
        await pilot.press("ctrl+r", *" * 2", "ctrl+r")
        said = pilot.app._notifications
        await until(pilot, lambda: JUDGED_NEXT in [one.message for one in said])
        judges.touch()
        await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
        judges.unlink()
        await press(pilot, "enter")
        await pilot.press("ctrl+r", "ctrl+r", "ctrl+c")
        await settle(pilot)
        assert "RUN" not in on_screen(pilot.app)


async def test_right_answer_names_keys_that_work_in_editor(tmp_path: Path) -> None:
    """While the editor is open, the verdict names only keys that do not type text."""
    judges = tmp_path / "judges"
    text = SHIPPED.replace("assert double(4)", f"{wait_for(judges)}assert double(4)")

    async with tutor(tmp_path, lessons={"asks": HELLO}, size=(100, 40)) as pilot:
        lessons_with_exercise(tmp_path, text)
        await press(pilot, "enter", "p", "e", *"return 2 * number")
        await pilot.press("ctrl+r", *"  #")
        judges.touch()
        await until(pilot, lambda: "Esc, Esc    Back to" in on_screen(pilot.app))
        assert "Esc, s" in on_screen(pilot.app)
        seen = await press(pilot, "escape")
        assert "Esc, " not in seen
        assert "Esc    Back to" in seen


async def test_verdict_stays_in_sight_while_typing(tmp_path: Path) -> None:
    """The verdict stays on a fixed line below the page while typing."""
    judges = tmp_path / "judges"
    prints = "print(*range(40), sep=chr(10))\n"
    text = SHIPPED.replace("assert double(4)", f"{prints}{wait_for(judges)}assert double(4)")

    async with tutor(tmp_path, lessons={"asks": LESSON, "then": HELLO}) as pilot:
        lessons_with_exercise(tmp_path, text)
        await press(pilot, "enter", "p", "e")
        await pilot.press("ctrl+r", *"return 2 * number")
        judges.touch()
        await until(pilot, lambda: "NOT YET" in on_screen(pilot.app))
        judges.unlink()
        seen = await press(pilot, " ")
        assert "Before your change: NOT YET  found 4, expected 8" in seen
        await pilot.press("ctrl+r", *"  #")
        judges.touch()
        await until(pilot, lambda: "RIGHT" in on_screen(pilot.app))
        seen = await press(pilot, "a")
        assert "Before your change: RIGHT  Esc, Enter goes on." in seen
        assert "goes on." not in await press(pilot, "escape")


@pytest.mark.parametrize(("width", "is_beside"), [(119, False), (120, True), (150, True)])
async def test_solution_is_beside_code_on_wide_screen(
    tmp_path: Path,
    width: int,
    is_beside: bool,
) -> None:
    """From 120 columns on, the solution is beside the code, with at least 54 columns each."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(width, 35)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e", *"return number + number", "escape")
        assert (width >= 150) == pilot.app.screen.query_one("#own-beside").display
        await press(pilot, "s", "y")
        solution = pilot.app.screen.query_one("#solution")
        shown = next(one for one in pilot.app.screen.query(LearnerCode) if one.display)
        assert is_beside == (shown.region.x > solution.region.right - 1)
        assert not is_beside or min(solution.size.width, shown.size.width) >= 54
        seen = on_screen(pilot.app)
        assert "return number + number" in seen
        assert "return 2 * number" in seen
        assert "Ctrl+R judge" in await press(pilot, "e")
        seen = await press(pilot, *" - 0")
        assert "return number + number - 0" in seen, seen
