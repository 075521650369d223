"""The palette: what it finds, in which order, and how much fits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.command import CommandList

from tests.support.tutor import HELLO, on_screen, press, tutor, until
from tests.tui.test_palette import LEAD
from tpustarter.setup.environment.setup_profiles import MACHINE, PROFILES
from tpustarter.tui.lesson.screen import LessonRunScreen
from tpustarter.tui.library.screen import LessonListScreen


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_palette_shows_command_only_where_there_is_room(width: int, tmp_path: Path) -> None:
    """On a narrow screen the palette leaves out the commands."""
    async with tutor(tmp_path, size=(width, 40)) as pilot:
        await press(pilot, "l", "colon")
        await until(pilot, lambda: "List all lessons" in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        asks = "with nothing running it asks whether to quit"
        assert (width > 60) == (asks in seen)
        assert "List all lessons (l at home)" in seen


async def test_palette_matches_words_not_scattered_letters(tmp_path: Path) -> None:
    """The palette matches parts of words, not letters spread over a title."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "colon", *"theme")
        await until(pilot, lambda: "Check" not in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert seen.index("Colours: dark") < seen.index("Colours: automatic")
        await press(pilot, *(["backspace"] * 5), *"achin")
        await until(pilot, lambda: "Check this machine" in on_screen(pilot.app))
        await press(pilot, *(["backspace"] * 5), *"mchn")
        await until(pilot, lambda: "Check this machine" not in on_screen(pilot.app))


async def test_palette_finds_lessons_and_fits_its_list(tmp_path: Path) -> None:
    """From three letters on, the palette lists lessons by title, in a list of their height."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "colon", *"ha")
        assert "Lesson: " not in on_screen(pilot.app)
        await press(pilot, "n")
        await until(pilot, lambda: "Lesson: Hangs" in on_screen(pilot.app))
        container = pilot.app.screen.query_one("#--container")
        await until(pilot, lambda: container.size.height < 10)
        await press(pilot, "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LessonRunScreen))
        assert "start/hangs" == pilot.app.screen.lesson


async def test_palette_searches_lessons_without_matching_action(tmp_path: Path) -> None:
    """A word that matches no action can be searched for in the lessons."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "colon", *"sleep")
        await until(pilot, lambda: "Search for “sleep”" in on_screen(pilot.app))
        await press(pilot, "enter")
        await until(pilot, lambda: "time.sleep" in on_screen(pilot.app))
        assert isinstance(pilot.app.screen, LessonListScreen)
        await press(pilot, "ctrl+u", *"zzz")
        await until(pilot, lambda: "Nothing for zzz" in on_screen(pilot.app))


async def test_palette_counts_titles_left_out(tmp_path: Path) -> None:
    """The palette shows five titles and counts the others."""
    lessons = dict.fromkeys([f"shard{number}" for number in range(8)], HELLO)
    async with tutor(tmp_path, lessons=lessons) as pilot:
        await press(pilot, "colon", *"shard")
        await until(pilot, lambda: "for “shard”, 3 titles more" in on_screen(pilot.app))
        assert 5 == on_screen(pilot.app).count("Lesson: ")


@pytest.mark.usefixtures("long_command")
async def test_help_and_palette_shorten_commands_and_explain_once(tmp_path: Path) -> None:
    """Commands are shortened and the launcher explained once; differences are kept."""
    async with tutor(tmp_path) as pilot:
        seen = await press(pilot, "question_mark")
        assert re.search(r" c +check +tpustarter check +│", seen)
        assert LEAD in " ".join(seen.replace("│", " ").split())
        assert 1 == seen.count("python3 -m uv")
        await press(pilot, "escape", "colon")
        await until(pilot, lambda: "List all lessons" in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert re.search(r"Check this machine \(c\) +tpustarter check  ", seen)
        assert LEAD in seen
        assert 1 == seen.count("python3 -m uv")


@pytest.mark.usefixtures("long_command")
async def test_later_help_omits_launch_hint(tmp_path: Path) -> None:
    """Only the first screen's help says how to type a command."""
    async with tutor(tmp_path) as pilot:
        assert "In a shell" not in await press(pilot, "l", "question_mark")


async def test_which_finds_library_first(tmp_path: Path) -> None:
    """`which` finds the choice of a library first."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "colon", *"which")
        await until(pilot, lambda: "Search for “which”" in on_screen(pilot.app))
        lines = on_screen(pilot.app).splitlines()
        found = [line for line in lines if "tpustarter" in line and "hich" in line]
        assert "Which library" in found[0]


async def test_installed_program_needs_no_launch_hint(tmp_path: Path) -> None:
    """If the program is installed, help and palette have no line on how to launch it."""
    async with tutor(tmp_path) as pilot:
        assert "In a shell" not in await press(pilot, "question_mark")
        await press(pilot, "escape", "colon")
        await until(pilot, lambda: "List all lessons" in on_screen(pilot.app))
        assert "In a shell" not in on_screen(pilot.app)


@pytest.mark.usefixtures("long_command")
async def test_palette_shows_command_of_each_action(tmp_path: Path) -> None:
    """At 80 columns each action has its command on one line; settings have none."""
    async with tutor(tmp_path, size=(80, 100)) as pilot:
        for keys in ([], ["l"]):
            await press(pilot, *keys, "colon")
            await until(pilot, lambda: "Colours: none" in on_screen(pilot.app))
            seen = on_screen(pilot.app)
            for name in (*MACHINE, *PROFILES):
                assert re.search(rf"Set up .+  tpustarter setup {name} ", seen), name
            for rest in (
                "learn --exercise --all",
                "rehearse",
                "tpu list",
                "check --level soak",
                "setup --help",
            ):
                assert f"  tpustarter {rest} " in seen, (keys, rest)
            assert "--python" not in seen
            actions = pilot.app.screen.query_one(CommandList)
            assert actions.virtual_size.height == actions.option_count
            await press(pilot, "escape")
