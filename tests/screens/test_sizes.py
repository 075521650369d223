"""Every screen on small terminals: short key lines, and nothing cut or split."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea
from textual.widgets.markdown import MarkdownFence

from tests.support.cloud_app import add, app_of, connecting, made
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_tools import behave, lay_tools
from tests.support.machines import lay_out
from tests.support.made_lessons import fence
from tests.support.stub_compiler import CHECKS as REHEARSED
from tests.support.stub_compiler import make_compiler
from tests.support.tutor import (
    HELLO,
    driven,
    on_screen,
    press,
    settle,
    tutor,
    until,
    write_checks,
)
from tpustarter import tui
from tpustarter.cloud.jobs import job_records
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.slices.start_options import StartOptions
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.machine_label import MachineLabelText
from tpustarter.tui.app.palette import Palette
from tpustarter.tui.kit.key_line import KeyBar
from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.text_layout import KeyLine
from tpustarter.tui.library.screen import LessonListScreen

SIZES = [(60, 15), (60, 20), (80, 24)]
NO_SPACE = {"say": "ERROR: No space left on device\n", "code": 1}
CUT = re.compile("…")
CODE = (TextArea, MarkdownFence)
"""What is never wrapped, and scrolls."""
VISITED_ELSEWHERE = {"TpuRunScreen": "tests/cloud/app/test_tpu_run.py, with a gcloud on the PATH"}
"""Screens that need what no way here has."""
ENDED = JobRecord(
    "gpt-20261122-070000",
    "my-project",
    "us-central1-b",
    "gpt",
    ("python3", "train.py", "--steps", "100000"),
    ("w0", "w1"),
    "2026-11-22T06:00:00+00:00",
    "2026-11-22T07:00:00+00:00",
    phase="ended",
    code=1,
)
"""A job on a TPU that is gone."""
PARTED = re.compile(r"\d\s*\n\W*min\b")


def machine(folder: Path) -> Any:
    """Return a laptop on which a set-up fails."""
    found = lay_tools(folder / "bin", uv=True, python=True)
    behave(found, pip=NO_SPACE)
    (folder / "machine").mkdir()
    return lay_out(folder / "machine", env={"PATH": str(found), "HOME": str(folder)})


async def home_again(pilot: Pilot[None]) -> None:
    """Close every screen in front of Home."""
    while len(pilot.app.screen_stack) > 1:
        await press(pilot, "escape")


async def walk(pilot: Pilot[None]) -> AsyncIterator[str]:
    """Open every screen, and yield the name of each."""
    app: Any = pilot.app
    yield "paths, first start"
    await press(pilot, "1")
    yield "home"
    for name, keys in {
        "help of home": "question_mark",
        "paths": "p",
        "lessons": "l",
        "exercises": "e",
        "settings": "comma",
        "palette": "colon",
        "rehearse": "r",
        "an error": "f",
        "live view": "w",
        "quit": "ctrl+c",
    }.items():
        await press(pilot, keys)
        yield name
        await press(pilot, "escape")
    await press(pilot, "slash", *"oom")
    yield "search"
    await home_again(pilot)
    for name, lesson in {"lesson": "jax/gradients", "questions": "start/when-it-pays-off"}.items():
        app.go.open_lesson(lesson)
        await settle(pilot)
        yield name
        await press(pilot, "e")
        yield f"{name}, typing"
        await press(pilot, "escape", "w")
        yield f"{name}, words"
        await press(pilot, "escape", "end")
        yield f"{name}, its end"
        await home_again(pilot)
    app.go.open_exercise("jax/ring-all-reduce")
    await settle(pilot)
    yield "exercise"
    await press(pilot, "h", "h")
    yield "exercise, hints"
    await home_again(pilot)


async def walk_on(pilot: Pilot[None]) -> AsyncIterator[str]:
    """Open the screens that run something or ask Google."""
    await press(pilot, "1", "c")
    yield "checks"
    await press(pilot, "enter")
    yield "check"
    await home_again(pilot)
    await press(pilot, "s")
    yield "set-ups"
    await press(pilot, "enter")
    yield "set-up"
    await press(pilot, "y")
    yield "set-up, failed"
    await press(pilot, "f")
    yield "explained"
    await home_again(pilot)
    app: Any = pilot.app
    app.go.open_setup("nfs-client")
    await settle(pilot)
    yield "set-up of the machine"
    await press(pilot, "v")
    yield "values of a set-up"
    await home_again(pilot)
    await press(pilot, "u", "o")
    yield "doctor"
    await press(pilot, "escape", "end", "c")
    yield "command on a TPU"
    await home_again(pilot)
    await press(pilot, "u")
    yield "TPUs"
    for keys in (["end"], ["enter"]):
        await press(pilot, *keys)
        yield "TPU"
    await home_again(pilot)
    await press(pilot, "u", "end", "b")
    yield "jobs"
    await press(pilot, "enter")
    yield "job whose TPU is gone"
    await press(pilot, "escape", "n")
    yield "form of a job"
    await home_again(pilot)
    await press(pilot, "u", "n")
    yield "form"
    for field in range(6):
        await press(pilot, "tab", *("v6e-8" if not field else ""))
        yield "form, next field"
    await home_again(pilot)
    app.go.open_slice(StartOptions(engine="gcloud", names=("bert",), hosts=4))
    await settle(pilot)
    yield "slice, its commands"
    await press(pilot, "escape")
    yield "slice, not started"
    await home_again(pilot)
    app.go.open_slice_watch(StartOptions(engine="gcloud", names=("bert",), hosts=4))
    await settle(pilot)
    yield "watch of all hosts, its commands"
    await press(pilot, "escape")
    yield "watch of all hosts, not started"
    await home_again(pilot)


async def walk_while_it_runs(pilot: Pilot[None]) -> AsyncIterator[str]:
    """Open the screens of running work while it runs."""
    await press(pilot, "1", "s", "enter")
    await pilot.press("y")
    await until(pilot, lambda: "running, downloads" in on_screen(pilot.app))
    yield "set-up that runs"
    await press(pilot, "x")
    await home_again(pilot)
    await press(pilot, "r", "a")
    await pilot.press("r")
    await until(pilot, lambda: "hangs: breaks" in on_screen(pilot.app))
    yield "rehearsal that runs"
    await press(pilot, "x")
    await home_again(pilot)
    await press(pilot, "u")
    await pilot.press("w")
    await until(pilot, lambda: "stop waiting" in on_screen(pilot.app))
    yield "TPU that is followed"
    await press(pilot, "escape")
    yield "TPU that is no longer followed"
    await home_again(pilot)


def _is_found(screen: Screen[Any], line: str) -> bool:
    """Return whether a line is an excerpt in the results, which may be cut."""
    return isinstance(screen, LessonListScreen) and line.startswith(" " * 10)


def faults(app: TpustarterApp, size: tuple[int, int]) -> list[str]:
    """Return the layout faults of the front screen."""
    seen, screen = on_screen(app), app.screen
    found = [
        f"cut: {line}"
        for line in seen.splitlines()
        if CUT.search(line) and "host." not in line and not _is_found(screen, line)
    ]
    found += [f"parted: {match.group()!r}" for match in PARTED.finditer(seen)]
    if screen.max_scroll_x or screen.max_scroll_y:
        found.append("the screen itself is larger than the terminal")
    for widget in screen.query("*"):
        if widget.show_horizontal_scrollbar and not isinstance(widget, CODE):
            found.append(f"{widget} is wider than its room")
    for keys in screen.query(KeyBar):
        lines = keys.render().get_height({}, keys.content_size.width)  # type: ignore[attr-defined]
        if lines > (2 if size[0] >= 80 else 3) or lines > keys.content_size.height:
            found.append(f"{lines} lines of keys in {keys.content_size.height}")
        if (
            not isinstance(screen, Palette)
            and "q quit" not in seen
            and "q quit" in str(keys.render())
        ):
            found.append("the last key is not seen")
    return found


def screen_names() -> set[str]:
    """Return the names of the app's screens without base classes."""
    for module in pkgutil.walk_packages(tui.__path__, "tpustarter.tui."):
        importlib.import_module(module.name)
    waiting, names = [Page], set[str]()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if not kind.__subclasses__() and kind.__module__.startswith(tui.__name__):
            names.add(kind.__name__)
    return names


async def faults_on(
    way: Any, app: TpustarterApp, size: tuple[int, int], visited: set[str]
) -> dict[str, list[str]]:
    """Take a walk through an app of this size; return the faults by screen."""
    found: dict[str, list[str]] = {}
    async with driven(app, size) as pilot:
        await settle(pilot)
        async for name in way(pilot):
            visited.add(type(app.screen).__name__)
            if faults(app, size):  # what comes meanwhile is laid out a moment later
                await settle(pilot)
            if wrong := faults(app, size):
                found.setdefault(name, []).extend(wrong)
    return found


def still_app(folder: Path, cloud: FakeCloud) -> TpustarterApp:
    """Return an app in which all work ends at once."""
    checks = write_checks(folder / "checks", "passes", "fails", "warns", "raises")
    return TpustarterApp(
        machine=machine(folder), checks=checks, connect=connecting(cloud), clock=cloud.clock
    )


def slow_app(folder: Path, cloud: FakeCloud) -> TpustarterApp:
    """Return an app in which a set-up, a rehearsal and a TPU request never end."""
    slow, checks = machine(folder), write_checks(folder / "checks", "passes")
    behave(folder / "bin", venv={"sleep": 60})
    make_compiler(folder / "compiler")
    slow.env["VIRTUAL_ENV"] = str(folder / "compiler")
    (checks / "jax").mkdir()
    for name in ("_array", "hangs"):
        shutil.copy(REHEARSED / "jax" / f"{name}.py", checks / "jax")
    return TpustarterApp(machine=slow, checks=checks, connect=connecting(cloud), clock=cloud.clock)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_screen_fits_at_60_and_80_columns(
    tmp_path: Path, cloud: FakeCloud, size: tuple[int, int]
) -> None:
    """Every screen fits with two or three lines of keys, and no screen is left out."""
    visited = set(VISITED_ELSEWHERE)
    made(cloud, "bert", "WAITING_FOR_RESOURCES")

    async def go(way: Any, make_app: Callable[[Path, FakeCloud], TpustarterApp]) -> None:
        (tmp_path / way.__name__).mkdir()
        app = make_app(tmp_path / way.__name__, cloud)
        found = await faults_on(way, app, size, visited)
        app.live.release()
        assert {} == found

    await go(walk_while_it_runs, slow_app)
    made(cloud, "gpt", "FAILED", (8, "There is no more capacity"))
    add(cloud, name="llama", workers=4)
    record = job_records.save_job(ENDED)
    record.log_folder.mkdir(parents=True)
    record.logs[0].write_text("step 1\n" * 60)
    await go(walk, still_app)
    await go(walk_on, still_app)

    assert set() == screen_names() - visited


async def test_keys_without_room_are_in_help(tmp_path: Path) -> None:
    """Next, back and help stay on a narrow key line, and the help lists the other keys."""
    async with tutor(tmp_path, size=(54, 12), lessons={"hello": HELLO}) as pilot:
        seen = await press(pilot, "enter", "r")
        assert all(key in seen for key in ("Enter read on", "Esc back", "? help"))
        assert "c check" not in seen
        assert "t end" not in seen
        await press(pilot, "question_mark")
        help_pages = [await press(pilot, "space") for _ in range(8)]
        assert any(re.search(r" c +check ", page) for page in help_pages)
        assert any(re.search(r" t +end process ", page) for page in help_pages)


def line_of_keys(width: int, status: str = "") -> str:
    """Return the key line at a width; the last two letters are the least important."""
    keys = [Content(f"{key} does something") for key in "abcdefg"]
    [line] = KeyLine(keys, [0, 6, 5, 1, 2, 3, 4], 4, status=status).lines(width)
    return line.plain.replace(" does something", "")


def test_least_important_keys_are_dropped_from_line() -> None:
    """The fewer columns, the fewer keys are named, in unchanged order."""
    assert "a  b  c  d  e  f  g" == line_of_keys(200)
    assert "a  b  c  d  f  g" == line_of_keys(120)
    assert "a  b  f  g" == line_of_keys(80)
    assert "a  g" == line_of_keys(40)
    assert "a" == line_of_keys(10)


def test_scroll_position_shares_key_line_when_wide() -> None:
    """The position shares the key line only on a wide screen."""
    assert ["a", "b", "c", "f", "g", "14", "%", "read"] == line_of_keys(110, "14 % read").split()
    assert ["a", "b", "f", "g"] == line_of_keys(76, "14 % read").split()


def test_heading_shortens_machine_at_whole_words() -> None:
    """The heading has shorter and shorter texts of the machine, cut at whole words."""
    assert [
        "TPU v5e, 8 chips, 1 host",
        "TPU v5e, 8 chips, 1 host",
        "TPU v5e, 8 chips",
        "TPU v5e",
        "TPU v5e",
    ] == MachineLabelText("TPU v5e", "", ("8 chips", "1 host")).texts()
    without_tpu = MachineLabelText("no TPU", "8 virtual CPU devices").add_holder(
        DeviceHolder("", 12)
    )
    assert "no TPU, code: pid 12" in without_tpu.texts()


async def test_slice_is_drawn_at_60_columns(tmp_path: Path, cloud: FakeCloud) -> None:
    """Workers are drawn in lines that fit 60 columns, with their state in words."""
    add(cloud, name="llama", workers=64)

    async with app_of(cloud, tmp_path, size=(60, 30)) as pilot:
        seen = await press(pilot, "u", "enter")
        assert "slice    64 hosts with 4 chips each, topology 16x16" in seen
        assert "workers 48-63  [■■■■■■■■ ■■■■■■■■]  16 ready\n" in seen


async def test_resize_keeps_place_in_lesson(tmp_path: Path) -> None:
    """Resizing keeps the text at the top in place."""
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 90 for n in range(9))
    text += "\n\nHere. \n\n" + fence("print(1)", "1") + "\n\n" + text

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{text}"}, size=(60, 15)) as pilot:
        await press(pilot, "enter", "tab")
        assert "print(1)" in on_screen(pilot.app)
        for size in ((200, 50), (60, 15)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "print(1)" in on_screen(pilot.app), size


async def test_long_command_in_text_wraps_whole(tmp_path: Path) -> None:
    """A long command wraps at a space; a drawing in a fence is not wrapped."""
    command = "JAX_PLATFORMS=cpu JAX_NUM_CPU_DEVICES=8 python train.py --steps 1000 --last"
    lesson = f"# T\n\n```sh\n{command}\n```\n\n```text\n{'─' * 70}\nbelow\n```\n"

    async with tutor(tmp_path, lessons={"t": lesson}, size=(60, 24)) as pilot:
        seen = (await press(pilot, "enter")).splitlines()
        begin = next(row for row, line in enumerate(seen) if "JAX_PLATFORMS" in line)
        assert command == " ".join(" ".join(seen[begin : begin + 2]).split())
        drawn = next(row for row, line in enumerate(seen) if "─" * 20 in line and row > begin)
        assert "below" in seen[drawn + 1]
