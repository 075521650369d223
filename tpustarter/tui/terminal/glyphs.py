"""Replacements of the same width for characters that a terminal cannot show.

A stream's encoding limits its characters. The Linux console accepts all characters but shows only
those in its font. Of the box-drawing characters, only the light lines are in the kernel's font.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

CONSOLE = "linux"
"""The value of `$TERM` on the Linux console."""
LIGHT = "─│┌┐└┘├┤┬┴┼"
"""Box-drawing characters in the font of every Linux console."""
_ROUND = {"╭": "┌", "╮": "┐", "╰": "└", "╯": "┘"}
_ALIKE = {
    "←": "<",
    "→": ">",
    "↑": "^",
    "↓": "v",
    "↔": "-",
    "◀": "<",
    "▶": ">",
    "▲": "^",
    "▼": "v",
    "◄": "<",
    "►": ">",
    "▷": ">",
    "•": "*",
    "·": ".",
    "●": "o",
    "○": "o",
    "…": ".",
    "≈": "~",
    "≤": "<",
    "≥": ">",
    "\u201c": '"',
    "\u201d": '"',
    "\u2018": "'",
    "\u2019": "'",
    "\u2013": "-",
    "\u2014": "-",
    "\xd7": "x",
    "↳": ">",
    "░": ".",
    "▒": ":",
    "▓": "#",
}
_BY_DOTS = " ..::o###"
"""The replacements of Braille characters, by their number of dots."""


class GlyphTable(dict[int, str]):
    """A table for `str.translate` that replaces characters which the terminal cannot show."""

    def __init__(self, encoding: str, *, on_console: bool) -> None:
        super().__init__()
        self._encoding, self._on_console = encoding, on_console

    def __missing__(self, code: int) -> str:
        """Return and cache a character's replacement."""
        letter = chr(code)
        tries = (letter, _ROUND.get(letter, ""), _alike(letter))
        self[code] = next((one for one in tries if one and self._shows(one)), _unknown(letter))
        return self[code]

    def _shows(self, text: str) -> bool:
        encoding = "latin-1" if self._on_console and text not in LIGHT else self._encoding
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return False
        return True


def make_glyph_table(encoding: str, env: Mapping[str, str]) -> GlyphTable | None:
    """Return the table of replacements, or None if the terminal can show all characters.

    Args:
        encoding: The stream's encoding.
        env: The environment, with the terminal's `TERM`.
    """
    on_console = env.get("TERM") == CONSOLE
    is_whole = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    return None if is_whole and not on_console else GlyphTable(encoding, on_console=on_console)


def _alike(letter: str) -> str:
    """Return a similar ASCII character, or "" if there is none."""
    if letter in _ALIKE:
        return _ALIKE[letter]
    code = ord(letter)
    if 0x2500 <= code < 0x2580:
        return _line(unicodedata.name(letter))
    if 0x2580 <= code < 0x25A0:
        return "#"
    if 0x2800 <= code < 0x2900:
        return _BY_DOTS[(code - 0x2800).bit_count()]
    plain = unicodedata.normalize("NFKD", letter)[:1]
    return plain if plain.isascii() and plain.isprintable() and not _is_wide(letter) else ""


def _line(name: str) -> str:
    """Return an ASCII replacement for the Unicode name of a box-drawing character."""
    if "HORIZONTAL" in name and "VERTICAL" not in name:
        return "=" if "HEAVY" in name or "DOUBLE" in name else "-"
    return "|" if "VERTICAL" in name and "HORIZONTAL" not in name and "AND" not in name else "+"


def _unknown(letter: str) -> str:
    if unicodedata.combining(letter):
        return ""
    return "??" if _is_wide(letter) else "?"


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"
