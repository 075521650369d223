"""Tells how a plot grows while its block runs, a few times a second and in few numbers.

A thread looks at the variables that the block is going to leave. It only reads what Python itself
holds, lists and dictionaries of numbers, and NumPy's arrays: to read a number of a device would
wait for it, and change what the block measures.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

from tpustarter.probe.drawn import MOST_BARS, MOST_NAME, evenly

TICK_S = 0.4
"""Seconds between two looks."""
MOST_NUMBERS = 240
"""Numbers of one look, all series together."""
MOST_BYTES = 4000
"""Of an event: a pipe takes so many at once, so that no other event comes between."""

Emit = Callable[[Mapping[str, Any]], None]


class Growing:
    """Looks at what a block is to leave while it runs; a block that plots nothing costs nothing."""

    def __init__(self, command: Mapping[str, Any], names: Mapping[str, Any], emit: Emit) -> None:
        self._command, self._names, self._emit = command, names, emit
        self._plotted = [str(name) for name in command.get("plot", ())]
        self._over = threading.Event()
        self._last = ""
        self._before = {name: _state(names.get(name)) for name in (*self._plotted, self._x)}

    @property
    def _x(self) -> str:
        return str(self._command.get("x", ""))

    def __enter__(self) -> None:
        """Begin to look, where somebody wants to see it."""
        self._thread: threading.Thread | None = None
        if self._plotted and self._command.get("growing"):
            self._thread = threading.Thread(target=self._watch, daemon=True)
            with contextlib.suppress(RuntimeError):  # no thread is to be had: nothing grows
                self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Look no more; what comes after this is the block's end."""
        self._over.set()
        if self._thread and self._thread.ident:
            self._thread.join(1.0)

    def _watch(self) -> None:
        while not self._over.wait(TICK_S):
            drawing = None
            with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
                drawing = self.look()  # it may be changed just then, or hold no numbers
            text = json.dumps(drawing)
            if drawing and text != self._last and len(text) < MOST_BYTES:
                self._last = text
                event = {"event": "drawn", "id": self._command["id"], "drawings": [drawing]}
                self._emit(event)

    def look(self) -> dict[str, Any] | None:
        """Return the plot as far as it is; None where nothing can be seen yet.

        A variable as an earlier block left it is none of this one's.
        """
        values = {name: self._names.get(name) for name in self._plotted}
        if any(_state(value) == self._before[name] for name, value in values.items()):
            return None
        table: Any = values[self._plotted[0]]
        if len(values) == 1 and type(table) is dict:
            return _bars(self._plotted[0], cast("dict[Any, Any]", table))
        x = self._names.get(self._x)
        has_x = _length(x) is not None and _state(x) != self._before[self._x]
        return _lines(self._x, x if has_x else None, values)


def _state(value: Any) -> tuple[int, int | None]:
    """Return what changes when a variable is made anew, or grows."""
    return id(value), _length(value)


def _length(value: Any) -> int | None:
    """Return the length of what may be read here; None for all else."""
    is_array = type(value).__module__ == "numpy" and getattr(value, "ndim", 0) == 1
    return len(value) if is_array or type(value) in (list, tuple, dict, range) else None


def _bars(name: str, table: dict[Any, Any]) -> dict[str, Any] | None:
    bars = {str(label)[:MOST_NAME]: _number(value) for label, value in table.copy().items()}
    if not 0 < len(bars) <= MOST_BARS or None in bars.values():
        return None
    return {"kind": "bars", "name": name, "bars": bars}


def _lines(x_name: str, x: Any, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return curves as long as the shortest of them; NaN in an array is what is still to come."""
    columns = [*values.values(), *([] if x is None else [x])]
    lengths = [_length(column) for column in columns]
    count = min(length or 0 for length in lengths)
    if count < 2 or any(type(column) is dict for column in columns):
        return None
    kept = evenly(count, MOST_NUMBERS // (1 + len(values)))
    series = {name: [_number(column[index]) for index in kept]
              for name, column in values.items()}  # fmt: skip
    places = kept if x is None else [_number(x[index]) for index in kept]
    if None in places or not any(number is not None for one in series.values() for number in one):
        return None
    return {
        "kind": "lines",
        "x": {"name": x_name if x is not None else "", "values": places},
        "series": series,
        "count": count,
    }


def _number(value: Any) -> float | None:
    """Return a number in few digits, None for one that is not finite; refuses all else."""
    if type(value).__module__ not in ("builtins", "numpy") or isinstance(value, str):
        raise TypeError("a number of a device is not read here")
    number = float(f"{float(value):.5g}")
    return number if math.isfinite(number) else None
