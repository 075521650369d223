"""Ctrl+C in an editor: copies the learner's selection, and still quits."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.tutor import HANGS, on_screen, press, settle, tutor, until
from tests.tui.test_exercise import LESSON, lessons_with_exercise
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.kit.page import ConfirmQuit

WORDS = "Ctrl+C again asks to quit."


def _text(pilot: Pilot[None]) -> str:
    editor = pilot.app.focused
    assert isinstance(editor, CodeEditor)
    return editor.text


async def test_ctrl_c_copies_selection_then_asks_to_quit(tmp_path: Path) -> None:
    """Ctrl+C copies the selection and keeps it in the text; another one asks to quit."""
    sent: list[str] = []

    async with tutor(tmp_path) as pilot:
        write, driver = pilot.app._driver.write, pilot.app._driver
        driver.write = lambda data: (sent.append(data), write(data))[1]
        await press(pilot, "enter", "e", "ctrl+home", *["shift+right"] * 4)
        before = _text(pilot)
        seen = await press(pilot, "ctrl+c")
        assert "Copied: name" in seen
        assert WORDS in seen
        assert "name" == pilot.app.clipboard
        assert before == _text(pilot)
        assert "\x1b]52;c;bmFtZQ==\a" in sent
        seen = await press(pilot, "ctrl+c")
        assert isinstance(pilot.app.screen, ConfirmQuit)
        assert "namename = " in await press(pilot, "right", "ctrl+v")
        assert not isinstance(pilot.app.screen, ConfirmQuit)  # whatever one does next, one stays
        await press(pilot, *["shift+left"] * 4, "ctrl+x", "ctrl+home", "ctrl+c")
        seen = await press(pilot, "shift+down", "shift+end", "ctrl+c")
        assert "Copied: 2 lines" in seen
        assert 'name = "you"\nprint("hello", name)' == pilot.app.clipboard
        assert "namename = " in await press(pilot, "f7", "ctrl+c", "f7", *"name", "ctrl+v")


async def test_notice_covers_the_end_of_the_key_line(tmp_path: Path) -> None:
    """The notice covers the key line to its end."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", "ctrl+home", "shift+right")
        seen = await press(pilot, "ctrl+c")
        assert seen.rstrip("\n").endswith(WORDS), seen[-200:]


async def test_app_selection_is_not_copied_by_ctrl_c(tmp_path: Path) -> None:
    """Text selected by the app is not copied by Ctrl+C; text the user selects is."""
    async with tutor(tmp_path, lessons={"asks": LESSON}, size=(80, 40)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "p", "e")
        editor = pilot.app.screen.query_one(CodeEditor)
        assert "return number" in editor.selected_text
        await press(pilot, "ctrl+c")
        assert isinstance(pilot.app.screen, ConfirmQuit)
        assert "" == pilot.app.clipboard
        await press(pilot, "escape", "home", "shift+end", "ctrl+c")
        assert "return number" in pilot.app.clipboard


async def test_ctrl_c_stops_run_before_copying(tmp_path: Path) -> None:
    """During a run Ctrl+C stops the run, even with text selected."""
    async with tutor(tmp_path, lessons={"hangs": HANGS}) as pilot:
        await press(pilot, "enter", "e", "f7")
        (view,) = pilot.app.screen._page.views
        await pilot.press("ctrl+r")
        await until(pilot, lambda: view.has_output)
        await pilot.press("ctrl+c")
        await settle(pilot)
        assert "notrun" == view.state.result.status
        assert "" == pilot.app.clipboard
        assert WORDS not in on_screen(pilot.app)
        assert WORDS in await press(pilot, "ctrl+c")
