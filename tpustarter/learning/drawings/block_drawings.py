"""Drawings of a block's values: curves, bars, and array layouts.

The values come from the block's process as plain numbers. They become a drawing for the terminal,
or sentences for readers who cannot see one.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tpustarter.core.json_values import items_of_type
from tpustarter.learning.drawings.array_shardings import (
    MOST_NAME,
    ArraySharding,
    describe_sharding,
    draw_sharding,
    parse_sharding,
)
from tpustarter.learning.drawings.curves import LinePlot, draw_curves, format_plot_label
from tpustarter.probe.lesson.plots import MOST_BARS, MOST_NUMBERS

LARGEST = 1e100
"""Larger numbers count as not finite, because their differences would overflow."""
SMALLEST_CHANGE = 0.02
"""Share of a curve's range; a smaller change from first to last value is no trend."""


@dataclass(frozen=True)
class BarChart:
    """Named numbers drawn as bars."""

    name: str
    """The variable's name."""
    bars: dict[str, float | None]


Drawing = LinePlot | BarChart | ArraySharding


def parse_drawings(value: object, clean: Callable[[str], str]) -> tuple[Drawing, ...]:
    """Return the drawings in an event, skipping malformed ones.

    Args:
        value: The event's field.
        clean: Redacts a string.
    """
    drawings = (_drawing_of(fields, clean) for fields in items_of_type(value, dict[str, object]))
    return tuple(drawing for drawing in drawings if drawing)


class _Axis(msgspec.Struct):
    name: str
    values: tuple[float, ...]


class _LineFields(msgspec.Struct):
    x: _Axis
    series: dict[str, list[float | None]]
    count: int


class _BarFields(msgspec.Struct):
    name: str
    bars: dict[str, float | None]


def _drawing_of(fields: dict[str, object], clean: Callable[[str], str]) -> Drawing | None:
    makers: dict[str, Callable[[dict[str, object], Callable[[str], str]], Drawing]] = {
        "lines": _lines_of,
        "bars": _bars_of,
        "layout": parse_sharding,
    }
    try:
        return makers[str(fields["kind"])](fields, clean)
    except (KeyError, ValueError):
        return None


def _lines_of(event: dict[str, object], clean: Callable[[str], str]) -> LinePlot:
    fields = msgspec.convert(event, _LineFields)
    x = fields.x.values
    series = {clean(name): tuple(map(_number, values)) for name, values in fields.series.items()}
    if not series or any(len(numbers) != len(x) for numbers in series.values()):
        raise ValueError("curves of different lengths")
    if len(x) * (1 + len(series)) > MOST_NUMBERS:
        raise ValueError("more numbers than a probe sends")
    return LinePlot(clean(fields.x.name), x, series, fields.count)


def _bars_of(event: dict[str, object], clean: Callable[[str], str]) -> BarChart:
    fields = msgspec.convert(event, _BarFields)
    if len(fields.bars) > MOST_BARS:
        raise ValueError("more bars than a probe sends")
    bars = {clean(label)[:MOST_NAME]: _number(value) for label, value in fields.bars.items()}
    return BarChart(clean(fields.name), bars)


def _number(value: float | None) -> float | None:
    return value if value is not None and abs(value) < LARGEST else None  # False for NaN


def draw_as_text(drawing: Drawing, width: int) -> str:
    """Return a drawing as lines of text, at most `width` columns wide."""
    if isinstance(drawing, ArraySharding):
        return "\n".join(draw_sharding(drawing, width))
    if not has_finite_numbers(drawing):
        return "\n".join(
            line for text in describe_drawing(drawing) for line in textwrap.wrap(text, width)
        )
    if isinstance(drawing, BarChart):
        return _draw_bars(drawing, width)
    return draw_curves(drawing, width, has_colours=False).text


def has_finite_numbers(drawing: LinePlot | BarChart) -> bool:
    """Return whether a drawing has any finite number."""
    columns = (
        [tuple(drawing.bars.values())] if isinstance(drawing, BarChart) else drawing.series.values()
    )
    return any(number is not None for column in columns for number in column)


def _draw_bars(bars: BarChart, width: int) -> str:
    """Draw one bar per number, because plotext's two decimals show small numbers as 0."""
    values = {label: value or 0.0 for label, value in bars.bars.items()}
    label_width = max(map(len, values))
    numbers = {label: _short(bars.bars[label]) for label in values}
    room = max(1, width - label_width - max(map(len, numbers.values())) - 4)
    most = max(*values.values(), 0.0) or 1.0
    rows = [f"  {format_plot_label(bars.name)}"]
    for label, value in values.items():
        eighths = round(8 * room * max(value, 0.0) / most)
        bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
        rows.append(f"{label:<{label_width}}  {bar} {numbers[label]}")
    return "\n".join(rows)


def describe_drawing(drawing: Drawing) -> list[str]:
    """Return a drawing's content as sentences."""
    if isinstance(drawing, ArraySharding):
        return describe_sharding(drawing)
    if isinstance(drawing, BarChart):
        rows = ", ".join(f"{label} {_short(value)}" for label, value in drawing.bars.items())
        return [f"Bars of {format_plot_label(drawing.name)}: {rows}."]
    over = f" over {format_plot_label(drawing.x_name)}" if drawing.x_name else ""
    return [
        f"Curve of {format_plot_label(name)}{over}, {_trend(drawing.x, values, drawing.count)}."
        for name, values in drawing.series.items()
    ]


def _trend(x: Sequence[float], values: Sequence[float | None], count: int) -> str:
    numbers = [
        (place, number) for place, number in zip(x, values, strict=True) if number is not None
    ]
    if not numbers:
        return "without a finite number"
    first, last = numbers[0][1], numbers[-1][1]
    (least_x, least), (most_x, most) = (
        min(numbers, key=lambda item: item[1]),
        max(numbers, key=lambda item: item[1]),
    )
    change = (last - first) / (most - least) if most > least else 0.0
    verb = "falls" if change < -SMALLEST_CHANGE else "rises" if change > SMALLEST_CHANGE else "goes"
    thinned = f", {len(values)} of them read" if count > len(values) else ""
    text = f"{count} numbers{thinned}: it {verb} from {_short(first)} to {_short(last)}"
    if not math.isclose(least, min(first, last)):
        text += f", lowest {_short(least)} at {_short(least_x)}"
    if not math.isclose(most, max(first, last)):
        text += f", highest {_short(most)} at {_short(most_x)}"
    missing = len(values) - len(numbers)
    return text + (f"; {missing} are not finite" if missing else "")


def _short(number: float | None) -> str:
    """Format a number for people; large ones keep all digits before the decimal point."""
    if number is None:
        return "not finite"
    digits = ".3g" if abs(number) < 1e3 else ".0f" if abs(number) < 1e9 else ".4g"
    return f"{number:{digits}}"
