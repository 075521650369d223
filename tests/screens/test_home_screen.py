"""Home at every size, and the progress that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.tutor import (
    driven,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
)
from tests.tui.test_home import STAGES, staged
from tpustarter.core import content
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.content.paths import read_paths
from tpustarter.learning.progress import course, lesson_progress
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.exercise.screen import ExerciseScreen
from tpustarter.tui.home import course_facts, home_rows
from tpustarter.tui.home.paths_screen import PathsScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.screen import LessonListScreen


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [(["2"], "other"), (["enter"], "laptop"), (["down", "enter"], "other"), (["escape"], None)],
)
async def test_keys_before_paths_load_still_act(
    keys: list[str], chosen: str | None, tmp_path: Path
) -> None:
    """A key typed before the paths load acts once they are there."""
    followed: list[str | None] = []

    async with tutor(tmp_path) as pilot:
        chooser = PathsScreen(followed.append, is_first=True)
        pilot.app.push_screen(chooser)
        await settle(pilot)
        await press(pilot, *keys)
        chooser.show(course_facts.read_course(tmp_path / "lessons"), None)
        await settle(pilot)
        assert [chosen] == followed
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_long_title_wraps_below(tmp_path: Path) -> None:
    """Long titles of paths, stages and lessons wrap, and their figures stay on the first line."""
    long = "the end of a title that is long"

    app = staged(tmp_path)
    order = STAGES.replace("a laptop", f"a laptop, {long}")
    order = order.replace("First steps", f"First steps, {long}")
    (tmp_path / "lessons/paths.yml").write_text(order)
    [file] = (tmp_path / "lessons/start").glob("*-one.md")
    file.write_text(file.read_text().replace("title: One", f"title: One, {long}"))
    async with driven(app, (44, 40)) as pilot:
        await settle(pilot)
        seen = on_screen(app)
        assert re.search(r"1   I only have *\n? +4 lessons|1   I .* 4 lessons", seen), seen
        assert "…" not in seen
        seen = await press(pilot, "1")
        assert re.search(r"▼ First steps, .* 2 lessons, 4 min\n", seen)
        assert re.search(r"next  One, .* 2 min\n", seen)
        assert "…" not in seen


async def test_path_screen_can_be_left_without_choice(tmp_path: Path) -> None:
    """`p` marks the present path with a star, Esc keeps it and Enter takes another."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "p")
        assert "1 * I only have a laptop" in seen
        assert "You are on this path." in seen
        assert "Esc back" in seen
        seen = await press(pilot, "down", "escape")
        assert "Path: I only have a laptop" in seen
        seen = await press(pilot, "p", "j", "k", "j", "enter")
        assert "Path: Another path" in seen
        assert pilot.app.screen.query_one("#home").highlighted_id == "next"


@pytest.mark.parametrize("keys", [("end",), ("pagedown", "pagedown"), ("down",) * 3, "jjj"])
async def test_text_below_last_row_is_reachable_by_key(
    keys: tuple[str, ...], tmp_path: Path
) -> None:
    """The row above is selected, and the text below it scrolls into view."""
    async with tutor(tmp_path, size=(60, 12)) as pilot:
        assert "None yet." not in on_screen(pilot.app)
        assert "None yet. Press c to run one." in await press(pilot, *keys)


async def test_next_stages_are_open_on_high_screen(tmp_path: Path) -> None:
    """A high screen opens all next stages, a smaller one the current; folded ones stay folded."""
    async with driven(staged(tmp_path), (80, 40)) as pilot:
        await settle(pilot)
        seen = await press(pilot, "1")
        assert "▼ The rest" in seen
        assert "Three" in seen
        await pilot.resize_terminal(80, 20)
        await settle(pilot)
        assert "▶ The rest" in on_screen(pilot.app)
        await pilot.resize_terminal(80, 40)
        await settle(pilot)
        assert "▶ The rest" in await press(pilot, "down", "down", "down", "down", "enter")


async def test_space_scrolls_details_that_do_not_fit(tmp_path: Path) -> None:
    """Space scrolls details that do not fit, and the frame names the key."""
    lesson = "# Long\n\nFirst.\n\n" + "\n\n".join(f"## Section {n}" for n in range(30))

    async with tutor(tmp_path, lessons={"long": lesson}, size=(120, 40)) as pilot:
        seen = on_screen(pilot.app)
        assert "Space reads on" in seen
        assert "Section 29" not in seen
        assert " Space  read on " in re.sub("  +", "  ", await press(pilot, "question_mark"))
        await press(pilot, "escape")
        passed = ""
        while "First." not in passed[-len(seen) :]:  # what fits depends on this Python's path
            seen = await press(pilot, "space")
            assert "> Long" in seen
            passed += seen
        assert "Section 29" in passed
        await pilot.resize_terminal(120, 70)
        await until(pilot, lambda: "Space reads on" not in on_screen(pilot.app))
        assert "Space reads on" not in await press(pilot, "space")


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 35), (200, 50)])
async def test_progress_takes_single_line(tmp_path: Path, size: tuple[int, int]) -> None:
    """The progress of every shipped path fits one line; the bar shrinks first."""
    for lesson in ("start/on-a-laptop", "jax/how-fast", "jax/jit-and-recompilation"):
        lesson_progress.record_lesson_done(lesson)
    async with driven(TpustarterApp(checks=write_checks(tmp_path / "checks")), size) as pilot:
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert re.search(r"3 of \d+ (lessons )?done, [\dhmin ]+ of [\dhmin ]+ left", seen)


@pytest.mark.parametrize(("generation", "chip"), [(None, "⠯⠽"), ("v5e", "⠿⠿")])
async def test_chips_of_machine_are_drawn(
    tmp_path: Path, generation: str | None, chip: str
) -> None:
    """Chips are drawn filled if they exist and hollow for virtual devices."""
    app = staged(tmp_path)
    (tmp_path / "root").mkdir()
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    app.machine = lay_out(tmp_path / "root", generation, chips=8, env=env)
    async with driven(app, (160, 40)) as pilot:
        await settle(pilot)
        seen = await press(pilot, "1")
        assert 2 == seen.count(" ".join([chip] * 4))
        await pilot.resize_terminal(80, 24)
        assert chip not in await press(pilot, "down")


async def test_completed_path_shows_open_exercises(tmp_path: Path) -> None:
    """The stage of the open exercises is unfolded, with the first one's lesson beside it."""
    async with driven(TpustarterApp(checks=write_checks(tmp_path / "checks")), (160, 44)) as pilot:
        await settle(pilot)
        await press(pilot, "3")
        path = next(one for one in read_paths() if one.id == "laptop")
        for lesson in path.lessons:
            lesson_progress.record_lesson_done(lesson)
        seen = await press(pilot, "l", "escape")
        assert "▼ Your first day: one device" in seen
        assert "The lesson of this exercise: Arrays and devices" in seen
        assert "A JAX array lives in the HBM" in seen


@pytest.mark.parametrize("size", [(80, 24), (160, 44)])
async def test_open_items_are_below_next_lesson(size: tuple[int, int], tmp_path: Path) -> None:
    """Begun lessons and the next exercise of a done lesson are listed as left open."""
    async with driven(TpustarterApp(checks=write_checks(tmp_path / "checks")), size) as pilot:
        await settle(pilot)
        seen = await press(pilot, "3")
        assert "Left open" not in seen
        for lesson in ("start/on-a-laptop", "jax/how-fast", "jax/first-arrays"):
            lesson_progress.record_lesson_done(lesson)
        gradients = next(one for one in content.read_lessons() if one.id == "jax/gradients")
        block = list_blocks(gradients)[0]
        lesson_progress.record_block(gradients, block, BlockResult(block.id, "pass"))
        seen = await press(pilot, "l", "escape", "home")
        left = seen.partition("Left open")[2].partition(" lessons done")[0]
        assert re.search("Gradients +begun 1 of", left)
        assert re.search("open +Exercise: Update without mutation +Arrays and devices", left)
        assert "more lesson" not in left
        begun = ("jax/random-keys", "jax/sharding", "jax/collectives")
        for lesson in (one for one in content.read_lessons() if one.id in begun):
            block = list_blocks(lesson)[0]
            lesson_progress.record_block(lesson, block, BlockResult(block.id, "pass"))
        assert "and 2 more lessons, which l lists" in await press(pilot, "l", "escape", "home")
        await press(pilot, "e", "enter")
        assert isinstance(pilot.app.screen, ExerciseScreen)
        await press(pilot, "escape", "escape", "down", "enter")
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_typed_but_unrun_code_is_open_item(tmp_path: Path) -> None:
    """A lesson with typed code that has not run is listed as begun."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "l", "down", "enter", "e", *"# mine", "escape", "escape", "escape")
        assert re.search(r"Left open\n +Hangs +begun 0 of 1", on_screen(pilot.app))


async def test_next_lesson_is_marked_after_lesson(tmp_path: Path) -> None:
    """After a finished lesson the next one is marked; otherwise the mark stays."""
    async with tutor(tmp_path) as pilot:
        rows = pilot.app.screen.query_one(RowList)
        await press(pilot, "end")
        assert "next" != (left := rows.highlighted_id)
        await press(pilot, "c", "escape", "escape")
        assert left == rows.highlighted_id
        lesson_progress.record_lesson_done("start/hello")
        await press(pilot, "l", "escape")
        assert "next" == rows.highlighted_id


async def test_details_describe_marked_lesson(tmp_path: Path) -> None:
    """The details are of the lesson that Enter opens, or of the next lesson on other rows."""
    async with tutor(tmp_path, size=(160, 44)) as pilot:
        await press(pilot, "l", "down", "enter", "e", *"# mine", "escape", "escape", "escape")
        assert "─ Next: Hello ─" in on_screen(pilot.app)
        titles = ["Hangs", "Hello", "Hangs", "Next: Hello"]  # left open, on the path, beside it
        for title in titles:
            assert f"─ {title} ─" in await press(pilot, "down")
        assert "─ Next: Hello ─" in await press(pilot, "home")


@pytest.mark.parametrize(
    ("columns", "lines", "shown"), [(160, 44, True), (120, 40, True), (160, 24, False)]
)
async def test_other_actions_are_below_path(
    columns: int, lines: int, shown: bool, tmp_path: Path
) -> None:
    """Each other action has its key and purpose below the path, and Enter runs it."""
    async with driven(
        TpustarterApp(checks=write_checks(tmp_path / "checks")), (columns, lines)
    ) as pilot:
        await settle(pilot)
        seen = await press(pilot, "3")
        assert shown == ("Beside the path" in seen)
        assert re.search(r"\b0 of \d+ lessons", seen)
        if shown:
            assert re.search(r"r +Compile for a TPU that you don't have +see if it fits", seen)
            assert pilot.app.screen.query_one(RowList).max_scroll_y == 0
            await press(pilot, "end", "enter")
            assert isinstance(pilot.app.screen, LessonListScreen)
            await press(pilot, "escape", "escape", *["up"] * 4, "enter")
            assert isinstance(pilot.app.screen, ChecksScreen)


@pytest.mark.parametrize("done", [0, 3, 20])
async def test_other_actions_stay_visible_below_completed_lessons(
    tmp_path: Path, done: int
) -> None:
    """An open stage shows the lessons around the next one, and Enter shows the others."""
    path = next(one for one in read_paths() if one.id == "laptop")
    course.choose_path("laptop")
    for lesson in path.lessons[:done]:
        lesson_progress.record_lesson_done(lesson)
    async with driven(TpustarterApp(checks=write_checks(tmp_path / "checks")), (120, 35)) as pilot:
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert "Beside the path" in seen
        assert "look up a word" in seen.lower()
        assert re.search("   next  ", seen)
        rows = pilot.app.screen.query_one(RowList)
        assert rows.max_scroll_y <= (2 if done == 20 else 0)
        if more := re.search(r"and (\d) more", seen):
            shown = rows.option_count
            rows.highlighted = rows.get_option_index(home_rows.MORE)
            await press(pilot, "enter")
            assert home_rows.MORE not in {option.id for option in rows.options}
            assert rows.option_count >= shown - 1 + int(more[1])
            assert "Beside the path" in on_screen(pilot.app)
