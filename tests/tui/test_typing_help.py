"""The help of the editor: it is about typing, and all its keys work."""

from __future__ import annotations

import re
from pathlib import Path

from textual.widgets.text_area import Selection

from tests.support.tutor import press, settle, tutor
from tpustarter.tui.kit.editor import CodeEditor

TEXT = "one two\nthree four"
KEYS = {
    "Enter": (["enter", "x"], "one two\nthree\nx four"),
    "Tab": (["tab", "x"], "one two\nthree   x four"),
    "Shift+Tab": (["home", "tab", "tab", "shift+tab", "x"], "one two\n    xthree four"),
    "Ctrl+Z": (["x", "ctrl+z"], TEXT),
    "Ctrl+Y": (["x", "ctrl+z", "ctrl+y"], "one two\nthreex four"),
    "Ctrl+A": (["ctrl+a", "x"], "one two\nxthree four"),
    "Ctrl+E": (["ctrl+e", "x"], "one two\nthree fourx"),
    "Ctrl+Home": (["ctrl+home", "x"], "xone two\nthree four"),
    "Ctrl+End": (["ctrl+end", "x"], "one two\nthree fourx"),
    "PageDown": (["ctrl+home", "pagedown", "x"], "one two\nxthree four"),
    "PageUp": (["pageup", "x"], "one txwo\nthree four"),
    "Ctrl+Left": (["ctrl+left", "x"], "one two\nxthree four"),
    "Ctrl+Right": (["ctrl+right", "x"], "one two\nthree fourx"),
    "Backspace": (["home", "backspace"], "one twothree four"),
    "Ctrl+W": (["ctrl+w"], "one two\n four"),
    "Ctrl+U": (["ctrl+u"], "one two\n four"),
    "Ctrl+K": (["ctrl+k"], "one two\nthree"),
    "Shift": (["shift+left", "shift+left", "x"], "one two\nthrx four"),
    "F7": (["f7", "x"], "x"),
    "Ctrl+C": (["shift+left", "ctrl+c", "ctrl+home", "ctrl+v"], "eone two\nthree four"),
    "Ctrl+X": (["ctrl+x"], "one two\n"),
    "Ctrl+V": (["shift+left", "ctrl+x", "ctrl+home", "ctrl+v"], "eone two\nthre four"),
}
"""Keys that the help names, pressed after `three`, and the text that they leave."""


async def test_help_while_typing_lists_editor_keys_first(tmp_path: Path) -> None:
    """While typing, the help lists the editor's keys first and leaves out the page's."""
    async with tutor(tmp_path, size=(80, 50)) as pilot:
        await press(pilot, "enter", "e")
        seen = await press(pilot, "f1")
        assert seen.index("Ctrl+R") < seen.index("Ctrl+Z") < seen.index("Running leaves")
        assert "run all to here" not in seen
        assert isinstance((await press(pilot, "escape")) and pilot.app.focused, CodeEditor)
        assert "run all to here" in await press(pilot, "escape", "question_mark")


def test_every_key_in_help_is_tried() -> None:
    """The test below tries every key of the help."""
    rows = [
        line.split("|")[1]
        for line in (CodeEditor.HELP or "").splitlines()
        if line.startswith("| `")
    ]

    assert set(KEYS) - {"F7"} == set(re.findall(r"`([^`]+)`", "".join(rows)))


async def test_every_editor_key_does_as_documented(tmp_path: Path) -> None:
    """Each key of the editor changes a sample text as documented."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e")
        editor = pilot.app.screen.query_one(CodeEditor)
        for name, (keys, left) in KEYS.items():
            editor.text = TEXT
            editor.selection = Selection.cursor((1, 5))
            for key in keys:
                await pilot.press(key)
            await settle(pilot)
            assert left == editor.text, name
