"""Frames of areas and windows, key lines, and layouts of wide screens."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.color import Color
from textual.widget import Widget
from textual.widgets import Input

from tests.support.tutor import named_keys, on_screen, press, settle, tutor
from tpustarter.tui.app.palette import ActionList
from tpustarter.tui.kit.key_line import MAX_KEYS, KeyBar


@pytest.mark.parametrize(("size", "corner"), [((120, 40), "╭─ "), ((80, 24), "─ ")])
async def test_frame_titles_show_results(
    tmp_path: Path, size: tuple[int, int], corner: str
) -> None:
    """Titles show results: in a frame, or in a rule on a narrow screen."""
    async with tutor(tmp_path, size=size) as pilot:
        assert f"{corner}Path: I only have a laptop ─" in on_screen(pilot.app)
        seen = await press(pilot, "c")
        assert f"{corner}1 fail, 1 warn, 1 pass ─" in seen
        assert f"{corner}host.fails: fail ─" in seen
        assert f"{corner}host.warns: warn ─" in await press(pilot, "down")
        await pilot.resize_terminal(60, 15)
        assert "1 fail, 1 warn" not in await press(pilot, "up")


@pytest.mark.parametrize("size", [(120, 35), (160, 44)])
@pytest.mark.parametrize("keys", [("c",), ("s",), ("s", "enter")])
async def test_adjacent_areas_align_at_top_and_bottom(
    keys: tuple[str, ...], size: tuple[int, int], tmp_path: Path
) -> None:
    """The full-screen details begin at the left edge of the list."""
    async with tutor(tmp_path, size=size) as pilot:
        await press(pilot, *keys)
        rows, details = (pilot.app.screen.query_one(name) for name in ("#rows", "#details"))
        if details.region.x == rows.region.x:  # below the list
            assert rows.region.right == details.region.right
            return
        left = rows.region.x
        assert rows.region.y == details.region.y
        assert rows.region.bottom == details.region.bottom
        assert rows.region.right + 1 == details.region.x
        await press(pilot, "enter")
        if keys != ("s",):
            assert left == details.region.x


async def test_area_with_focus_is_coloured(tmp_path: Path) -> None:
    """The frame of the area with the focus has another colour."""

    def colour(area: Widget) -> object:
        return area.styles.border_top[1]

    async with tutor(tmp_path, size=(160, 40)) as pilot:
        await press(pilot, "c")
        rows, details = (pilot.app.screen.query_one(name) for name in ("#rows", "#details"))
        used, other = colour(rows), colour(details)
        assert used != other
        await press(pilot, "enter")
        assert used == colour(details)
        await press(pilot, "escape")
        assert (used, other) == (colour(rows), colour(details))


async def test_screen_of_80_columns_names_few_keys(tmp_path: Path) -> None:
    """At 80 columns the key line is one line with next, back and help; wide ones have more."""
    screens = ([], ["l"], ["c"], ["r"], ["comma"], ["s"], ["p"])

    async with tutor(tmp_path) as pilot:
        for keys in screens:
            await press(pilot, *keys)
            line = pilot.app.screen.query_one(KeyBar)
            assert 1 == line.content_size.height, keys
            named = named_keys(pilot.app)
            # Home has no way back, and one key more for the lessons.
            assert len(named) <= (MAX_KEYS if keys else MAX_KEYS + 2), keys
            assert "? help" in named, keys
            assert {"q quit", "Esc back"} & {*named}, keys
            await press(pilot, *["escape"] * len(keys))
        assert "rehearse" not in on_screen(pilot.app).splitlines()[-1]
        assert "tpustarter rehearse" in await press(pilot, "question_mark")
        await pilot.resize_terminal(120, 40)
        assert "r rehearse" in await press(pilot, "escape")


async def test_help_is_window_over_visible_screen(tmp_path: Path) -> None:
    """Help is a window over the screen, or the whole of a low terminal."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        behind = on_screen(pilot.app).splitlines()
        seen = await press(pilot, "question_mark")
        assert "╭─ Help ─" in seen
        assert behind[0] == seen.splitlines()[0]
        assert any("> Hello" in line for line in behind)
        assert "your next step" in seen
        await press(pilot, "escape")
        seen = await press(pilot, "ctrl+c")
        assert "╭─ Quit tpustarter? ─" in seen
        assert "> Hello" in seen
        await press(pilot, "n")
        await pilot.resize_terminal(60, 12)
        assert "╭" not in await press(pilot, "question_mark")


async def test_description_of_setting_is_beside_its_row(tmp_path: Path) -> None:
    """A setting is described beside its row on a wide screen, and in the help on a narrow one."""
    async with tutor(tmp_path, size=(200, 50)) as pilot:
        seen = await press(pilot, "comma")
        assert "The Python that you choose runs lessons and checks." in seen
        assert "stand in for TPU cores" in await press(pilot, *["down"] * 3)
        await pilot.resize_terminal(80, 24)
        assert "stand in for TPU cores" not in await press(pilot, "up", "down")
        assert "stand in for TPU cores" in " ".join(
            (await press(pilot, "question_mark", "end")).replace("│", " ").split()
        )


@pytest.mark.parametrize("size", [(160, 45), (200, 50)])
async def test_wide_screen_has_both_halves(tmp_path: Path, size: tuple[int, int]) -> None:
    """Every screen has a titled frame to the right of its list on a wide terminal."""
    screens = {
        "home": [],
        "paths": ["p"],
        "lessons": ["l"],
        "checks": ["c"],
        "settings": ["comma"],
        "rehearse": ["r"],
        "set-ups": ["s"],
    }

    async with tutor(tmp_path, size=size) as pilot:
        for name, keys in screens.items():
            seen = (await press(pilot, *keys)).splitlines()
            right = [line[size[0] // 2 + 22 :] for line in seen[1:-1]]
            assert any(character.isalpha() for line in right for character in line), name
            titles = [line for line in seen if "╭─ " in line[40:]]
            assert titles, name
            assert 1 == len(pilot.app.screen.query_one(KeyBar).render().lines(size[0])), name  # type: ignore[union-attr]
            await press(pilot, *["escape"] * len(keys))


@pytest.mark.parametrize("chosen", ["dark", "light"])
async def test_input_has_colours_of_theme(tmp_path: Path, chosen: str) -> None:
    """Inputs use the colours of the chosen theme, not those of the terminal."""
    async with tutor(tmp_path) as pilot:
        app = pilot.app
        app.choose(replace(app.choices, theme=chosen))  # type: ignore[attr-defined]
        await press(pilot, "slash", *"word")
        line = app.screen.query_one(Input)
        wanted = app.theme_variables["foreground"]
        assert Color.parse(wanted) == line.styles.color
        cursor = line.get_component_styles("input--cursor")
        assert Color.parse(app.theme_variables["input-cursor-background"]) == cursor.background


async def test_marked_action_is_visible_without_colours(tmp_path: Path) -> None:
    """The marked action of the palette is painted reversed."""

    def reversed_lines(actions: Widget) -> list[str]:
        strips = [actions.render_line(y) for y in range(actions.size.height)]
        return [
            strip.text.strip()
            for strip in strips
            if any(part.style and part.style.reverse for part in strip)
        ]

    async with tutor(tmp_path) as pilot:
        pilot.app.choose(replace(pilot.app.choices, plain=True))  # type: ignore[attr-defined]
        await press(pilot, "colon")
        actions = pilot.app.screen.query_one(ActionList)
        assert reversed_lines(actions)[0].startswith("Open (Enter)")
        await press(pilot, "down")
        assert not reversed_lines(actions)[0].startswith("Open (Enter)")


async def test_key_line_shows_scroll_position_at_right(tmp_path: Path) -> None:
    """The position is shown for a list that does not fit, and for no other."""
    async with tutor(tmp_path, size=(80, 14)) as pilot:
        seen = (await press(pilot, "s", "down")).splitlines()[-1]
        assert re.search(r"  2 of \d+ ?$", seen)
        await pilot.resize_terminal(160, 60)
        seen = (await press(pilot, "down")).splitlines()[-1]
        assert not re.search(r"\d of \d", seen)


async def test_empty_search_is_card_without_details(tmp_path: Path) -> None:
    """The details of the row that was marked before the search are hidden."""
    async with tutor(tmp_path, size=(160, 45)) as pilot:
        await press(pilot, "l")
        assert pilot.app.screen.query_one("#detail").display
        seen = await press(pilot, "slash", *"zzzqx")
        assert "Nothing here" in seen
        assert not pilot.app.screen.query_one("#detail").display
        card = pilot.app.screen.query_one("#lessons").region
        assert card.width < 80
        assert card.height < 10
        assert abs(card.x + card.width // 2 - 80) < 3
        await press(pilot, *["backspace"] * 5)
        assert pilot.app.screen.query_one("#detail").display


async def test_large_screen_has_blank_lines_around_areas(tmp_path: Path) -> None:
    """A large screen has blank lines below headings and titles; one of 80 x 24 has none."""
    async with tutor(tmp_path, size=(120, 40)) as pilot:
        heading, blank, frame, first = on_screen(pilot.app).splitlines()[:4]
        assert heading.strip()
        assert not blank.strip()
        assert "╭─ Path" in frame
        assert not first.strip(" │")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "Path" in on_screen(pilot.app).splitlines()[1]
        assert "Next" in on_screen(pilot.app).splitlines()[2]


async def test_every_screen_begins_with_logo_and_edged_row(tmp_path: Path) -> None:
    """Every screen begins with the logo, and a list with the focus has an edge."""
    async with tutor(tmp_path, size=(120, 35)) as pilot:
        pilot.app.choose(replace(pilot.app.choices, theme="dark"))
        await settle(pilot)
        for keys in ([], ["l"], ["p"], ["comma"], ["slash"]):
            seen = await press(pilot, *keys)
            assert seen.splitlines()[0].lstrip().startswith("⠶⠶ tpustarter"), keys
            assert ("▌" in seen) == (keys != ["slash"]), keys
            await press(pilot, *["escape"] * len(keys))
        await pilot.resize_terminal(80, 24)
        seen = await press(pilot, "escape", "l")
        assert seen.startswith(" ⠶⠶  2 lessons")
