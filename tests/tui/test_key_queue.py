"""Keys in the app: typed fast, on every screen, and during a run."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest
from textual import events
from textual.binding import ActiveBinding
from textual.pilot import Pilot
from textual.screen import Screen

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tests.support.tutor import (
    HANGS,
    HELLO,
    JAX_HANGS,
    named_keys,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
)
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.key_line import KeyBar, list_active_keys
from tpustarter.tui.kit.page import ConfirmWindow, Sheet
from tpustarter.tui.lesson.screen import LessonRunScreen

NAMES = {
    "\x1b": "escape",
    "\r": "enter",
    "\t": "tab",
    "\x12": "ctrl+r",
    "/": "slash",
    ":": "colon",
    ",": "comma",
    "↓": "down",
}


async def burst(pilot: Pilot[None], keys: str) -> str:
    """Send all keys at once, as a slow line does; return the screen."""
    for key in keys:
        pilot.app.post_message(events.Key(NAMES.get(key, key), key if key.isascii() else None))
    handled = asyncio.Event()
    pilot.app.call_later(handled.set)
    await handled.wait()
    await settle(pilot)
    return on_screen(pilot.app)  # type: ignore[arg-type]


async def test_letters_after_edit_key_reach_editor(tmp_path: Path) -> None:
    """Letters typed right after `e` all go into the editor, and Esc keeps them."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        seen = await burst(pilot, "ename = 'q'  # quit\r")
        assert "name = 'q'  # quit" in seen
        seen = await burst(pilot, "x = 1\r\x1b")
        assert "x = 1" in seen
        assert "edited, not run yet" in seen
        seen = await burst(pilot, "ey = 2\r\x12")
        assert "y = 2" in seen
        assert "pass" in seen


async def test_letters_after_key_reach_opened_screen(tmp_path: Path) -> None:
    """Letters typed right after a key go into the search, palette or input it opens."""
    async with tutor(tmp_path) as pilot:
        seen = await burst(pilot, "/qqf")
        assert any(" qqf" in line for line in seen.splitlines()[2:4])
        seen = await burst(pilot, "\x1b\x1b:qq")
        assert any(" qq" in line for line in seen.splitlines()[2:4])
        await burst(pilot, "\x1b,a/q")
        assert "/q" == pilot.app.screen.query_one("#search").value
        await burst(pilot, "\x1b" * 20)
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_repeated_notification_is_shown_once(tmp_path: Path) -> None:
    """A repeated message stays longer, and a different one is shown beside it."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        seen = await burst(pilot, "\t" * 5)
        assert 1 == seen.count("This is the last block.")
        await press(pilot, "k")
        pilot.app.notify("The same.", timeout=0.2)
        pilot.app.notify("Something else.", timeout=600)
        pilot.app.screen.notify("The same.", timeout=600)
        await until(pilot, lambda: 1 == on_screen(pilot.app).count("The same."))
        await settle(pilot)
        assert 1 == on_screen(pilot.app).count("The same.")
        assert 1 == on_screen(pilot.app).count("Something else.")


async def test_repeated_run_key_starts_single_run(tmp_path: Path) -> None:
    """Repeated `r` starts one run; keys without effect in a state are dropped."""
    async with tutor(tmp_path, lessons={"hangs": HANGS}) as pilot:
        await press(pilot, "enter")
        for _ in range(50):
            pilot.app.post_message(events.Key("r", "r"))
        printed = re.compile(r"the block is process \d+")
        await until(pilot, lambda: printed.search(on_screen(pilot.app)))
        seen = await press(pilot, "escape")
        assert "STOPPED" in seen
        assert 1 == len(printed.findall(pilot.app.screen._page.views[0].output_tail))


async def test_enter_waits_for_search_that_was_typed(tmp_path: Path) -> None:
    """Enter waits for the results of the whole text."""
    lessons = {"hello": HELLO, "other": "# Other\n\nIt may sleep.\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        assert "Other" in (await burst(pilot, "/sleep\r")).splitlines()[0]
        await press(pilot, "escape", "slash", *"hello", "enter")
        assert "Other" not in on_screen(pilot.app).splitlines()[0]  # typed over what was there
        assert isinstance(pilot.app.screen, LessonRunScreen)


@pytest.mark.parametrize(
    ("keys", "title"), [("l\r", "Hello"), ("l↓\r", "Other"), ("/sleep↓↓↓\r", "Other")]
)
async def test_keys_before_list_loads_act_on_its_rows(
    keys: str, title: str, tmp_path: Path
) -> None:
    """Keys typed before the list of lessons or results loads act on its rows."""
    texts = {
        "hello": "# Hello\n\nIt will sleep, sleep, sleep.\n",
        "other": "# Other\n\nIt may sleep.\n",
    }

    async with tutor(tmp_path, lessons=texts) as pilot:
        seen = await burst(pilot, keys)
        assert isinstance(pilot.app.screen, LessonRunScreen)
        assert title in seen.splitlines()[0]


async def test_repeated_open_key_opens_single_screen(tmp_path: Path) -> None:
    """Repeated presses of `n` before the page is ready open one lesson.

    Once the page is there, every key counts.
    """
    texts = {name: f"# {name.title()}\n\nText.\n" for name in ("one", "two", "three", "four")}

    async with tutor(tmp_path, lessons=texts) as pilot:
        await press(pilot, "enter")
        assert "Two" in (await burst(pilot, "nnn")).splitlines()[0]
        earlier = events.Key("n", "n")  # pressed before that, and handled after it
        earlier.time = pilot.app.screen.ready_at - 0.1
        pilot.app.post_message(earlier)
        await settle(pilot)
        assert "Two" in on_screen(pilot.app).splitlines()[0]
        assert "Three" in (await press(pilot, "n")).splitlines()[0]


async def test_every_screen_names_holder_and_releases_device(tmp_path: Path) -> None:
    """Every screen names the process of a lesson and can end it, inputs included.

    A screen of text names the key only if it releases a TPU or GPU.
    """
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        for opened, closed, key in (
            ([], [], "t"),  # asks: a letter that was meant for an editor may be the key
            (["question_mark"], ["escape"], "t"),
            (["w"], ["escape"], "t"),
            (["w", "enter"], ["escape", "escape"], "t"),
            (["e"], ["escape"], "ctrl+t"),
            (["slash"], ["escape", "escape"], "ctrl+t"),
            (["colon"], ["escape"], "ctrl+t"),
        ):
            await press(pilot, "r")
            seen = await press(pilot, *opened)
            assert re.search(r"pid \d+$", seen.splitlines()[0]), opened
            is_named = f"{key.title() if len(key) > 1 else key} end process" in seen
            assert is_named != isinstance(pilot.app.screen, Sheet), opened
            seen = await press(pilot, key)
            if "End the process?" in seen:
                seen = await press(pilot, "y")
            assert "process" not in seen.splitlines()[0], opened
            assert "end process" not in " ".join(seen.splitlines()[-2:]), opened
            await press(pilot, *closed)
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_question_offers_only_its_answers(tmp_path: Path) -> None:
    """A question names only its answers, but `t` still asks to end the process."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "r")
        await pilot.app.push_screen(ConfirmWindow("Begin anew", "Throw away what you typed?"))
        await until(pilot, lambda: "y yes" in on_screen(pilot.app))
        assert "y yes  Esc, n no" == on_screen(pilot.app).splitlines()[-1].strip()
        assert "End the process?" in await press(pilot, "t")
        await press(pilot, "escape", "escape", "ctrl+c")
        assert "y quit  Esc, n stay" == on_screen(pilot.app).splitlines()[-1].strip()
        seen = await press(pilot, "escape", "e", "ctrl+c")
        assert "Ctrl+C quit  Esc type on" == seen.splitlines()[-1].strip()


async def test_checks_holding_tpu_are_named_and_released(tmp_path: Path) -> None:
    """While checks hold a TPU every heading names them, and `t` stops them."""
    (tmp_path / "root").mkdir()
    make_python(tmp_path / "venv", jax="0.10.2", libtpu="0.0.42", kind="TPU v5 lite", count=8)
    variables = {"VIRTUAL_ENV": str(tmp_path / "venv")}
    machine = lay_out(tmp_path / "root", "v5e", chips=8, env=variables)
    write_checks(tmp_path / "checks")
    (tmp_path / "checks/jax").mkdir()
    (tmp_path / "checks/jax/hangs.py").write_text(JAX_HANGS)
    held = f"TPU: tpustarter check, pid {os.getpid()}"

    async with tutor(tmp_path, machine=machine, size=(120, 40)) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: held in on_screen(pilot.app).splitlines()[0])
        for key in ("question_mark", "colon"):
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(pilot.app.screen, ChecksScreen))
            await until(pilot, lambda: "end process" in on_screen(pilot.app).rpartition("─")[2])
            assert held in on_screen(pilot.app).splitlines()[0]
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, ChecksScreen))
        seen = await press(pilot, "t")
        assert "TPU v5e, 8 chips" in seen.splitlines()[0]
        assert "NOT RUN" in seen
        assert isinstance(pilot.app.screen, ChecksScreen)


async def test_link_is_followed_by_key(tmp_path: Path) -> None:
    """`w` lists words, lessons, checks and addresses, and Enter opens each."""
    text = HELLO.replace("[word]", "[other](0002-hangs.md), [page](https://example.com/b), [word]")

    async with tutor(tmp_path, lessons={"hello": text, "hangs": HANGS}) as pilot:
        seen = await press(pilot, "enter", "w")
        assert "What is said at once." in seen
        seen = await press(pilot, "enter")
        assert "What is said at once." in seen
        assert "╭─ word ─" in seen
        await press(pilot, "escape", "down", "enter")
        assert "Hangs" in on_screen(pilot.app).splitlines()[0]
        assert isinstance(pilot.app.screen, LessonRunScreen)
        await press(pilot, "escape", "down", "enter")
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert "host.passes" in on_screen(pilot.app)
        seen = await press(pilot, "escape", "down", "enter")
        assert re.search(r"╭─ On the web ─+╮\n│ +https://example.com/b ", seen)
        assert "Esc close" in seen


@pytest.mark.parametrize("keys", [("enter",), ("c",)])
async def test_key_line_offers_stop_during_run(tmp_path: Path, keys: tuple[str, ...]) -> None:
    """During a run the key line has `stop` in place of `back`."""
    async with tutor(tmp_path, lessons={"hangs": HANGS}, checks=("hangs",)) as pilot:
        await press(pilot, keys[0]) if keys == ("enter",) else await pilot.press(*keys)
        await pilot.press("r")
        begun = r"the block is process \d" if keys == ("enter",) else "RUN "
        await until(pilot, lambda: re.search(begun, on_screen(pilot.app)) is not None)
        labels = {one.binding.description for one in list_active_keys(pilot.app.screen)}
        assert "stop" in labels
        assert "back" not in labels
        seen = await press(pilot, "escape" if keys == ("enter",) else "x")
        assert "STOPPED" in seen if keys == ("enter",) else "NOT RUN" in seen
        assert "Esc back" in seen


async def test_stop_before_checks_start_is_no_error(tmp_path: Path) -> None:
    """`c` and `x` typed together stop the checks before they start, without an error."""
    async with tutor(tmp_path) as pilot:
        await burst(pilot, "cx")
        assert isinstance(pilot.app.screen, ChecksScreen)
        seen = await press(pilot, "escape")
        assert "This machine" in seen


async def test_control_characters_are_escaped_in_inputs(tmp_path: Path) -> None:
    """Control characters in a block's code and in pasted text are shown escaped."""
    lesson = "# T\n\n```python run id=evil\nprint('\x1b]0;owned\x07 \u202e')\n```\n"
    evil = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")

    async with tutor(tmp_path, lessons={"evil": lesson}) as pilot:
        seen = await press(pilot, "enter", "e")
        assert not evil.search(seen)
        assert r"\x1b]0;owned" in seen
        pilot.app.post_message(events.Paste("a = 1\rb = '\x1b[2J'\r"))
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert not evil.search(seen)
        assert "b = '" in seen.splitlines()[7]
        await press(pilot, "escape", "u")
        seen = await press(pilot, "e", "escape")
        assert "edited" not in seen
        await press(pilot, "slash")
        pilot.app.post_message(events.Paste("\x1b[2J\u202e"))
        await settle(pilot)
        assert not evil.search(on_screen(pilot.app))


async def test_block_can_be_emptied(tmp_path: Path) -> None:
    """An emptied block stays empty instead of showing the lesson's code."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e")
        pilot.app.screen.query_one("CodeEditor").text = ""
        seen = await press(pilot, "escape")
        assert "edited, not run yet" in seen
        assert 'print("hello", name)' not in seen


async def test_unreadable_lesson_shows_error_on_its_page(tmp_path: Path) -> None:
    """An unreadable lesson shows its error on the page, and Esc goes back."""
    broken = HELLO.replace("id=again", "id=hello")

    async with tutor(tmp_path, lessons={"hello": broken}) as pilot:
        seen = await press(pilot, "enter")
        assert "there is already a block" in " ".join(seen.split())
        assert isinstance(pilot.app.screen, LessonRunScreen)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_broken_lessons_folder_has_full_error(tmp_path: Path) -> None:
    """The error of a broken folder is wrapped and not cut."""
    async with tutor(tmp_path) as pilot:
        (tmp_path / "lessons/paths.yml").write_text("- a\n")
        seen = " ".join((await press(pilot, "c", "escape")).split())
        assert "expected object, got str in [0]" in seen
        (tmp_path / "lessons/start/0001-hello.md").write_text("# Hello\n")
        seen = " ".join((await press(pilot, "l")).split())
        assert "has no YAML header between two `---` lines" in seen


async def test_tiny_terminal_shows_part_of_screen(tmp_path: Path) -> None:
    """On a terminal of 20 x 8 the text has at least four lines."""
    async with tutor(tmp_path, size=(20, 8)) as pilot:
        for keys in (("enter",), ("escape", "l"), ("escape", "comma")):
            await press(pilot, *keys)
            body = pilot.app.screen.focused
            assert body is not None
            assert body.region.height >= 4, on_screen(pilot.app)


@pytest.mark.parametrize("size", [(1, 1), (20, 3)])
async def test_app_survives_any_terminal_size(tmp_path: Path, size: tuple[int, int]) -> None:
    """The app works at any size, and shows everything when the terminal grows."""
    async with tutor(tmp_path, size=size) as pilot:
        for key in (
            "pagedown",
            "colon",
            "end",
            "pagedown",
            "pageup",
            "escape",
            "l",
            "pagedown",
            "escape",
            "comma",
            "pagedown",
            "escape",
        ):
            await pilot.press(key)
            await pilot.pause()
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "> Hello" in on_screen(pilot.app)


async def test_key_line_reads_bindings_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key line reads the bindings once, because a lesson computes them from its page."""
    asked = 0

    def counted(screen: Screen[None]) -> dict[str, ActiveBinding]:
        nonlocal asked
        asked += 1
        return active_bindings.__get__(screen)

    active_bindings = Screen.__dict__["active_bindings"]

    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        monkeypatch.setattr(Screen, "active_bindings", property(counted))
        shown = named_keys(pilot.app)
        pilot.app.screen.query_one(KeyBar)._show(pilot.app.screen)
        assert asked == 1
        assert shown == named_keys(pilot.app)
