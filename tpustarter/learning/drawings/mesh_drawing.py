"""Drawings of a mesh, with each device as a box that shows its part of the array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

MOST_ROWS = 8
"""Maximum rows of boxes; each row takes three lines."""
FEWEST_BESIDE = 2
"""Minimum boxes per row; with fewer there is nothing to compare."""

Part = tuple[tuple[int, int], ...]


def draw_mesh(
    mesh: dict[str, int], held: Sequence[tuple[int, Part]], shape: tuple[int, ...], width: int
) -> list[str]:
    """Draw a mesh of one or two axes as boxes; return nothing if it does not fit.

    Args:
        mesh: Size of each axis. Two axes with more than one device are drawn as a grid, one axis as
            a row that wraps if it is too wide.
        held: Each device and its part, in mesh order.
        shape: The array's shape.
        width: The available columns.
    """
    axes = [(name, size) for name, size in mesh.items() if size > 1]
    if len(held) != math.prod(mesh.values()) or len(axes) not in (1, 2):
        return []
    boxes = [(f"device {device}", _slices(part, shape)) for device, part in held]
    room = max(len(text) for box in boxes for text in box)
    column_axis, beside = axes[-1]
    room = max(room, len(f"{column_axis} {beside - 1}"))
    if len(axes) == 2:
        (row_axis, rows) = axes[0]
        labels = [f"{row_axis} {number}" for number in range(rows)]
        fitting = [
            room + pad
            for pad in (2, 0)
            if _width(beside, room + pad) + max(map(len, labels)) + 2 <= width
        ]
        if not fitting or rows > MOST_ROWS:
            return []
        return _grid(boxes, fitting[0], labels, lambda number: f"{column_axis} {number}", beside)
    while _width(beside, room) > width:
        beside = math.ceil(beside / 2)
        if beside < FEWEST_BESIDE:
            return []
    pad = 2 if _width(beside, room + 2) <= width else 0
    is_said = column_axis in ("device", "devices") and [*range(len(held))] == [
        device for device, _ in held
    ]
    return _rows_of(boxes, room + pad, "" if is_said else column_axis, beside)


def _rows_of(boxes: list[tuple[str, str]], room: int, axis: str, beside: int) -> list[str]:
    """Draw one axis as rows of boxes; return nothing if there are too many.

    Without an axis name the boxes have no titles, because the device numbers show the positions.
    """
    if math.ceil(len(boxes) / beside) > MOST_ROWS // 2:
        return []
    lines: list[str] = []
    for first in range(0, len(boxes), beside):
        lines += _grid(
            boxes[first : first + beside],
            room,
            [""],
            lambda n, at=first: f"{axis} {at + n}" if axis else "",
            min(beside, len(boxes) - first),
        )
    return lines


def _grid(
    boxes: Sequence[tuple[str, str]],
    room: int,
    labels: Sequence[str],
    title: Callable[[int], str],
    beside: int,
) -> list[str]:
    margin = max(map(len, labels))
    margin += 2 if margin else 0
    edge = "─" * room
    titles = " ".join(title(number).center(room) for number in range(beside)).rstrip()
    lines = [" " * (margin + 1) + titles] if titles else []
    for number, label in enumerate(labels):
        left, middle, right = "├┼┤" if number else "┌┬┐"
        lines.append(" " * margin + left + middle.join([edge] * beside) + right)
        row = boxes[number * beside : (number + 1) * beside]
        for line in (0, 1):
            texts = "│".join(box[line].center(room) for box in row)
            lines.append(f"{'' if line else label:<{margin}}│{texts}│")
    lines.append(" " * margin + "└" + "┴".join([edge] * beside) + "┘")
    return lines


def _width(beside: int, room: int) -> int:
    return beside * (room + 1) + 1


def _slices(part: Part, shape: tuple[int, ...]) -> str:
    """Return a part as a Python index: `[0:4, :]`."""
    texts = [
        ":" if bounds == (0, size) else f"{bounds[0]}:{bounds[1]}"
        for bounds, size in zip(part, shape, strict=True)
    ]
    return f"[{', '.join(texts)}]"
