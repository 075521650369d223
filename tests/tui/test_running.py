"""Running blocks one by one, all up to a block, and Ctrl+C."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.gates import wait_for
from tests.support.made_lessons import fence
from tests.support.tutor import HANGS, HELLO, on_screen, press, settle, tutor, until
from tpustarter.tui.kit.page import ConfirmQuit
from tpustarter.tui.lesson.block.block import BlockView

FAR = "\n\n".join(
    [
        "# Far",
        fence("print('first')", name="one"),
        *(f"Paragraph {n}." for n in range(60)),
        fence("print('second')", name="two"),
        fence("1 / 0", name="three"),
        fence("print('last')", name="four"),
    ]
)

BROKEN = "\n\n".join(["# B", fence("1 / 0", name="one"), fence("print('second')", name="two")])


def _current(pilot: Pilot[None]) -> list[str]:
    return [one.block.id for one in pilot.app.screen._page.views if one.has_class("-current")]


def _view(pilot: Pilot[None], name: str) -> BlockView:
    return next(one for one in pilot.app.screen._page.views if one.block.id == name)


def _results(pilot: Pilot[None]) -> dict[str, str]:
    views = pilot.app.screen._page.views
    return {one.block.id: one.state.result.status for one in views if one.state.result}


async def test_enter_runs_block_and_pass_marks_next(tmp_path: Path) -> None:
    """After a pass the output stays in sight, and the next block is marked."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter", "enter")
        assert "hello you" in seen
        assert _current(pilot) == ["again"]
        assert {"hello": "pass"} == _results(pilot)
        assert "again you" in await press(pilot, "enter")


async def test_enter_shows_every_line_up_to_next_block(tmp_path: Path) -> None:
    """Repeated Enter shows every line of the lesson and runs every block."""
    async with tutor(tmp_path, lessons={"far": FAR}) as pilot:
        seen, presses = await press(pilot, "enter", "enter"), 0
        while "two" not in _results(pilot):
            seen += await press(pilot, "enter")
            presses += 1
        assert all(f"Paragraph {number}." in seen for number in range(60))
        assert 6 <= presses <= 9  # about 130 lines on screens of 20
        assert {"one": "pass", "two": "pass"} == _results(pilot)


async def test_enter_skips_failed_block_and_r_reruns_block(tmp_path: Path) -> None:
    """Enter does not run a failed block again; `r` does."""
    async with tutor(tmp_path, lessons={"broken": BROKEN}, size=(80, 50)) as pilot:
        await press(pilot, "enter", "enter")
        first = _view(pilot, "one").state.result
        assert first.status == "error"
        assert _current(pilot) == ["one"]
        await press(pilot, "enter")
        assert _view(pilot, "one").state.result is first
        assert _current(pilot) == ["two"]
        await press(pilot, "shift+tab", "r")
        assert _view(pilot, "one").state.result is not first


def _task(name: str) -> str:
    code = "```python {} {}={}\nprint('sum', 1 + {})\n```\n\n"
    folded = f"<details><summary>Answer</summary>\n\n{code.format('answer', 'of', name, 2)}"
    return f"{code.format('try', 'id', name, '...')}{folded}</details>"


GAPS = "\n\n".join(
    [
        "# Gaps",
        fence("x = 1\nprint('first')", name="one"),
        _task("two"),
        fence("print('second')", name="three"),
        *(f"Paragraph {n}." for n in range(20)),
        _task("four"),
        fence("print('third')", name="five"),
    ]
)


async def test_run_all_names_skipped_gap(tmp_path: Path) -> None:
    """Running all names the gap it skips, and nothing once the gap is filled."""
    async with tutor(tmp_path, lessons={"gaps": GAPS}) as pilot:
        await press(pilot, "enter", "tab", "tab")
        said = " ".join((await press(pilot, "a")).split())
        assert "Block 2 was left out, because it waits for your code." in said
        await press(pilot, "k", "e", "2", "escape", "tab")
        seen = await press(pilot, "a")
        assert {"one": "pass", "three": "pass"} == _results(pilot)
        assert "left out" not in seen


async def test_run_key_at_end_runs_whole_lesson(tmp_path: Path) -> None:
    """At the end of a lesson, `a` runs every block."""
    text = f"{HELLO}\n" + "\n\n".join(f"Paragraph {n}." for n in range(40))

    async with tutor(tmp_path, lessons={"hello": text}) as pilot:
        await press(pilot, "enter", "end", "a")
        seen = await press(pilot, "end")
        assert "2 of 2 blocks" in seen


async def test_ctrl_c_stops_run_and_app_stays(tmp_path: Path) -> None:
    """Ctrl+C stops a run from the page, the editor and a screen above."""
    async with tutor(tmp_path, lessons={"hangs": HANGS}) as pilot:
        await press(pilot, "enter")
        (view,) = pilot.app.screen._page.views
        for keys in (("r",), ("e", "ctrl+r"), ("escape", "r", "question_mark")):
            for key in keys:
                await pilot.press(key)
            await until(pilot, lambda: view.has_output)
            await pilot.press("ctrl+c")
            await settle(pilot)
            assert "notrun" == view.state.result.status
            assert not any(isinstance(screen, ConfirmQuit) for screen in pilot.app.screen_stack)


async def test_idle_ctrl_c_asks_once(tmp_path: Path) -> None:
    """Esc stays; `y` or another Ctrl+C quits with the code of an interrupt."""

    async def journey(*keys: str) -> int | None:
        async with tutor(tmp_path) as pilot:
            seen = await press(pilot, "ctrl+c")
            assert "Quit tpustarter?" in seen
            assert "This machine" in await press(pilot, "escape")
            await press(pilot, "ctrl+c")
            await press(pilot, *keys)
            return pilot.app.return_code

    assert 130 == await journey("y")
    assert 130 == await journey("ctrl+c")
    assert None is await journey("n")


def long_until(path: Path) -> str:
    """Return a block that prints 46 lines, and the last 14 once a file exists."""
    gate = wait_for(path).replace("import os, time\n", "").replace("while", "while n == 45 and")
    lines = ['print("line", n, flush=True)', *gate.splitlines()]
    return "import os, time\nfor n in range(60):\n" + "\n".join(f"    {line}" for line in lines)


async def test_long_output_is_whole_after_block_ends(tmp_path: Path) -> None:
    """During the run only the last lines and a count are shown; afterwards all lines are."""
    goes_on = tmp_path / "goes-on"
    text = "# T\n\n" + fence(long_until(goes_on))

    async with tutor(tmp_path, size=(80, 90), lessons={"t": text}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "line 45" in on_screen(pilot.app))
        growing = on_screen(pilot.app)
        assert "lines above" in growing
        assert "line 5\n" not in growing
        goes_on.touch()
        await until(pilot, lambda: "pass " in on_screen(pilot.app))
        whole = [f"line {n}" for n in range(60)]
        await until(pilot, lambda: all(line in on_screen(pilot.app) for line in whole))
        assert "lines above" not in on_screen(pilot.app)


def until_there(path: Path) -> str:
    """Return a block that prints lines slowly until a file exists.

    The pauses give the screen time to show each line.
    """
    return (
        "import os\nimport time\nfor n in range(10**9):\n    print('line', n, flush=True)\n"
        f"    time.sleep(0.0 if n < 40 else 0.1)\n    if os.path.exists({str(path)!r}):\n"
        "        break"
    )


async def lines_come(pilot: Pilot[None], view: BlockView) -> None:
    """Wait until a block has printed five more lines."""
    seen = int(view.output_tail.split()[-1])
    await until(pilot, lambda: int(view.output_tail.split()[-1]) > seen + 5)
