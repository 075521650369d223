"""The palette driven by keys: every action with its command, found by typing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.processes import HANG_S
from tests.support.tutor import HELLO, on_screen, press, settle, tutor, until
from tpustarter.core import state
from tpustarter.setup.environment.setup_profiles import PROFILES
from tpustarter.tui.app import palette_commands
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.screen import LessonListScreen


async def test_palette_runs_action_of_screen(tmp_path: Path) -> None:
    """`:` lists the actions of the screen; typing and Enter run one."""
    async with tutor(tmp_path) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: "tpustarter learn" in on_screen(pilot.app))
        await pilot.press(*"lessons")
        await until(pilot, lambda: "Set up" not in on_screen(pilot.app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LessonListScreen))


async def test_palette_lists_every_action_with_its_key(tmp_path: Path) -> None:
    """Every action is listed with the key of its screen; the colours can be chosen here."""
    async with tutor(tmp_path, size=(120, 100)) as pilot:
        for screen, key in (("", ")"), ("l", " at home)")):
            await press(pilot, *screen, "colon")
            await until(pilot, lambda: "Colours: none" in on_screen(pilot.app))
            seen = on_screen(pilot.app)
            for one in ("n", "c", "l", "p", "r", "s", "u", ","):
                assert f" ({one}{key}" in seen, (screen, one)
            for name in PROFILES:
                assert f"tpustarter setup {name} " in seen
            await press(pilot, "escape")
        await press(pilot, "colon", *"colours: light")
        await until(pilot, lambda: "Colours: dark" not in on_screen(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: pilot.app.theme == "tpustarter-light")
        await settle(pilot)
        assert "light" == state.load_state("settings")["theme"]
        await press(pilot, "colon", *"open the next")
        await until(pilot, lambda: "Open (Enter)" not in on_screen(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LessonRunScreen))


async def test_palette_finds_lessons_by_id(tmp_path: Path) -> None:
    """A lesson is found by its id when its title has other words."""
    lessons = {"sharding": HELLO, "other": HELLO}

    async with tutor(tmp_path, size=(80, 40), lessons=lessons) as pilot:
        lesson = tmp_path / "lessons/start/0001-sharding.md"
        lesson.write_text(lesson.read_text().replace("title: Sharding", "title: In parts"))
        await press(pilot, "colon", *"shardi")
        await until(pilot, lambda: "Lesson: In parts" in on_screen(pilot.app))


async def test_palette_enter_waits_for_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enter in the palette waits for the actions that match the whole text."""
    read, typed = palette_commands._titled, threading.Event()

    def slow(app: TpustarterApp) -> object:
        typed.wait(HANG_S)
        return read(app)

    monkeypatch.setattr(palette_commands, "_titled", slow)

    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await pilot.press("colon", "h")
        await settle(pilot, beside="to_thread")
        assert "Hangs" not in on_screen(pilot.app)
        await pilot.press(*"angs", "enter")
        typed.set()
        await until(pilot, lambda: isinstance(pilot.app.screen, LessonRunScreen))
        assert "start/hangs" == pilot.app.screen.lesson


LEAD = "In a shell, type python3 -m uv run tpustarter in place of tpustarter."
"""What is said once of commands in lists, where more than the program's name starts it."""
