"""Rehearsal at every size: the marked cell is in sight, and the result is the same."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.stub_compiler import CHECKS
from tests.support.tutor import on_screen, press, settle
from tests.tui.test_rehearse import rehearsing


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_marked_program_of_many_is_in_sight(
    size: tuple[int, int], tmp_path: Path, stub: Path
) -> None:
    """The table takes at most half the height, and scrolls to the marked program."""
    many = tmp_path / "many" / "jax"
    many.mkdir(parents=True)
    names = [f"copy_{number:02}" for number in range(24)]
    shutil.copy(CHECKS / "jax" / "_array.py", many)
    for name in names:
        shutil.copy(CHECKS / "jax" / "compiles.py", many / f"{name}.py")

    async with rehearsing(tmp_path / "app", stub, *names, size=size, samples=many.parent) as pilot:
        await press(pilot, "r", "x")
        seen = await press(pilot, *["down"] * 20)
        table, _, below = seen.partition("─ for v2-8 ")
        marked = re.search(r"(copy_\d\d: \w+) for v2-8", below)
        assert marked
        assert marked[1] in table


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 15)])
async def test_every_size_shows_marked_cell_and_result(
    tmp_path: Path, stub: Path, size: tuple[int, int]
) -> None:
    """The last TPU is reached by keys, even if only some columns fit."""
    async with rehearsing(tmp_path, stub, "does_not_fit", size=size) as pilot:
        assert "Nothing is run" in " ".join(on_screen(pilot.app).split())
        seen = await press(pilot, "r", "down", *["right"] * 9)
        assert re.search(r"tpu7x-8[\s│]*\n", seen)
        assert re.search(r"breaks .*too big", seen)
        assert "Nothing was run" in " ".join(seen.split())
        assert "Enter details" in seen
        seen = await press(pilot, "enter")
        assert "does_not_fit: breaks for tpu7x-8" in " ".join(seen.split())
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        seen = await press(pilot, "enter")
        assert "tpu7x-8" in seen
