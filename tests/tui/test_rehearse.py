"""Rehearsal in the app: what is chosen, what is seen while it compiles and after, and every end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.checking.test_runner import until_ended
from tests.support.machines import lay_out
from tests.support.stub_compiler import CHECKS, SAMPLES
from tests.support.tutor import driven, on_screen, press, run, settle, until, write_lessons
from tpustarter.core import locations
from tpustarter.learning.progress import course
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.key_line import list_active_keys
from tpustarter.tui.rehearse.choice_screen import RehearsalChoiceScreen
from tpustarter.tui.rehearse.rehearsal_screen import RehearsalScreen

BAD = SAMPLES / "rehearsal_bad"
FINE = "def fine(x):\n    return x + 1\n\n\ndef too_big(x):\n    return x + 1\n"


@contextlib.asynccontextmanager
async def rehearsing(
    folder: Path,
    stub: Path | None,
    *names: str,
    size: tuple[int, int] = (80, 24),
    generation: str | None = None,
    samples: Path = CHECKS,
) -> AsyncGenerator[Pilot[None]]:
    """Start the app on sample checks and a laid-out machine, and open the rehearsal."""
    root, checks = folder / "root", folder / "checks" / "jax"
    root.mkdir(parents=True)
    checks.mkdir(parents=True)
    for name in ("_array", *names):
        shutil.copy(samples / "jax" / f"{name}.py", checks)
    env = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin"}
    env |= {"VIRTUAL_ENV": str(stub)} if stub else {}
    machine = lay_out(root, generation, env=env)
    course.choose_path("laptop")
    app = TpustarterApp(
        machine=machine, lessons=write_lessons(folder / "lessons"), checks=checks.parent
    )
    async with driven(app, size, notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "r", "a", "down", "down")
        yield pilot
    app.live.release()


async def choose(pilot: Pilot[None], *tpus: str) -> str:
    """Choose these TPUs and no others; return the screen."""
    await press(pilot, "tab", "a", "a", "home")
    left = set(tpus)
    for _ in range(40):
        seen = on_screen(pilot.app)  # type: ignore[arg-type]
        name = pilot.app.screen.query_one("#tpus").highlighted_id
        if name in left and not re.search(rf"\[x\] {name} ", seen):
            await pilot.press("space")
        left.discard(name)
        if not left:
            break
        await pilot.press("down")
    return await press(pilot, "tab")


async def mark(pilot: Pilot[None], row: str) -> None:
    """Mark a row of the programs, with the keys."""
    await press(pilot, "home")
    while pilot.app.screen.query_one("#programs").highlighted_id != row:
        await pilot.press("down")


def test_default_tpus_are_explained_with_marked_size(tmp_path: Path, stub: Path) -> None:
    """Beside the marked one where there is room, and only as long as it is these."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", size=(200, 50)) as pilot:
            seen = " ".join(re.sub(r"[│╭╮╰╯─]+", " ", await press(pilot, "tab", "home")).split())
            assert "TPU v2, 4 chips on 1 host" in seen
            assert "with one of every other generation" in seen
            assert "with one of every other generation" not in await press(pilot, "space")

    run(journey)


def test_selected_programs_and_tpus_fill_table(tmp_path: Path, stub: Path) -> None:
    """Space takes out what is not wanted; every cell is a word; the marked one is told below."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", "does_not_fit", "is_refused") as pilot:
            seen = on_screen(pilot.app)
            assert "[x] jax.does_not_fit" in seen
            assert "3 checks for 7 TPUs" in seen
            assert "7 of 16, one of each generation" in seen
            seen = await choose(pilot, "v5e-8", "v6e-8")
            assert "3 checks for 2 TPUs" in seen
            assert "2 of 16 TPUs chosen" in seen
            seen = await press(pilot, "space")
            assert "[ ] jax.compiles" in seen

            seen = await press(pilot, "r")
            assert "Rehearsal: nothing is run" in seen.splitlines()[0]
            assert "compiles:" not in seen
            assert re.search(r"does_not_fit: breaks +too big +too big", seen)
            assert re.search(r"is_refused: breaks +refused +refused", seen)
            assert re.search(r"is_refused: after +ok +ok", seen)
            assert "8 of 12 compile. Nothing was run: this is a rehearsal" in seen
            assert "Once it is mended, press r to start again." in seen
            assert "c compare  Esc back" in seen
            assert "does_not_fit: before for v5e-8" in seen
            assert "5.00 KiB of 15.75 GiB" in seen or "KiB of 15.75 GiB" in seen

            seen = await press(pilot, "right")
            assert "does_not_fit: before for v6e-8" in seen
            assert "KiB of 31.24 GiB" in seen
            seen = await press(pilot, "down", "enter")
            assert "does_not_fit: breaks for v6e-8" in seen
            assert "needs 18.00 GiB, one device has" in seen
            assert re.search(r"\[A+.*\|.*\] \d+ %", seen)
            assert "smaller batch" in seen
            assert re.search(r"or +v6e-1 has 31.24 GiB on a device: rehearse it", seen)
            assert "The compiler's own words" in seen
            assert "RESOURCE_EXHAUSTED" in seen
            assert "g shows the compiler's own words" not in seen

    run(journey)


def test_generations_are_compared_side_by_side(tmp_path: Path, stub: Path) -> None:
    """One key shows every TPU's memory for the marked program, and the same key the answer."""

    async def journey() -> None:
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

    run(journey)


def test_high_terminal_shows_generations_below_answer(tmp_path: Path, stub: Path) -> None:
    """No key is needed for them; on a lower terminal there is one."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
            seen = await press(pilot, "r", "right")
            assert "compiles: before for v3-8" in seen
            assert re.search(r"> v3-8 +ok +\d.* +15.48 GiB", seen)
            await pilot.resize_terminal(120, 30)
            await settle(pilot)
            assert "> v3-8" not in on_screen(pilot.app)

    run(journey)


@pytest.mark.parametrize("width", [149, 150])
def test_wide_terminal_shows_answer_beside_table(tmp_path: Path, stub: Path, width: int) -> None:
    """Below that it stands under the table."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", size=(width, 40)) as pilot:
            await choose(pilot, "v5e-8")
            await press(pilot, "r")
            table, details = (pilot.app.screen.query_one(name) for name in ("#table", "#details"))
            assert (details.region.x > table.region.x) == (width == 150)
            assert (details.region.y > table.region.y) == (width == 149)

    run(journey)


def test_compiler_message_is_plain_text(tmp_path: Path, stub: Path) -> None:
    """Markup and escape codes in a reason are shown as they are, in the answer and in full."""

    async def journey() -> None:
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

    run(journey)


def test_rehearsal_stops_at_once_without_leftover_process(tmp_path: Path, stub: Path) -> None:
    """While it compiles Esc asks whether to stop; then a cell without an answer says so."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "hangs") as pilot:
            await choose(pilot, "v5e-8")
            await pilot.press("r")
            row = re.compile(r"hangs: breaks +\.+\ds")
            await until(pilot, lambda: bool(row.search(on_screen(pilot.app))))
            seen = on_screen(pilot.app)
            assert "breaks for v5e-8" in seen
            assert "x stop" in seen
            assert "Esc back" not in seen
            await pilot.press("escape")
            await until(pilot, lambda: "The rehearsal still runs." in on_screen(pilot.app))
            assert pilot.app.screen.can_stop
            seen = await press(pilot, "escape")
            assert "1 program compiles; stopped before the end." in seen
            assert "Press r to go on" in seen
            assert re.search(r"hangs: before +ok", seen)
            assert "Esc back" in seen
            until_ended(str(locations.make_state_folder()))
            await press(pilot, "escape")
            assert isinstance(pilot.app.screen, RehearsalChoiceScreen)

    run(journey)


def test_unreached_program_waits_then_is_not_compiled(tmp_path: Path, stub: Path) -> None:
    """A check whose turn did not come: `wait`, then `-`."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "hangs", "is_refused") as pilot:
            await choose(pilot, "v5e-8")
            await pilot.press("r")
            await until(pilot, lambda: re.search(r"is_refused +wait", on_screen(pilot.app)))
            in_order = re.compile(r"hangs:.*is_refused", re.DOTALL)
            await until(
                pilot,
                lambda: (
                    "breaks for v5e-8" in (seen := on_screen(pilot.app)) and in_order.search(seen)
                ),
            )
            seen = await press(pilot, "x", "end")
            assert re.search(r"is_refused +-", seen)
            assert "No answer: it was not compiled." in seen

    run(journey)


def test_program_for_other_size_gives_skip_reason(tmp_path: Path, stub: Path) -> None:
    """`skip` in the table, and the reason below it, in the comparison too."""

    async def journey() -> None:
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

    run(journey)


def test_quit_during_compilation_leaves_no_process(tmp_path: Path, stub: Path) -> None:
    """`q` ends the compiler with the app."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "hangs") as pilot:
            await choose(pilot, "v5e-8")
            await pilot.press("r")
            await until(pilot, lambda: "breaks for v5e-8" in on_screen(pilot.app))
            await pilot.press("q")
        until_ended(str(locations.make_state_folder()))

    run(journey)


def test_second_run_uses_stored_answers(tmp_path: Path, stub: Path) -> None:
    """`r` goes through it again, and says that nothing was compiled for it."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles") as pilot:
            await choose(pilot, "v5e-8")
            seen = await press(pilot, "r")
            assert "stored" not in seen
            seen = await press(pilot, "r")
            assert re.search(r"ok +\d.* of 15.75 GiB  stored", seen)
            assert "3 of 3 compile" in seen
            assert "Press Esc to choose other programs" in seen

    run(journey)


def test_selection_is_kept_while_app_runs(tmp_path: Path, stub: Path) -> None:
    """Back to Home and in again: the same TPUs, the same program."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", "is_refused") as pilot:
            await choose(pilot, "v5e-8")
            await press(pilot, "space", "escape")
            assert isinstance(pilot.app.screen, HomeScreen)
            seen = await press(pilot, "r")
            assert "r compiles 1 check for 1 TPU, in about 10 s." in seen
            assert "[ ] jax.compiles" in seen
            assert "[x] v5e-8" in seen

    run(journey)


def test_nothing_starts_without_program_or_tpu(tmp_path: Path, stub: Path) -> None:
    """The line below says what is missing, and neither Enter nor `r` does anything."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles") as pilot:
            seen = await press(pilot, "a", "enter", "r")
            assert "Choose at least one program" in seen
            assert "r start" not in seen
            seen = await press(pilot, "a", "tab", "a", "a", "enter", "r")
            assert "Choose at least one TPU" in seen
            assert isinstance(pilot.app.screen, RehearsalChoiceScreen)

    run(journey)


def test_missing_compiler_shows_install_command(tmp_path: Path) -> None:
    """Before anything is started, and no sheet is to be put away."""

    async def journey() -> None:
        async with rehearsing(tmp_path, None, "compiles") as pilot:
            seen = on_screen(pilot.app)
            assert "The TPU compiler is not installed here" in seen
            assert "s set up the compiler" in seen
            assert "r start" not in seen
            assert "Set up the TPU compiler" in await press(pilot, "s")

    run(journey)


def test_deleted_compiler_is_reported_once_used(tmp_path: Path) -> None:
    """The environment may be deleted while the choice is on the screen."""

    async def journey() -> None:
        async with rehearsing(tmp_path, None, "compiles") as pilot:
            pilot.app.screen._choice.has_compiler = True
            seen = await press(pilot, "r")
            assert "no Python found here has the TPU compiler" in seen
            assert "tpustarter setup rehearse" in seen
            assert "s set up" in seen
            assert isinstance(pilot.app.screen, RehearsalScreen)
            assert "again" in {
                one.binding.description for one in list_active_keys(pilot.app.screen)
            }
            assert "Set up the TPU compiler" in await press(pilot, "s")

    run(journey)


def test_machine_with_tpu_asks_first(tmp_path: Path, stub: Path) -> None:
    """`n` compiles nothing and goes back, `y` goes on."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", generation="v5e") as pilot:
            seen = await press(pilot, "r")
            assert "This machine has TPU chips" in seen
            await press(pilot, "n")
            assert isinstance(pilot.app.screen, RehearsalChoiceScreen)
            seen = await press(pilot, "r", "y")
            assert "21 of 21 compile" in seen

    run(journey)


def test_tpu_with_too_few_devices_is_skipped(tmp_path: Path, stub: Path) -> None:
    """`skip` in the table, and why below it."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "needs_many", "compiles") as pilot:
            await choose(pilot, "v5e-8")
            seen = await press(pilot, "r", "end")
            assert re.search(r"compiles: after +ok\n needs_many +skip", seen)
            assert "Left out: it needs 9 devices, and v5e-8 has 8." in seen

    run(journey)


def test_colours_are_not_needed(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NO_COLOR the marked cell is reversed, and it alone."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def journey() -> None:
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

    run(journey)
