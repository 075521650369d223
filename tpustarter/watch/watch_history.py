"""The last minutes of readings, as curves: the median over all devices."""

from __future__ import annotations

from collections import deque
from statistics import median

from tpustarter.learning.drawings.curves import LinePlot
from tpustarter.watch.reading import TpuReading

WINDOW_S = 300.0
_CURVES = {
    "duty_percent": "duty_cycle_percent",
    "matrix_unit_percent": "matrix_unit_percent",
    "memory_percent": "memory_percent",
}
"""Field of a device by the name of its curve."""


class WatchHistory:
    """The readings of the last minutes, for drawing curves."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, dict[str, float | None]]] = deque()

    def add(self, reading: TpuReading) -> None:
        """Add a reading, and drop those that are too old."""
        at = reading.at.timestamp()
        self._points.append((at, {name: _median(reading, name) for name in _CURVES.values()}))
        while self._points[0][0] < at - WINDOW_S:
            self._points.popleft()

    def plot(self) -> LinePlot | None:
        """Return the curves that have a value, or None with fewer than two readings."""
        if len(self._points) < 2:
            return None
        now = self._points[-1][0]
        series = {
            name: tuple(values[field] for _, values in self._points)
            for name, field in _CURVES.items()
            if any(values[field] is not None for _, values in self._points)
        }
        places = tuple(round(at - now, 1) for at, _ in self._points)
        return LinePlot("", places, series, len(places)) if series else None


def _median(reading: TpuReading, field: str) -> float | None:
    values = [value for one in reading.devices if (value := getattr(one, field)) is not None]
    return median(values) if values else None
