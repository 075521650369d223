"""Draw curves over a common axis with dots, and each curve's name at its end.

In colour, all curves use the same dots and the caller paints each one. Without colour, every curve
but the first uses its own marker, which is repeated before the name.
"""

from __future__ import annotations

import importlib
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tpustarter.text.terminal import escape_text

TICKS = 5
"""Maximum number of ticks along an axis, besides those at its ends."""
HEIGHT = 14
"""Height of a plot in lines, without the title."""
SIGNS = ("braille", "x", "o", "+")
"""Markers of curves without colour."""
DASH = 2
"""Width of the alternating colours, in cells, if two curves overlap."""
FROM_ZERO = 0.3
"""Share of the maximum; if the minimum is below it, the axis starts at zero."""
_ONE_SIDE = (True, False)
"""Draw an axis at the bottom or left, but no line on the opposite side."""
_NO_LIMIT = (False, False)
"""Do not limit the plot to the terminal's size, because the caller sets the width."""
_EMPTY = re.compile("[\u2800-\u28ff]")
_UNITS = {
    "flops": "FLOP",
    "gflops": "GFLOP",
    "tflops": "TFLOP",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
}
_AXIS_UNITS = {
    **_UNITS,
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "percent": "percent",
}


@dataclass(frozen=True)
class LinePlot:
    """Curves over one axis."""

    x_name: str
    """The variable along the x axis; empty if it only counts."""
    x: tuple[float, ...]
    series: dict[str, tuple[float | None, ...]]
    """Values by variable; None for a value that is not finite."""
    count: int
    """Number of values of each curve before thinning."""


@dataclass(frozen=True)
class DrawnCurves:
    """Curves drawn as text."""

    text: str
    curves: tuple[tuple[int, int, int], ...]
    """Spans of the text that belong to a curve or its name: start, stop and curve number."""


def draw_curves(
    lines: LinePlot,
    width: int,
    *,
    has_colours: bool,
    height: int = HEIGHT,
    limits: tuple[float, float] | None = None,
) -> DrawnCurves:
    """Draw curves, at least one with a finite number, at most `width` columns wide.

    They are `height` lines high, without the title, and the y axis spans `limits` or the numbers.
    """
    unit, names = _names(list(lines.series))
    signs = [f"{'⣀' if sign == 'braille' else sign} " for sign in SIGNS]
    marks = [""] * len(names) if has_colours else [signs[n % len(signs)] for n in range(len(names))]
    labels = [mark + name for mark, name in zip(marks, names, strict=True)] if names[1:] else []
    room = _room(labels, width)
    numbers = [value for column in lines.series.values() for value in column if value is not None]
    low, high = limits or (min(numbers), max(numbers))
    low = 0.0 if 0 < low < FROM_ZERO * high else low
    plot_width = width - room - bool(room)
    rows, owners = _plotted(lines, (low, high), (plot_width, height), has_colours=has_colours)
    axis, _ = _corner(rows)
    ends = [_row(values, low, high, axis) for values in lines.series.values()] if labels else []
    beside = _beside(labels, ends, room, len(rows))
    title = unit if labels else names[0]
    return _joined(title, rows, owners, beside, width - room)


def _names(names: list[str]) -> tuple[str, list[str]]:
    """Return the unit that all names end with, or "", and the names without it."""
    pieces = [name.rpartition("_") for name in names]
    units = {last for _, _, last in pieces}
    unit = units.pop() if len(units) == 1 else ""
    if len(names) > 1 and unit in _AXIS_UNITS and all(first for first, _, _ in pieces):
        return _AXIS_UNITS[unit], [escape_text(format_plot_label(first)) for first, _, _ in pieces]
    return "", [escape_text(format_plot_label(name)) for name in names]


def format_plot_label(variable: str) -> str:
    """Return the label for a variable: `train_loss` is `train loss`, and `per` is a slash.

    Units are spelled properly: `tflops_per_s` is `TFLOP/s`, and `kib_per_device` is `KiB/device`.
    """
    words = variable.replace("_per_", "_/_").split("_")
    return " ".join(_UNITS.get(word, word) for word in words).replace(" / ", "/")


def _room(labels: Sequence[str], width: int) -> int:
    """Return the width of the curves' names: a quarter of the total, or more for a long word."""
    longest_word = max((len(word) for label in labels for word in label.split()), default=0)
    wanted = max(longest_word + 2, width // 4)
    return min(max(map(len, labels), default=0), wanted, width // 2)


def _plotted(
    lines: LinePlot, limits: tuple[float, float], size: tuple[int, int], *, has_colours: bool
) -> tuple[list[str], list[list[int | None]]]:
    """Return the lines of the plot, and the curve drawn in each of their cells."""
    rows, owners = list[str](), list[list[int | None]]()
    for number, values in enumerate(lines.series.values()):
        points = [(x, y) for x, y in zip(lines.x, values, strict=True) if y is not None]
        if not points:
            continue
        sign = SIGNS[0] if has_colours else SIGNS[number % len(SIGNS)]
        curve = _curve(lines, points, limits, size, sign)
        rows = rows or [_EMPTY.sub(" ", row) for row in curve]
        owners = owners or [[None] * len(row) for row in curve]
        axis, left = _corner(curve)
        for line, row in enumerate(curve[:axis]):
            cells = list(rows[line])
            for column in range(left + 1, len(row)):
                if row[column] != " ":
                    cells[column] = _both(cells[column], row[column])
                    is_shared = owners[line][column] is not None and has_colours
                    if not is_shared or column // DASH % 2:
                        owners[line][column] = number
            rows[line] = "".join(cells)
    return rows, owners


def _curve(
    lines: LinePlot,
    points: Sequence[tuple[float, float]],
    limits: tuple[float, float],
    size: tuple[int, int],
    sign: str,
) -> list[str]:
    figure = importlib.import_module("plotext")  # plotext is untyped
    figure.clear_figure()
    figure.theme("clear")
    figure.limitsize(*_NO_LIMIT)
    figure.plotsize(*size)
    figure.xaxes(*_ONE_SIDE)
    figure.yaxes(*_ONE_SIDE)
    figure.plot([x for x, _ in points], [y for _, y in points], marker=sign)
    figure.xlabel(escape_text(format_plot_label(lines.x_name)))
    first, last = min(lines.x), max(lines.x)
    for limit, (low, high) in ((figure.xlim, (first, last)), (figure.ylim, limits)):
        if low < high:
            limit(low, high)
    steps = _ticks(first, last)
    if all(place.is_integer() for place in lines.x):
        steps = _with_ends(steps, first, last)
    for ticks, places in ((figure.xticks, steps), (figure.yticks, _ticks(*limits))):
        ticks(places, [_tick(place) for place in places])
    return str(figure.uncolorize(figure.build())).rstrip("\n").split("\n")


def _corner(rows: Sequence[str]) -> tuple[int, int]:
    line = next((number for number, row in enumerate(rows) if "└" in row), len(rows))
    return line, rows[line].index("└") if line < len(rows) else 0


def _both(there: str, sign: str) -> str:
    """Return a cell where two curves meet: the dots of both, or the later one's marker."""
    is_dots = all("\u2800" <= one <= "\u28ff" for one in (there, sign))
    return chr(ord(there) | ord(sign)) if is_dots else sign


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two limits: multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not 0 < span < math.inf:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= TICKS)
    first = math.ceil(low / step)
    return [step * count for count in range(first, math.floor(high / step) + 1)]


def _with_ends(places: list[float], low: float, high: float) -> list[float]:
    """Return the positions plus both ends, without positions too close to an end."""
    apart = (high - low) / (2 * TICKS)
    inner = [place for place in places if low + apart <= place <= high - apart]
    return [low, *inner, high] if low < high else places


def _tick(place: float) -> str:
    return f"{place:.0f}" if 1e6 <= abs(place) < 1e9 else f"{place:g}"


def _row(values: Sequence[float | None], low: float, high: float, rows: int) -> float:
    """Return the line, from the top, on which a curve ends; Braille has four dots per line."""
    last = next((value for value in reversed(values) if value is not None), low)
    share = (last - low) / (high - low) if low < high else 0.5
    return (1 - share) * (rows - 0.25) + 0.125


def _beside(
    labels: Sequence[str], ends: Sequence[float], room: int, height: int
) -> dict[int, tuple[str, int]]:
    """Return the piece of a name beside each line of the plot, with its curve's number.

    Names of curves that end close together are stacked in the order of the ends.
    """
    blocks = {number: textwrap.wrap(label, room) or [label] for number, label in enumerate(labels)}
    if sum(map(len, blocks.values())) > height:
        blocks = {number: [label[:room]] for number, label in enumerate(labels)}
    order = sorted(blocks, key=lambda number: ends[number])
    free, starts = 0, list[int]()
    for number in order:
        starts.append(max(int(ends[number]) - (len(blocks[number]) - 1) // 2, free))
        free = starts[-1] + len(blocks[number])
    below = height
    for place in reversed(range(len(order))):
        starts[place] = min(starts[place], below - len(blocks[order[place]]))
        below = starts[place]
    return {
        start + line: (text, number)
        for start, number in zip(starts, order, strict=True)
        for line, text in enumerate(blocks[number])
    }


def _joined(
    title: str,
    rows: Sequence[str],
    owners: Sequence[Sequence[int | None]],
    beside: dict[int, tuple[str, int]],
    width: int,
) -> DrawnCurves:
    text, curves = f"{title}\n" if title else "", list[tuple[int, int, int]]()
    for number, row in enumerate(rows):
        at = len(text)
        for owner, run in groupby(
            range(len(row)), lambda column, line=number: owners[line][column]
        ):
            first, *rest = run
            if owner is not None:
                curves.append((at + first, at + (rest or [first])[-1] + 1, owner))
        text += row.rstrip(" ")
        if number in beside:
            label, curve = beside[number]
            text += " " * max(at + width - len(text), 1)
            curves.append((len(text), len(text) + len(label), curve))
            text += label
        text += "\n"
    return DrawnCurves(text.rstrip("\n"), tuple(curves))
