"""The variables of a block that are to be drawn, as plain numbers and short texts.

Nothing is drawn here, and no plotting library is imported: the Python under test stays unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tpustarter.probe.finding import shorten_for_json

MOST_NUMBERS = 2000
"""Most numbers that leave a block, all series together."""
MOST_BARS = 40
MOST_DEVICES = 256


def list_drawings(command: Mapping[str, Any], names: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return the drawings of a block: its plot, then its arrays.

    Args:
        command: `plot` and `show` name variables, `x` one or none.
        names: The variables of the block.

    Raises:
        ValueError: a variable does not exist, or cannot be drawn.
    """
    plotted = list(command.get("plot", ()))
    plots = [_plot(plotted, str(command.get("x", "")), names)] if plotted else []
    return plots + [_layout(name, _named(name, names)) for name in command.get("show", ())]


def _named(name: str, names: Mapping[str, Any]) -> Any:
    if name not in names:
        raise ValueError(f"`{name}` is to be drawn, but the block made no such variable")
    return names[name]


def _plot(plotted: list[str], x: str, names: Mapping[str, Any]) -> dict[str, object]:
    values = {name: _named(name, names) for name in plotted}
    if len(values) == 1 and isinstance(values[plotted[0]], Mapping):
        return _bars(plotted[0], values[plotted[0]])
    series = {name: _numbers(name, value) for name, value in values.items()}
    places = _numbers(x, _named(x, names)) if x else list(range(len(series[plotted[0]])))
    lengths = {name: len(numbers) for name, numbers in series.items()}
    if set(lengths.values()) != {len(places)} or not places:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"a plot needs as many numbers in each: found {told}, x {len(places)}")
    kept = select_evenly(len(places), MOST_NUMBERS // (1 + len(series)))
    return {
        "kind": "lines",
        "x": {"name": x, "values": [places[index] for index in kept]},
        "series": {name: [numbers[index] for index in kept] for name, numbers in series.items()},
        "count": len(places),
    }


def _bars(name: str, table: Mapping[Any, Any]) -> dict[str, object]:
    if not 0 < len(table) <= MOST_BARS:
        raise ValueError(f"`{name}` has {len(table)} bars, expected 1 to {MOST_BARS}")
    bars = {shorten_for_json(str(label)): _number(name, value) for label, value in table.items()}
    return {"kind": "bars", "name": name, "bars": bars}


def _numbers(name: str, value: Any) -> list[float | None]:
    is_sequence = hasattr(value, "__len__") and not hasattr(value, "keys")
    if not is_sequence or isinstance(value, (str, bytes)):
        raise ValueError(f"`{name}` is a {type(value).__name__}, and no sequence of numbers")
    if getattr(value, "ndim", 1) != 1:
        raise ValueError(f"`{name}` has {value.ndim} axes, expected one")
    items = value.tolist() if hasattr(value, "tolist") else value
    return [_number(name, item) for item in items]


def _number(name: str, value: Any) -> float | None:
    # JSON has no number that is not finite.
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` holds something that is not a number: {error}") from None
    return number if math.isfinite(number) else None


def select_evenly(count: int, most: int) -> list[int]:
    """Return at most `most` positions: the first, the last, and others evenly between."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _layout(name: str, array: Any) -> dict[str, object]:
    sharding = getattr(array, "sharding", None)
    if sharding is None or not hasattr(sharding, "devices_indices_map"):
        raise ValueError(f"`{name}` is a {type(array).__name__}, expected a jax.Array")
    shape = [int(size) for size in array.shape]
    held = sorted(sharding.devices_indices_map(array.shape).items(), key=lambda item: item[0].id)
    numbers_each = 1 + 2 * len(shape)
    kept = held[: min(MOST_DEVICES, MOST_NUMBERS // numbers_each)]
    spec = getattr(sharding, "spec", None)
    mesh = getattr(getattr(sharding, "mesh", None), "shape", {})
    return {
        "kind": "layout",
        "name": name,
        "dtype": str(array.dtype),
        "shape": shape,
        "spec": "" if spec is None else _spec_text(spec),
        "mesh": {shorten_for_json(str(axis)): int(size) for axis, size in mesh.items()},
        "order": _in_mesh_order(sharding),
        "count": len(held),
        "parts": [
            {
                "device": device.id,
                "index": [_bounds(part, size) for part, size in zip(index, shape, strict=True)],
            }
            for device, index in kept
        ],
    }


def _in_mesh_order(sharding: Any) -> list[int]:
    # The order of the mesh need not be the order of the devices' numbers.
    devices = getattr(getattr(sharding, "mesh", None), "devices", None)
    return [] if devices is None else [int(device.id) for device in devices.flat][:MOST_DEVICES]


def _bounds(part: slice, size: int) -> list[int]:
    start, stop, _ = part.indices(size)
    return [start, stop]


def _spec_text(spec: Any) -> str:
    axes = ", ".join(repr(axis) for axis in spec)
    return shorten_for_json(f"P({axes})")
