"""Set-up of the machine in the app: plan, values, root steps and undo."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.screens.test_sizes import faults
from tests.support.machine_setups import as_user, declare, home_file, machine, with_apt
from tests.support.tutor import named_keys, on_screen, press, settle, tutor, until
from tpustarter.machine import host
from tpustarter.setup.environment.setup_profiles import MACHINE
from tpustarter.tui.kit.confirm_commands import ConfirmCommands
from tpustarter.tui.kit.key_line import MAX_KEYS
from tpustarter.tui.kit.row_list import RowList
from tpustarter.tui.setup.list_screen import ListedSetup
from tpustarter.tui.setup.machine_screen import MachineSetupScreen
from tpustarter.tui.setup.values_screen import SetupValuesScreen

MINE = {"id": "mine", "look": {"lines": "~/.mine", "text": "set -g mouse on"}}
ROOT = {"id": "roots", "look": {"file": "~/roots", "text": "x"}, "needs": ["root"]}
AFTER = {"id": "after", "look": {"folder": "~/after"}, "after": ["mine"]}
VALUES = {
    "bucket": {"meaning": "the bucket that is mounted", "matches": "[a-z0-9._-]+"},
    "mode": {"meaning": "who may read it", "matches": "[0-7]{3}", "default": 700},
}
MOUNT = {"id": "mount", "look": {"lines": "~/.mounts", "text": "{bucket} {mode}"}}


async def open_plan(pilot: Pilot[None], lessons: Path) -> str:
    """Open the plan of `tuning` that these lessons contain."""
    app: Any = pilot.app
    app.lessons = lessons
    app.go.open_setup("tuning")
    await settle(pilot)
    return on_screen(app)


def flat(seen: str) -> str:
    """Return the screen's text with all whitespace and frames collapsed to single spaces."""
    return re.sub(r"[\s│]+", " ", seen)


def in_window(app: Any) -> str:
    """Return the text of the front window as one line; long paths break anywhere."""
    x, y, width, height = app.screen.query_one("#sheet").region
    lines = on_screen(app).split("\n")[y : y + height]
    return "".join(line[x : x + width].strip(" │") for line in lines)


def journey_over(
    tmp_path: Path,
    here: host.Machine,
    *steps: dict[str, Any],
    size: tuple[int, int] = (120, 40),
    header: Mapping[str, Any] = {},
) -> Any:
    """Return the app on a machine, and the folder of lessons with these steps."""
    lessons = declare(tmp_path / "declared", *steps, **header)
    return tutor(tmp_path, size=size, machine=here), lessons


async def test_plan_runs_rootless_steps_after_y(tmp_path: Path) -> None:
    """Nothing changes before `y`; afterwards each step can be undone after a question."""
    here = machine(tmp_path)
    yours = {"id": "yours", "where": "on your computer", "command": ["tpustarter", "tpu"]}
    app, lessons = journey_over(tmp_path, here, MINE, AFTER, yours)

    async with app as pilot:
        seen = await open_plan(pilot, lessons)
        assert "todo    Do mine" in seen
        assert "yours   Do yours" in seen
        assert "| set -g mouse on" in seen
        assert re.search(r"to (\S*/home/alice|~)/\.mine", seen)
        assert "changes  something" in seen
        assert not home_file(here, ".mine").exists()
        assert "2 steps are left. Nothing has run yet." in seen
        assert "Later, z puts back what was changed." in flat(seen)
        whole = flat(await press(pilot, "enter"))
        assert "changes something" in whole
        assert "Press y, and these steps run as well: Do after" in whole
        assert "Do yours" not in whole  # no key runs that
        await press(pilot, "enter")

        seen = await press(pilot, "y")
        assert "set -g mouse on" in home_file(here, ".mine").read_text()
        assert "2 of 2 steps done" in seen
        assert "Everything is done. Next, yours: Do yours." in flat(seen)
        assert "The log is in" in seen
        assert "y run all left" not in seen

        seen = await press(pilot, "z")
        assert isinstance(pilot.app.screen, ConfirmCommands)
        assert seen.index("Do after") < seen.index("Do mine")  # the last change first
        await press(pilot, "enter", "escape")
        assert home_file(here, ".mine").exists()
        seen = await press(pilot, "z", "y")
        assert not home_file(here, ".mine").exists()
        assert "It is as it was before." in seen
        assert "z undo" not in seen


async def test_nothing_runs_as_root_without_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root step shows its command and needs `y`; `n` skips it, Enter and Esc do nothing."""
    here = as_user(tmp_path, monkeypatch)
    app, lessons = journey_over(tmp_path, here, ROOT, MINE)
    roots, mine = home_file(here, "roots"), home_file(here, ".mine")

    async with app as pilot:
        seen = await open_plan(pilot, lessons)
        assert "2 steps are left, 1 as root." in seen
        assert "y runs them, and asks before anything runs as root." in flat(seen)
        seen = await press(pilot, "y")
        assert "╭─ Run this as root? ─" in seen
        assert "sudo -n" in flat(seen)
        assert "marked_lines.py" in in_window(pilot.app)
        assert "Do mine (as root)" not in seen
        assert "n without root" in seen
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, ConfirmCommands)
        await press(pilot, "escape")
        assert (False, False) == (roots.exists(), mine.exists())

        seen = await press(pilot, "y", "n")
        assert (False, True) == (roots.exists(), mine.exists())
        assert "todo    Do roots" in seen
        assert "1 step is left, as root." in seen

        seen = await press(pilot, "y")
        assert "n without root" not in seen
        await press(pilot, "n")
        assert isinstance(pilot.app.screen, ConfirmCommands)
        seen = await press(pilot, "y")
        assert roots.exists()
        assert "Everything is done. Next: l opens the lesson." in flat(seen)


async def test_step_needing_sudo_password_shows_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that needs a password is blocked, and its details show the command."""
    here = as_user(tmp_path, monkeypatch)
    (here.root / "refuses").touch()
    app, lessons = journey_over(tmp_path, here, ROOT)

    async with app as pilot:
        await open_plan(pilot, lessons)
        seen = await press(pilot, "y", "y")
        assert "blocked Do roots" in seen
        assert "sudo asks for a password here" in flat(seen)
        assert "Do roots: not run, and its details say what to do." in flat(seen)
        assert "setup tuning --yes --root" in flat(seen)


async def test_single_step_runs_after_those_before(tmp_path: Path) -> None:
    """`o` is offered only once all steps before are done, and runs no other step."""
    here = machine(tmp_path)
    other = {"id": "other", "look": {"folder": "~/other"}}
    app, lessons = journey_over(tmp_path, here, MINE, AFTER, other)

    async with app as pilot:
        assert "o only this" in await open_plan(pilot, lessons)
        assert "o only this" not in await press(pilot, "down")
        await press(pilot, "o")
        assert not home_file(here, ".mine").exists()
        seen = await press(pilot, "up", "o")
        assert home_file(here, ".mine").exists()
        assert not home_file(here, "other").exists()
        assert "2 steps are left." in seen
        assert "o only this" in await press(pilot, "down")
        await press(pilot, "o")
        assert home_file(here, "after").is_dir()
        assert not home_file(here, "other").exists()


async def test_form_checks_and_keeps_values(tmp_path: Path) -> None:
    """A run with missing values opens the form; invalid ones are refused, valid ones kept."""
    here = machine(tmp_path)
    app, lessons = journey_over(tmp_path, here, MOUNT, header={"values": VALUES})

    async with app as pilot:
        seen = await open_plan(pilot, lessons)
        assert "| BUCKET 700" in seen
        assert "Press v to fill in bucket." in seen
        seen = await press(pilot, "y")
        assert isinstance(pilot.app.screen, SetupValuesScreen)
        assert "The bucket that is mounted." in seen
        assert "If you leave it empty: 700." in seen
        seen = await press(pilot, *"My")
        assert "! bucket is My, expected the bucket that is mounted" in flat(seen)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, SetupValuesScreen)
        seen = await press(pilot, "backspace", "backspace", *"data")
        assert "! " not in seen
        seen = await press(pilot, "enter", "enter")
        assert isinstance(pilot.app.screen, MachineSetupScreen)
        assert "| data 700" in seen
        assert not home_file(here, ".mounts").exists()
        await press(pilot, "escape")
        assert "| data 700" in await open_plan(pilot, lessons)
        await press(pilot, "y")
        assert "data 700" in home_file(here, ".mounts").read_text()
        # Another value waits for undo, and the plan stays.
        await press(pilot, "v", *["backspace"] * 4, *"else", "enter", "enter")
        assert "was run with bucket data" in flat(on_screen(pilot.app))
        assert "data 700" in await press(pilot, "escape")


async def test_failed_step_stops_no_other(tmp_path: Path) -> None:
    """The failed step shows its last lines and log, and the others still run."""
    here = with_apt(tmp_path, "bash")
    (here.root / "fails").touch()
    app, lessons = journey_over(tmp_path, here, {"id": "tmux", "look": {"package": "tmux"}}, MINE)

    async with app as pilot:
        await open_plan(pilot, lessons)
        seen = await press(pilot, "y")
        assert "failed  Do tmux" in seen
        assert "Do tmux: failed. y tries again what is left." in flat(seen)
        assert "f why it failed" in seen
        assert home_file(here, ".mine").exists()
        (here.root / "fails").unlink()
        seen = await press(pilot, "y")
        assert "done    Do tmux" in seen


async def test_running_step_is_live_and_key_stops(tmp_path: Path) -> None:
    """The output of the running step is shown, and `x` stops it; the step can be run again."""
    here = machine(tmp_path)
    script = 'echo "it runs $((6 * 7))"; sleep 60'
    slow = {"id": "slow", "look": "proof", "command": ["sh", "-c", script]}
    app, lessons = journey_over(tmp_path, here, slow)

    async with app as pilot:
        await open_plan(pilot, lessons)
        await pilot.press("y")
        await until(pilot, lambda: "x stop" in on_screen(pilot.app))
        await until(pilot, lambda: "it runs 42" in on_screen(pilot.app))
        seen = await press(pilot, "x")
        assert "stopped before it was done" in flat(seen)
        assert "y run all left" in seen


async def test_list_groups_setups_of_this_machine(tmp_path: Path) -> None:
    """Each set-up has its number of open steps or what blocks it; Enter opens its plan."""
    here = machine(tmp_path)
    app, lessons = journey_over(tmp_path, here, MINE, AFTER)

    async with app as pilot:
        pilot.app.lessons = lessons
        seen = await press(pilot, "s")
        assert seen.index(" Environments ") < seen.index("This machine")
        assert re.search(r"2 left +tuning ", seen)
        rows = pilot.app.screen.query_one(RowList)
        rows.highlighted = rows.get_option_index("tuning")
        await settle(pilot)
        seen = await press(pilot, "enter")
        assert "Set up this machine: tuning" in seen.splitlines()[0]
        seen = await press(pilot, "y", "escape")
        assert re.search(r"done +tuning ", seen)
        declare(tmp_path / "declared", {"id": "tmux", "look": {"package": "tmux"}})
        await press(pilot, "escape", "s")
        seen = on_screen(pilot.app)
        assert re.search(r"not here +tuning ", seen)
        assert "there is no apt-get here" in flat(seen)


def test_row_of_list_has_no_address() -> None:
    """The row leaves the address out of the reason."""
    why = "apt does not know this package yet; this page says more: https://example.com/a/b"

    assert (
        why.partition(": http")[0] == ListedSetup(MACHINE["gcs"], None, trouble=why).blocked_reason
    )


async def test_lesson_and_setup_lead_to_each_other(tmp_path: Path) -> None:
    """The lesson names the key of its set-up, and the set-up has a key back to the lesson."""
    here = machine(tmp_path)
    app, lessons = journey_over(tmp_path, here, MINE)

    async with app as pilot:
        page: Any = pilot.app
        for name in ("paths.yml", "glossary.md"):
            shutil.copy(page.lessons / name, lessons)
        shutil.copytree(page.lessons / "start", lessons / "start")
        page.lessons = lessons
        page.go.open_lesson("setup/test")
        offer = "Press s for the plan of the set-up tuning, which this lesson explains."
        await until(pilot, lambda: offer in flat(on_screen(page)))
        seen = await press(pilot, "s")
        assert "Set up this machine: tuning" in seen
        seen = await press(pilot, "colon", *"only this")
        assert "Only this (o)" in seen
        await press(pilot, "enter")
        assert home_file(here, ".mine").exists()
        assert "A test" in (await press(pilot, "l")).splitlines()[0]
        assert 2 == len(page.screen_stack)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50)], ids=str)
async def test_every_screen_fits(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan, form, question and help fit every size, with few keys on a narrow one."""
    monkeypatch.setenv("NO_COLOR", "1")
    here = as_user(tmp_path, monkeypatch)
    steps = (MINE, ROOT, AFTER, MOUNT)
    app, lessons = journey_over(tmp_path, here, *steps, size=size, header={"values": VALUES})
    found: dict[str, list[str]] = {}

    async with app as pilot:
        page: Any = pilot.app

        def look(name: str) -> None:
            if wrong := faults(page, size):
                found[name] = wrong

        await open_plan(pilot, lessons)
        look("plan")
        if size[0] == 80:
            named = named_keys(page)
            assert len(named) <= MAX_KEYS
            assert {"v fill in", "Esc back", "? help"} <= {*named}
        await press(pilot, "v", *"MY")
        look("values")
        await press(pilot, "backspace", "backspace", *"data", "enter", "enter", "y")
        look("question")
        await press(pilot, "n")
        look("plan after a run")
        await until(pilot, home_file(here, ".mine").exists)
        await press(pilot, "question_mark")
        look("help")

    assert {} == found
