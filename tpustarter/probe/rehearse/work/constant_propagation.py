"""Values that a trace fixes before anything runs: index arithmetic, constant masks, and zeros.

A causal mask is such a value: `iota >= iota`. A masked score is set to a number so low that its
exponential is zero, and a product with that zero adds nothing. The arrays in this module have the
rank of the traced value, and size 1 along each axis on which it is constant.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tpustarter.probe.rehearse.work import banded_array
from tpustarter.probe.rehearse.work.banded_array import Array, BandedArray, compare_indices

Numbers = Array
"""A NumPy array, or a banded one."""
Parameters = Mapping[str, Any]
"""A primitive's parameters, which differ from primitive to primitive."""
MOST = 2**22
"""Most elements of an array that is evaluated; a larger mask counts as unknown."""
LOW = -1e4
"""A number whose exponential, like that of any lower one, is zero in every type of a TPU."""

_NUMPY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "max": "maximum",
    "min": "minimum",
    "neg": "negative",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "eq": "equal",
    "ne": "not_equal",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "not": "invert",
}
"""NumPy's functions that evaluate known operands, keyed by primitive of JAX."""
_OF_DIFFERENCES = {"eq", "ne", "lt", "le", "gt", "ge", "sub"}
"""Primitives whose result for two indices depends only on their difference."""
PASSING = {
    "convert_element_type",
    "copy",
    "copy_p",
    "name",
    "reduce_precision",
    "sharding_constraint",
    "stop_gradient",
}
"""Primitives whose result has the values of their operand."""
_KEEP_ZERO = {"neg", "abs", "sign", "sqrt", "sin", "tanh", "integer_pow", "square"}


class ValueFact(NamedTuple):
    """Known facts about one value of a trace; a field is None if it is unknown."""

    known: Numbers | None = None
    """The values themselves."""
    nonzero: Numbers | None = None
    """A mask that is False where the value is known to be zero."""
    high: Numbers | None = None
    """A mask that is False where the value's exponential is zero."""

    @property
    def support(self) -> float:
        """The share of elements that may be nonzero."""
        return 1.0 if self.nonzero is None else measure_share(self.nonzero)

    @property
    def is_everywhere(self) -> bool:
        """True if every index along every axis has an element that may be nonzero."""
        mask = self.nonzero
        if mask is None or isinstance(mask, BandedArray):
            return mask is None or mask.is_everywhere()
        axes = range(mask.ndim)
        return all(mask.any(tuple(one for one in axes if one != axis)).all() for axis in axes)


NOTHING = ValueFact()


def measure_share(mask: Numbers) -> float:
    """Return the share of true elements."""
    numpy = importlib.import_module("numpy")
    count = mask.count_nonzero() if isinstance(mask, BandedArray) else numpy.count_nonzero(mask)
    return int(count) / max(1, mask.size)


def bound_nonzero_terms(
    left: ValueFact, right: ValueFact, left_axes: Sequence[int], right_axes: Sequence[int]
) -> float:
    """Return a lower bound on the share of a product's terms that may be nonzero.

    Args:
        left: The fact about the left operand.
        right: The fact about the right operand.
        left_axes: Batch and contracted axes of the left operand.
        right_axes: The matching axes of the right operand, in the same order.
    """
    if left.nonzero is None or right.nonzero is None:
        return min(left.support, right.support)
    sums: list[Array] = []
    for mask, axes in ((left.nonzero, left_axes), (right.nonzero, right_axes)):
        if mask.ndim <= max(axes, default=-1) or mask.size > MOST:
            return max(0.0, left.support + right.support - 1)
        dense = mask.make_dense() if isinstance(mask, BandedArray) else mask
        free = tuple(axis for axis in range(dense.ndim) if axis not in axes)
        order = sorted(axes)
        sums.append(dense.mean(axis=free).transpose([order.index(axis) for axis in axes]))
    return float((sums[0] * sums[1]).mean())


def make_constant_fact(value: object) -> ValueFact:
    """Return the fact about a constant, or `NOTHING` if it is large or not numeric."""
    numpy = importlib.import_module("numpy")
    if getattr(value, "size", 1) > MOST or str(getattr(value, "dtype", "")).startswith("key<"):
        return NOTHING
    try:
        array = numpy.asarray(value)
        # NumPy has no types of its own for JAX's small floats.
        array = array.astype("float32") if array.dtype.kind not in "biu" else array
    except (TypeError, ValueError, RuntimeError):
        return NOTHING
    return _with_masks(array)


def derive_fact(
    name: str,
    params: Parameters,
    facts: Sequence[ValueFact],
    shapes: Sequence[Sequence[int]],
    shape: Sequence[int],
) -> ValueFact:
    """Return the fact about an operation's result.

    Args:
        name: The name of its primitive.
        params: The primitive's parameters.
        facts: Facts about the operands.
        shapes: The operands' shapes.
        shape: The result's shape.
    """
    try:
        found = _derive(name, params, facts, shapes, shape)
    except (ValueError, TypeError, OverflowError):  # an unsupported shape or type
        return NOTHING
    return NOTHING if all(one is None for one in found) else found


def _derive(
    name: str,
    params: Parameters,
    facts: Sequence[ValueFact],
    shapes: Sequence[Sequence[int]],
    shape: Sequence[int],
) -> ValueFact:
    numpy = importlib.import_module("numpy")
    if name == "iota":
        axis = params["dimension"]
        if shape[axis] > MOST:
            return NOTHING
        sizes = [1] * len(shape)
        sizes[axis] = shape[axis]
        numbers = numpy.arange(shape[axis], dtype="int32").reshape(sizes)
        return _convert(ValueFact(known=numbers), params.get("dtype", "int32"))
    known = [fact.known for fact in facts if fact.known is not None]
    if known and name in _NUMPY and len(known) == len(facts):
        return _compute(getattr(numpy, _NUMPY[name]), known, indices=name in _OF_DIFFERENCES)
    if name == "convert_element_type":
        return _convert(facts[0], params.get("new_dtype"))
    if name in PASSING:
        return facts[0]
    if name in ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose"):
        return ValueFact(*(_move(one, name, params, shapes[0], shape) for one in facts[0]))
    if name == "select_n" and len(facts) == 3:
        return _select(*facts)
    return _pass_masks(name, facts)


def _convert(fact: ValueFact, kind: object) -> ValueFact:
    # NumPy has no types of its own for JAX's small floats.
    numpy = importlib.import_module("numpy")
    target = numpy.dtype(kind if numpy.dtype(kind).kind in "biu" else "float32")
    if fact.known is None:
        return fact if target.kind == "f" else ValueFact(nonzero=fact.nonzero)
    if fact.known.dtype.kind == "f" and target.kind in "iu":  # it may round or overflow
        return ValueFact(nonzero=fact.nonzero)

    def change(array: Numbers) -> Numbers:
        return array.astype(target)

    return _with_masks(banded_array.apply_elementwise(change, fact.known))


def _compute(
    function: Callable[..., Numbers], numbers: Sequence[Numbers], *, indices: bool = False
) -> ValueFact:
    numpy = importlib.import_module("numpy")
    if indices and (mask := compare_indices(function, *numbers)) is not None:
        return _with_masks(mask)
    wide = [one for one in numbers if one.size != 1]
    if any(isinstance(one, BandedArray) for one in wide) and len({one.shape for one in wide}) == 1:
        return _with_masks(function(*numbers))
    if math.prod(numpy.broadcast_shapes(*(one.shape for one in numbers))) > MOST:
        return NOTHING
    return _with_masks(function(*numbers))


def derive_stacked_fact(fact: ValueFact) -> ValueFact:
    """Return the fact about a stack, along a new first axis, of values with the same fact."""
    return ValueFact(*(None if one is None else one.reshape((1, *one.shape)) for one in fact))


def derive_iteration_fact(fact: ValueFact) -> ValueFact:
    """Return the fact about `x[i]` for every `i` of a scanned operand, if all `x[i]` are alike."""
    return ValueFact(
        *(
            one.reshape(one.shape[1:]) if one is not None and one.shape[:1] == (1,) else None
            for one in fact
        )
    )


def _with_masks(array: Numbers) -> ValueFact:
    numpy = importlib.import_module("numpy")
    nonzero = array if array.dtype.kind == "b" else numpy.not_equal(array, 0)
    high = array > LOW if array.dtype.kind == "f" else None
    return ValueFact(
        array,
        None if nonzero.all() else nonzero,
        None if high is None or high.all() else high,
    )


def _pass_masks(name: str, facts: Sequence[ValueFact]) -> ValueFact:
    if name in ("exp", "exp2", "logistic"):
        return ValueFact(nonzero=facts[0].high)
    if name in _KEEP_ZERO:
        return ValueFact(nonzero=facts[0].nonzero)
    if name == "mul":
        high = _scaled(facts, least=0.01)
        return ValueFact(nonzero=_both(facts[0].nonzero, facts[1].nonzero), high=high)
    if name == "div":
        return ValueFact(nonzero=facts[0].nonzero, high=_scaled(facts, most=100))
    if name in ("add", "add_any"):
        return ValueFact(nonzero=_either(facts), high=_both(facts[0].high, facts[1].high))
    if name == "sub":
        return ValueFact(nonzero=_either(facts), high=facts[0].high)
    return NOTHING


def _scaled(
    facts: Sequence[ValueFact], least: float = 0.0, most: float = math.inf
) -> Numbers | None:
    # A low number stays low if it keeps its sign and becomes at most 100 times smaller.
    numpy = importlib.import_module("numpy")
    high, other = facts[0].high, facts[1].known
    if high is None or other is None or not (numpy.minimum(other, least) >= least).all():
        return None
    inside = numpy.logical_and(numpy.greater(other, 0), numpy.less_equal(other, most))
    return high if inside.all() else None


def _both(first: Numbers | None, second: Numbers | None) -> Numbers | None:
    # The intersection of two masks; None is a mask of all elements.
    if first is None or second is None or first is second:
        return second if first is None else first
    return first & second if _fit(first, second) else first


def _either(facts: Sequence[ValueFact]) -> Numbers | None:
    first, second = facts[0].nonzero, facts[1].nonzero
    if first is None or second is None or not _fit(first, second):
        return None
    return first | second


def _fit(first: Numbers, second: Numbers) -> bool:
    # True if the combined mask is small enough.
    wide = [one for one in (first, second) if one.size != 1]
    banded_array = (
        all(isinstance(one, BandedArray) for one in wide) and len({one.shape for one in wide}) < 2
    )
    numpy = importlib.import_module("numpy")
    return banded_array or math.prod(numpy.broadcast_shapes(first.shape, second.shape)) <= MOST


def _select(chosen: ValueFact, false: ValueFact, true: ValueFact) -> ValueFact:
    mask = chosen.known
    if mask is None or mask.dtype.kind != "b":
        return NOTHING
    if false.known is not None and true.known is not None:
        return _compute(_choose, [mask, true.known, false.known])
    zero, low = (_hides(false, zero=True), _hides(true, zero=True)), (_hides(false), _hides(true))
    return ValueFact(
        nonzero=_keep(mask, zero, false.nonzero, true.nonzero),
        high=_keep(mask, low, false.high, true.high),
    )


def _choose(mask: Numbers, true: Numbers, false: Numbers) -> Numbers:
    numpy = importlib.import_module("numpy")
    inputs = (mask, true, false)
    is_banded = any(isinstance(one, BandedArray) for one in inputs)
    return (
        banded_array.apply_elementwise(numpy.where, *inputs) if is_banded else numpy.where(*inputs)
    )


def _hides(fact: ValueFact, *, zero: bool = False) -> bool:
    # True if one side of a `select_n` is zero everywhere, or lower than any score.
    stays = fact.nonzero if zero else fact.high
    return fact.known is not None and stays is not None and not stays.any()


def _keep(
    mask: Numbers, hides: tuple[bool, bool], false: Numbers | None, true: Numbers | None
) -> Numbers | None:
    # The mask of the elements that are not hidden.
    if hides[0]:
        return _both(mask, true)
    return _both(~mask, false) if hides[1] else None


def _move(
    array: Numbers | None,
    name: str,
    params: Parameters,
    before: Sequence[int],
    after: Sequence[int],
) -> Numbers | None:
    if array is None or array.ndim != len(before):
        return None if array is None or array.size != 1 else array.reshape([1] * len(after))
    if name == "transpose":
        return array.transpose(params["permutation"])
    if name == "broadcast_in_dim":
        sizes = [1] * len(after)
        for axis, target in enumerate(params["broadcast_dimensions"]):
            sizes[target] = array.shape[axis]
        return array.reshape(sizes)
    return _reshape(array, before, after)


def _reshape(array: Numbers, before: Sequence[int], after: Sequence[int]) -> Numbers | None:
    # Axes of both shapes are grouped so that matching groups have equally many elements.
    sizes: list[int] = []
    left, right = 0, 0
    while left < len(before) or right < len(after):
        first, second = left, right
        left, right = min(left + 1, len(before)), min(right + 1, len(after))
        while (a := math.prod(before[first:left])) != (b := math.prod(after[second:right])):
            if (a < b and left == len(before)) or (a > b and right == len(after)):
                return None
            left, right = (left + 1, right) if a < b else (left, right + 1)
        group, target = array.shape[first:left], list(after[second:right])
        wide = [size for size in group if size != 1]
        if not wide:
            sizes += [1] * len(target)
        elif wide == [size for size in target if size != 1] or group == tuple(before[first:left]):
            sizes += target
        else:
            return None
    return array.reshape(sizes)
