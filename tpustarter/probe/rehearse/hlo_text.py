"""The notation of HLO text: shapes, array layouts and key-value pairs.

No function raises or makes more than a few passes over a line, whatever it holds.
"""

from __future__ import annotations

import math
import re

_LIMIT = 16
"""Most dimensions and tiles that are parsed."""

# These run in linear time: no repeat can match the character that ends it.
_TYPE = re.compile(r"(?:bf|[sufc])(\d{1,3})(?:e\d\w*)?")
_PROPERTY = re.compile(r"([A-Z]?)\(([^()]*)\)")
_SPACE = re.compile(r"S\((\d{1,9})\)")
_PAIR = re.compile(r' ?(?:(\w+)=)?(?:"([^"\\]*(?:\\.[^"\\]*)*)"|(\d+)|\{[^{}]*\})')


def parse_hlo_pairs(text: str) -> dict[str, str]:
    """Parse the pairs that a string begins with: `key=1 key="text"`. A key may be missing."""
    values: dict[str, str] = {}
    match = _PAIR.match(text)
    while match:
        values[match[1] or ""] = match[2] or match[3] or ""
        match = _PAIR.match(text, match.end())
    return values


def count_shape_bytes(shape_and_layout: str) -> tuple[int, int] | None:
    """Return a shape's bytes without and with padding, or None for an unknown layout.

    A layout lists the dimensions from minor to major. The first tile splits the most minor
    dimensions and pads each to a multiple of the tile. Each further tile splits the one before it.
    """
    kind, _, rest = shape_and_layout.partition("[")
    dims_text, closed, layout = rest.partition("]")
    match = _TYPE.fullmatch(kind)
    bits = int(match[1]) if match else 8 if kind == "pred" else 0
    dims = parse_integers(dims_text.replace("<=", ""))
    if not closed or not bits or dims is None:
        return None
    parsed = _layout(layout, len(dims))
    if parsed is None:
        return None
    order, tiles, stored_bits = parsed
    stored_bits = stored_bits or max(bits, 8)
    if stored_bits < bits or sorted(order) != list(range(len(dims))):
        return None
    padded = [dims[axis] for axis in reversed(order)]
    for tile in tiles:
        padded = [1] * (len(tile) - len(padded)) + padded
        outer = len(padded) - len(tile)
        split = [-(-padded[outer + axis] // step) for axis, step in enumerate(tile)]
        padded = [*padded[:outer], *split, *tile]
    return -(-math.prod(dims) * bits // 8), -(-math.prod(padded) * stored_bits // 8)


def parse_memory_space(layout: str) -> int:
    """Return the number of a layout's memory space, such as 1 for `S(1)`; 0 is HBM."""
    match = _SPACE.search(layout)
    return int(match[1]) if match else 0


def parse_integers(text: str) -> list[int] | None:
    """Return comma-separated numbers, or None if one is invalid or there are too many."""
    parts = text.split(",", _LIMIT) if text else []
    if len(parts) > _LIMIT or not all(re.fullmatch("[0-9]{1,15}", part) for part in parts):
        return None
    return [int(part) for part in parts]


def _layout(text: str, rank: int) -> tuple[list[int], list[list[int]], int] | None:
    # The order of the dimensions, the tiles, and the bits stored per element, where 0 stands for
    # the type's own.
    if not text:
        return list(range(rank))[::-1], [], 0
    order_text, _, rest = text[1:-1].partition(":")
    order = parse_integers(order_text)
    tiles: list[list[int]] = []
    bits, position, last = 0, 0, ""
    while position < len(rest):
        match = _PROPERTY.match(rest, position)
        numbers = parse_integers(match[2]) if match else None
        if match is None or not numbers or len(tiles) == _LIMIT:
            return None
        position, last = match.end(), match[1] or last
        if last == "T" and all(numbers):
            tiles.append(numbers)
        elif match[1] == "E":
            bits = numbers[0]
        elif match[1] != "S":
            return None
    return None if order is None or text[0] + text[-1] != "{}" else (order, tiles, bits)
