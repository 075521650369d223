"""Colours: legible on both backgrounds, chosen by terminal or user, never required."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.theme import Theme

from tests.support.tutor import PARSE_RULES, on_screen, press, settle, tutor
from tpustarter import tui
from tpustarter.tui.app import settings, theme
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.messages import BackgroundColour
from tpustarter.tui.app.theme import DARK, LIGHT, TERMINAL
from tpustarter.tui.kit.editor import CodeEditor
from tpustarter.tui.terminal.keyboard import Keyboard

APP = Path(tui.__file__).parent
SHEETS = sorted(APP.rglob("*.tcss"))
PAIRS = [
    *(
        (text, ground)
        for text in (
            "foreground",
            "muted",
            "key",
            "code",
            "label",
            "keyword",
            "string",
            "number",
            "pass",
            "warn",
            "fail",
            "broken",
        )
        for ground in ("background", "surface")
    ),
    *((text, "panel") for text in ("foreground", "key", "muted")),
    *((status, f"{status}-ground") for status in ("pass", "warn", "fail", "broken")),
    ("block-cursor-foreground", "block-cursor-background"),
    ("muted", "block-cursor-background"),
    ("input-cursor-foreground", "input-cursor-background"),
]
"""Every colour of a text, and every ground on which it stands."""


def _contrast(first: Color, second: Color) -> float:
    """Return the contrast of two colours, from 1 to 21.

    Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    """

    def luminance(color: Color) -> float:
        channels = (value / 255 for value in color.rgb)
        red, green, blue = (
            value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
            for value in channels
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("chosen", [DARK, LIGHT], ids=lambda chosen: chosen.name)
@pytest.mark.parametrize(("text", "ground"), PAIRS)
@pytest.mark.parametrize("depth", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT])
def test_every_text_is_legible_on_its_background(
    chosen: Theme, text: str, ground: str, depth: ColorSystem
) -> None:
    """Every text has the WCAG contrast of 4.5 on its background, in 256 colours as well."""
    names = {
        "foreground": chosen.foreground,
        "background": chosen.background,
        "surface": chosen.surface,
        "panel": chosen.panel,
        **chosen.variables,
    }

    painted, below = (
        RichColor.parse(names[name] or "").downgrade(depth).get_truecolor()
        for name in (text, ground)
    )
    assert 4.5 <= _contrast(Color(*painted), Color(*below))


def test_backgrounds_stay_distinct_in_256_colours() -> None:
    """In 256 colours the marked row is grey, and warnings and failures have different grounds."""

    def painted(name: str) -> str:
        colour = RichColor.parse(DARK.variables[name]).downgrade(ColorSystem.EIGHT_BIT)
        return colour.get_truecolor().hex

    assert painted("warn-ground") != painted("fail-ground")
    assert painted("block-cursor-background") not in (painted("broken-ground"), DARK.background)
    red, green, _ = RichColor.parse(painted("block-cursor-background")).get_truecolor()
    assert red == green


@pytest.mark.parametrize("chosen", [DARK, LIGHT], ids=lambda chosen: chosen.name)
def test_marked_row_differs_from_result_colours(chosen: Theme) -> None:
    """The accent differs in hue from results, and the focus edge has a contrast of 3 or more.

    Source: https://www.w3.org/TR/WCAG22/#non-text-contrast
    """
    colours = {
        name: Color.parse(chosen.variables[name])
        for name in ("key", "border", "pass", "warn", "fail", "broken")
    }
    near = [
        name
        for name in ("pass", "warn", "fail", "broken")
        if _hues_apart(colours["key"], colours[name]) < 45
    ]

    assert [] == near
    assert 3 <= _contrast(colours["border"], Color.parse(chosen.background or ""))
    assert 3 <= _contrast(colours["key"], Color.parse(chosen.variables["block-cursor-background"]))


def _hues_apart(first: Color, second: Color) -> float:
    """Return the difference of two hues in degrees, 0 to 180."""
    apart = abs(first.hsl.h - second.hsl.h) * 360 % 360
    return min(apart, 360 - apart)


def test_all_themes_have_same_names() -> None:
    """All themes define the same names, so that any style sheet works with each."""
    ours = {"ansi-background", "ansi-foreground", "surface", "panel"}

    assert set(DARK.variables) == set(LIGHT.variables) == set(TERMINAL.variables) - ours


@pytest.mark.parametrize(
    ("colors", "variable", "said", "expected"),
    [
        ("truecolor", "", None, DARK),
        ("256", "", None, DARK),
        ("standard", "", None, TERMINAL),
        (None, "", None, TERMINAL),
        ("256", "0;15", None, LIGHT),
        ("256", "15;0", None, DARK),
        ("256", "0;default;15", None, LIGHT),
        ("256", "15;0", True, LIGHT),
        ("truecolor", "0;15", False, DARK),
        ("standard", "", True, TERMINAL),
    ],
)
def test_theme_suits_terminal(
    colors: str | None, variable: str, said: bool | None, expected: Theme
) -> None:
    """The terminal's reply outranks COLORFGBG; with few colours its own theme is used."""
    assert expected is theme.choose_theme(colors, {"COLORFGBG": variable}, on_light=said)


@pytest.mark.parametrize(
    ("answer", "is_light"),
    [
        ("rgb:ffff/ffff/ffff", True),
        ("rgb:0000/0000/0000", False),
        ("rgb:1e/1e/2e", False),
        ("rgb:fdf6/e3e3/d5d5", True),
        ("rgba:ffff/ffff/ffff/ffff", True),
        ("rgb:f/f/f", True),
    ],
)
@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
def test_terminal_reply_is_read_in_any_chunks(answer: str, is_light: bool, end: str) -> None:
    """A reply gives one colour in any chunks, and no key."""
    text = f"\x1b]11;{answer}{end}".encode()
    for pieces in ([text], [text[n : n + 1] for n in range(len(text))]):
        keyboard = Keyboard()
        messages = [message for piece in pieces for message in keyboard.feed(piece)]
        assert [is_light] == [one.is_light for one in messages if isinstance(one, BackgroundColour)]
        assert 1 == len(messages)


@pytest.mark.parametrize("answer", ["rgb:", "rgb:zz/0/0", "11;rgb:0/0/0", "rgb:00000/0/0", "?"])
def test_invalid_colour_is_ignored(answer: str) -> None:
    """A reply with an invalid colour gives no message."""
    assert [] == [*Keyboard().feed(f"\x1b]11;{answer}\x1b\\".encode())]


async def test_chosen_theme_applies_at_once_and_is_remembered(tmp_path: Path) -> None:
    """A chosen theme outranks the background colour that the terminal reports."""
    async with tutor(tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "comma")
        assert "  * automatic: dark or light" in seen
        light = next(n for n, line in enumerate(seen.splitlines()) if line.strip() == "light")
        automatic = seen.splitlines().index(
            next(line for line in seen.splitlines() if "dark or light" in line)
        )
        below = 2  # those of the mouse
        await press(pilot, "end", *["up"] * (automatic + 4 - light + below), "enter")
        assert LIGHT.name == pilot.app.theme
        assert "  * light" in on_screen(pilot.app)
        pilot.app.post_message(BackgroundColour(is_light=False))
        await settle(pilot)
        assert LIGHT.name == pilot.app.theme
    assert "light" == settings.read_settings().theme


async def test_app_follows_terminal_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a choice, the theme follows the terminal's background if it has enough colours."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    async with tutor(tmp_path) as pilot:
        before = pilot.app.theme
        pilot.app.post_message(BackgroundColour(is_light=True))
        await settle(pilot)
        assert [DARK.name, LIGHT.name] == [before, pilot.app.theme]


@pytest.mark.parametrize("chosen", [TERMINAL, DARK, LIGHT], ids=lambda one: one.name)
async def test_editor_cursor_is_visible(chosen: Theme, tmp_path: Path) -> None:
    """The cell of the cursor is painted unlike the rest of its line in every theme."""

    def ground(style: Style) -> tuple[bool, str]:
        """Return whether a cell is reversed, and its background colour."""
        colour = style.color if style.reverse else style.bgcolor
        return bool(style.reverse), colour.name if colour else ""

    async with tutor(tmp_path) as pilot:
        pilot.app.theme = chosen.name
        await settle(pilot)
        await press(pilot, "enter", "e")
        editor = pilot.app.screen.query_one(CodeEditor)
        assert editor.cursor_location[1] == 0
        cells = [part for part in editor.render_line(editor.cursor_location[0]) if part.text]
        assert cells[0].cell_length == 1
        cursor, rest = (ground(part.style or Style()) for part in (cells[0], cells[-1]))
        if chosen is TERMINAL:
            assert (True, False) == (cursor[0], rest[0])
        else:
            assert cursor[1] == chosen.variables["input-cursor-background"]
            assert cursor[1] != rest[1]


async def test_first_screen_reads_its_style_sheets_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first screen parses each of its style sheets once, and no others."""
    parsed: list[str] = []

    def counted(scope: str, css: str, *given: Any, **named: Any) -> Iterable[RuleSet]:
        parsed.append(css)
        return parse(scope, css, *given, **named)

    monkeypatch.setattr(stylesheet, "parse", counted)
    monkeypatch.setattr(stylesheet.Stylesheet, "_parse_rules", PARSE_RULES)

    def times_read() -> dict[str, int]:
        return {path.stem: parsed.count(path.read_text()) for path in SHEETS}

    async with tutor(tmp_path) as pilot:
        assert "This machine" in await press(pilot)
        assert {"app", "home", "kit"} == {name for name, times in times_read().items() if times}
        await press(pilot, "l")
    assert {path.stem: 1 for path in SHEETS} == times_read()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_first_screen_needs_no_other_sheet(tmp_path: Path, size: tuple[int, int]) -> None:
    """Reading the other style sheets changes nothing on the first screen."""
    async with tutor(tmp_path, size=size) as pilot:
        await press(pilot)
        app = pilot.app
        assert isinstance(app, TpustarterApp)
        nodes = [app, *app.screen.walk_children(with_self=True)]
        before = [node.styles.base.get_rules() for node in nodes]
        app.stylesheet.read_all(app.OTHER_SHEETS)
        app.stylesheet.parse()
        app.stylesheet.update(app)
        assert before == [node.styles.base.get_rules() for node in nodes]


def test_the_app_reads_every_style_sheet() -> None:
    """Every style sheet is in one of the app's two lists."""
    app = TpustarterApp()
    assert SHEETS == sorted(path.resolve() for path in (*app.css_path, *app.OTHER_SHEETS))


def test_colours_are_written_in_theme_alone() -> None:
    """Only the theme has literal colours."""
    found = [
        (path.name, line)
        for path in [*APP.rglob("*.py"), *SHEETS]
        if path.name != "theme.py"
        for line in path.read_text().splitlines()
        if re.search(r"ansi_[a-z]+\b(?!=|_)|#[0-9a-f]{6}\b", line) and "ansi_color" not in line
    ]

    assert [] == found
