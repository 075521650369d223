"""Draw the layout of an array over devices: the array, with device numbers in its parts.

It matches the lessons' figures. An array with more than two axes is drawn as its mesh.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from tpustarter.learning.drawings.mesh_drawing import draw_mesh
from tpustarter.probe.lesson.plots import MOST_DEVICES
from tpustarter.text import phrases

Bounds = tuple[int, int]
"""Start and stop of a part along one axis; the stop is excluded."""
MOST_ROWS = 16
"""Maximum rows of a drawing or lines of a list; a larger array is not drawn."""
MOST_APART = 4
"""Maximum rows with lines between them; more would not fit a small terminal."""
MOST_NAME = 60
"""Maximum characters of a name that are shown."""
FEWEST_COLUMNS = 20
"""Minimum columns of a drawn array, for arrays with few and short labels."""


@dataclass(frozen=True)
class ArraySharding:
    """An array's type, shape, mesh, and the part of the array that each device holds."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    spec: str
    """The `PartitionSpec` as source code; empty if the sharding has none."""
    mesh: dict[str, int]
    """Size of each mesh axis; empty if there is no mesh."""
    count: int
    """Number of devices that hold a part."""
    parts: dict[int, tuple[Bounds, ...]]
    """Each device's part, as its bounds along each axis."""
    order: tuple[int, ...] = ()
    """The devices in mesh order; empty if there is no mesh."""


class _Part(msgspec.Struct):
    device: int
    index: list[Bounds]


class _LayoutFields(msgspec.Struct):
    name: str
    dtype: str
    shape: tuple[int, ...]
    spec: str
    mesh: dict[str, int]
    count: int
    parts: list[_Part]
    order: tuple[int, ...] = ()


def parse_sharding(event: dict[str, object], clean: Callable[[str], str]) -> ArraySharding:
    """Parse the layout in an event.

    Args:
        event: The layout's fields.
        clean: Redacts a string.

    Raises:
        ValueError: The fields are malformed.
    """
    fields = msgspec.convert(event, _LayoutFields)
    parts = {part.device: tuple(part.index) for part in fields.parts}
    if not parts or any(len(index) != len(fields.shape) for index in parts.values()):
        raise ValueError("parts of another shape")
    if len(parts) > MOST_DEVICES:
        raise ValueError("more devices than a probe sends")
    mesh = {clean(axis)[:MOST_NAME]: size for axis, size in fields.mesh.items()}
    texts = (fields.name, fields.dtype, fields.spec)
    name, dtype, spec = (clean(text)[:MOST_NAME] for text in texts)
    order = fields.order[:MOST_DEVICES]
    return ArraySharding(name, dtype, fields.shape, spec, mesh, fields.count, parts, order)


def format_type_and_sharding(layout: ArraySharding) -> str:
    """Return the array's type, shape and sharding."""
    text = f"{layout.name}: {layout.dtype}{list(layout.shape)}"
    if layout.spec:
        axes = ", ".join(f"{axis}={size}" for axis, size in layout.mesh.items())
        return f"{text}, {layout.spec} on a mesh of {axes or 'one device'}"
    return f"{text} on {_holders(sorted(layout.parts), is_alone=True)}"


def draw_sharding(layout: ArraySharding, width: int) -> list[str]:
    """Draw an array with the devices that hold each part, or its mesh if that does not fit.

    A sentence at the end describes the parts and their replication.
    """
    lines = textwrap.wrap(format_type_and_sharding(layout), width)
    if boxes := _array(layout, width):
        lines += ["the array, with the devices that hold each part:", *boxes]
    elif boxes := _mesh(layout, width):
        lines += ["the devices of the mesh, each with the part that it holds:", *boxes]
    else:
        lines += _list(layout)
    return [*lines, *_sentence(layout, width)]


def _array(layout: ArraySharding, width: int) -> list[str]:
    """Draw the array row by row; return nothing if it does not fit."""
    grid = _grid(layout)
    if grid is None:
        return []
    columns, rows, cells = grid
    labels = [f"{_range(bounds)} " for bounds in rows] if len(layout.shape) > 1 else [""]
    margin = max(map(len, labels))
    room = max(len(text) for row in [*cells, [*map(_range, columns)]] for text in row) + 2
    room = max(room, FEWEST_COLUMNS // len(columns))
    if margin + 1 + (room + 1) * len(columns) > width or len(rows) > MOST_ROWS:
        return []
    left, edges = " " * margin, ["─" * room] * len(columns)
    above = " ".join(_range(bounds).center(room) for bounds in columns).rstrip()
    lines = [f"{left} {above}"] if layout.shape else []
    lines.append(f"{left}┌{'┬'.join(edges)}┐")
    for number, (label, row) in enumerate(zip(labels, cells, strict=True)):
        if number and len(rows) <= MOST_APART:
            lines.append(f"{left}├{'┼'.join(edges)}┤")
        lines.append(f"{label:>{margin}}│{'│'.join(text.center(room) for text in row)}│")
    return [*lines, f"{left}└{'┴'.join(edges)}┘"]


def _mesh(layout: ArraySharding, width: int) -> list[str]:
    """Draw the mesh; return nothing if all devices hold the same part or the mesh is unknown."""
    is_known = set(layout.order) == set(layout.parts) and layout.count == len(layout.order)
    if not is_known or len(set(layout.parts.values())) == 1:
        return []
    held = [(device, layout.parts[device]) for device in layout.order]
    return draw_mesh(layout.mesh, held, layout.shape, width)


def _grid(layout: ArraySharding) -> tuple[list[Bounds], list[Bounds], list[list[str]]] | None:
    """Return the columns, rows and devices per cell of an array with at most two axes."""
    if len(layout.shape) > 2 or layout.count > len(layout.parts):
        return None
    index = {
        device: ((0, 1),) * (2 - len(bounds)) + bounds for device, bounds in layout.parts.items()
    }
    rows = sorted({bounds[0] for bounds in index.values()})
    columns = sorted({bounds[1] for bounds in index.values()})
    cells = [
        [
            _holders(
                [device for device in sorted(index) if index[device] == (row, column)],
                is_alone=len(columns) == 1,
            )
            for column in columns
        ]
        for row in rows
    ]
    return columns, rows, cells


def _holders(devices: Sequence[int], *, is_alone: bool) -> str:
    """Return a part's devices; the word "device" only fits if the part spans the array."""
    noun = phrases.choose_plural(len(devices), "device ", "devices ")
    return noun * is_alone + _devices(devices)


def _list(layout: ArraySharding) -> Iterator[str]:
    """Yield a line for each part of an array that has too many axes or parts for a grid."""
    holders: dict[tuple[Bounds, ...], list[int]] = {}
    for device, index in sorted(layout.parts.items()):
        holders.setdefault(index, []).append(device)
    for index, devices in list(holders.items())[:MOST_ROWS]:
        noun = phrases.choose_plural(len(devices), "device", "devices")
        yield f"  [{', '.join(map(_range, index))}] on {noun} {_devices(devices)}"
    if len(holders) > MOST_ROWS:
        yield f"  ... {len(holders) - MOST_ROWS} further parts"


def describe_sharding(layout: ArraySharding) -> list[str]:
    """Return an array's layout as sentences."""
    return [f"{format_type_and_sharding(layout)}.", f"{_describe_shards(layout)}."]


def _sentence(layout: ArraySharding, width: int) -> list[str]:
    return textwrap.wrap(f"{_describe_shards(layout)}.", width)


def _describe_shards(layout: ArraySharding) -> str:
    first = min(layout.parts)
    sizes = [stop - start for start, stop in layout.parts[first]]
    different = len(set(layout.parts.values()))
    shape = " x ".join(map(str, sizes))
    if len(sizes) == 1:
        shape += phrases.choose_plural(sizes[0], " number", " numbers")
    whole = math.prod(layout.shape) or 1
    copies = layout.count / different if different else 1
    if different == 1:
        return (
            f"Replicated: each of {layout.count} devices holds all of it"
            if layout.count > 1
            else f"Device {first} holds all of it"
        )
    held = f"Each of {layout.count} devices holds a part of {shape}"
    if math.prod(sizes) * different == whole and copies > 1:
        axes = _unused_axes(layout)
        along = f" along {axes}" if axes else ""
        held += f"; each part is replicated{along}, on {copies:g} devices"
    return held


def _unused_axes(layout: ArraySharding) -> str:
    """Return the mesh axes missing from the spec, along which the array is replicated."""
    unused = [
        axis for axis, size in layout.mesh.items() if size > 1 and f"'{axis}'" not in layout.spec
    ]
    return phrases.join_words(unused) if layout.spec else ""


def _range(bounds: Bounds) -> str:
    return f"{bounds[0]}:{bounds[1]}"


def _devices(devices: Sequence[int]) -> str:
    """Return device numbers in short form: `0 1`, or `0-7` for more than four in a row."""
    if not devices:
        return "-"
    is_run = all(after - before == 1 for before, after in pairwise(devices))
    if len(devices) > 4 and is_run:
        return f"{devices[0]}-{devices[-1]}"
    if len(devices) > 6:
        return f"{devices[0]} {devices[1]} ... {devices[-1]} ({len(devices)})"
    return " ".join(map(str, devices))
