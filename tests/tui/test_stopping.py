"""Esc during a long run: the first asks, and the second stops it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.support.fake_tools import behave, lay_tools
from tests.support.gates import wait_for
from tests.support.machines import lay_out
from tests.support.places import TESTS
from tests.support.tutor import on_screen, press, settle, tutor, until
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.setup.environment_screen import EnvironmentSetupScreen

ASKED = "The checks still run. Press Esc again or x to stop them."


def asked(app: object) -> str:
    """Return the text of all notifications."""
    return " ".join(said.message for said in app._notifications)  # type: ignore[attr-defined]


async def test_double_esc_on_check_page_keeps_run(tmp_path: Path) -> None:
    """Esc returns to the list, a second one asks, and a third one stops the run."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        await until(pilot, lambda: "  x stop" in on_screen(pilot.app))
        assert "Esc, x stop" not in on_screen(pilot.app)
        await pilot.press("enter", "escape", "escape")
        await until(pilot, lambda: ASKED in " ".join(on_screen(pilot.app).split()))
        assert pilot.app.screen.can_stop
        seen = await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert 2 == seen.count("NOT RUN")
        assert ASKED not in asked(pilot.app)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, HomeScreen)


async def test_other_key_or_timeout_dismisses_stop_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another key or the timeout removes the question, and the next Esc asks again."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        app = pilot.app
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(app))
        await pilot.press("escape")
        await until(pilot, lambda: ASKED == asked(app))
        await pilot.press("down")
        await until(pilot, lambda: "" == asked(app))
        await pilot.press("escape")
        await until(pilot, lambda: ASKED == asked(app))
        for said in app._notifications:
            said.raised_at -= said.timeout
        await pilot.press("escape")
        await until(pilot, lambda: ASKED == asked(app))
        assert app.screen.can_stop
        await press(pilot, "x")
        assert "" == asked(app)


async def test_double_esc_stops_run_and_question_ends(tmp_path: Path) -> None:
    """Two Esc in one burst stop the run, and the question disappears."""
    async with tutor(tmp_path, checks=("hangs", "passes")) as pilot:
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        for _ in range(2):
            pilot.app.post_message(events.Key("escape", None))
        await until(pilot, lambda: not pilot.app.screen.can_stop)
        await settle(pilot)
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert "" == asked(pilot.app)


async def test_finished_run_dismisses_stop_question(tmp_path: Path) -> None:
    """The question to stop a run disappears when the run ends."""
    async with tutor(tmp_path, checks=("passes",)) as pilot:
        slow = tmp_path / "checks" / "host" / "passes.py"
        goes_on = tmp_path / "goes-on"
        waits = f"run():\n{wait_for(goes_on, '    ')}"
        slow.write_text(slow.read_text().replace("run():\n", waits))
        await pilot.press("c")
        await until(pilot, lambda: "RUN " in on_screen(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: ASKED == asked(pilot.app))
        goes_on.touch()
        await until(pilot, lambda: "PASS " in on_screen(pilot.app))
        await settle(pilot)
        assert "" == asked(pilot.app)


async def test_second_esc_stops_setup_command(tmp_path: Path) -> None:
    """The first Esc says that a command runs, and the second stops it."""
    for name in ("machine", "home"):
        (tmp_path / name).mkdir()
    tools = lay_tools(tmp_path / "tools", uv=True, python=True)
    behave(tools, pip={"say": "Collecting jax\n", "sleep": 3600})
    env = {"PATH": str(tools), "HOME": str(tmp_path / "home")}
    machine = lay_out(tmp_path / "machine", env=env)

    async with tutor(tmp_path, machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, TESTS / "samples" / "machine_checks"
        await press(pilot, "s", "enter")
        await pilot.press("y")
        await until(pilot, lambda: "Collecting jax" in on_screen(pilot.app))
        await pilot.press("escape")
        question = "A command of this set-up still runs. Press Esc again or x to stop it."
        assert question == asked(pilot.app)
        assert pilot.app.screen.can_stop
        seen = await press(pilot, "escape")
        assert isinstance(pilot.app.screen, EnvironmentSetupScreen)
        assert "steps are left; y goes on." in " ".join(seen.split())
