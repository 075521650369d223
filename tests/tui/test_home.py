"""Home and the choice of a path: who it is for, the next lesson and progress."""

from __future__ import annotations

import shutil
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.places import SAMPLES
from tests.support.processes import HANG_S
from tests.support.stubs import make_python
from tests.support.tutor import (
    HELLO,
    driven,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
    write_lessons,
)
from tpustarter.checking.results.headline import RunSummary, format_run_summary
from tpustarter.core import content, locations, state
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.progress import lesson_progress
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.machine.machine import Machine
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.home import home_rows
from tpustarter.tui.home.paths_screen import PathsScreen
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.lesson.screen import LessonRunScreen

NAMES = ("one", "two", "three", "four")
STAGES = """\
- id: laptop
  title: I only have a laptop
  who: Somebody without a TPU.
  lessons:
    - First steps: [start/one, start/two]
    - The rest: [start/three, start/four]
- {id: fresh-tpu-vm, title: I have a fresh TPU VM, who: Somebody with one., lessons: [start/four]}
"""


def staged(folder: Path) -> TpustarterApp:
    """Return the app on four lessons, in a path of two stages and one without."""
    lessons = write_lessons(folder / "lessons", **dict.fromkeys(NAMES, HELLO))
    (lessons / "paths.yml").write_text(STAGES)
    return TpustarterApp(lessons=lessons, checks=write_checks(folder / "checks"))


async def test_quarantine_notice_hides_home_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notice of a file put aside shortens the home folder and hides secrets."""
    monkeypatch.setenv("HOME", str(tmp_path))
    broken = tmp_path / "hf_Qq7zQq7zQq7zQq7zQq7z.json"
    broken.write_text("{")
    notes: list[str] = []
    monkeypatch.setattr(HomeScreen, "notify", lambda _, text, **__: notes.append(str(text)))

    async with tutor(tmp_path / "content") as pilot:
        notes.clear()
        locations.move_aside(broken, "kept.json", why="cannot be read")
        pilot.app.screen.show_moved_files()
    [note] = notes
    assert "~/" in note
    assert str(tmp_path) not in note
    assert "Qq7z" not in note


def begin(folder: Path, name: str) -> None:
    """Record a pass of the first block of a lesson."""
    lesson = next(one for one in content.read_lessons(folder) if one.id == f"start/{name}")
    block = list_blocks(lesson)[0]
    lesson_progress.record_block(lesson, block, BlockResult(block.id, "pass"))


async def test_first_start_asks_for_path_and_remembers_choice(tmp_path: Path) -> None:
    """Each path has its lessons and minutes, a digit chooses, and the next start does not ask."""
    async with tutor(tmp_path, path=None) as pilot:
        assert isinstance(pilot.app.screen, PathsScreen)
        seen = on_screen(pilot.app)
        assert "Which of these describes you?" in seen
        assert "1   I only have a laptop" in seen
        assert "2 lessons        4 min" in seen
        assert "Suggested for this machine: it has no TPU." in seen
        seen = await press(pilot, "2")
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "Path: Another path" in seen
        assert "other" == state.load_state("settings")["path"]
    async with tutor(tmp_path, path=None) as pilot:
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "Path: Another path" in on_screen(pilot.app)


async def test_path_names_missing_setup_and_its_size(tmp_path: Path) -> None:
    """Home names the missing set-up and its size, and the list of paths adds the command."""
    write_lessons(tmp_path / "lessons", one=HELLO, two=HELLO)
    file = tmp_path / "lessons/start/0002-two.md"
    needs_torch = file.read_text().replace("needs: {}", 'needs: {torch_xla: "2.9"}')

    async with tutor(tmp_path, lessons={"one": HELLO, "two": HELLO}, size=(120, 40)) as pilot:
        assert "4.2 GB" not in on_screen(pilot.app)
        file.write_text(needs_torch)
        await press(pilot, "l", "escape")  # which reads the lessons again
        assert "4.2 GB" in on_screen(pilot.app)
        seen = await press(pilot, "p")
        assert "setup pytorch-xla" in seen
        assert "4.2 GB" in seen


async def test_path_needing_newer_jax_begins_with_setup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home names the set-up and the Python that is too old, at 80x24."""
    make_python(tmp_path / ".venv", jax="0.6.2")
    monkeypatch.chdir(tmp_path)
    write_lessons(tmp_path / "lessons", one=HELLO)
    file = tmp_path / "lessons/start/0001-one.md"

    async with tutor(tmp_path, lessons={"one": HELLO}) as pilot:
        file.write_text(file.read_text().replace("needs: {}", 'needs: {jax: "0.10"}'))
        seen = await press(pilot, "l", "escape")
        assert ["setup jax", "3.12"] == [one for one in ("setup jax", "3.12") if one in seen]


@pytest.mark.parametrize("size", [(80, 34), (120, 35), (200, 50)])
async def test_all_paths_are_in_sight(size: tuple[int, int], tmp_path: Path) -> None:
    """All paths fit the screen; whom the marked one is for is shown beside them."""
    app = TpustarterApp(checks=write_checks(tmp_path / "checks"))
    app.machine = Machine(root=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    async with driven(app, size) as pilot:
        await settle(pilot)
        seen = on_screen(app)
        assert "1   I want the short course" in seen
        assert "0   My TPU does not work" in seen
        assert seen.count("stand in for one") == (2 if size[1] == 50 else 1)
        assert "Path: My TPU does not work" in await press(pilot, "0")


@pytest.mark.parametrize(
    ("generation", "reason", "title"),
    [
        (None, "it has no TPU", "I only have a laptop"),
        ("v6e", "it has a TPU", "I have a fresh TPU VM"),
    ],
)
async def test_esc_takes_path_that_suits_machine(
    generation: str | None, reason: str, title: str, tmp_path: Path
) -> None:
    """The suggested path is marked with its reason, and Esc takes it."""
    app = staged(tmp_path)
    (tmp_path / "root").mkdir()
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    app.machine = lay_out(tmp_path / "root", generation, env=env)
    async with driven(app, (80, 24)) as pilot:
        await settle(pilot)
        seen = on_screen(app)
        assert f"Suggested for this machine: {reason}." in seen
        assert "1, 2, ... take it  Esc take the suggested one" in seen
        seen = await press(pilot, "escape")
        assert f"Path: {title}" in seen


class Unknown(Machine):
    """A machine whose examination waits until the test allows it."""

    told = threading.Event()

    def list_names(self, folder: str) -> list[str]:
        """Wait for the test, then list the names."""
        self.told.wait(HANG_S)
        return super().list_names(folder)


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        (["2"], "Another path"),
        (["escape"], "I only have a laptop"),
        (["escape", "p", "2"], "Another path"),
        (["down", "up", "down", "enter"], "Another path"),
    ],
)
async def test_choice_before_machine_is_known_stays(
    keys: list[str], path: str, tmp_path: Path
) -> None:
    """A path chosen before the machine is known is not changed by a suggestion."""
    Unknown.told.clear()

    app = staged(tmp_path)
    order = STAGES.replace("I have a fresh TPU VM", "Another path")
    (tmp_path / "lessons/paths.yml").write_text(order)
    app.machine = Unknown(tmp_path, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    async with driven(app, (80, 24)) as pilot:
        await until(pilot, lambda: "1   I only have a laptop" in on_screen(app))
        for key in keys:
            await pilot.press(key)
        await until(pilot, lambda: "Path: " in on_screen(app))
        Unknown.told.set()
        await settle(pilot)
        assert f"Path: {path}" in on_screen(app)
        chosen = "fresh-tpu-vm" if path == "Another path" else "laptop"
        assert chosen == state.load_state("settings")["path"]


async def test_key_opens_next_lesson_from_any_row(tmp_path: Path) -> None:
    """`n` opens the first open lesson of the path, and is not named if none is left."""
    async with driven(staged(tmp_path), (80, 24)) as pilot:
        await settle(pilot)
        lesson_progress.record_lesson_done("start/one")
        await press(pilot, "1", "end", "n")
        assert isinstance(pilot.app.screen, LessonRunScreen)
        assert "start/two" == pilot.app.screen.lesson
        for name in NAMES[1:]:
            lesson_progress.record_lesson_done(f"start/{name}")
        seen = await press(pilot, "escape")
        assert "next lesson" not in seen


async def test_existing_progress_skips_path_question(tmp_path: Path) -> None:
    """Progress without a chosen path opens Home."""
    lesson_progress.record_lesson_done("start/hello")

    async with tutor(tmp_path, path=None) as pilot:
        assert isinstance(pilot.app.screen, HomeScreen)
        assert "> Hangs" in on_screen(pilot.app)


async def test_home_shows_progress_and_folds_completed_stages(tmp_path: Path) -> None:
    """Home has a bar, the current stage open and the others folded; Enter opens one."""
    async with driven(staged(tmp_path), (80, 24)) as pilot:
        await settle(pilot)
        seen = await press(pilot, "1")
        assert "0 of 4 lessons, 8 min" in seen
        assert "▼ First steps" in seen
        assert "▶ The rest" in seen
        assert "Three" not in seen
        begin(tmp_path / "lessons", "one")
        await press(pilot, "l")
        seen = await press(pilot, "escape")
        assert "You have begun it: 1 of 2 blocks and questions are done." in seen
        assert "begun 1 of 2" in seen
        for name in ("one", "two"):
            lesson_progress.record_lesson_done(f"start/{name}")
        await press(pilot, "l")
        seen = await press(pilot, "escape")
        assert "━━━" in seen
        assert "2 of 4 lessons done, 4 min of 8 min left" in seen
        assert "▶ First steps" in seen
        assert "2 lessons, done" in seen
        assert "next  Three" in seen
        seen = await press(pilot, "down", "enter")
        assert "done  One" in seen
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, LessonRunScreen)


async def test_machine_and_checks_are_beside_path_when_wide(tmp_path: Path) -> None:
    """From 120 columns on, machine and last check are to the right of the path."""
    async with tutor(tmp_path, size=(160, 40)) as pilot:
        for width, most in ((160, 102), (120, 78), (110, 102)):
            await pilot.resize_terminal(width, 40)
            await settle(pilot)
            lines = on_screen(pilot.app).splitlines()
            at = next(line for line in lines if "Python  " in line).index("Python")
            assert at > 74 if width > 110 else at < 10
            assert "Last check" in "\n".join(lines)
            frame = next(line for line in lines if "─ Path: " in line)
            assert frame.index("╮") <= most


async def test_completed_path_offers_other_paths(tmp_path: Path) -> None:
    """A completed path offers the checks and the key for other paths."""
    for name in ("hello", "hangs"):
        lesson_progress.record_lesson_done(f"start/{name}")

    async with tutor(tmp_path) as pilot:
        seen = on_screen(pilot.app)
        assert "> Check this machine" in seen
        assert "p shows the other paths" in seen
        assert "all 2 lessons, 4 min done" in seen


def shown_check(check: dict[str, Any]) -> list[str]:
    """Return the lines that Home shows of a stored check run."""
    return [line.plain for each in home_rows.check_lines(check) for line in each.lines(200)]


def test_home_names_failures_of_last_checks() -> None:
    """Home names at most three failures of the last run and of the last other Python."""
    last = RunSummary(passed=3, failed=1, warned=1)
    before = RunSummary(passed=1, warned=4)
    wrong = {"fail": ["host.a"], "warn": ["host.b"]}
    lines = shown_check(
        {
            "summary": asdict(last),
            "wrong": wrong,
            "before": {"summary": asdict(before), "python": "b", "wrong": {"warn": [*"abcd"]}},
        }
    )

    assert [format_run_summary(last, wrong), "", format_run_summary(before)] == lines
    assert format_run_summary(last) not in lines


@pytest.mark.parametrize("summary", [None, {"passed": 1}, {**asdict(RunSummary()), "failed": "1"}])
def test_old_state_folder_shows_its_last_check(summary: dict[str, Any] | None) -> None:
    """Stored results without valid numbers are shown by their old headline."""
    shutil.copy(SAMPLES / "old_state/last-check.json", state.prepare_state_path("last-check"))
    check = lesson_progress.read_last_check_run()
    assert check

    said, before = check["headline"], check["before"]["headline"]
    lines = shown_check({**check, "summary": summary})
    assert (said, before) == (lines[1], lines[-1])


async def test_first_screen_names_the_lessons_key(tmp_path: Path) -> None:
    """At 80 columns the key line names the lessons, the checks, the search and the palette."""
    async with tutor(tmp_path, size=(80, 24)) as pilot:
        await settle(pilot)
        line = on_screen(pilot.app).splitlines()[-1]
        assert {"check", "lessons", "search", "more", "help"} <= set(line.split()), line
