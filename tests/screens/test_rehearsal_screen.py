"""Rehearsal in the app: sizes, messages, stored answers and kinds of machines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checking.test_runner import until_ended
from tests.support.tutor import on_screen, press, settle, until
from tests.tui.test_rehearse import choose, rehearsing
from tpustarter.core import locations
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.key_line import list_active_keys
from tpustarter.tui.rehearse.choice_screen import RehearsalChoiceScreen
from tpustarter.tui.rehearse.rehearsal_screen import RehearsalScreen


async def test_generations_are_compared_side_by_side(tmp_path: Path, stub: Path) -> None:
    """`c` compares the memory of all TPUs for the marked program, and returns to the answer."""
    async with rehearsing(tmp_path, stub, "compiles", size=(120, 30)) as pilot:
        seen = await press(pilot, "r", "right", "c")
        assert re.search(r"> v3-8 +ok +\d.* +15.48 GiB", seen)
        assert re.search(r"  tpu7x-8 +ok +\d.* +94.74 GiB", seen)
        assert "estimate: the compiler's own model of a run, not measured on a TPU" in seen
        await pilot.resize_terminal(52, 30)
        await settle(pilot)
        assert "estimate" not in on_screen(pilot.app)  # neither the column nor its note
        await pilot.resize_terminal(120, 30)
        await settle(pilot)
        seen = await press(pilot, "c")
        assert "> v3-8" not in seen
        assert "compiles: before for v3-8" in seen


async def test_high_terminal_shows_generations_below_answer(tmp_path: Path, stub: Path) -> None:
    """A high terminal shows all generations below the answer; a lower one has a key for it."""
    async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
        seen = await press(pilot, "r", "right")
        assert "compiles: before for v3-8" in seen
        assert re.search(r"> v3-8 +ok +\d.* +15.48 GiB", seen)
        await pilot.resize_terminal(120, 30)
        await settle(pilot)
        assert "> v3-8" not in on_screen(pilot.app)


@pytest.mark.parametrize("width", [149, 150])
async def test_wide_terminal_shows_answer_beside_table(
    tmp_path: Path, stub: Path, width: int
) -> None:
    """The answer is beside the table from 150 columns on, and below it otherwise."""
    async with rehearsing(tmp_path, stub, "compiles", size=(width, 40)) as pilot:
        await choose(pilot, "v5e-8")
        await press(pilot, "r")
        table, details = (pilot.app.screen.query_one(name) for name in ("#table", "#details"))
        assert (details.region.x > table.region.x) == (width == 150)
        assert (details.region.y > table.region.y) == (width == 149)


async def test_compiler_message_is_plain_text(tmp_path: Path, stub: Path) -> None:
    """Markup and escape codes in the compiler's message are shown as text."""
    async with rehearsing(tmp_path, stub, "is_refused") as pilot:
        await choose(pilot, "v5e-8")
        seen = await press(pilot, "r")
        assert "compiler's words" not in seen
        assert "f why it failed" not in seen
        seen = await press(pilot, "down")
        assert "f why it failed" in seen
        assert "no eig on [bold]this\\x1b[31m TPU" in seen
        seen = await press(pilot, "g", "enter")
        assert "UNIMPLEMENTED: no eig on [bold]this TPU" in seen
        assert "is_refused: breaks for" not in seen
        assert "UNIMPLEMENTED" in await press(pilot, "escape")
        assert "UNIMPLEMENTED" not in await press(pilot, "escape")
        assert isinstance(pilot.app.screen, RehearsalScreen)


async def test_unreached_program_waits_then_is_not_compiled(tmp_path: Path, stub: Path) -> None:
    """A check not reached yet shows `wait`, and after the stop `-`."""
    async with rehearsing(tmp_path, stub, "hangs", "is_refused") as pilot:
        await choose(pilot, "v5e-8")
        await pilot.press("r")
        await until(pilot, lambda: re.search(r"is_refused +wait", on_screen(pilot.app)))
        in_order = re.compile(r"hangs:.*is_refused", re.DOTALL)
        await until(
            pilot,
            lambda: "breaks for v5e-8" in (seen := on_screen(pilot.app)) and in_order.search(seen),
        )
        seen = await press(pilot, "x", "end")
        assert re.search(r"is_refused +-", seen)
        assert "No answer: it was not compiled." in seen


async def test_program_for_other_size_gives_skip_reason(tmp_path: Path, stub: Path) -> None:
    """A program for another size has `skip` in the table and the reason below."""
    async with rehearsing(tmp_path, stub, "by_size") as pilot:
        await choose(pilot, "v5e-8", "v4-8")
        seen = await press(pilot, "r")
        assert re.search(r"by_size: 2x4 +skip +ok", seen)
        assert re.search(r"by_size: ring of 4 +ok +skip", seen)
        table = pilot.app.screen.query_one("#rows")
        row = next(n for n, (_, name) in enumerate(table.known.programs) if name == "2x4")
        seen = await press(pilot, "home", *["down"] * row, "left")
        assert "Left out: it is for 8 devices, and v4-8 has 4." in seen
        seen = await press(pilot, "c")
        assert re.search(r"v4-8 +skip +Left out: it is for 8 devices, and v4-8 has 4\.", seen)
        assert "Press Esc" not in seen
        assert "Press Esc to choose other programs" in await press(pilot, "escape")
        assert "Press Esc" not in await press(pilot, "enter")
        assert "Press Esc to choose other programs" in await press(pilot, "escape")


async def test_quit_during_compilation_leaves_no_process(tmp_path: Path, stub: Path) -> None:
    """`q` ends the compiler together with the app."""
    async with rehearsing(tmp_path, stub, "hangs") as pilot:
        await choose(pilot, "v5e-8")
        await pilot.press("r")
        await until(pilot, lambda: "breaks for v5e-8" in on_screen(pilot.app))
        await pilot.press("q")
    until_ended(str(locations.make_state_folder()))


async def test_second_run_uses_stored_answers(tmp_path: Path, stub: Path) -> None:
    """A second run takes stored answers and says that nothing was compiled."""
    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        await choose(pilot, "v5e-8")
        seen = await press(pilot, "r")
        assert "stored" not in seen
        seen = await press(pilot, "r")
        assert re.search(r"ok +\d.* of 15.75 GiB  stored", seen)
        assert "3 of 3 compile" in seen
        assert "Press Esc to choose other programs" in seen


async def test_selection_is_kept_while_app_runs(tmp_path: Path, stub: Path) -> None:
    """The chosen TPUs and programs are kept when the screen is left and reopened."""
    async with rehearsing(tmp_path, stub, "compiles", "is_refused") as pilot:
        await choose(pilot, "v5e-8")
        await press(pilot, "space", "escape")
        assert isinstance(pilot.app.screen, HomeScreen)
        seen = await press(pilot, "r")
        assert "r compiles 1 check for 1 TPU, in about 10 s." in seen
        assert "[ ] jax.compiles" in seen
        assert "[x] v5e-8" in seen


async def test_deleted_compiler_is_reported_once_used(tmp_path: Path) -> None:
    """A compiler deleted after the choice is reported at the start, with its set-up."""
    async with rehearsing(tmp_path, None, "compiles") as pilot:
        pilot.app.screen._choice.has_compiler = True
        seen = await press(pilot, "r")
        assert "no Python found here has the TPU compiler" in seen
        assert "tpustarter setup rehearse" in seen
        assert "s set up" in seen
        assert isinstance(pilot.app.screen, RehearsalScreen)
        assert "again" in {one.binding.description for one in list_active_keys(pilot.app.screen)}
        assert "Set up the TPU compiler" in await press(pilot, "s")


async def test_machine_with_tpu_asks_first(tmp_path: Path, stub: Path) -> None:
    """With TPU chips a question comes first: `n` goes back, and `y` compiles."""
    async with rehearsing(tmp_path, stub, "compiles", generation="v5e") as pilot:
        seen = await press(pilot, "r")
        assert "This machine has TPU chips" in seen
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, RehearsalChoiceScreen)
        seen = await press(pilot, "r", "y")
        assert "21 of 21 compile" in seen


async def test_tpu_with_too_few_devices_is_skipped(tmp_path: Path, stub: Path) -> None:
    """A TPU with too few devices has `skip` in the table and the reason below."""
    async with rehearsing(tmp_path, stub, "needs_many", "compiles") as pilot:
        await choose(pilot, "v5e-8")
        seen = await press(pilot, "r", "end")
        assert re.search(r"compiles: after +ok\n needs_many +skip", seen)
        assert "Left out: it needs 9 devices, and v5e-8 has 8." in seen


async def test_colours_are_not_needed(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NO_COLOR only the marked cell is reversed."""
    monkeypatch.setenv("NO_COLOR", "1")

    async with rehearsing(tmp_path, stub, "does_not_fit") as pilot:
        await press(pilot, "r", "right", "down")
        strips = pilot.app.screen._compositor.render_strips()
        marked = [
            segment.text
            for strip in strips
            for segment in strip
            if segment.style and segment.style.reverse and re.search("[a-z]", segment.text)
        ]
        assert ["too big"] == [text.strip() for text in marked]
