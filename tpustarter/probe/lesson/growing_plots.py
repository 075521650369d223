"""Plots that grow while their block runs: a few updates per second, each with few numbers.

A thread reads the variables that the block is filling. It reads only Python's own objects, such as
lists and dictionaries of numbers, and NumPy arrays. Reading a number from a device would wait for
it and change what the block measures.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from tpustarter.probe.commands import PlottedVariables
from tpustarter.probe.events import DrawingsEvent
from tpustarter.probe.finding import shorten_for_json
from tpustarter.probe.lesson.plots import MOST_BARS, select_evenly

TICK_S = 0.4
"""Seconds between updates."""
MOST_NUMBERS = 240
"""Maximum number of values per update, over all series."""
MOST_BYTES = 4000
"""Maximum bytes of an event, which a pipe writes atomically, so that events do not mix."""

EmitDrawn = Callable[[DrawingsEvent], None]


class LivePlotWatcher:
    """Watches a block's plotted variables while it runs; does nothing without a plot."""

    def __init__(
        self,
        command: PlottedVariables,
        names: Mapping[str, object],
        emit: EmitDrawn,
        block_id: str = "",
    ) -> None:
        self._command, self._names, self._emit = command, names, emit
        self._block_id = block_id
        self._plotted = [str(name) for name in command.get("plot", ())]
        self._over = threading.Event()
        self._last = ""
        self._before = {name: _state(names.get(name)) for name in (*self._plotted, self._x)}

    @property
    def _x(self) -> str:
        return str(self._command.get("x", ""))

    def __enter__(self) -> None:
        self._thread: threading.Thread | None = None
        if self._plotted and self._command.get("growing"):
            self._thread = threading.Thread(target=self._watch, daemon=True)
            with contextlib.suppress(RuntimeError):  # without a free thread the plot does not grow
                self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread and self._thread.ident:
            self._thread.join(1.0)

    def _watch(self) -> None:
        while not self._over.wait(TICK_S):
            drawing = None
            with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
                drawing = self.read_plot()  # it may change meanwhile, or have no numbers
            text = json.dumps(drawing)
            if drawing and text != self._last and len(text) < MOST_BYTES:
                self._last = text
                self._emit({"event": "drawn", "id": self._block_id, "drawings": [drawing]})

    def read_plot(self) -> dict[str, object] | None:
        """Return the plot so far, or None if there is nothing to show yet.

        A variable that still has its value from an earlier block is ignored.
        """
        values = {name: self._names.get(name) for name in self._plotted}
        if any(_state(value) == self._before[name] for name, value in values.items()):
            return None
        table = values[self._plotted[0]]
        if len(values) == 1 and _is_dictionary(table):
            return _bars(self._plotted[0], table)
        x = self._names.get(self._x)
        has_x = _length(x) is not None and _state(x) != self._before[self._x]
        return _lines(self._x, x if has_x else None, values)


def _state(value: object) -> tuple[int, int | None]:
    # The id changes when a variable is assigned, and the length when it grows.
    return id(value), _length(value)


def _length(value: object) -> int | None:
    return len(value) if _is_sequence(value) or _is_dictionary(value) else None


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    is_array = type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1
    return is_array or type(value) in (list, tuple, range)


def _is_dictionary(value: object) -> TypeGuard[dict[object, object]]:
    return type(value) is dict


def _bars(name: str, table: dict[object, object]) -> dict[str, object] | None:
    bars = {shorten_for_json(str(label)): _number(value) for label, value in table.copy().items()}
    if not 0 < len(bars) <= MOST_BARS or None in bars.values():
        return None
    return {"kind": "bars", "name": name, "bars": bars}


def _lines(x_name: str, x: object, values: Mapping[str, object]) -> dict[str, object] | None:
    # Curves end with the shortest one. NaN in an array marks values that are still to come.
    columns = {name: column for name, column in values.items() if _is_sequence(column)}
    axis = x if _is_sequence(x) else None
    if len(columns) < len(values) or (x is not None and axis is None):
        return None
    count = min(map(len, [*columns.values(), *([] if axis is None else [axis])]))
    if count < 2:
        return None
    kept = select_evenly(count, MOST_NUMBERS // (1 + len(values)))
    series = {name: [_number(column[index]) for index in kept] for name, column in columns.items()}
    places = kept if axis is None else [_number(axis[index]) for index in kept]
    if None in places or not any(number is not None for one in series.values() for number in one):
        return None
    return {
        "kind": "lines",
        "x": {"name": x_name if x is not None else "", "values": places},
        "series": series,
        "count": count,
    }


def _number(value: Any) -> float | None:  # of any library
    # Five digits are enough for a plot. Other kinds of numbers may be on a device, so they are
    # rejected.
    if type(value).__module__ not in ("builtins", "numpy") or isinstance(value, str):
        raise TypeError("a number of a device is not read here")
    number = float(f"{float(value):.5g}")
    return number if math.isfinite(number) else None
