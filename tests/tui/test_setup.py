"""The set-up screen on simulated machines, settings, and errors in the app."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.fake_tools import behave, calls, lay_tools
from tests.support.machines import lay_out
from tests.support.places import TESTS
from tests.support.slow_machine import Slow
from tests.support.tutor import (
    HELLO,
    JAX_HANGS,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
)
from tpustarter.checking.plan import interpreters
from tpustarter.core import locations, state
from tpustarter.learning.content.paths import read_paths
from tpustarter.machine import host
from tpustarter.setup.environment.setup_profiles import PROFILES, SIZES
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.settings_screen import SettingsScreen
from tpustarter.tui.checks.screen import ChecksScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.kit.page import ConfirmWindow, NoticeSheet
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.screen import LessonListScreen
from tpustarter.tui.setup.environment_screen import EnvironmentSetupScreen
from tpustarter.tui.setup.list_screen import SetupListScreen

CHECKS = TESTS / "samples" / "machine_checks"


def lay_machine(tmp_path: Path) -> tuple[host.Machine, Path]:
    """Return a machine with a Python that set-up can use, and the folder of its programs."""
    for name in ("machine", "home"):
        (tmp_path / name).mkdir()
    tools = lay_tools(tmp_path / "tools", uv=True, python=True)
    env = {"PATH": str(tools), "HOME": str(tmp_path / "home")}
    return lay_out(tmp_path / "machine", env=env), tools


async def test_long_title_of_step_continues_below_itself(tmp_path: Path) -> None:
    """On a narrow screen a long title wraps, and its second line is indented like the first."""
    machine, _ = lay_machine(tmp_path)

    async with tutor(tmp_path, size=(44, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        rows = (await press(pilot, "s", "enter")).splitlines()
        title = next(row for row, line in enumerate(rows) if line.startswith(" done "))
        first, rest = (line.replace("done", "    ", 1) for line in rows[title : title + 2])
        assert len(first) - len(first.lstrip()) == len(rest) - len(rest.lstrip()) > 0


async def test_failed_step_shows_output_and_next_run_resumes(tmp_path: Path) -> None:
    """A failed step shows its output, and the next run continues from that step."""
    machine, tools = lay_machine(tmp_path)
    behave(tools, pip={"say": "no space left on device", "code": 1})

    async with tutor(tmp_path, size=(100, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        seen = await press(pilot, "s", "enter")
        assert "Install jax into it" in seen
        assert "uv python install" not in seen  # one is found: it will not be run
        letters = re.sub(r"[\s│]", "", seen)
        assert str(tmp_path / "home") not in letters
        assert "tools/uvpip" in letters
        assert [] == calls(tools)

        seen = await press(pilot, "y")
        assert "failed  Install" in seen
        assert "| no space left on device" in seen
        assert "Press f to see why." in seen
        assert "The log is in" in seen
        assert "y run these commands" in seen

        behave(tools)
        seen = await press(pilot, "y")
        assert "Everything is done" in seen
        assert "y run these commands" not in seen
        assert "z undo" in seen
        assert "Press c to check it." in seen
        assert "In a shell, source ~/tpu/bin/activate makes it" in " ".join(seen.split())
        await press(pilot, "c")
        assert isinstance(pilot.app.screen, ChecksScreen)
        await press(pilot, "escape")

        seen = await press(pilot, "z")
        assert "Remove it?" in seen
        assert "stays in the cache of uv or pip" in seen
        seen = await press(pilot, "y")
        assert not (tmp_path / "home" / "tpu").exists()
        assert "~/tpu is gone. Press y to make it again." in seen


async def test_setups_of_path_are_listed_first(tmp_path: Path) -> None:
    """The set-ups of the path are listed first, and all of them with their state."""
    machine, tools = lay_machine(tmp_path)

    async with tutor(tmp_path, size=(120, 40), machine=machine, path="from-pytorch") as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        seen = await press(pilot, "s")
        names = re.findall(r"(?:not made|not here|ready|begun) +([a-z][a-z-]+) ", seen)
        assert [*PROFILES] == sorted(names[: len(PROFILES)], key=[*PROFILES].index)
        assert ["jax", "pytorch-xla", "torchtpu"] == names[:3]
        assert seen.index("for your path") < seen.index("jax ") < seen.index("Other env")
        assert "tpustarter setup jax" in seen
        await press(pilot, "down")
        assert "Set up PyTorch/XLA 2.9.0" in await press(pilot, "enter")
        await press(pilot, "escape", "up", "enter", "y")
        screen = next(one for one in pilot.app.screen_stack if isinstance(one, SetupListScreen))
        with pytest.MonkeyPatch.context() as patch:  # what is known before it is looked again
            patch.setattr(screen, "_look", lambda: None)
            seen = await press(pilot, "escape")
        assert re.search(r"\.\.\. +jax ", seen)
        assert "looking at this machine" in seen
        assert "environments ready" not in seen
        screen._look()
        await settle(pilot)
        seen = on_screen(pilot.app)
        assert f"1 of {len(PROFILES)} environments ready" in seen
        assert re.search(r"ready +jax ", seen)
        assert re.search(r"not made +keras ", seen)
        assert calls(tools)


@pytest.mark.parametrize("size", [(80, 50), (200, 50)], ids=str)
async def test_setup_shows_commands_cost_and_undo_before_yes(
    size: tuple[int, int], tmp_path: Path
) -> None:
    """`y` is offered beside the commands, download, space and undo of every step."""
    machine, _ = lay_machine(tmp_path)
    download, space = SIZES["jax"]

    async with tutor(tmp_path, size=size, machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        for keys in (("s", "enter"), ("enter",)):
            seen = re.sub(r"[\s│╭╮╰╯─▌]+", " ", await press(pilot, *keys))
            assert "y run these commands" in seen
            assert "Nothing has run yet." in seen
            assert "Press y to run the 4 steps that are left." in seen
            assert f"That downloads {download} and takes {space} on the disk." in seen
            assert "Later, z removes ~/tpu again." in seen
            assert "Remember it for later checks" in seen
        letters = seen.replace(" ", "")
        assert "uvvenv--allow-existing" in letters
        assert "uvpipinstall--python~/tpu/bin/pythonjax" in letters
        assert "checkjax.devices_visible--python~/tpu" in letters
        assert "one line in the state folder of tpustarter" in seen
        assert ("a device that computes correctly" in seen) == (size[0] == 200)


@pytest.mark.parametrize(
    ("keys", "title"), [(["enter"], "the newest JAX"), (["down", "enter"], "the TPU compiler")]
)
async def test_keys_before_setups_load_still_act(
    keys: list[str], title: str, tmp_path: Path
) -> None:
    """Keys typed before the set-ups load act on their rows."""
    machine, _ = lay_machine(tmp_path)
    Slow.allowed.set()

    async with tutor(tmp_path, size=(120, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        pilot.app.machine = Slow(machine.root, machine.env)
        Slow.allowed.clear()
        for key in ("s", *keys):
            await pilot.press(key)
        assert isinstance(pilot.app.screen, SetupListScreen)
        assert pilot.app.screen.query_one(RowList).highlighted_id is None
        Slow.allowed.set()
        await settle(pilot)
        assert isinstance(pilot.app.screen, EnvironmentSetupScreen)
        assert f"Set up {title}" in on_screen(pilot.app)


async def test_frames_on_large_terminal_fit_their_content(tmp_path: Path) -> None:
    """On a large terminal the frames fit their content, and the details have the commands."""
    machine, _ = lay_machine(tmp_path)

    async with tutor(tmp_path, size=(200, 50), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        seen = await press(pilot, "s")
        assert "tpustarter check jax.devices_visible --python ~/tpu" in seen
        for keys in ((), ("enter",)):
            await press(pilot, *keys)
            rows, details = (pilot.app.screen.query_one(one) for one in ("#rows", "#details"))
            assert details.region.x > rows.region.x
            assert 12 <= rows.region.height < 40
            assert 12 <= details.region.height < 40
            assert (rows.region.y, rows.region.bottom) == (
                details.region.y,
                details.region.bottom,
            )


async def test_list_grown_to_fit_shows_no_position(tmp_path: Path) -> None:
    """A list that fits after a resize shows no position."""
    machine, _ = lay_machine(tmp_path)

    async with tutor(tmp_path, size=(80, 14), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        seen = await press(pilot, "s", "enter", "down")
        assert re.search(r"3 of 5 *$", seen)
        await pilot.resize_terminal(160, 60)
        await settle(pilot)
        assert not re.search(r"\d of \d+ *$", on_screen(pilot.app))


async def test_running_step_is_stopped_by_key(tmp_path: Path) -> None:
    """`x` ends the running command, and the step can be run later."""
    machine, tools = lay_machine(tmp_path)
    behave(tools, pip={"sleep": 60})

    async with tutor(tmp_path, size=(100, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        await press(pilot, "s", "enter")
        await pilot.press("y")
        await until(pilot, lambda: "running Install" in on_screen(pilot.app))
        await until(pilot, lambda: "x stop" in on_screen(pilot.app))
        seen = await press(pilot, "x")
        assert "stopped before it was done" in seen or "are left" in seen
        assert "x stop" not in seen


async def test_proof_on_tpu_is_named_and_can_end(tmp_path: Path) -> None:
    """While the proof can hold the TPU every heading names it, and `t` can end it."""
    for name in ("machine", "home"):
        (tmp_path / name).mkdir()
    stub = {"libtpu": "0.0.42", "kind": "TPU v5 lite", "count": 8}
    tools = lay_tools(tmp_path / "tools", uv=True, python=True, **stub)
    env = {"PATH": str(tools), "HOME": str(tmp_path / "home")}
    machine = lay_out(tmp_path / "machine", "v5e", chips=8, env=env)
    write_checks(tmp_path / "checks")
    (tmp_path / "checks/jax").mkdir()
    (tmp_path / "checks/jax/devices_visible.py").write_text(JAX_HANGS)
    held = f"TPU: tpustarter setup, pid {os.getpid()}"

    async with tutor(tmp_path, size=(100, 40), machine=machine) as pilot:
        pilot.app.lessons = None
        await press(pilot, "s", "enter")
        await pilot.press("y")
        await until(pilot, lambda: held in on_screen(pilot.app).splitlines()[0])
        await until(pilot, lambda: "Esc back" not in on_screen(pilot.app))
        seen = await press(pilot, "t")
        assert "TPU v5e, 8 chips" in seen.splitlines()[0]
        assert "left" in seen


async def test_blocked_step_is_marked_and_retried(tmp_path: Path) -> None:
    """A blocked step shows its reason, and `y` checks again."""
    machine, _ = lay_machine(tmp_path)

    async with tutor(tmp_path, size=(100, 40), machine=machine) as pilot:
        pilot.app.lessons, pilot.app.checks = None, CHECKS
        await press(pilot, "s", "enter", "down")
        (tmp_path / "home" / "tpu").write_text("")
        seen = await press(pilot, "y")
        assert "blocked Make an environment" in seen
        assert "~/tpu is not a folder" in seen
        (tmp_path / "home" / "tpu").unlink()
        seen = await press(pilot, "y")
        assert "Everything is done" in seen


async def test_problem_has_words_of_command_line(tmp_path: Path) -> None:
    """A Problem is shown as on the command line, and the screen behind it still works."""
    async with tutor(tmp_path) as pilot:
        (tmp_path / "checks" / "host" / "passes.py").unlink()
        await press(pilot, "enter", "c")
        seen = on_screen(pilot.app)
        assert isinstance(pilot.app.screen, NoticeSheet)
        assert "error: there is no check host.passes" in seen
        await press(pilot, "escape", "escape")
        assert "Hello" in on_screen(pilot.app).splitlines()[0]


async def test_idle_process_ends_after_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without work is ended after the idle time, and the lease is free."""
    monkeypatch.setattr("tpustarter.tui.app.device_use.OPEN_S", 2.0)

    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "code: pid " in on_screen(pilot.app))
        await until(pilot, lambda: "code: pid " not in on_screen(pilot.app))
        assert pilot.app.live.holder is None


def test_no_key_collides_with_multiplexer_or_flow_control() -> None:
    """No key of the app is a prefix of tmux or screen, or stops a terminal."""
    screens = (
        HomeScreen,
        LessonListScreen,
        LessonRunScreen,
        ChecksScreen,
        EnvironmentSetupScreen,
        SettingsScreen,
        NoticeSheet,
        ConfirmWindow,
    )
    keys = {
        key
        for owner in (TpustarterApp, CodeEditor, RowList, *screens)
        for binding in owner.BINDINGS
        for key in binding.key.split(",")
    }

    assert not keys & {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+z", "ctrl+p"}


async def test_bug_is_reported_with_report_path(tmp_path: Path) -> None:
    """An unexpected exception gives a notification and a report file."""
    async with tutor(tmp_path) as pilot:
        pilot.app.screen.show_error(ValueError("[b]broken[/b]"))
        await settle(pilot)
        assert "[b]broken[/b]" in on_screen(pilot.app)

    assert 1 == len(list(locations.make_state_folder().glob("bug-*.md")))


async def test_unreadable_lessons_are_reported_at_home(tmp_path: Path) -> None:
    """A broken lesson header is reported on Home, and checks still run."""
    async with tutor(tmp_path, lessons={"hello": HELLO}) as pilot:
        path = next((tmp_path / "lessons" / "start").iterdir())
        path.write_text("---\ntitle: [broken\n---\n\ntext\n")
        seen = await press(pilot, "l", "escape")
        assert "error: cannot read the lesson" in seen
        seen = await press(pilot, "c")
        assert isinstance(pilot.app.screen, ChecksScreen)
        assert re.search(r"pass\s+host\.passes", seen, re.IGNORECASE)

    assert read_paths(tmp_path / "lessons")


async def test_settings_are_remembered_and_followed(tmp_path: Path) -> None:
    """A chosen number of devices is saved and shown in every heading."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "comma")
        rows = pilot.app.screen.query_one("#settings")
        rows.highlighted = rows.get_option_index("devices:4")
        seen = await press(pilot, "enter")
        assert "* 4" in seen
        rows.highlighted = rows.get_option_index("plain:")
        await press(pilot, "enter", "escape")
        assert "4 virtual CPU devices" in on_screen(pilot.app)

    saved = state.load_state("settings")
    assert (4, True) == (saved["devices"], saved["plain"])


def test_chosen_python_ranks_right_after_option(tmp_path: Path) -> None:
    """The saved Python is chosen unless `--python` is given or it does not exist."""
    state.save_state("settings", {"python": sys.executable})
    env = {"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": str(tmp_path)}
    chosen, _ = interpreters.choose_interpreter(None, env, tmp_path)
    assert "chosen in the settings" == chosen.why

    state.save_state("settings", {"python": str(tmp_path / "gone")})
    chosen, _ = interpreters.choose_interpreter(None, env, tmp_path)
    assert "chosen in the settings" != chosen.why
