"""Rehearsal in the app: choices, progress, results and all ways to end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

from textual.pilot import Pilot

from tests.checking.test_runner import until_ended
from tests.support.machines import lay_out
from tests.support.stub_compiler import CHECKS, SAMPLES
from tests.support.tutor import driven, on_screen, press, settle, until, write_lessons
from tpustarter.core import locations
from tpustarter.learning.progress import course
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.rehearse.choice_screen import RehearsalChoiceScreen

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
    """Open the rehearsal in the app on sample checks and a simulated machine."""
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
    """Select exactly these TPUs; return the screen."""
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
    """Mark a row of the programs by keys."""
    await press(pilot, "home")
    while pilot.app.screen.query_one("#programs").highlighted_id != row:
        await pilot.press("down")


async def test_default_tpus_are_explained_with_marked_size(tmp_path: Path, stub: Path) -> None:
    """The choice of default TPUs is explained beside the marked TPU until it changes."""
    async with rehearsing(tmp_path, stub, "compiles", size=(200, 50)) as pilot:
        seen = " ".join(re.sub(r"[│╭╮╰╯─]+", " ", await press(pilot, "tab", "home")).split())
        assert "TPU v2, 4 chips on 1 host" in seen
        assert "with one of every other generation" in seen
        assert "with one of every other generation" not in await press(pilot, "space")


async def test_selected_programs_and_tpus_fill_table(tmp_path: Path, stub: Path) -> None:
    """Space takes programs and TPUs out; every cell has a word, and the marked has details."""
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


async def test_rehearsal_stops_at_once_without_leftover_process(tmp_path: Path, stub: Path) -> None:
    """A second Esc stops the compilation at once, and no process is left."""
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


async def test_nothing_starts_without_program_or_tpu(tmp_path: Path, stub: Path) -> None:
    """With no program or no TPU chosen, a line says so and `r` does nothing."""
    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        seen = await press(pilot, "a", "enter", "r")
        assert "Choose at least one program" in seen
        assert "r start" not in seen
        seen = await press(pilot, "a", "tab", "a", "a", "enter", "r")
        assert "Choose at least one TPU" in seen
        assert isinstance(pilot.app.screen, RehearsalChoiceScreen)


async def test_missing_compiler_shows_install_command(tmp_path: Path) -> None:
    """Without a compiler the screen names the set-up and cannot start."""
    async with rehearsing(tmp_path, None, "compiles") as pilot:
        seen = on_screen(pilot.app)
        assert "The TPU compiler is not installed here" in seen
        assert "s set up the compiler" in seen
        assert "r start" not in seen
        assert "Set up the TPU compiler" in await press(pilot, "s")
