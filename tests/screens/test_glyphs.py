"""Glyphs for terminals with few characters: same drawings, same widths."""

from __future__ import annotations

import pytest

from tests.support.terminal import terminal
from tpustarter.text import bars
from tpustarter.tui.terminal import glyphs

CONSOLE = {"TERM": "linux"}
DRAWN = "╭─ ⠶⠶ ━━━── ▌ ⠿⠿ ⠯⠽ ┏━┓┃ █▎ ▶ ▼ • é ─╮"


@pytest.mark.parametrize(
    ("encoding", "env", "expected"),
    [
        ("utf-8", CONSOLE, "┌─ :: ===── # ## oo +=+| ## > v * é ─┐"),
        ("ascii", {}, "+- :: ===-- # ## oo +=+| ## > v * e -+"),
        ("latin-1", {}, "+- :: ===-- # ## oo +=+| ## > v * é -+"),
        ("iso8859-15", CONSOLE, "+- :: ===-- # ## oo +=+| ## > v * é -+"),
    ],
)
def test_drawing_uses_glyphs_of_terminal(encoding: str, env: dict[str, str], expected: str) -> None:
    """Real and pretend chips, and done and open parts, keep different glyphs."""
    table = glyphs.make_glyph_table(encoding, env)

    assert table is not None
    assert expected == DRAWN.translate(table)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf_8", "utf8"])
def test_utf8_terminal_keeps_every_letter(encoding: str) -> None:
    """A UTF-8 terminal needs no table of glyphs."""
    assert glyphs.make_glyph_table(encoding, {"TERM": "xterm-256color"}) is None


@pytest.mark.parametrize(("encoding", "env"), [("ascii", {}), ("utf-8", CONSOLE)])
def test_substituted_glyph_keeps_width_and_is_encodable(encoding: str, env: dict[str, str]) -> None:
    """A substitute is as wide as its character; control characters are not replaced."""
    table = glyphs.GlyphTable(encoding, on_console=env == CONSOLE)
    wrong = [
        letter
        for letter in map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
        if bars.count_columns(letter.translate(table)) != bars.count_columns(letter)
    ]
    written = "".join(table.values())

    assert [] == wrong
    assert written == written.encode(encoding).decode(encoding)
    assert "\x1b[1;31m\r\n" == "\x1b[1;31m\r\n".translate(table)


@pytest.mark.parametrize(
    ("env", "encoding"),
    [({"TERM": "linux"}, "latin-1"), ({"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, "ascii")],
)
def test_app_draws_on_limited_terminal(env: dict[str, str], encoding: str) -> None:
    """A terminal with few characters shows every part of the app, using only those characters."""
    with terminal(columns=120, lines=40, **env) as tty:
        tty.until(lambda text: "Path: " in text and "virtual CPU devices" in text)
        tty.until_drawn()
        seen = tty.text
        tty.press("q")
        assert 0 == tty.end()

    assert ":: tpustarter" in seen
    assert "oo oo oo oo" in seen
    strange = {letter for letter in seen if letter not in glyphs.LIGHT}
    "".join(strange).encode(encoding)
    assert "This machine" in seen.splitlines()[2]
