"""The roofline of a TPU with programs on it, as text and as an SVG file.

A program with few FLOPs for each byte of its arguments and results is limited by the memory, and
stands on the slope. One with many stands on the flat roof, which is the peak of the matrix units. A
program that its collectives limit stands below the roof. All places are bounds, nothing is measured
but what the user says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tpustarter.core.json_values import as_type
from tpustarter.rehearsal.result_fields import ResultFields, Utilization
from tpustarter.rehearsal.text.bound_text import read_bound
from tpustarter.rehearsal.text.rehearsal_headline import format_label

HEIGHT = 8
"""Lines of a drawing, without its axis."""
LEAST_WIDTH = 40
_PROGRAM, _MEASURED = "●", "○"
_COLOURS = ("#1b6ca8", "#b3541e", "#2e7d32", "#7b3f9e", "#a0832a", "#b0306a", "#3a3a3a")
_SIZE = (760, 460)
_MARGINS = (70, 30, 190, 60)
"""Pixels at the left, top, right and bottom of the plot in an SVG file."""


@dataclass(frozen=True)
class RooflinePoint:
    """A program on the roofline of one TPU; rates are those of one device."""

    label: str
    tpu: str
    intensity: float
    """FLOPs for each byte of arguments and results."""
    rate: float
    """FLOP/s that it can reach at most."""
    measured_rate: float | None
    peak: float
    """FLOP/s of the matrix units, for the types of this program."""
    bandwidth: float
    """Bytes per second of the memory."""

    @property
    def ridge(self) -> float:
        """FLOPs per byte from which on the matrix units are the limit."""
        return self.peak / self.bandwidth

    def roof(self, intensity: float) -> float:
        """Return the most FLOP/s at an intensity."""
        return min(self.peak, intensity * self.bandwidth)


def find_point(result: ResultFields) -> RooflinePoint | None:
    """Return the place of a program; None for one without FLOPs or without bytes."""
    bound = read_bound(result)
    # Of less than one FLOP or byte the logarithms leave the range of a float.
    limits = {one.name: one for one in bound.limits if one.amount >= 1} if bound else {}
    if bound is None or not {"matrix unit", "HBM"} <= limits.keys():
        return None
    matrix, memory = limits["matrix unit"], limits["HBM"]
    found = as_type(result.get("utilization"), Utilization)
    return RooflinePoint(
        format_label(result),
        result["tpu"],
        matrix.amount / memory.amount,
        matrix.amount / bound.seconds,
        matrix.amount / found.measured_seconds if found else None,
        matrix.amount / matrix.seconds,
        memory.amount / memory.seconds,
    )


def draw_roofline(result: ResultFields, width: int) -> list[str]:
    """Return the lines of a drawing with log scales; empty where there is nothing to draw."""
    point = find_point(result)
    if point is None or width < LEAST_WIDTH:
        return []
    top = f"{point.peak / 1e12:.3g}"
    left = len(top) + 2
    columns = width - left
    low, high = _range([point])
    floor = min(point.roof(low), point.measured_rate or math.inf)
    rows = [[" "] * columns for _ in range(HEIGHT)]

    def put(intensity: float, rate: float, sign: str) -> None:
        column = round(_share(intensity, low, high) * (columns - 1))
        row = HEIGHT - 1 - round(_share(rate, floor, point.peak) * (HEIGHT - 1))
        rows[min(max(row, 0), HEIGHT - 1)][column] = sign

    for column in range(columns):
        intensity = low * (high / low) ** (column / (columns - 1))
        put(intensity, point.roof(intensity), "─" if intensity >= point.ridge else "·")
    put(point.intensity, point.rate, _PROGRAM)
    if point.measured_rate:
        put(point.intensity, point.measured_rate, _MEASURED)
    lines = ["TFLOP/s of one device, at best"]
    lines += [
        f"{top if number == 0 else '':>{left - 2}} {'┤' if number == 0 else '│'}{''.join(row)}"
        for number, row in enumerate(rows)
    ]
    lines.append(f"{'':>{left - 2}} └{'─' * columns}")
    ends = _number(low), f"{_number(high)} FLOP/byte"
    lines.append(f"{'':>{left}}{ends[0]}{ends[1]:>{columns - len(ends[0])}}")
    places = _number(point.intensity), _number(point.ridge)
    mark = f"{_PROGRAM} {places[0]} FLOP/byte, corner at {places[1]}"
    lines.append(f"{mark}; {_MEASURED} measured" if point.measured_rate else mark)
    return [line.rstrip() for line in lines]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _range(points: Sequence[RooflinePoint]) -> tuple[float, float]:
    places = [place for point in points for place in (point.intensity, point.ridge)]
    return min(places) / 4, max(places) * 4


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low) if high > low else 0.0


def draw_svg(results: Sequence[ResultFields]) -> str:
    """Return an SVG file with the roof of each TPU and each program on it."""
    points = [point for result in results if (point := find_point(result))]
    width, height = _SIZE
    space = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg {space} font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *(_Drawing(points).elements() if points else [_text(20, 40, "no program with a bound")]),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Drawing:
    """Axes, roofs and programs of an SVG file, with log scales."""

    def __init__(self, points: Sequence[RooflinePoint]) -> None:
        self._points = points
        self._low, self._high = _range(points)
        rates = [
            rate
            for point in points
            for rate in (point.roof(self._low), point.rate, point.measured_rate, point.peak)
            if rate
        ]
        self._floor, self._top = min(rates) / 1.5, max(rates) * 1.5
        self._tpus = list(dict.fromkeys(point.tpu for point in points))

    def elements(self) -> Iterator[str]:
        """Yield the elements, in the order in which they are drawn."""
        yield from self._axes()
        for number, tpu in enumerate(self._tpus):
            colour = _COLOURS[number % len(_COLOURS)]
            of_tpu = [point for point in self._points if point.tpu == tpu]
            highest = max(of_tpu, key=lambda point: point.peak)
            ends = (self._low, highest.ridge, self._high)
            path = " ".join(self._place(end, highest.roof(end)) for end in ends)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
            right, y = self._xy(self._high, highest.peak)
            yield _text(right + 6, y + 4, f"{tpu}: {highest.peak / 1e12:.4g} TFLOP/s", colour)
            for point in of_tpu:
                yield from self._program(point, colour)

    def _program(self, point: RooflinePoint, colour: str) -> Iterator[str]:
        x, y = self._xy(point.intensity, point.rate)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        yield _text(x + 7, y + 14, point.label, colour)
        if point.measured_rate:
            x, y = self._xy(point.intensity, point.measured_rate)
            yield (
                f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" '
                'stroke-width="2"/>'
            )
            yield _text(x + 7, y + 4, "measured", colour)

    def _axes(self) -> Iterator[str]:
        left, top, right, bottom = _MARGINS
        x, y = _SIZE[0] - right, _SIZE[1] - bottom
        yield f'<path d="M{left} {top}V{y}H{x}" fill="none" stroke="black"/>'
        for power in _powers(self._low, self._high):
            place, _ = self._xy(10.0**power, self._floor)
            yield f'<path d="M{place:.1f} {y}v5" stroke="black"/>'
            yield _text(place, y + 18, f"{10.0**power:g}", anchor="middle")
        for power in _powers(self._floor / 1e12, self._top / 1e12):
            _, place = self._xy(self._low, 10.0 ** (power + 12))
            yield f'<path d="M{left} {place:.1f}h-5" stroke="black"/>'
            yield _text(left - 8, place + 4, f"{10.0**power:g}", anchor="end")
        yield _text(left, top - 10, "TFLOP/s of one device, at best")
        yield _text(x, y + 38, "FLOP for each byte of arguments and results", anchor="end")
        yield _text(left, _SIZE[1] - 8, "Lower bounds on time from documented peaks, not measured")

    def _xy(self, intensity: float, rate: float) -> tuple[float, float]:
        left, top, right, bottom = _MARGINS
        across, down = _SIZE[0] - left - right, _SIZE[1] - top - bottom
        return (
            left + across * _share(intensity, self._low, self._high),
            top + down * (1 - _share(rate, self._floor, self._top)),
        )

    def _place(self, intensity: float, rate: float) -> str:
        x, y = self._xy(intensity, rate)
        return f"{x:.1f},{y:.1f}"


def _powers(low: float, high: float) -> range:
    return range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)


def _text(x: float, y: float, text: str, colour: str = "black", anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(_printable(text))}</text>"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:60]
