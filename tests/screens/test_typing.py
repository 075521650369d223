"""Typing into blocks: drafts are saved at once, and the editor stays open in a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.tutor import HELLO, on_screen, press, settle, tutor, until
from tpustarter.core import locations
from tpustarter.learning.progress import drafts
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.kit.markdown_text import CodeColours, colour_code
from tpustarter.tui.lesson.block.draft_saver import WAIT_S

LESSON = "start/hello"


def _kept() -> dict[str, str]:
    return {block: draft.code for block, draft in drafts.read_drafts(LESSON).items()}


async def _open(pilot: Pilot[None]) -> str:
    return await press(pilot, "enter")


async def test_typed_text_is_saved_within_moments(tmp_path: Path) -> None:
    """Typed text is on the disk while the editor is still open."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# mine")
        await until(
            pilot, lambda: _kept() == {"hello": 'name = "you"\nprint("hello", name)\n# mine'}
        )


async def test_typed_text_returns_in_next_session(tmp_path: Path) -> None:
    """Typed code returns in the next session until `u` restores the lesson's code."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# mine")
    async with tutor(tmp_path) as pilot:
        seen = await _open(pilot)
        assert "# mine" in seen
        assert "edited, not run yet" in seen
        assert "# mine" not in await press(pilot, "u")
    assert {} == _kept()


async def test_code_for_other_edition_is_kept_and_announced(tmp_path: Path) -> None:
    """Typed code for a changed lesson is kept with a message, and `u` discards it."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# mine")
    lessons = {"hello": HELLO.replace('name = "you"', 'name = "them"')}
    async with tutor(tmp_path, lessons=lessons) as pilot:
        seen = await _open(pilot)
        assert "# mine" in seen
        assert "the lesson has changed since, and u brings its code" in seen
        seen = await press(pilot, "u")
        assert 'name = "them"' in seen
        assert "changed since" not in seen


async def test_unreadable_saved_code_is_reported_and_lesson_opens(tmp_path: Path) -> None:
    """An unreadable draft is reported once and kept, and the lesson opens."""
    folder = locations.make_folder(locations.make_state_folder() / "drafts")
    (folder / "start.hello.json").write_text("{")

    async with tutor(tmp_path) as pilot:
        assert "could not be read" in await _open(pilot)
        assert 'print("hello", name)' in await press(pilot, "escape")
    assert ["{"] == [path.read_text() for path in folder.glob("*.json")]


async def test_unwritable_drafts_are_reported_once_while_typing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unwritable drafts are reported once, and are saved as soon as that works."""
    folder = locations.make_state_folder() / "drafts"
    folder.write_text("a file where the folder would be")

    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", *"# m")
        await until(pilot, lambda: "cannot write" in on_screen(pilot.app))
        seen = await press(pilot, *"ine")
        await settle(pilot, soon_s=WAIT_S)  # it was tried once more
        assert "# mine" in seen
        assert 1 == on_screen(pilot.app).count("is not kept when")
        folder.unlink()
        await press(pilot, "!", "escape", "escape")
        assert "# mine!" in await _open(pilot)
    assert _kept()["hello"].endswith("# mine!")


async def test_editor_stays_open_while_block_runs(tmp_path: Path) -> None:
    """The editor stays open in a run, and text typed after it counts as not run."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "enter", "e", "enter", *"print(6 * 7)", "ctrl+r")
        seen = on_screen(pilot.app)
        assert "42" in seen
        assert isinstance(pilot.app.focused, CodeEditor)
        seen = await press(pilot, *"  # more")
        assert "print(6 * 7)  # more" in seen
        assert "edited, not run yet" in seen
        assert "output before your change" in seen
        assert "output before" not in await press(pilot, "ctrl+r")


async def test_tab_indents_selection_and_keeps_text(tmp_path: Path) -> None:
    """Tab indents the selected lines, and Shift+Tab removes one indent."""
    one = 'name = "you"\nprint("hello", name)'
    deeper = '    name = "you"\n    print("hello", name)'

    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", "ctrl+home", "right", "shift+down")

        async def text(*keys: str) -> str:
            await press(pilot, *keys)
            editor = pilot.app.focused
            assert isinstance(editor, CodeEditor)
            return editor.text.rstrip()

        assert deeper == await text("tab")
        assert deeper.replace("    ", " " * 8) == await text("tab")
        assert one == await text("shift+tab", "shift+tab")
        assert one == await text("shift+tab")  # there is nothing left to take
        assert deeper == await text("tab", "ctrl+z", "ctrl+y")
        assert f'{one.partition(chr(10))[0]}\n    print("hello", name)' == await text(
            "ctrl+home", "right", "shift+tab"
        )


async def test_backspace_takes_a_step_of_indent(tmp_path: Path) -> None:
    """Backspace in the indent removes one step; elsewhere one character or the selection."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter", "e", "f7")

        async def text(*keys: str) -> str:
            await press(pilot, *keys)
            editor = pilot.app.focused
            assert isinstance(editor, CodeEditor)
            return editor.text.rstrip("\n")

        assert " " * 4 + "ab" == await text(*["space"] * 8, "a", "b", *["home"], "backspace")
        assert " " * 4 + "a" == await text("end", "backspace")
        assert "a" == await text("home", "backspace")
        assert " " * 4 + "a" == await text(*["space"] * 6, "backspace")
        assert " " * 3 + "a" == await text("shift+left", "backspace")


async def test_code_keeps_its_colours_while_it_changes(tmp_path: Path) -> None:
    """Highlighting stays right behind multi-byte letters and in multi-line strings."""
    code = 'é = "ü"  # ä\nfor x in "abc":\n    print("""two\nlines""", 12)'
    block = f"# T\n\n```python run id=one\n{code}\n```\n"

    async with tutor(tmp_path, lessons={"t": block}) as pilot:
        await press(pilot, "enter", "e")
        editor = pilot.app.focused
        assert isinstance(editor, CodeEditor)
        for row, line in enumerate(code.split("\n")):
            marked = {
                line.encode()[start:end].decode() for start, end, _ in editor._highlights[row]
            }
            read = colour_code(code).split("\n")[row]
            expected = {
                read.plain[span.start : span.end]
                for span in read.spans
                if span.style in CodeColours.STYLES.values()
            }
            assert {text.strip() for text in expected} - {""} == {
                text.strip() for text in marked
            } - {""}
        colours = {segment.style.color for segment in editor.render_line(0) if segment.style}
        assert len(colours) > 1


async def test_enter_on_gap_opens_editor_without_run(tmp_path: Path) -> None:
    """Enter on an open gap opens the editor; on a filled one it runs the block."""
    gap = "```python {} {}=gap\nprint('sum', 1 + {})\n```\n\n"
    folded = f"<details><summary>Answer</summary>\n\n{gap.format('answer', 'of', 2)}</details>\n"
    output = "```output of=gap\nsum 3\n```\n\n"
    text = f"# G\n\n{gap.format('try', 'id', '...')}{output}{folded}"

    async with tutor(tmp_path, lessons={"g": text}) as pilot:
        seen = await press(pilot, "enter")
        assert "your turn" in seen
        assert "sum 3" not in seen  # it is the learner's to find
        assert "> The answer to the task above" in seen
        seen = await press(pilot, "enter")
        assert "Ctrl+R run" in seen
        assert "process" not in seen.splitlines()[0]
        await press(pilot, "4", "escape", "enter")
        assert re.search(r"not yet .*sum 5.*expected.*sum 3", on_screen(pilot.app), re.DOTALL)
        await press(pilot, "e", "backspace", "2", "escape", "enter")  # where it was left
        assert re.search(r"pass .*sum 3", on_screen(pilot.app), re.DOTALL)


async def test_enter_leaves_editor_after_task_passes(tmp_path: Path) -> None:
    """After a pass, Enter leaves the editor; after another edit it begins a new line."""
    gap = "```python {} {}=gap\nprint('sum', 1 + {})\n```\n\n"
    folded = f"<details><summary>Answer</summary>\n\n{gap.format('answer', 'of', 2)}</details>\n"
    text = f"# G\n\n{gap.format('try', 'id', '...')}```output of=gap\nsum 3\n```\n\n{folded}"
    last = "\n```python run id=last\nprint(1)\n```\n"

    async with tutor(tmp_path, lessons={"t": text + last}, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter", "enter", "3", "ctrl+r")
        assert "not yet" in seen
        assert "Enter go on" not in seen
        seen = await press(pilot, "backspace", "2", "ctrl+r")
        assert "pass" in seen
        assert "Enter go on" in seen
        seen = await press(pilot, "x")
        assert "Enter go on" not in seen
        await press(pilot, "enter", "backspace", "backspace")
        assert isinstance(pilot.app.focused, CodeEditor)
        seen = await press(pilot, "ctrl+r", "enter")
        assert not isinstance(pilot.app.focused, CodeEditor)
        assert "Enter run" in seen
