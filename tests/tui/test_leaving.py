"""Screens and blocks that are left while they are mounted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.screen import Screen

from tests.support.made_lessons import fence
from tests.support.tutor import press, settle, tutor
from tpustarter.tui.app.settings_screen import SettingsScreen
from tpustarter.tui.explain.input_screen import ExplainInput
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.setup.list_screen import SetupListScreen

TURNS = 12
"""Turns of the event loop at which something is left, from the first on."""


@pytest.mark.parametrize("make", [SettingsScreen, SetupListScreen, ExplainInput])
async def test_screen_is_left_at_any_turn(make: Callable[[], Screen[None]], tmp_path: Path) -> None:
    """A screen can be left at any turn of the event loop while it is mounted."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        stack = pilot.app.screen_stack
        for turns in range(TURNS):
            pilot.app.push_screen(make())
            for _ in range(turns):
                await asyncio.sleep(0)
            await pilot.app.pop_screen()
        await settle(pilot)
        assert stack == pilot.app.screen_stack


async def test_block_is_removed_at_any_turn(tmp_path: Path) -> None:
    """A block can be removed at any turn of the event loop while it is mounted."""
    lesson = "# T\n\n" + fence("print(1)", "1")
    async with tutor(tmp_path, lessons={"t": lesson}, size=(80, 40)) as pilot:
        await press(pilot, "enter")
        page = pilot.app.screen.query_one("LessonPage")
        block = page.query_one(BlockView).block
        for turns in range(TURNS):
            view = BlockView(block, before=None, platform=None)
            page.mount(view)
            for _ in range(turns):
                await asyncio.sleep(0)
            await view.remove()
        await settle(pilot)
        assert 1 == len(page.query(BlockView))


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 10, 20])
async def test_app_ends_while_screen_is_mounted(turns: int, tmp_path: Path) -> None:
    """The app ends without an error while a screen is mounted."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        pilot.app.push_screen(SettingsScreen())
        for _ in range(turns):
            await asyncio.sleep(0)
