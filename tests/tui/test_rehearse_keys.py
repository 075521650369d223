"""Rehearsal in the app: a mistake in what is typed, early keys, and the table after its details."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.stub_compiler import make_compiler
from tests.support.tutor import on_screen, press, run, settle
from tests.tui.test_rehearse import rehearsing
from tpustarter.tui.screens.rehearse import Rehearse
from tpustarter.tui.widgets import Rows


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment that stands in for one with JAX and libtpu."""
    folder = tmp_path_factory.mktemp("compiler")
    make_compiler(folder)
    return folder


@pytest.mark.parametrize("kind", ["function", "script"])
def test_a_mistake_in_the_syntax_is_told_where_the_file_is_typed(
    tmp_path: Path, stub: Path, kind: str
) -> None:
    """With line and column; the line stays open until the file is Python."""
    file = tmp_path / "mine.py"
    file.write_text("import jax\n\nbroken = jax.jit(\n")

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles") as pilot:
            await press(pilot, "home", *(["down"] if kind == "script" else []), "space")
            pilot.app.screen.query_one("#search").value = f"{file}" + ":step" * (kind != "script")
            seen = " ".join(re.sub(r"[│╭╮╰╯─]", "", await press(pilot, "enter")).split())
            assert "line 3, column 17: '(' was never closed" in seen
            assert "broken = jax.jit(" in seen
            assert "Enter choose it" in await press(pilot, "escape")
            file.write_text("import jax\n\nstep = jax.jit(lambda x: x)\n")
            assert "What the file offers" in await press(pilot, "enter") or kind == "script"

    run(journey)


def test_the_table_is_whole_after_answers_came_behind_its_details(
    tmp_path: Path, stub: Path
) -> None:
    """It has no width while the details have the whole screen."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles", size=(120, 35)) as pilot:
            seen = await press(pilot, "r")
            (line,) = [one for one in seen.splitlines() if " v2-8 " in one and " v6e-8 " in one]
            await press(pilot, "enter", "r")
            seen = await press(pilot, "escape")
            await settle(pilot)
            assert line in on_screen(pilot.app)

    run(journey)


def test_an_arrow_pressed_before_the_checks_are_read_is_kept(tmp_path: Path, stub: Path) -> None:
    """They come below what is there already."""

    async def journey() -> None:
        async with rehearsing(tmp_path, stub, "compiles") as pilot:
            screen = Rehearse()
            await pilot.app.push_screen(screen)
            programs = screen.query_one("#programs", Rows)
            assert ["function", "script"] == [one.id for one in programs.options if one.id]
            programs.action_cursor_down()
            await settle(pilot)
            assert programs.option_count > 3
            assert "script" == programs.chosen

    run(journey)
