"""A block's variables to draw, as plain numbers and short strings.

Nothing is drawn in this process and no plotting library is imported, so the Python under test is
unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeGuard

from tpustarter.probe.commands import PlottedVariables
from tpustarter.probe.finding import shorten_for_json

MOST_NUMBERS = 2000
"""Maximum number of values sent from a block, over all series."""
MOST_BARS = 40
MOST_DEVICES = 256


def list_drawings(
    command: PlottedVariables, names: Mapping[str, object]
) -> list[dict[str, object]]:
    """Return the drawings of a block: its plot, then its arrays.

    Args:
        command: `plot` and `show` name variables, `x` at most one.
        names: The block's variables.

    Raises:
        ValueError: A variable does not exist or cannot be drawn.
    """
    plotted = list(command.get("plot", ()))
    plots = [_plot(plotted, str(command.get("x", "")), names)] if plotted else []
    return plots + [_layout(name, _named(name, names)) for name in command.get("show", ())]


def _named(name: str, names: Mapping[str, object]) -> object:
    if name not in names:
        raise ValueError(f"`{name}` is to be drawn, but the block made no such variable")
    return names[name]


def _plot(plotted: list[str], x: str, names: Mapping[str, object]) -> dict[str, object]:
    values = {name: _named(name, names) for name in plotted}
    if len(values) == 1 and _is_table(table := values[plotted[0]]):
        return _bars(plotted[0], table)
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


def _is_table(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


def _bars(name: str, table: Mapping[object, object]) -> dict[str, object]:
    if not 0 < len(table) <= MOST_BARS:
        raise ValueError(f"`{name}` has {len(table)} bars, expected 1 to {MOST_BARS}")
    bars = {shorten_for_json(str(label)): _number(name, value) for label, value in table.items()}
    return {"kind": "bars", "name": name, "bars": bars}


def _numbers(name: str, value: object) -> list[float | None]:
    if not _is_sequence(value) or isinstance(value, (str, bytes)):
        raise ValueError(f"`{name}` is a {type(value).__name__}, and no sequence of numbers")
    axes = getattr(value, "ndim", 1)
    if axes != 1:
        raise ValueError(f"`{name}` has {axes} axes, expected one")
    make_list = getattr(value, "tolist", None)
    items: Iterable[object] = make_list() if make_list else value
    return [_number(name, item) for item in items]


def _is_sequence(value: object) -> TypeGuard[Iterable[object]]:
    return hasattr(value, "__len__") and not hasattr(value, "keys")


def _number(name: str, value: Any) -> float | None:  # of any library
    # JSON has no number that is not finite.
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` holds something that is not a number: {error}") from None
    return number if math.isfinite(number) else None


def select_evenly(count: int, most: int) -> list[int]:
    """Return at most `most` positions: the first, the last, and others evenly spaced between."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _layout(name: str, array: object) -> dict[str, object]:
    if not _is_sharded(array):
        raise ValueError(f"`{name}` is a {type(array).__name__}, expected a jax.Array")
    sharding = array.sharding
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


class _Device(Protocol):
    id: int


class _Sharding(Protocol):
    def devices_indices_map(self, shape: object, /) -> Mapping[_Device, tuple[slice, ...]]: ...


class _ShardedArray(Protocol):
    shape: tuple[int, ...]
    dtype: object
    sharding: _Sharding


def _is_sharded(array: object) -> TypeGuard[_ShardedArray]:
    return hasattr(getattr(array, "sharding", None), "devices_indices_map")


def _in_mesh_order(sharding: _Sharding) -> list[int]:
    # The mesh's order may differ from the order of device ids.
    devices = getattr(getattr(sharding, "mesh", None), "devices", None)
    return [] if devices is None else [int(device.id) for device in devices.flat][:MOST_DEVICES]


def _bounds(part: slice, size: int) -> list[int]:
    start, stop, _ = part.indices(size)
    return [start, stop]


def _spec_text(spec: Iterable[object]) -> str:
    axes = ", ".join(repr(axis) for axis in spec)
    return shorten_for_json(f"P({axes})")
