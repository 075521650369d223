"""The roofline of a TPU with a program on it, as text.

A program with few FLOPs per byte of its arguments and results is limited by the memory, and lies on
the slope. One with many lies on the flat roof, which is the peak of the matrix units. A program
that is limited by its collectives lies below the roof. All positions are bounds; nothing is
measured except the time that the user gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.core.json_values import as_type
from tpustarter.rehearsal.result_fields import ResultFields, Utilization
from tpustarter.rehearsal.roofline_bound import read_bound
from tpustarter.rehearsal.text.rehearsal_headline import format_label

HEIGHT = 8
"""Lines of a drawing, without its axis."""
LEAST_WIDTH = 40
_PROGRAM, _MEASURED = "●", "○"


@dataclass(frozen=True)
class RooflinePoint:
    """A program on the roofline of one TPU; rates are for one device."""

    label: str
    tpu: str
    intensity: float
    """FLOPs per byte of arguments and results."""
    rate: float
    """The most FLOP/s that it can reach."""
    measured_rate: float | None
    peak: float
    """FLOP/s of the matrix units, for this program's types."""
    bandwidth: float
    """Bytes per second of the memory."""

    @property
    def ridge(self) -> float:
        """FLOPs per byte above which the matrix units are the limit."""
        return self.peak / self.bandwidth

    def roof(self, intensity: float) -> float:
        """Return the most FLOP/s at an intensity."""
        return min(self.peak, intensity * self.bandwidth)


def find_roofline_point(result: ResultFields) -> RooflinePoint | None:
    """Return a program's point, or None for one without FLOPs or without bytes."""
    bound = read_bound(result)
    # With less than one FLOP or byte, the logarithms leave the range of a float.
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
        matrix.amount / found.step_time_s if found else None,
        matrix.amount / matrix.seconds,
        memory.amount / memory.seconds,
    )


def draw_roofline(result: ResultFields, width: int) -> list[str]:
    """Return the lines of a drawing with log scales; empty if there is nothing to draw."""
    point = find_roofline_point(result)
    if point is None or width < LEAST_WIDTH:
        return []
    top = f"{point.peak / 1e12:.3g}"
    left = len(top) + 2
    columns = width - left
    low, high = find_intensity_range([point])
    floor = min(point.roof(low), point.measured_rate or math.inf)
    rows = [[" "] * columns for _ in range(HEIGHT)]

    def put(intensity: float, rate: float, sign: str) -> None:
        column = round(find_log_scale_position(intensity, low, high) * (columns - 1))
        row = HEIGHT - 1 - round(find_log_scale_position(rate, floor, point.peak) * (HEIGHT - 1))
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


def find_intensity_range(points: Sequence[RooflinePoint]) -> tuple[float, float]:
    """Return the lowest and the highest intensity of a drawing."""
    places = [place for point in points for place in (point.intensity, point.ridge)]
    return min(places) / 4, max(places) * 4


def find_log_scale_position(value: float, low: float, high: float) -> float:
    """Return the position of a value on a log scale, from 0 to 1."""
    return math.log(value / low) / math.log(high / low) if high > low else 0.0
