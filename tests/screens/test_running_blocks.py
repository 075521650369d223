"""Blocks run in the app: gaps, long outputs, and keys during a run."""

from __future__ import annotations

from pathlib import Path

from tests.support.made_lessons import fence
from tests.support.tutor import HELLO, on_screen, press, tutor, until
from tests.tui.test_running import GAPS, _current, _results, lines_come, long_until, until_there
from tpustarter.tui.lesson.page.lesson_page import LessonPage


async def test_keys_belong_to_marked_block(tmp_path: Path) -> None:
    """Keys act on the marked block, also after Tab scrolled to it."""
    far = (f"Paragraph {n}." for n in range(60))
    text = "\n\n".join(["# K", fence("1", name="one"), *far, fence("1 / 0", name="two")])

    async with tutor(tmp_path, lessons={"k": text}) as pilot:
        assert "f why it failed" in await press(pilot, "enter", "tab", "r")
        assert "f why it failed" not in await press(pilot, "shift+tab")
        assert "f why it failed" in await press(pilot, "tab")


async def test_enter_after_last_block_reads_to_end(tmp_path: Path) -> None:
    """After the last block, Enter reads to the end, which names the next step."""
    text = f"{HELLO}\n" + "\n\n".join(f"Paragraph {n}." for n in range(40))

    async with tutor(tmp_path, lessons={"hello": text}) as pilot:
        await press(pilot, "enter", "tab", "enter")
        page = pilot.app.screen._page
        assert page.scroll_offset.y < page.max_scroll_y
        await press(pilot, *["enter"] * 6)
        assert page.scroll_offset.y == page.max_scroll_y


async def test_key_reruns_everything_down_to_block(tmp_path: Path) -> None:
    """`a` runs everything above again in a new process."""
    lesson = HELLO.replace(
        'print("again"', 'print("count", count := globals().get("count", 0) + 1, "again"'
    )

    async with tutor(tmp_path, lessons={"hello": lesson}, size=(80, 40)) as pilot:
        await press(pilot, "enter", "tab", "r")
        assert "count 2" in await press(pilot, "r")
        seen = await press(pilot, "a")
        assert "count 1" in seen
        assert "hello you" in seen


async def test_run_above_gap_reports_gap(tmp_path: Path) -> None:
    """Blocks with gaps are named and left out; the first gap is the marked block."""
    async with tutor(tmp_path, lessons={"gaps": GAPS}) as pilot:
        await press(pilot, "enter", "tab")
        said = " ".join((await press(pilot, "a")).split())
        assert {"one": "pass"} == _results(pilot)
        assert "Block 2 of 5 waits for your code. Press e" in said
        assert ["two"] == _current(pilot)
        await press(pilot, "tab", "tab")
        said = " ".join((await press(pilot, "a")).split())
        assert {"one": "pass", "three": "pass"} == _results(pilot)
        assert "Block 2 and block 4 were left out, because they wait" in said
        assert ["four"] == _current(pilot)
        assert "sum" in said


async def test_failure_above_gap_is_reported_instead_of_gap(tmp_path: Path) -> None:
    """A failure above a gap is reported as the reason for the stop, not the gap."""
    text = GAPS.replace("print('second')", "1 / 0")
    async with tutor(tmp_path, lessons={"gaps": text}) as pilot:
        await press(pilot, "enter", "tab", "tab", "tab")
        seen = await press(pilot, "a")
        assert "ZeroDivisionError" in seen
        assert "left out" not in seen
        assert "waits" not in seen


async def test_letters_after_ctrl_c_answer_no_question(tmp_path: Path) -> None:
    """Letters typed after Ctrl+C go into the editor and do not confirm the question to quit."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", "ctrl+end", "enter")
        seen = await press(pilot, "ctrl+c")
        assert "To quit, press Ctrl+C again." in seen
        assert "Ctrl+C quit  Esc type on" in seen
        assert "y quit" not in seen
        seen = await press(pilot, *"step_key")
        assert "step_key" in seen
        assert "Quit" not in seen
        await press(pilot, "ctrl+c", "escape", *"y")
        assert "step_keyy" in on_screen(pilot.app)
        await press(pilot, "ctrl+c", "ctrl+c")
        assert 130 == pilot.app.return_code


async def test_ctrl_c_in_editor_asks_too(tmp_path: Path) -> None:
    """Ctrl+C in the editor asks before quitting, and typed text stays."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# mine", "ctrl+c", *" too")
        assert "# mine too" in on_screen(pilot.app)


async def test_block_with_expected_exception_says_so(tmp_path: Path) -> None:
    """A block that prints an expected exception passes as `raises, as it should`."""
    catches = fence(
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print(type(error).__name__)",
        "ZeroDivisionError",
    )

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{catches}"}) as pilot:
        seen = await press(pilot, "enter", "r")
        assert "pass  raises, as it should  " in seen
    async with tutor(tmp_path) as pilot:
        assert "raises" not in await press(pilot, "enter", "r")


async def test_long_output_is_followed_then_verdict_shown(tmp_path: Path) -> None:
    """Output longer than the screen is followed, and the verdict shown at the end."""
    goes_on = tmp_path / "goes-on"
    text = "# T\n\n" + fence(long_until(goes_on))

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "line 45" in on_screen(pilot.app))
        assert "line 10 " not in on_screen(pilot.app)
        goes_on.touch()
        await until(pilot, lambda: "pass " in on_screen(pilot.app))


async def test_typed_line_stays_in_sight_during_output(tmp_path: Path) -> None:
    """Typing during output scrolls to the editor, and the page stays there."""
    looked = tmp_path / "looked"
    text = "# T\n\n" + fence(until_there(looked))

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        await press(pilot, "enter")
        await pilot.press("e", "ctrl+r")
        await until(pilot, lambda: "line 42" in on_screen(pilot.app))
        [view] = pilot.app.screen.query_one(LessonPage).views
        assert "import time" not in on_screen(pilot.app)
        await pilot.press("#", "Q")
        await until(pilot, lambda: "#Q" in on_screen(pilot.app))
        await lines_come(pilot, view)
        assert "#Q" in on_screen(pilot.app)
        looked.touch()
        await until(pilot, lambda: not view.state.is_busy)


async def test_scrolled_page_stays_during_output(tmp_path: Path) -> None:
    """A page scrolled up during output stays where it is."""
    looked = tmp_path / "looked"  # a block that ends earlier shows its verdict, as it should
    text = "# T\n\n" + fence(until_there(looked))

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "line 42" in on_screen(pilot.app))
        await pilot.press("home")
        await until(pilot, lambda: "import time" in on_screen(pilot.app))
        [view] = pilot.app.screen.query_one(LessonPage).views
        await lines_come(pilot, view)
        assert "import time" in on_screen(pilot.app)
        looked.touch()
        await until(pilot, lambda: "pass " in on_screen(pilot.app))


async def test_enter_during_run_says_to_wait(tmp_path: Path) -> None:
    """Enter during a run shows which block is running and how to stop it."""
    lesson = "# T\n\n" + fence("import time\nprint('begun')\ntime.sleep(600)  # hangs", name="slow")
    said = "Block 1 of 1 is running. Ctrl+C stops it."

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        await press(pilot, "enter")
        await pilot.press("enter")
        await until(pilot, lambda: "begun" in on_screen(pilot.app).split("RUN")[-1])
        await pilot.press("enter")
        await until(pilot, lambda: said in on_screen(pilot.app))
        pilot.app.live.stop()
        await until(pilot, lambda: said not in on_screen(pilot.app))  # no key took it away
