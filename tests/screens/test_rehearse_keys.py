"""Rehearsal in the app: typing mistakes, early keys, and the table below its details."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.stub_compiler import CHECKS
from tests.support.tutor import on_screen, press, settle
from tests.tui.test_rehearse import rehearsing
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.rehearse.choice_screen import RehearsalChoiceScreen


def plain(seen: str) -> str:
    """Return a screen as one line, without frames."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", seen).split())


@pytest.mark.parametrize("kind", ["function", "script"])
async def test_syntax_error_is_shown_beside_file_input(
    tmp_path: Path, stub: Path, kind: str
) -> None:
    """The error has line and column, and the input stays open until the file parses."""
    file = tmp_path / "mine.py"
    file.write_text("import jax\n\nbroken = jax.jit(\n")

    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        await press(pilot, "home", *(["down"] if kind == "script" else []), "space")
        pilot.app.screen.query_one("#search").value = f"{file}" + ":step" * (kind != "script")
        seen = " ".join(re.sub(r"[│╭╮╰╯─]", "", await press(pilot, "enter")).split())
        assert "line 3, column 17: '(' was never closed" in seen
        assert "broken = jax.jit(" in seen
        assert "Enter choose it" in await press(pilot, "escape")
        file.write_text("import jax\n\nstep = jax.jit(lambda x: x)\n")
        assert "What the file offers" in await press(pilot, "enter") or kind == "script"


async def test_table_is_whole_after_results_behind_details(tmp_path: Path, stub: Path) -> None:
    """The table has its full width again after results came while the details covered it."""
    async with rehearsing(tmp_path, stub, "compiles", size=(120, 35)) as pilot:
        seen = await press(pilot, "r")
        (line,) = [one for one in seen.splitlines() if " v2-8 " in one and " v6e-8 " in one]
        await press(pilot, "enter", "r")
        seen = await press(pilot, "escape")
        await settle(pilot)
        assert line in on_screen(pilot.app)


async def test_arrow_before_checks_load_is_kept(tmp_path: Path, stub: Path) -> None:
    """An arrow key typed before the checks load keeps its place."""
    async with rehearsing(tmp_path, stub, "compiles") as pilot:
        screen = RehearsalChoiceScreen()
        await pilot.app.push_screen(screen)
        programs = screen.query_one("#programs", RowList)
        assert ["function", "script"] == [one.id for one in programs.options if one.id]
        programs.action_cursor_down()
        await settle(pilot)
        assert programs.option_count > 3
        assert "script" == programs.highlighted_id


async def test_programs_are_grouped_with_quick_examples(tmp_path: Path, stub: Path) -> None:
    """Each check is in one group, and examples say what they compile."""
    async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
        for name in ("all_reduce", "meshes"):
            shutil.copy(CHECKS / "jax" / "compiles.py", tmp_path / f"checks/jax/{name}.py")
        await press(pilot, "escape")
        seen = re.sub(r"[│╭╮╰╯─]", " ", await press(pilot, "r"))
        groups = re.findall(r"Your own programs|Examples, which|Other checks of JAX", seen)
        assert ["Your own programs", "Examples, which", "Other checks of JAX"] == groups
        assert re.search(r"jax\.all_reduce +a sum over all devices of a TPU", seen)
        assert 1 == seen.count("jax.all_reduce")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "a sum over all devices of a TPU" in on_screen(pilot.app)


async def test_program_without_suitable_python_offers_setup(tmp_path: Path, stub: Path) -> None:
    """A program without a suitable Python shows the set-up command instead."""
    checks = tmp_path / "checks" / "torch_xla"
    checks.mkdir(parents=True)
    text = (CHECKS / "jax" / "compiles.py").read_text()
    (checks / "sample.py").write_text(text.replace('FRAMEWORK = "jax"', 'FRAMEWORK = "torch_xla"'))

    async with rehearsing(tmp_path, stub, "compiles", size=(120, 40)) as pilot:
        seen = " ".join(re.sub(r"[│╭╮╰╯─]", " ", on_screen(pilot.app)).split())
        assert "torch_xla.sample" not in seen
        assert "1 more, for a Python with torch_xla, and none was found here." in seen
        assert "tpustarter setup pytorch-xla" in seen
        assert "r compiles 1 check for 7 TPUs" in seen
        packages = next(stub.glob("lib/python3*/site-packages"))
        (packages / "torch_xla-2.9.0.dist-info").mkdir()
        await press(pilot, "escape")
        assert "[ ] torch_xla.sample" in await press(pilot, "r")


async def test_own_program_is_described_at_its_row(
    tmp_path: Path, stub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script is taken with one key, and what is done with it is shown beside its row."""
    (tmp_path / "mine").mkdir()
    script = tmp_path / "mine" / "script.py"
    script.write_text("import jax\n\nprint(jax.jit(lambda x: x)(1.0))\n")
    monkeypatch.chdir(script.parent)

    async with rehearsing(tmp_path, stub, "compiles", size=(180, 40)) as pilot:
        seen = await press(pilot, "home", "space")
        assert "[x] script.py, as a script" in seen
        assert "r runs your script on CPU devices" in seen
        assert "Nothing is run on a TPU." in seen
        assert re.search(r"│ +does +runs the script on CPU", seen)
        assert "example" not in seen
        assert "e change" in seen
        seen = await press(pilot, "tab", "home")
        assert re.search(r"│ +devices +8, with 7.48 GiB each", seen)
        assert re.search(r"--script +script.py --tpu|script.py +--tpu", plain(seen))
