"""The app driven by keys on sample lessons and checks, as a learner uses it."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.tutor import (
    HANGS,
    HELLO,
    is_alive,
    on_screen,
    press,
    run,
    settle,
    tutor,
    until,
    write_lessons,
)
from tpustarter.checking.machine_check import CheckRequest
from tpustarter.checking.run import runner
from tpustarter.checking.run.runner import ENDING
from tpustarter.learning.progress import lesson_progress
from tpustarter.tui.app.launch import TerminalApp
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.lesson.screen import LessonRunScreen

SIZES = [(120, 40), (40, 15)]
HOSTILE = "[red]x[/red] [@click=app.bell]y[/] \x1b[31mz\x1b[0m \x1b]0;title\x07 \u202e"


async def test_first_session_leads_from_home_to_next_lesson(tmp_path: Path) -> None:
    """A first session: run, break, undo and pass a lesson, then go to the next."""
    async with tutor(tmp_path) as pilot:
        seen = on_screen(pilot.app)
        assert "> Hello" in seen
        assert "no TPU" in seen
        assert "0 of 2 lessons, 4 min" in seen

        seen = await press(pilot, "enter")
        assert "Hello" in seen.splitlines()[0]
        assert "not run yet" in seen
        assert "r run" in seen

        seen = await press(pilot, "r")
        assert "hello you" in seen
        assert re.search(r"pass +\d", seen)

        await press(pilot, "e", *"1/0", "enter")
        assert "Ctrl+R run  Esc done" in on_screen(pilot.app)
        seen = await press(pilot, "escape")
        assert "edited, not run yet" in seen
        seen = await press(pilot, "r")
        assert "ERROR" in seen
        assert seen.count("ZeroDivisionError") == 1  # in the traceback

        seen = await press(pilot, "u", "r")
        assert "again you" in seen or "pass" in seen
        await press(pilot, "tab", "r")
        await press(pilot, "r")
        assert lesson_progress.is_lesson_done("start/hello")

        seen = await press(pilot, "n")
        assert "Hangs" in seen.splitlines()[0]

        seen = await press(pilot, "escape")
        assert "1 of 2 lessons done, 2 min of 4 min left" in seen
        assert "> Hangs" in seen


async def test_running_block_stops_and_process_ends_with_lesson(tmp_path: Path) -> None:
    """Esc stops a block at once; the heading names its process, and `t` ends it."""
    async with tutor(tmp_path, lessons={"hangs": HANGS, "hello": HELLO}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "process" in _printed(pilot.app))
        seen = on_screen(pilot.app)
        pid = int(re.findall(r"process (\d+)", _printed(pilot.app))[0])
        assert "Ctrl+C stop" in seen
        assert "r run" not in seen
        assert "RUN" in seen
        assert is_alive(pid)

        seen = await press(pilot, "escape")
        assert re.search(r"STOPPED  \d+\.\d s, by you", seen)
        assert is_alive(pid)  # with the names in it, as in a REPL

        await press(pilot, "n", "r")
        seen = on_screen(pilot.app)
        assert re.search(r"pid \d+", seen)
        assert "t end process" in seen
        seen = await press(pilot, "t", "y")
        assert not re.search(r"pid \d+", seen.splitlines()[0])
        assert "t end process" not in seen

        await press(pilot, "r")
        held = pilot.app.live.holder
        assert held is not None
        await press(pilot, "escape")
        assert not is_alive(held.pid)


def _printed(app: object) -> str:
    views = app.screen._page.views  # type: ignore[attr-defined]
    return "".join(view.output_tail for view in views)


async def test_quit_during_block_leaves_no_process(tmp_path: Path) -> None:
    """Quitting ends the block's process."""
    async with tutor(tmp_path, lessons={"hangs": HANGS}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "process" in _printed(pilot.app))
        pid = int(re.findall(r"process (\d+)", _printed(pilot.app))[0])
        await pilot.press("q")

    assert not is_alive(pid)


async def test_checks_run_live_then_worst_comes_first(tmp_path: Path) -> None:
    """After the run the worst check is first, with keys for its log and lesson."""
    async with tutor(tmp_path, checks=("fails", "passes", "warns", "raises")) as pilot:
        seen = await press(pilot, "c")
        words = re.findall(r"^ (FAIL|ERROR|WARN|PASS) +host", seen, re.MULTILINE)
        assert words == ["FAIL", "ERROR", "WARN", "PASS"]
        last = lesson_progress.read_last_check_run()
        assert last is not None
        assert "tpu" != last["verified_on"]
        assert str(last["headline"]) in " ".join(seen.split())
        rows = pilot.app.screen.query_one("#rows")
        assert rows.highlighted_id == "host.fails"

        seen = await press(pilot, "enter")
        assert "host.passes" not in seen
        await press(pilot, "escape", "down", "g")
        assert "Traceback" in on_screen(pilot.app)
        assert "Log of host.raises" in on_screen(pilot.app)
        assert "Log of" not in await press(pilot, "down")
        assert "Log of" not in await press(pilot, "up")

        await press(pilot, "a")
        assert rows.highlighted_id == "host.raises"
        assert "again:" in on_screen(pilot.app)
        seen = await press(pilot, "escape")
        assert "Last check" in seen
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_check_opens_its_lesson(tmp_path: Path) -> None:
    """`o` opens the lesson of the marked check."""
    async with tutor(tmp_path, checks=("fails",)) as pilot:
        await press(pilot, "c")
        lesson = pilot.app.screen._list.checks["host.fails"].lesson
        await press(pilot, "o")
        assert isinstance(pilot.app.screen, LessonRunScreen) or f"`{lesson}`" in on_screen(
            pilot.app
        )


async def test_run_of_checks_stops_at_once(tmp_path: Path) -> None:
    """`x` stops the hanging check, and checks that did not run are listed as not run."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert "x stop" in seen
        assert "a again" not in seen
        await press(pilot, "x")
        seen = on_screen(pilot.app)
        assert seen.count("NOT RUN") == 2
        assert "stopped before the end" in seen
        assert "x stop" not in seen


async def test_soaking_check_ends_when_screen_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing the screen ends a check that soaks; `x` only asks it to end."""
    monkeypatch.setattr(runner, "FINISH_S", float("inf"))

    async with tutor(tmp_path, checks=("soaks_deaf",)) as pilot:
        app = pilot.app
        screen = ChecksScreen(CheckRequest(ids=("host.soaks_deaf",), minutes=60))
        app.push_screen(screen)
        await until(pilot, lambda: "still here" in on_screen(app))
        selfcheck = screen._selfcheck
        assert selfcheck is not None
        await pilot.press("x")
        await until(pilot, lambda: ENDING[:20] in on_screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: bool(selfcheck.run.results))
        assert not isinstance(app.screen, ChecksScreen)


@pytest.mark.parametrize("size", SIZES)
async def test_every_screen_fits_and_shows_working_keys(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    """At every size each screen names a key, fits the terminal and raises no error."""
    async with tutor(tmp_path, size=size) as pilot:
        for keys in (
            ("l",),
            ("enter",),
            ("r",),
            ("w",),
            ("escape",),
            ("escape",),
            ("escape",),
            ("c",),
            ("enter",),
            ("escape",),
            ("escape",),
            ("s",),
            ("escape",),
            ("comma",),
            ("question_mark",),
            ("escape",),
            ("escape",),
            ("slash",),
            ("escape",),
            ("escape",),
        ):
            seen = await press(pilot, *keys)
            last = " ".join(seen.splitlines()[-4:])
            assert "quit" in last or "close" in last or "Esc" in last, (keys, seen)
            assert all(len(line) <= size[0] for line in seen.splitlines())
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_help_lists_keys_with_commands(tmp_path: Path) -> None:
    """`?` shows the help of the present screen."""
    async with tutor(tmp_path, size=(120, 60)) as pilot:
        seen = await press(pilot, "question_mark")
        assert "tpustarter check" in seen
        assert "your next step" in seen
        await press(pilot, "escape")
        seen = await press(pilot, "l", "question_mark")
        assert "searches titles, lessons" in seen


async def test_hostile_text_is_plain_on_every_screen(tmp_path: Path) -> None:
    """Markup is shown as text, and no control character reaches the terminal."""
    lesson = f"""# {HOSTILE}

{HOSTILE}

```python run id=evil
print({HOSTILE!r})
raise ValueError({HOSTILE!r})
```
"""

    (tmp_path / "root").mkdir()
    machine = lay_out(tmp_path / "root", env={"PATH": "/usr/bin", "JAX_PLATFORMS": HOSTILE})
    async with tutor(
        tmp_path, lessons={"evil": lesson}, checks=("writes_markup",), machine=machine
    ) as pilot:
        for keys in (("enter",), ("r",), ("escape",), ("c",), ("g",), ("escape",), ("comma",)):
            seen = await press(pilot, *keys)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", seen), keys


async def test_thousand_lessons_are_listed_and_searched(tmp_path: Path) -> None:
    """A thousand lessons can be listed and searched."""
    lessons = {f"lesson-{n:04}": f"# {n}\n\nword{n} in it\n" for n in range(1000)}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        seen = await press(pilot, "l", "end")
        assert "1000 of 1000" in seen
        assert "Lesson-0999" in seen
        seen = await press(pilot, "slash", *"word777")
        assert "1 of 1000" in seen


async def test_huge_output_is_cut_and_survives_resize(tmp_path: Path) -> None:
    """The last lines of a huge output are shown with a note on the rest, at any width."""
    lesson = "# Much\n\n```python run id=much\nfor n in range(5000):\n    print('line', n)\n```\n"

    async with tutor(tmp_path, lessons={"much": lesson}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await pilot.resize_terminal(40, 15)
        await settle(pilot)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        assert "lines above" in _printed(pilot.app)
        assert "line 4999" in _printed(pilot.app)
        seen = on_screen(pilot.app)
        assert "pass" in seen or "line" in seen


async def test_focus_and_place_survive_run(tmp_path: Path) -> None:
    """The marked check stays marked and focused after the run reorders the list."""
    async with tutor(tmp_path, checks=("passes", "warns", "fails", "hangs")) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        rows = pilot.app.screen.query_one("#rows")
        was_marked = rows.highlighted_id
        await pilot.press("end")
        await until(pilot, lambda: rows.highlighted_id != was_marked)
        marked = rows.highlighted_id
        await press(pilot, "x")
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert marked == rows.highlighted_id
        assert rows.has_focus


async def test_marked_row_is_visible_without_colours(tmp_path: Path) -> None:
    """The marked row is painted reversed."""
    async with tutor(tmp_path) as pilot:
        rows = pilot.app.screen.query_one("#home")
        lines = [rows.render_line(y) for y in range(rows.size.height)]
        reversed_text = [line.text for line in lines if next(iter(line)).style.reverse]
        assert "> Hello" in reversed_text[0]


def test_garbage_collection_resumes_after_first_screen(tmp_path: Path) -> None:
    """Garbage collection is off until the first screen, because everything imported stays."""
    thresholds = gc.get_threshold()

    async def journey() -> None:
        gc.disable()
        async with TerminalApp(lessons=write_lessons(tmp_path)).run_test() as pilot:
            await until(pilot, gc.isenabled)

    try:
        run(journey)
    finally:
        gc.enable()
        gc.set_threshold(*thresholds)
