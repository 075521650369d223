"""The mouse: clicks do what keys do, and it can be left to the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from tests.support.terminal import terminal
from tests.support.tutor import on_screen, press, settle, tutor
from tpustarter.tui.app import settings
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.key_line import KeyBar
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.screen import LessonListScreen
from tpustarter.tui.terminal.keyboard import Keyboard

CLICK = b"\x1b[<0;5;3M\x1b[<0;5;3m"


async def click(pilot: Pilot[None], text: str, area: type[Any]) -> str:
    """Click on the beginning of a text in an area; return the screen."""
    region = pilot.app.screen.query_one(area).content_region
    lines = on_screen(pilot.app).splitlines()  # type: ignore[arg-type]
    line = next(n for n in range(region.y, region.bottom) if text in lines[n])
    await pilot.click(offset=(lines[line].index(text), line))
    await settle(pilot)
    return on_screen(pilot.app)  # type: ignore[arg-type]


async def test_click_on_key_line_presses_key(tmp_path: Path) -> None:
    """A click on a key or on its label in the key line presses that key."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await click(pilot, "l lessons", KeyBar)
        assert isinstance(pilot.app.screen, LessonListScreen)
        await click(pilot, "back", KeyBar)
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "Esc close" in await click(pilot, "help", KeyBar)


async def test_click_beside_keys_presses_none(tmp_path: Path) -> None:
    """A click on the status at the right of the keys does nothing."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        seen = on_screen(pilot.app)
        await pilot.click(offset=(118, 39))
        await settle(pilot)
        assert seen == on_screen(pilot.app)


async def test_click_on_row_opens_its_item(tmp_path: Path) -> None:
    """A click on a row opens its lesson."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "l")
        await click(pilot, "Hello", RowList)
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_click_beside_window_closes_window(tmp_path: Path) -> None:
    """A click beside a window closes it; a click on it does not."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await press(pilot, "question_mark")
        await pilot.click("#sheet")
        assert "Esc close" in on_screen(pilot.app)
        await pilot.click(offset=(1, 5))
        await settle(pilot)
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_selected_text_is_sent_to_clipboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Selected text is copied; a click without a selection copies nothing."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        await pilot.click(offset=(3, 3))
        assert "" == pilot.app.clipboard
        monkeypatch.setattr(pilot.app.screen, "get_selected_text", lambda: "jax.devices()")
        pilot.app.screen.post_message(events.TextSelected())
        await settle(pilot)
        assert "jax.devices()" == pilot.app.clipboard
        assert "hold Shift" in on_screen(pilot.app)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (CLICK, ["MouseDown", "MouseUp"]),
        (b"\x1b[<64;5;3M", ["MouseScrollUp"]),
        (b"\x1b[<32;6;3M", ["MouseMove"]),
        (b"\x1b[<0;0;0M", []),
        (b"\x1b[<0;99999;5M", []),
        (b"\x1b[<99999999999;9999999999;9M", []),
        (b"\x1b[<0;5M", []),
        (b"\x1b[M !!", []),
    ],
)
def test_mouse_sequences_are_decoded(data: bytes, expected: list[str]) -> None:
    """Mouse sequences are decoded whole and byte by byte, and ignored if the mouse is off."""
    for pieces in ([data], [data[n : n + 1] for n in range(len(data))]):
        keyboard, without = Keyboard(), Keyboard()
        keyboard.has_mouse = True
        read = [message for piece in pieces for message in keyboard.feed(piece)]
        assert expected == [type(message).__name__ for message in read]
        assert [] == [message for piece in pieces for message in without.feed(piece)]
        assert ["q"] == [message.key for message in keyboard.feed(b"q")]  # type: ignore[attr-defined]


async def test_terminal_keeps_mouse_when_chosen(tmp_path: Path) -> None:
    """The mouse can be left to the terminal, now and at the next start."""
    async with tutor(tmp_path, size=(80, 50)) as pilot:
        seen = await press(pilot, "comma")
        assert "* on" in seen
        seen = await press(pilot, "end", "enter")
        assert "* off: your terminal selects text with it" in seen
    assert not settings.read_settings().mouse


@pytest.mark.parametrize("wanted", [True, False])
def test_click_reaches_app_when_mouse_is_on(wanted: bool) -> None:
    """A click acts only with the mouse switched on; otherwise mouse reports are ignored."""
    settings.save_settings(settings.Settings(mouse=wanted))
    with terminal() as tty:
        tty.until_drawn()
        tty.until(lambda text: "c check" in text)
        line = next(n for n, text in enumerate(tty.screen.display) if "c check" in text)
        column = tty.screen.display[line].index("c check")
        for end in "Mm":
            tty.press(f"\x1b[<0;{column + 1};{line + 1}{end}")
        if wanted:
            tty.until(lambda text: "Checks" in text)
            assert b"\x1b[?1003h" not in tty.written
        else:
            assert b"\x1b[?1000h" not in tty.written
        tty.press("q")
        assert 0 == tty.end()
        assert tty.is_restored
