"""Rules for matrix products, convolutions, poolings and kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tpustarter.probe.rehearse.jitted_functions import format_element_type
from tpustarter.probe.rehearse.work import constant_propagation
from tpustarter.probe.rehearse.work.jaxpr import JaxprCall, count_elements
from tpustarter.probe.rehearse.work.trace_step import ALIVE, Rule, SpreadNeed, TraceStep


def _count_dot(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    contracted, batch = step.params["dimension_numbers"]
    shape = step.equation.invars[0].aval.shape
    terms = math.prod(shape[int(axis)] for axis in contracted[0])
    elements = count_elements(step.equation.outvars[0])
    facts = step.fact(0), step.fact(1)
    full = 2.0 * terms * elements
    pairs = zip(batch, contracted, strict=True)
    axes = [[*map(int, both), *map(int, summed)] for both, summed in pairs]
    left = constant_propagation.bound_nonzero_terms(*facts, *axes)
    step.count_products(full, full * _share_of_both(step.share, left))
    needs: list[float] = []
    for own, other, size in zip(facts, facts[::-1], step.sizes, strict=True):
        met = 1.0 if other.is_everywhere else other.support
        count = size * _share_of_both(step.row_share, _share_of_both(own.support, met))
        needs.append(SpreadNeed(count) if own.support < 1 and own.is_everywhere else count)
    return needs


def _share_of_both(first: float, second: float) -> float:
    # The smallest possible overlap of two shares.
    return max(0.0, first + second - 1.0)


def _count_ragged_dot(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    # Each row of the left operand is multiplied by the matrix of one group.
    numbers = step.params.get("ragged_dot_dimension_numbers")
    right = step.equation.invars[1].aval.shape
    if numbers is None:
        fixed = {0, 1}
    else:
        (_, contracted), (_, batch) = numbers.dot_dimension_numbers
        fixed = {*contracted, *batch, *numbers.rhs_group_dimensions}
    free = math.prod(size for axis, size in enumerate(right) if axis not in fixed)
    full = 2.0 * step.sizes[0] * free
    step.count_products(full, full * step.share)
    if step.tally is not None:
        step.tally.notes.add("the groups of a ragged product cover all of its rows")
    return [step.share * step.sizes[0], ALIVE, *step.sizes[2:]]


def _count_convolution(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    axes: Sequence[Sequence[int]] = step.params["dimension_numbers"]
    left, right, out = axes
    image, kernel = (var.aval.shape for var in step.equation.invars)
    result = step.equation.outvars[0].aval.shape
    flops = 2.0 * result[out[0]] * result[out[1]] * kernel[right[1]]
    seen = 1.0
    for number in range(len(result) - 2):
        window = _Window(
            image[left[2 + number]],
            kernel[right[2 + number]],
            result[out[2 + number]],
            step.params["window_strides"][number],
            step.params["padding"][number][0],
            step.params["lhs_dilation"][number],
            step.params["rhs_dilation"][number],
        )
        flops *= window.count_taps()
        seen *= window.share_of_image
    step.count_products(flops, flops * step.share)
    return [step.share * seen * step.sizes[0], step.share * step.sizes[1]]


class _Window(NamedTuple):
    """A convolution along one axis; sizes are in elements."""

    image: int
    kernel: int
    result: int
    stride: int
    padding: int
    image_dilation: int
    kernel_dilation: int

    @property
    def share_of_image(self) -> float:
        """The share of the image that the kernel touches; a large stride skips the rest."""
        if self.stride < self.kernel * self.kernel_dilation:
            return 1.0
        return min(1.0, self.result * self.kernel / max(1, self.image))

    def count_taps(self) -> int:
        """Return the number of pairs of a result and a tap that meet an element of the image."""
        reach = (self.image - 1) * self.image_dilation
        count = 0
        for tap in range(self.kernel):
            # Results r with 0 <= r * stride + offset <= reach, at a multiple of the dilation.
            offset = tap * self.kernel_dilation - self.padding
            first = max(0, -(offset // self.stride))
            last = min(self.result - 1, (reach - offset) // self.stride)
            if self.image_dilation == 1:
                count += max(0, last - first + 1)
            else:
                places = (r * self.stride + offset for r in range(first, last + 1))
                count += sum(place % self.image_dilation == 0 for place in places)
        return count


def _count_window(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    # A pooling does not read elements between its windows.
    params, result = step.params, step.equation.outvars[0]
    is_gradient = step.equation.primitive.name == "select_and_scatter_add"
    small = step.equation.invars[0] if is_gradient else result
    image = step.equation.invars[1 if is_gradient else 0].aval.shape
    ones = [1] * len(image)
    seen = 1.0
    for axis, length in enumerate(image):
        seen *= _Window(
            length,
            params["window_dimensions"][axis],
            small.aval.shape[axis],
            params["window_strides"][axis],
            params["padding"][axis][0],
            params.get("base_dilation", ones)[axis],
            params.get("window_dilation", ones)[axis],
        ).share_of_image
    whole = math.prod(image)
    needs = [seen * size if size == whole else float(size) for size in step.sizes]
    if step.tally is not None:
        step.tally.other += step.share * max(*needs, count_elements(result))
    return [step.share * need for need in needs]


def _count_kernel(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    estimate = step.params.get("cost_estimate")
    info = step.params.get("name_and_src_info") or step.params.get("name")
    name = getattr(info, "name", info) or "without a name"
    if estimate is None:
        return step.leave_out(f"the kernel `{name}`, which gives no cost estimate")
    # An estimate may include work that the kernel skips, and operations other than products.
    largest = max(step.equation.invars, key=count_elements, default=None)
    kind = format_element_type(largest.aval.dtype) if largest else "bf16"
    flops = float(estimate.flops)
    step.count_products(flops, 0.0, (kind, kind, 1))
    if step.tally is not None:
        step.tally.kernels += flops
        step.tally.notes.add(f"the kernel `{name}` has the FLOPs of its own cost estimate")
    return [ALIVE for _ in step.equation.invars]


PRODUCT_RULES: dict[str, Rule] = {
    **dict.fromkeys(("ragged_dot", "ragged_dot_general"), _count_ragged_dot),
    "dot_general": _count_dot,
    "conv_general_dilated": _count_convolution,
    **dict.fromkeys(
        (
            "reduce_window",
            "reduce_window_max",
            "reduce_window_min",
            "reduce_window_sum",
            "select_and_scatter_add",
        ),
        _count_window,
    ),
    "pallas_call": _count_kernel,
}
