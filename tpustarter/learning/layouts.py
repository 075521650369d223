"""Which device holds which part of an array, drawn as the array with devices written into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tpustarter.probe.drawn import MOST_DEVICES

Bounds = tuple[int, int]
"""Where a part begins and ends along one axis; the end is not in it."""
MOST_ROWS = 16
"""Rows of cells that are drawn; more are told line by line."""


@dataclass(frozen=True)
class Layout:
    """An array over devices."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    spec: str
    """The `PartitionSpec`, as it is typed; empty where the sharding has none."""
    mesh: dict[str, int]
    """Size of each axis of the mesh; empty where there is none."""
    count: int
    """Devices that hold a part."""
    parts: dict[int, tuple[Bounds, ...]]
    """By device: where its part lies along each axis."""


def layout_of(fields: dict[str, Any], clean: Callable[[str], str]) -> Layout:
    """Return the layout that an event describes; raises an error for what is none."""
    shape = tuple(int(size) for size in fields["shape"])
    parts = {
        int(part["device"]): tuple((int(start), int(stop)) for start, stop in part["index"])
        for part in fields["parts"]
    }
    if not parts or any(len(index) != len(shape) for index in parts.values()):
        raise ValueError("parts of another shape")
    if len(parts) > MOST_DEVICES:
        raise ValueError("more devices than a probe sends")
    mesh = {clean(str(axis)): int(size) for axis, size in fields["mesh"].items()}
    name, dtype, spec = (clean(str(fields[key])) for key in ("name", "dtype", "spec"))
    return Layout(name, dtype, shape, spec, mesh, int(fields["count"]), parts)


def headline(layout: Layout) -> str:
    """Return what the array is, and how it is sharded."""
    text = f"{layout.name}: {layout.dtype}{list(layout.shape)}"
    if layout.spec:
        axes = ", ".join(f"{axis}={size}" for axis, size in layout.mesh.items())
        return f"{text}, {layout.spec} on a mesh of {axes or 'one device'}"
    return f"{text} on device{'s' * (layout.count > 1)} {_devices(sorted(layout.parts))}"


def draw_layout(layout: Layout, width: int) -> list[str]:
    """Return the array as a grid of parts, each with the devices that hold it."""
    lines = [headline(layout)]
    grid = _grid(layout)
    if grid is None:
        return [*lines, *_list(layout)]
    columns, rows, cells = grid
    margin = max(len(_range(bounds)) for bounds in rows) + 1
    room = max(max(map(len, row)) for row in cells)
    room = max(room, *(len(_range(bounds)) for bounds in columns)) + 2
    if margin + 1 + (room + 1) * len(columns) > width or len(rows) > MOST_ROWS:
        return [*lines, *_list(layout)]
    lines.append("the devices that hold each part:")
    if layout.shape:
        ranges = " ".join(_range(bounds).center(room) for bounds in columns)
        lines.append(" " * (margin + 1) + ranges.rstrip())
    lines.append(" " * margin + "┌" + "┬".join(["─" * room] * len(columns)) + "┐")
    for number, (bounds, row) in enumerate(zip(rows, cells, strict=True)):
        if number:
            lines.append(" " * margin + "├" + "┼".join(["─" * room] * len(columns)) + "┤")
        label = _range(bounds) if len(layout.shape) > 1 else ""
        texts = "│".join(text.center(room) for text in row)
        lines.append(f"{label:>{margin - 1}} │{texts}│")
    lines.append(" " * margin + "└" + "┴".join(["─" * room] * len(columns)) + "┘")
    return lines


def _grid(layout: Layout) -> tuple[list[Bounds], list[Bounds], list[list[str]]] | None:
    """Return the columns and rows of an array of up to two axes, and who holds each part."""
    if len(layout.shape) > 2 or layout.count > len(layout.parts):
        return None
    index = {device: ((0, 1),) * (2 - len(bounds)) + bounds
             for device, bounds in layout.parts.items()}  # fmt: skip
    rows = sorted({bounds[0] for bounds in index.values()})
    columns = sorted({bounds[1] for bounds in index.values()})
    cells = [
        [_devices([device for device in sorted(index) if index[device] == (row, column)])
         for column in columns] for row in rows
    ]  # fmt: skip
    return columns, rows, cells


def _list(layout: Layout) -> Iterator[str]:
    """Yield a line for each part of the array; it has more axes or parts than a grid shows."""
    holders: dict[tuple[Bounds, ...], list[int]] = {}
    for device, index in sorted(layout.parts.items()):
        holders.setdefault(index, []).append(device)
    for index, devices in list(holders.items())[:MOST_ROWS]:
        noun = "devices" if len(devices) > 1 else "device"
        yield f"  [{', '.join(map(_range, index))}] on {noun} {_devices(devices)}"
    if len(holders) > MOST_ROWS:
        yield f"  ... {len(holders) - MOST_ROWS} further parts"


def layout_words(layout: Layout) -> list[str]:
    """Return how an array lies on devices, as sentences."""
    first = min(layout.parts)
    sizes = [stop - start for start, stop in layout.parts[first]]
    different = len(set(layout.parts.values()))
    shape = " x ".join(map(str, sizes)) or "the one number"
    whole = math.prod(layout.shape) or 1
    copies = layout.count / different if different else 1
    held = f"Each of {layout.count} devices holds a part of {shape}"
    if different == 1:
        held = f"Each of {layout.count} devices holds all of it" if layout.count > 1 else (
            f"Device {first} holds all of it")  # fmt: skip
    elif math.prod(sizes) * different == whole and copies > 1:
        held += f", and each part is on {copies:g} devices"
    return [f"{headline(layout)}.", f"{held}."]


def _range(bounds: Bounds) -> str:
    return f"{bounds[0]}:{bounds[1]}"


def _devices(devices: Sequence[int]) -> str:
    """Return devices in few words: `0 1`, or `0-7` for a run of more than four."""
    if not devices:
        return "-"
    is_run = all(after - before == 1 for before, after in pairwise(devices))
    if len(devices) > 4 and is_run:
        return f"{devices[0]}-{devices[-1]}"
    if len(devices) > 6:
        return f"{devices[0]} {devices[1]} ... {devices[-1]} ({len(devices)})"
    return " ".join(map(str, devices))
