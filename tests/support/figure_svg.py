"""Converts a text figure to SVG, with words on a grid and drawing characters as shapes.

Every run of words has a fixed position and width, so that no font can shift it. Box-drawing
characters become lines, blocks become areas, and arrows and marks become shapes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from html import escape

COLUMN, ROW, MARGIN = 9, 19, 16
"""Pixels of a character and of the margin; odd, so that a line one pixel wide is crisp."""
MIDDLE_X, MIDDLE_Y, GAP = COLUMN / 2, ROW / 2, 2
"""The point where the lines of a character meet, and the distance of double lines from it."""
STYLE = """\
.card{fill:#f6f8fa}
text{fill:#1f2328;font:15px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.line{fill:none;stroke:#59636e;stroke-linecap:square}
.heavy{stroke-width:3}
.dash{stroke-linecap:butt}
.mark{fill:#59636e}
.area{fill:#0969da}
@media (prefers-color-scheme:dark){
.card{fill:#151b23}
text{fill:#f0f6fc}
.line{stroke:#9198a1}
.mark{fill:#9198a1}
.area{fill:#4493f8}
}
"""
"""The colours of GitHub's two themes; the card keeps a figure readable on the other theme."""

_SIDES = {"UP": "u", "DOWN": "d", "LEFT": "l", "RIGHT": "r", "HORIZONTAL": "lr", "VERTICAL": "ud"}
_WEIGHTS = {"LIGHT": 1, "SINGLE": 1, "HEAVY": 3, "DOUBLE": 2}
_DASHES = {"DOUBLE DASH": 2, "TRIPLE DASH": 3, "QUADRUPLE DASH": 4}
_ACROSS = {"u": "lr", "d": "lr", "l": "ud", "r": "ud"}
_OPPOSITE = {"u": "d", "d": "u", "l": "r", "r": "l"}
_SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_ARROWS = {"←": "l", "→": "r", "↑": "u", "↓": "d", "↔": "lr", "↕": "ud"}
_HEADS = {"◀": "l", "◄": "l", "▶": "r", "►": "r", "▲": "u", "▼": "d"}
_DOTS = {"●": "area", "○": "line", "■": "area", "□": "line"}
_WORDS = re.compile(r"[!-ÿ]+(?: [!-ÿ]+)*|[^\s\0]")
"""A run of words; a character that a font may lack is its own run."""

Area = tuple[float, float, float, float]
"""Left, upper, right and lower edge."""


def draw(text: str, caption: str) -> str:
    """Return a text figure as SVG with the caption as its title."""
    rows = text.rstrip("\n").split("\n")
    width = max(map(len, rows)) * COLUMN + 2 * MARGIN
    height = len(rows) * ROW + 2 * MARGIN
    size = f'width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}">',
            f"<title>{escape(caption, quote=False)}</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect class="card" {size} rx="6"/>',
            *_draw_shapes(rows),
            *_draw_words(rows),
            "</svg>\n",
        ]
    )


def _draw_words(rows: list[str]) -> list[str]:
    found: list[str] = []
    for number, row in enumerate(rows):
        words = "".join("\0" if _is_drawn(character) else character for character in row)
        for run in _WORDS.finditer(words):
            left, base = MARGIN + run.start() * COLUMN, MARGIN + number * ROW + 14
            length = len(run[0]) * COLUMN
            found.append(
                f'<text x="{left}" y="{base}" textLength="{length}" '
                f'lengthAdjust="spacingAndGlyphs">{escape(run[0], quote=False)}</text>'
            )
    return found


def _draw_shapes(rows: list[str]) -> list[str]:
    shapes = _Shapes()
    for number, row in enumerate(rows):
        for position, character in enumerate(row):
            left, top = MARGIN + position * COLUMN, MARGIN + number * ROW
            around = {
                "l": row[position - 1] if position else "",
                "r": row[position + 1 : position + 2],
                "u": rows[number - 1][position : position + 1] if number else "",
                "d": rows[number + 1][position : position + 1] if number + 1 < len(rows) else "",
            }
            shapes.add(character, left, top, around)
    return list(shapes.elements())


def _is_drawn(character: str) -> bool:
    """Return whether a character is drawn as a shape."""
    return "─" <= character <= "▟" or character in {**_ARROWS, **_HEADS, **_DOTS}


class _Shapes:
    """The shapes drawn so far, with touching lines and areas merged."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str, float], list[tuple[float, float]]] = defaultdict(list)
        """Start and end of lines, by class, direction (`h` or `v`) and position."""
        self.paths: dict[str, list[str]] = defaultdict(list)
        self.areas: dict[float, list[Area]] = defaultdict(list)

    def add(self, character: str, left: float, top: float, around: dict[str, str]) -> None:
        """Draw the character whose cell begins at a point; `around` has its four neighbours."""
        if "─" <= character <= "╿":
            self._add_box(_box_name(character), left, top)
        elif "▀" <= character <= "▟":
            self._add_block(character, left, top)
        elif character in _ARROWS:
            self._add_arrow(_ARROWS[character], left, top, around, has_shaft=True)
        elif character in _HEADS:
            side = _HEADS[character]
            follows = around[_OPPOSITE[side]]
            has_shaft = bool(follows) and "─" <= follows <= "╿"
            self._add_arrow(side, left, top, around, has_shaft=has_shaft)
        elif character in _DOTS:
            self._add_dot(character, left, top, around)

    def _line(
        self, kind: str, side: str, point: tuple[float, float], span: tuple[float, float]
    ) -> None:
        """Add a line towards a side; `span` has the distances of its ends from a point."""
        sign = -1 if side in "lu" else 1
        base, place = point if side in "lr" else point[::-1]
        start, end = sorted((base + sign * span[0], base + sign * span[1]))
        self.lines[kind, "h" if side in "lr" else "v", place].append((start, end))

    def _add_box(self, words: str, left: float, top: float) -> None:
        x, y = left + MIDDLE_X, top + MIDDLE_Y
        dashes = next((number for dash, number in _DASHES.items() if dash in words), 0)
        if "DIAGONAL" in words:
            rising = f"M{_n(left)} {_n(top + ROW)}L{_n(left + COLUMN)} {_n(top)}"
            falling = f"M{_n(left)} {_n(top)}L{_n(left + COLUMN)} {_n(top + ROW)}"
            self.paths["line"] += [rising] if "UPPER RIGHT" in words else []
            self.paths["line"] += [falling] if "UPPER LEFT" in words or "CROSS" in words else []
            self.paths["line"] += [rising] if "CROSS" in words else []
            return
        arms = _read_arms(words)
        if dashes:
            self._add_dashes(arms, dashes, left, top)
        elif " ARC " in words:
            self._add_arc("".join(arms), left, top)
        else:
            for side, weight in arms.items():
                end = MIDDLE_X if side in "lr" else MIDDLE_Y
                for place in (-GAP, GAP) if weight == 2 else (0,):
                    moved = (x, y + place) if side in "lr" else (x + place, y)
                    kind = "line heavy" if weight == 3 else "line"
                    self._line(kind, side, moved, (_first(arms, side, place), end))

    def _add_dashes(self, arms: dict[str, int], dashes: int, left: float, top: float) -> None:
        kind = "line heavy dash" if 3 in arms.values() else "line dash"
        across = "l" in arms
        step = (COLUMN if across else ROW) / dashes
        for number in range(dashes):
            start = step * (number + 0.2)
            self.paths[kind].append(
                f"M{_n(left + start)} {_n(top + MIDDLE_Y)}h{_n(step * 0.6)}"
                if across
                else f"M{_n(left + MIDDLE_X)} {_n(top + start)}v{_n(step * 0.6)}"
            )

    def _add_arc(self, sides: str, left: float, top: float) -> None:
        x, y = left + MIDDLE_X, top + MIDDLE_Y
        toward_x = 1 if "r" in sides else -1
        toward_y = 1 if "d" in sides else -1
        radius = MIDDLE_X
        self.paths["line"].append(
            f"M{_n(x)} {_n(y + toward_y * MIDDLE_Y)}V{_n(y + toward_y * radius)}"
            f"Q{_n(x)} {_n(y)} {_n(x + toward_x * radius)} {_n(y)}"
        )

    def _add_arrow(
        self, sides: str, left: float, top: float, around: dict[str, str], *, has_shaft: bool
    ) -> None:
        x, y = left + MIDDLE_X, top + MIDDLE_Y
        for side in sides:
            sign = -1 if side in "lu" else 1
            across = side in "lr"
            behind = _OPPOSITE[side]
            # Between words there is room for a longer arrow.
            more = 4 if across and not around[behind].strip() else 0
            tip = sign * (MIDDLE_X if across else MIDDLE_Y - 1)
            if len(sides) == 2 and across:
                tip += 4 * sign * (not around[side].strip())
            back = tip - 7 * sign
            if across:
                head = f"M{_n(x + tip)} {_n(y)}L{_n(x + back)} {_n(y - 4)}v8z"
            else:
                head = f"M{_n(x)} {_n(y + tip)}L{_n(x - 4)} {_n(y + back)}h8z"
            self.paths["mark"].append(head)
            if has_shaft:
                edge = MIDDLE_X + more if across else MIDDLE_Y
                start = 0 if len(sides) == 2 else -edge
                self._line("line", side, (x, y), (start, sign * back))

    def _add_dot(self, character: str, left: float, top: float, around: dict[str, str]) -> None:
        x, y = left + MIDDLE_X, top + MIDDLE_Y
        circle = f"M{_n(x - 4)} {_n(y)}a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"
        square = f"M{_n(x - 4)} {_n(y - 4)}h8v8h-8z"
        self.paths[_DOTS[character]].append(circle if character in "●○" else square)
        for side, other in around.items():  # adjacent lines reach the dot
            if other and "─" <= other <= "╿":
                weight = _read_arms(_box_name(other)).get(_OPPOSITE[side], 0)
                end = MIDDLE_X if side in "lr" else MIDDLE_Y
                for place in {0: (), 2: (-GAP, GAP)}.get(weight, (0,)):
                    moved = (x, y + place) if side in "lr" else (x + place, y)
                    self._line("line", side, moved, (5, end))

    def _add_block(self, character: str, left: float, top: float) -> None:
        right, low = left + COLUMN, top + ROW
        x, y = left + MIDDLE_X, top + MIDDLE_Y
        number = ord(character) - ord("▀")
        if 1 <= number <= 8:  # ▁ to █
            areas = [(left, low - ROW * number / 8, right, low)]
        elif 9 <= number <= 15:  # ▉ to ▏
            areas = [(left, top, left + COLUMN * (16 - number) / 8, low)]
        elif character in _SHADES:
            areas = [(left, top, right, low)]
        else:
            halves = {
                "▀": [(left, top, right, y)],
                "▐": [(x, top, right, low)],
                "▔": [(left, top, right, top + ROW / 8)],
                "▕": [(right - COLUMN / 8, top, right, low)],
            }
            quarters = {
                "UPPER LEFT": (left, top, x, y),
                "UPPER RIGHT": (x, top, right, y),
                "LOWER LEFT": (left, y, x, low),
                "LOWER RIGHT": (x, y, right, low),
            }
            name = unicodedata.name(character)
            areas = halves.get(character) or [quarters[one] for one in quarters if one in name]
        self.areas[_SHADES.get(character, 1)] += areas

    def elements(self) -> list[str]:
        """Return the elements of the SVG, areas below lines."""
        found: list[str] = []
        for opacity, areas in sorted(self.areas.items()):
            path = "".join(
                f"M{_n(x0)} {_n(y0)}h{_n(x1 - x0)}v{_n(y1 - y0)}h{_n(x0 - x1)}z"
                for x0, y0, x1, y1 in _join_areas(areas)
            )
            shade = f' opacity="{opacity}"' if opacity < 1 else ""
            found.append(f'<path class="area"{shade} d="{path}"/>')
        paths = {kind: list(path) for kind, path in self.paths.items()}
        for (kind, direction, place), spans in self.lines.items():
            for start, end in _join(spans):
                paths.setdefault(kind, []).append(
                    f"M{_n(start)} {_n(place)}H{_n(end)}"
                    if direction == "h"
                    else f"M{_n(place)} {_n(start)}V{_n(end)}"
                )
        found += [f'<path class="{kind}" d="{"".join(path)}"/>' for kind, path in paths.items()]
        return found


def _box_name(character: str) -> str:
    """Return the Unicode name of a line, such as `LIGHT DOWN AND RIGHT`."""
    return unicodedata.name(character).removeprefix("BOX DRAWINGS ")


def _read_arms(words: str) -> dict[str, int]:
    """Return the weight of each side's line, from a name such as `DOWN HEAVY AND LEFT LIGHT`."""
    arms: dict[str, int] = {}
    weight = 1
    for part in re.sub(r"\w+ DASH ", "", words).split(" AND "):
        found = part.split()
        weight = next((_WEIGHTS[word] for word in found if word in _WEIGHTS), weight)
        for word in found:
            arms |= dict.fromkeys(_SIDES.get(word, ""), weight)
    return arms


def _first(arms: dict[str, int], side: str, place: float) -> float:
    """Return the distance from the middle at which a line towards a side begins.

    Each half of a double line ends at the nearer half of another double line, or goes around the
    corner. A single line ends at a double line and does not cross it.
    """
    low, high = _ACROSS[side]
    if place:
        near, far = (low, high) if place < 0 else (high, low)
        if near in arms:
            return GAP if arms[near] == 2 else 0
        return -GAP if arms.get(far) == 2 and _OPPOSITE[side] not in arms else 0
    doubles = [one for one in (low, high) if arms.get(one) == 2]
    if _OPPOSITE[side] in arms or not doubles:
        return 0
    return GAP if len(doubles) == 2 else -GAP


def _join(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the spans of one line, with touching ones merged."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _join_areas(areas: list[Area]) -> list[Area]:
    """Return the areas, with touching ones merged along the rows and then downwards."""
    rows: dict[tuple[float, float], list[tuple[float, float]]] = defaultdict(list)
    for x0, y0, x1, y1 in areas:
        rows[y0, y1].append((x0, x1))
    columns: dict[tuple[float, float], list[tuple[float, float]]] = defaultdict(list)
    for span, found in rows.items():
        for one in _join(found):
            columns[one].append(span)
    return [(x0, y0, x1, y1) for (x0, x1), found in columns.items() for y0, y1 in _join(found)]


def _n(value: float) -> str:
    """Return a number for SVG, without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
