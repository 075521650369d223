"""Arrays whose elements depend only on the difference of two indices, such as causal masks.

A mask over 131,072 positions has 17 billion elements, but only 262,143 differences.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

Array = Any
"""A NumPy array; a Python without a framework need not have NumPy."""


class BandedArray:
    """An array with the element `table[i - j + columns - 1]` at row i and column j.

    It has the operators that masks need, and those of NumPy's functions that work element by
    element.
    """

    def __init__(self, table: Array, shape: Sequence[int]) -> None:
        self.table = table
        """One element for each difference, smallest difference first."""
        self.shape = tuple(shape)
        """Sizes of the axes; all are 1 except those of the rows and, after it, of the columns."""

    @property
    def rows(self) -> int:
        """The size of the first axis that is not 1."""
        return next(size for size in self.shape if size != 1)

    @property
    def columns(self) -> int:
        """The size of the second axis that is not 1."""
        return len(self.table) + 1 - self.rows

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.rows * self.columns

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> Array:
        """NumPy's element type."""
        return self.table.dtype

    def all(self) -> bool:
        """Return whether all elements are true."""
        return bool(self.table.all())

    def any(self) -> bool:
        """Return whether any element is true."""
        return bool(self.table.any())

    def count_nonzero(self) -> int:
        """Return the number of true elements."""
        numpy = importlib.import_module("numpy")
        differences = numpy.arange(1 - self.columns, self.rows, dtype="int64")
        last = numpy.minimum(self.rows - 1, self.columns - 1 + differences)
        lengths = last - numpy.maximum(0, differences) + 1
        return int((lengths * (self.table != 0)).sum())

    def is_everywhere(self) -> bool:
        """Return whether each row and each column has a true element."""
        numpy = importlib.import_module("numpy")
        sums = numpy.concatenate([[0], numpy.cumsum(self.table != 0)])
        rows, columns = self.rows, self.columns
        return bool(
            (sums[columns : columns + rows] > sums[:rows]).all()
            and (sums[rows : rows + columns] > sums[:columns]).all()
        )

    def reshape(self, shape: Sequence[int]) -> BandedArray:
        """Return the array with axes of size 1 added or removed.

        Raises:
            ValueError: The shape differs in another way.
        """
        if [size for size in shape if size != 1] != [self.rows, self.columns]:
            raise ValueError(shape)
        return BandedArray(self.table, shape)

    def transpose(self, axes: Sequence[int]) -> BandedArray:
        """Return the array with its axes in another order."""
        first, second = (axis for axis, size in enumerate(self.shape) if size != 1)
        turned = list(axes).index(second) < list(axes).index(first)
        table = self.table[::-1] if turned else self.table
        return BandedArray(table, [self.shape[axis] for axis in axes])

    def make_dense(self) -> Array:
        """Return the array as a dense NumPy array."""
        numpy = importlib.import_module("numpy")
        rows, columns = numpy.arange(self.rows), numpy.arange(self.columns)
        return self.table[rows[:, None] - columns + self.columns - 1].reshape(self.shape)

    def __array_ufunc__(self, function: Array, method: str, *inputs: Array) -> Array:
        """Apply a NumPy ufunc."""
        return NotImplemented if method != "__call__" else apply_elementwise(function, *inputs)

    def __gt__(self, other: float) -> Array:
        return BandedArray(self.table > other, self.shape)

    def __ge__(self, other: float) -> Array:
        return BandedArray(self.table >= other, self.shape)

    def __and__(self, other: Array) -> Array:
        return apply_elementwise(importlib.import_module("numpy").bitwise_and, self, other)

    def __or__(self, other: Array) -> Array:
        return apply_elementwise(importlib.import_module("numpy").bitwise_or, self, other)

    def __invert__(self) -> Array:
        return BandedArray(~self.table, self.shape)


def apply_elementwise(function: Callable[..., Array], *inputs: Array) -> Array:
    """Apply a function element by element to arrays, banded or dense.

    Raises:
        ValueError: The shapes do not match.
    """
    numpy = importlib.import_module("numpy")
    banded_array = [one for one in inputs if isinstance(one, BandedArray)]
    others = [one for one in inputs if not isinstance(one, BandedArray)]
    if len({one.shape for one in banded_array}) == 1 and all(
        numpy.size(one) == 1 for one in others
    ):
        tables = [
            one.table if isinstance(one, BandedArray) else numpy.reshape(one, ()) for one in inputs
        ]
        return BandedArray(function(*tables), banded_array[0].shape)
    return function(*(one.make_dense() if isinstance(one, BandedArray) else one for one in inputs))


def compare_indices(
    function: Callable[..., Array], left: Array, right: Array
) -> BandedArray | None:
    """Compare or subtract a row and a column index; return None for other operands.

    Args:
        function: One of NumPy's comparisons, or its `subtract`.
        left: Consecutive integers along one axis.
        right: Consecutive integers along another axis.
    """
    numpy = importlib.import_module("numpy")
    axes: list[int] = []
    for one in (left, right):
        wide = [axis for axis, size in enumerate(one.shape) if size != 1]
        if isinstance(one, BandedArray) or len(wide) != 1 or one.dtype.kind not in "iu":
            return None
        if not (numpy.diff(one.reshape(-1).astype("int64")) == 1).all():
            return None
        axes.append(wide[0])
    if axes[0] == axes[1] or left.ndim != right.ndim:
        return None
    shape = numpy.broadcast_shapes(left.shape, right.shape)
    first = axes[0] < axes[1]
    rows, columns = (left.size, right.size) if first else (right.size, left.size)
    difference = numpy.arange(1 - columns, rows, dtype="int64")
    offset = int(left.reshape(-1)[0]) - int(right.reshape(-1)[0])
    table = function(difference + offset if first else offset - difference, 0)
    # A difference has the type of the indices, so it wraps if that is unsigned.
    return BandedArray(table if table.dtype.kind == "b" else table.astype(left.dtype), shape)
