"""Details link to lessons, and contain the address of every page."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tutor import press, tutor
from tests.tui.test_rehearse import FINE, choose, rehearsing
from tests.tui.test_setup import CHECKS, lay_machine
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.rehearse.rehearsal_screen import RehearsalScreen

SIZES = [(80, 24), (120, 35), (160, 44)]


@pytest.mark.parametrize("size", SIZES)
async def test_check_names_page_of_its_claim(tmp_path: Path, size: tuple[int, int]) -> None:
    """The page of a check has the address of its claim's source on one line."""
    async with tutor(tmp_path, size=size) as pilot:
        seen = await press(pilot, "c", "enter")
        assert "page  https://" in seen


@pytest.mark.parametrize("size", SIZES)
async def test_lesson_of_setup_opens_with_single_key(tmp_path: Path, size: tuple[int, int]) -> None:
    """`l` opens the lesson of a set-up from the list and from the plan."""
    machine, _ = lay_machine(tmp_path)

    async with tutor(tmp_path, size=size, machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        seen = await press(pilot, "s")
        if size != (80, 24):  # there the details scroll
            assert "read     setup/python-and-environments (l)" in seen
        await press(pilot, "l")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        assert "setup/python-and-environments" == pilot.app.screen.lesson
        assert "(l)" in await press(pilot, "escape", "enter", "enter")
        await press(pilot, "l")
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_program_too_big_leads_to_memory_lesson(tmp_path: Path, stub: Path) -> None:
    """A program that does not fit links to the memory lesson; one that fits does not."""
    file = tmp_path / "mine.py"
    file.write_text(FINE)

    async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
        pilot.app.choose(replace(pilot.app.choices, python=sys.executable))
        await choose(pilot, "v5e-8")
        assert "l lesson" not in await press(pilot, "r")
        await press(pilot, "escape", "home", "space")
        pilot.app.screen.query_one("#search").value = f"{file}:too_big f32[8]"
        seen = await press(pilot, "enter", "r")
        assert "read    jax/memory-and-donation (l)" in seen
        assert "l lesson" in seen
        assert isinstance(pilot.app.screen, RehearsalScreen)
        pilot.app.lessons = None
        await press(pilot, "l")
        assert "jax/memory-and-donation" == pilot.app.screen.lesson


async def test_details_show_command_of_own_program(tmp_path: Path, stub: Path) -> None:
    """The details show the shell command of an own program, and the lesson of a check."""
    (tmp_path / "mine.py").write_text("def fine(x):\n    return x + 1\n")

    async with rehearsing(tmp_path, stub, "compiles", size=(180, 40)) as pilot:
        await press(pilot, "home", "space")
        pilot.app.screen.query_one("#search").value = f"{tmp_path}/mine.py:fine f32[8]"
        seen = "".join((await press(pilot, "enter")).split())
        assert "--arg'f32[8]'" in seen.replace("│", "")
        seen = await press(pilot, *["down"] * 3)
        assert "jax/every-device (l)" in seen
        pilot.app.lessons = None
        await press(pilot, "l")
        assert "jax/every-device" == pilot.app.screen.lesson
