"""The list of exercises in the app: solved ones, the next one, and opening them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.learning.test_exercises import SHIPPED, SOLVED
from tests.support.tutor import driven, on_screen, press, settle, tutor, until
from tests.tui.test_exercise import LESSON, add_another, learner_file, lessons_with_exercise
from tpustarter.learning.progress import lesson_progress
from tpustarter.text import invocation
from tpustarter.text.invocation import tpustarter_command
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.exercise.list_screen import ExerciseListScreen
from tpustarter.tui.exercise.screen import ExerciseScreen
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.lesson.screen import LessonRunScreen


async def test_e_lists_exercises_with_next_marked(tmp_path: Path) -> None:
    """`e` lists the exercises with the next open one marked; a solved one is not the next."""
    async with driven(TpustarterApp(), (80, 24)) as pilot:
        await settle(pilot)
        seen = await press(pilot, "3", "e")
        assert re.search(r"0 of \d+ exercises of your path solved", seen)
        rows = pilot.app.screen.query_one(RowList)
        assert "jax/update-without-mutation" == rows.highlighted_id
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, ExerciseScreen)
        await press(pilot, "escape", "l")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        await press(pilot, "escape", "escape")
        lesson_progress.record_lesson_done("jax/first-arrays")
        lesson_progress.record_verdict("jax/first-arrays", "update-without-mutation", is_right=True)
        seen = await press(pilot, "e")
        assert re.search(r"solved +Update without mutation", seen)
        assert "jax/pad-to-few-shapes" == pilot.app.screen.query_one(RowList).highlighted_id


async def test_v_filters_exercises_and_title_names_filter(tmp_path: Path) -> None:
    """`v` switches from all exercises to open ones, to solved ones and back."""
    async with driven(TpustarterApp(), (120, 35)) as pilot:
        await settle(pilot)
        lesson_progress.record_verdict("jax/first-arrays", "update-without-mutation", is_right=True)
        counted = r"1 of \d+ exercises of your path solved, "
        every = re.search(counted + r"(\d+) in all", await press(pilot, "3", "e"))
        assert every
        seen = await press(pilot, "v")
        assert f"{int(every[1]) - 1} open of {every[1]} exercises" in seen
        assert "solved  " not in seen
        seen = await press(pilot, "v")
        assert re.search(r"solved +Update without mutation", seen)
        assert f"1 solved of {every[1]} exercises" in seen
        assert every[0] in await press(pilot, "v")
        assert "Explain an error" in (await press(pilot, "f")).splitlines()[0]
        assert "Explain an error" in (await press(pilot, "escape", "escape", "l", "f"))
        seen = await press(pilot, "escape", "colon", *"explain")
        assert 1 == seen.count("Explain an error, or a log (f)")
        assert "f at home" not in seen


@pytest.mark.parametrize("size", [(80, 24), (120, 35)])
async def test_command_of_marked_exercise_is_shown_whole(
    size: tuple[int, int], tmp_path: Path
) -> None:
    """The command of the marked exercise is on one line, however long its task."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=size) as pilot:
        lessons_with_exercise(tmp_path, SHIPPED.replace("its number", f"its {'long ' * 99}"))
        add_another(tmp_path)
        assert f"{tpustarter_command()} learn --exercise start/double\n" in await press(pilot, "e")
        seen = await press(pilot, "down")
        assert f"{tpustarter_command()} learn --exercise start/triple\n" in seen
        assert 1 == seen.count("learn --exercise")


@pytest.mark.parametrize(("name", "is_led_to"), [("tpustarter", True), ("x" * 40, False)])
async def test_command_as_wide_as_line_stands_alone(
    name: str, is_led_to: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command as wide as the line is printed without its introduction."""
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: name)

    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "e")
        assert f"{name} learn --exercise start/double\n" in seen
        assert is_led_to == ("In a shell: " in seen)


async def test_opened_exercise_is_not_begun(tmp_path: Path) -> None:
    """An opened exercise counts as begun only after something was typed into it."""
    async with tutor(tmp_path, lessons={"asks": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "e")
        assert "Not judged yet" in await press(pilot, "enter")
        assert not re.search(r"begun +Return the double", await press(pilot, "escape"))
        await press(pilot, "enter", "e", *"return 3", "escape", "escape")
        assert re.search(r"begun +Return the double", on_screen(pilot.app))


async def test_broken_exercise_leaves_others_usable(tmp_path: Path) -> None:
    """A broken exercise hides only those of its own lesson."""
    async with tutor(tmp_path, lessons={"asks": LESSON, "other": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        other = next((tmp_path / "lessons/start").glob("*-other.md"))
        text = other.read_text().replace("minutes: 2", "minutes: 2\nexercises: [gone]")
        other.write_text(text)
        seen = await press(pilot, "e")
        assert "0 of 1 exercise solved" in seen
        assert "Return the double" in seen
        assert "gone" in seen


@pytest.mark.parametrize("size", [(60, 15), (120, 35), (200, 50)])
async def test_task_is_shown_before_opening_exercise(size: tuple[int, int], tmp_path: Path) -> None:
    """The task of the marked exercise is beside or below the list, if there is room."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=size) as pilot:
        lessons_with_exercise(tmp_path)
        seen = await press(pilot, "e")
        assert isinstance(pilot.app.screen, ExerciseListScreen)
        assert ("double must return twice its number." in seen) == (size[1] > 18)
        assert "Return the double" in on_screen(pilot.app)


async def test_right_answer_leads_to_next_exercise_of_list(tmp_path: Path) -> None:
    """Enter opens the next open exercise, and Esc the list with that one marked."""
    async with tutor(tmp_path, lessons={"asks": LESSON, "other": LESSON}) as pilot:
        lessons_with_exercise(tmp_path)
        add_another(tmp_path)
        await press(pilot, "e", "enter")
        learner_file().write_text(SOLVED)
        await until(pilot, lambda: "The next exercise of the list" in on_screen(pilot.app))
        await settle(pilot)
        assert "Back to the list of exercises" in on_screen(pilot.app)
        assert "Return the triple" in (await press(pilot, "enter")).splitlines()[0]
        seen = await press(pilot, "escape")
        assert re.search(r"solved +Return the double", seen)
        assert "start/triple" == pilot.app.screen.query_one(RowList).highlighted_id
