"""The rooflines of TPUs with programs on them, as an SVG file for light and dark pages.

A TPU is identified by its colour, the dashes of its line and the name at its end. A program is
identified by its name above a vertical line, because its FLOPs per byte are the same on each TPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tpustarter.rehearsal.result_fields import ResultFields
from tpustarter.rehearsal.text.roofline import (
    RooflinePoint,
    find_intensity_range,
    find_log_scale_position,
    find_roofline_point,
)

_WIDTH, _PLOT_HEIGHT = 760, 370
_LEFT, _RIGHT, _BOTTOM = 70, 190, 84
"""Margins of the plot, in pixels."""
_ROW = 16
"""Pixels between lines of text."""
_FEWEST_TICKS = 3
_LETTER = 7
"""Pixels that a letter takes at most, on average over a text."""
_MOST_NAME = 40
"""Longest program name that is shown, in characters."""
_LIGHT = ("#0969da", "#953800", "#1a7f37", "#8250df", "#7d4e00", "#bf3989", "#1f2328")
_DARK = ("#4493f8", "#f0883e", "#3fb950", "#ab7df8", "#d29922", "#f778ba", "#f0f6fc")
_DASHES = ("", "9 3", "3 3", "9 3 2 3", "1 3", "14 4", "5 2 1 2 1 2")


def draw_roofline_svg(results: Sequence[ResultFields]) -> str:
    """Return an SVG file with the roof of each TPU and the programs on it."""
    points = [point for result in results if (point := find_roofline_point(result))]
    if points:
        drawing = _Drawing(points)
        height, elements = drawing.height, [*drawing.elements()]
    else:
        height, elements = 80, [_text(20, 44, "no program with a bound")]
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        "<title>Programs on the rooflines of TPUs: bounds, not measured</title>",
        f"<style>{_make_style()}</style>",
        f'<rect class="card" width="{_WIDTH}" height="{height}" rx="6"/>',
        *elements,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _make_style() -> str:
    def colours(card: str, text: str, line: str, of_tpus: Sequence[str]) -> str:
        each = (
            f".t{n}{{stroke:{one}}}circle.t{n}{{fill:{one};stroke:none}}"
            for n, one in enumerate(of_tpus)
        )
        base = f".card{{fill:{card}}}text{{fill:{text};stroke:{card}}}.axis{{stroke:{line}}}"
        return f"{base}.guide{{stroke:{line}}}{''.join(each)}"

    dashes = (f"polyline.t{n}{{stroke-dasharray:{one}}}" for n, one in enumerate(_DASHES) if one)
    return "".join(
        [
            "text{font:12px sans-serif;paint-order:stroke;stroke-width:3px}",
            "path,polyline{fill:none}polyline{stroke-width:1.7}",
            ".guide{stroke-dasharray:1 4}",
            *dashes,
            colours("#f6f8fa", "#1f2328", "#59636e", _LIGHT),
            "@media (prefers-color-scheme:dark){",
            colours("#151b23", "#f0f6fc", "#9198a1", _DARK),
            "}",
        ]
    )


class _Drawing:
    """Axes, roofs and programs, with log scales."""

    def __init__(self, points: Sequence[RooflinePoint]) -> None:
        self._points = points
        self._low, self._high = find_intensity_range(points)
        rates = [
            rate
            for point in points
            for rate in (point.roof(self._low), point.rate, point.measured_rate, point.peak)
            if rate
        ]
        self._floor, self._top_rate = min(rates) / 1.5, max(rates) * 1.5
        self._tpus = list(dict.fromkeys(point.tpu for point in points))
        self._names = list(_place_names(self._list_names()))
        self._top = 40 + _ROW * (1 + max(row for _, _, row, _ in self._names))
        self.height = self._top + _PLOT_HEIGHT + _BOTTOM

    def elements(self) -> Iterator[str]:
        """Yield the elements, in the order of drawing."""
        yield from self._axes()
        bottom = self._top + _PLOT_HEIGHT
        for place, _, row, _ in self._names:
            yield f'<path class="guide" d="M{place:.1f} {self._name_top(row)}V{bottom}"/>'
        for _, start, row, name in self._names:
            yield _text(start, self._name_top(row) - 2, name)
        roofs: list[tuple[float, int, str]] = []
        for number, tpu in enumerate(self._tpus):
            of_tpu = [point for point in self._points if point.tpu == tpu]
            highest = max(of_tpu, key=lambda point: point.peak)
            ends = (self._low, highest.ridge, self._high)
            corners = [self._xy(end, highest.roof(end)) for end in ends]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
            kind = f"t{number % len(_LIGHT)}"
            yield f'<polyline class="{kind}" points="{path}"/>'
            roofs.append((corners[-1][1], number, f"{tpu}: {highest.peak / 1e12:.4g} TFLOP/s"))
            for point in of_tpu:
                yield from self._program(point, kind)
        yield from _roof_names(roofs)

    def _name_top(self, row: int) -> int:
        return self._top - 6 - _ROW * row

    def _list_names(self) -> Iterator[tuple[float, str]]:
        # A program whose FLOPs per byte differ between TPUs is named at each of its positions.
        known: dict[str, list[float]] = {}
        for point in self._points:
            place = self._x(point.intensity)
            places = known.setdefault(point.label, [])
            if all(abs(place - other) > 4 for other in places):
                places.append(place)
                yield place, point.label

    def _program(self, point: RooflinePoint, kind: str) -> Iterator[str]:
        x, y = self._xy(point.intensity, point.rate)
        name = escape(_printable(f"{point.label} on {point.tpu}"))
        place = f'cx="{x:.1f}" cy="{y:.1f}"'
        yield f'<circle class="{kind}" {place} r="4"><title>{name}</title></circle>'
        if point.measured_rate:
            x, y = self._xy(point.intensity, point.measured_rate)
            cross = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
            yield f'<path class="{kind}" stroke-width="2" d="{cross}"/>'
            yield _text(x - 8, y + 4, f"measured on {point.tpu}", anchor="end")

    def _axes(self) -> Iterator[str]:
        x, y = _WIDTH - _RIGHT, self._top + _PLOT_HEIGHT
        yield f'<path class="axis" d="M{_LEFT} {self._top}V{y}H{x}"/>'
        for tick in _ticks(self._low, self._high):
            place = self._x(tick)
            yield f'<path class="axis" d="M{place:.1f} {y}v5"/>'
            yield _text(place, y + 18, _number(tick), anchor="middle")
        for tick in _ticks(self._floor / 1e12, self._top_rate / 1e12):
            _, place = self._xy(self._low, tick * 1e12)
            yield f'<path class="axis" d="M{_LEFT} {place:.1f}h-5"/>'
            yield _text(_LEFT - 8, place + 4, _number(tick), anchor="end")
        yield _text(14, 22, "TFLOP/s of one device, at best")
        yield _text(x, y + 40, "FLOP for each byte of arguments and results", anchor="end")
        yield _text(14, y + 68, "Lower bounds on time from documented peaks, not measured")

    def _x(self, intensity: float) -> float:
        across = _WIDTH - _LEFT - _RIGHT
        return _LEFT + across * find_log_scale_position(intensity, self._low, self._high)

    def _xy(self, intensity: float, rate: float) -> tuple[float, float]:
        up = find_log_scale_position(rate, self._floor, self._top_rate)
        return self._x(intensity), self._top + _PLOT_HEIGHT * (1 - up)


def _place_names(
    names: Iterator[tuple[float, str]],
) -> Iterator[tuple[float, float, int, str]]:
    """Yield each program's position, and the start, row and text of its name, without overlaps.

    A name is above those of all programs to its right that it reaches, so that the line from such a
    name down to its program doesn't cross it.
    """
    placed: list[tuple[float, float, int]] = []
    for place, label in sorted(names, reverse=True):
        name = _printable(label)
        name = name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"
        length = _LETTER * len(name)
        start = min(place + 4, _WIDTH - length - 8)
        end = start + length + 8
        below = [row for left, right, row in placed if left < end and start < right]
        row = 1 + max(below, default=-1)
        placed.append((min(start, place), end, row))
        yield place, start, row, name


def _roof_names(roofs: list[tuple[float, int, str]]) -> Iterator[str]:
    """Yield the name of each TPU next to the end of its roof, without overlaps."""
    x, last = _WIDTH - _RIGHT, -math.inf
    for y, number, name in sorted(roofs):
        last = place = max(y, last + _ROW)
        kind = f"t{number % len(_LIGHT)}"
        yield f'<path class="{kind}" d="M{x} {y:.1f}L{x + 12} {place:.1f}"/>'
        yield _text(x + 16, place + 4, name)


def _ticks(low: float, high: float) -> list[float]:
    """Return powers of ten in a range; where these are too few, also twice and five times them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= _FEWEST_TICKS:
            break
    return ticks


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(_printable(text))}</text>"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
