"""FLOPs and bytes counted in traces: against closed forms, and against published measurements."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
import yaml
from jax import export
from jax.custom_derivatives import linear_call
from jax.experimental import pallas as pl
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AbstractMesh, PartitionSpec

from tests.support import llama
from tests.support.places import TESTS
from tpustarter.core.json_values import as_type
from tpustarter.machine.tpus import parse_type
from tpustarter.probe.rehearse.work import constant_propagation, jaxpr
from tpustarter.probe.rehearse.work.program_work import count_work
from tpustarter.rehearsal import roofline_bound
from tpustarter.rehearsal.result_fields import ProgramWork

PUBLISHED = yaml.safe_load((TESTS / "probe" / "published_measurements.yml").read_text())
BF16 = jnp.bfloat16


def array(*shape: int, kind: Any = BF16) -> jax.ShapeDtypeStruct:
    """Return an abstract array."""
    return jax.ShapeDtypeStruct(shape, kind)


def count(function: Callable[..., Any], *args: Any, devices: int = 1, **options: Any) -> Any:
    """Return the work of a function."""
    traced = jax.jit(function, **options).trace(*args)
    fields = count_work(traced, jax.tree_util.tree_leaves(args), devices)
    work = as_type(fields, ProgramWork)
    assert work is not None
    assert work.reason is None
    return work


def squared(x: Any) -> Any:
    """Return a square matrix times itself: 2 * 8 ** 3 FLOPs for 8 rows."""
    return x @ x


def squared_until(limit: Any, x: Any) -> Any:
    """Return a matrix squared in a while loop."""
    return jax.lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 2, c[1] @ c[1]), (1, x))[1]


@jax.custom_vjp
def by_rule(x: Any) -> Any:
    """Return a square matrix times itself, with a derivative of its own."""
    return x @ x


by_rule.defvjp(lambda x: (x @ x, x), lambda x, gradient: (x * gradient,))


def shape_loss(x: Any) -> Any:
    """Return a loss whose backward pass computes the square again."""
    return jax.checkpoint(lambda y: jnp.sin(y @ y).sum())(x)


def doubled(x: Any, cost: pl.CostEstimate | None) -> Any:
    """Return an array doubled by a kernel."""

    def kernel(source: Any, target: Any) -> None:
        target[...] = source[...] * 2

    return pl.pallas_call(kernel, out_shape=array(8, 128), cost_estimate=cost)(x)


def sharded(x: Any, y: Any) -> Any:
    """Return a product whose parts eight devices compute."""
    kinds = (jax.sharding.AxisType.Auto,) * 2  # JAX 0.12 would compare the arguments' shardings
    return jax.shard_map(
        lambda a, b: a @ b,
        mesh=AbstractMesh((4, 2), ("data", "model"), axis_types=kinds),
        in_specs=(PartitionSpec("data"), PartitionSpec(None, "model")),
        out_specs=PartitionSpec("data", "model"),
    )(x, y)


def called(x: Any, how: str) -> Any:
    """Return a square by one of the operations that run a program."""
    if how == "composite":
        return jax.lax.composite(squared, "a.square")(x)
    if how == "exported":
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return export.export(jax.jit(squared), platforms=["tpu"])(shape).call(x)
    if how == "linear_call":
        return linear_call(lambda _, y: squared(y), lambda _, y: y, (), x)
    return custom_partitioning(squared)(x)


def nested(x: Any, w: Any, *, inner: bool) -> Any:
    """Return sums of a product that is the same in each of five turns, or of three times five."""

    def turns(start: Any, y: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, c: c + y @ w, start)

    return jax.lax.fori_loop(0, 3, lambda _, c: turns(c, c if inner else x), x)


def dead_carry(x: Any) -> Any:
    """Return one of two carries of a while loop; the other one has a product."""
    start = (0, x, x)
    return jax.lax.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] + 1, c[2] @ c[2]), start
    )[1]


def lower(x: Any) -> Any:
    """Return a matrix with zeros above its diagonal."""
    return x * jnp.tril(jnp.ones((8, 8), BF16))


X = array(8, 8)
P = 2 * 8**3
ESTIMATE = pl.CostEstimate(flops=123, bytes_accessed=0, transcendentals=0)
FLOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float, float, bool]] = {
    # function, arguments, FLOPs as written, least FLOPs, whether all is counted
    "product": (jnp.matmul, (array(8, 16), array(16, 32)), 8192, 8192, True),
    "unused product": (lambda x: (x @ x, x)[1], (X,), 0, 0, True),
    "row of a product": (lambda x: (x @ x)[:1], (X,), P, P / 8, True),
    "scan": (lambda x: jax.lax.scan(lambda c, _: (c @ c, None), x, length=5)[0], (X,), 5 * P, 5 * P,
             True),
    "fori_loop": (lambda x: jax.lax.fori_loop(0, 5, lambda _, c: c @ c, x), (X,), 5 * P, 5 * P,
                  True),
    "while with a limit": (lambda x: squared_until(8, x), (X,), 4 * P, 4 * P, True),
    "while without": (squared_until, (array(kind=jnp.int32), X), 0, 0, False),
    "cond": (lambda p, x: jax.lax.cond(p, lambda y: y @ y @ y, squared, x),
             (array(kind=jnp.bool_), X), 2 * P, P, True),
    "gradient": (jax.grad(lambda x: (x @ x).sum()), (array(8, 8, kind=jnp.float32),), 2 * P, 2 * P,
                 True),
    "checkpoint": (jax.grad(shape_loss), (array(8, 8, kind=jnp.float32),), 3 * P, 3 * P, True),
    "custom rule": (by_rule, (X,), P, P, True),
    "shard_map": (sharded, (array(8, 16), array(16, 32)), 8192, 8192, True),
    "kernel": (lambda x: doubled(x, None), (array(8, 128),), 0, 0, False),
    "kernel with cost": (lambda x: doubled(x, ESTIMATE), (array(8, 128),), 123, 0, True),
    "ragged product": (jax.lax.ragged_dot, (array(64, 16), array(4, 16, 32),
                       array(4, kind=jnp.int32)), 65536, 65536, True),
    "composite": (lambda x: called(x, "composite"), (X,), P, P, True),
    "linear call": (lambda x: called(x, "linear_call"), (X,), P, P, True),
    "exported program": (lambda x: called(x, "exported"), (X,), 0, 0, False),
    "same product in each turn": (lambda x, w: jax.lax.fori_loop(
        0, 100, lambda _, c: c + x @ w, x), (X, X), 100 * P, P, True),
    "same product in nested turns": (lambda x, w: nested(x, w, inner=False), (X, X), 15 * P, P,
                                     True),
    "product that outer turns change": (lambda x, w: nested(x, w, inner=True), (X, X), 15 * P,
                                        3 * P, True),
    "carry that nothing needs": (dead_carry, (X,), 0, 0, True),
    "triangles": (lambda x, y: lower(x) @ lower(y), (X, X), P, 2 * 120, True),
    "half of a triangle": (lambda x, y: (lower(x) @ y)[:4], (X, X), P, P * (1 / 2 + 36 / 64 - 1),
                           True),
    "padded product": (lambda x: jnp.pad(x @ x, ((0, 24), (0, 0)))[8:], (X,), 0, 0, True),
    "decomposition": (jnp.linalg.cholesky, (array(8, 8, kind=jnp.float32),), 0, 0, False),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOPS)
def test_flops_are_closed_form(name: str) -> None:
    """Loops count as often as they run, and what nobody can know is named."""
    function, args, full, least, complete = FLOPS[name]

    work = count(function, *args)

    assert (full, least, complete) == (work.flops, work.least_flops, not work.unknown)


def test_operands_of_scan_are_counted_in_each_jax() -> None:
    """JAX has written their numbers, and from 0.12 on a tree."""
    tree = SimpleNamespace(unpack=lambda: ("ab", "c", "def"))

    assert (2, 1) == jaxpr.count_scan_operands({"ft_in": tree})
    assert (2, 1) == jaxpr.count_scan_operands({"num_consts": 2, "num_carry": 1})


def test_rematerialized_flops_are_counted_apart() -> None:
    """They are work for the chip, but not for the model."""
    assert P == count(jax.grad(shape_loss), array(8, 8, kind=jnp.float32)).rematerialized_flops


def test_merged_checkpoint_is_named() -> None:
    """Outside of a loop the compiler may merge what is computed twice, if it is allowed to."""
    step = jax.checkpoint(lambda y: jnp.sin(y @ y).sum(), prevent_cse=False)
    x = array(8, 8, kind=jnp.float32)

    assert (1, 0) == (
        len(count(jax.grad(step), x).assumes),
        len(count(jax.grad(shape_loss), x).assumes),
    )


PASSES = [("float32", "highest", 6), ("float32", "high", 3), ("float32", None, 1)]


@pytest.mark.parametrize(("kind", "precision", "passes"), [*PASSES, ("bfloat16", "highest", 1)])
def test_precision_multiplies_passes(kind: str, precision: str | None, passes: int) -> None:
    """A higher precision of float32 takes several passes over bfloat16."""
    x = array(8, 8, kind=kind)

    (matrix,) = count(lambda a: jnp.matmul(a, a, precision=precision), x).matrix

    assert passes == matrix.passes


def masked(q: Any, k: Any, v: Any, *, window: int | None = None, low: float = -1e9) -> Any:
    """Return attention written by hand, with a mask of indices."""
    scores = jnp.einsum("bthd,bshd->bhts", q, k)
    row, column = jnp.arange(q.shape[1])[:, None], jnp.arange(q.shape[1])
    mask = row >= column
    if window:
        mask &= row - column < window
    shares = jax.nn.softmax(jnp.where(mask, scores, low))
    return jnp.einsum("bhts,bshd->bthd", shares, v)


def added(q: Any, k: Any, v: Any) -> Any:
    """Return attention with a mask that is added to the scores."""
    scores = jnp.einsum("bthd,bshd->bhts", q, k)
    bias = (1 - jnp.tril(jnp.ones((64, 64)))) * -1e9
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores + bias), v)


CAUSAL = 64 * 65 / 2
MASKS: dict[str, tuple[Callable[..., Any], float]] = {
    # attention of 64 positions, scores that the mask leaves
    "library, full": (jax.nn.dot_product_attention, 64 * 64),
    "library, causal": (lambda *a: jax.nn.dot_product_attention(*a, is_causal=True), CAUSAL),
    "by hand": (masked, CAUSAL),
    "infinity": (lambda *a: masked(*a, low=-math.inf), CAUSAL),
    "window": (lambda *a: masked(*a, window=8), 64 * 8 - 8 * 7 / 2),
    "added": (added, CAUSAL),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("backward", [False, True])
def test_attention_counts_scores_that_mask_leaves(name: str, backward: bool) -> None:
    """The forward pass has two products of the scores, and the backward pass has four more."""
    attention, scores = MASKS[name]
    x = array(2, 64, 4, 16, kind=jnp.float32)
    products, function = 2, attention
    if backward:
        products, function = 6, jax.grad(lambda *a: (attention(*a) ** 2).sum(), (0, 1, 2))

    work = count(function, x, x, x)

    assert products * 2 * 2 * 4 * 16 * 64 * 64 == work.flops
    assert products * 2 * 2 * 4 * 16 * scores == pytest.approx(work.least_flops)


COMBINED = ("add", "sub", "mul", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor",
            "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip


@pytest.mark.parametrize("name", COMBINED)
@pytest.mark.parametrize("kind", [jnp.int32, jnp.uint32])
def test_combined_indices_are_those_of_numpy(name: str, kind: Any) -> None:
    """Only the difference of two indices is the same along a diagonal."""

    def hide(x: Any) -> Any:
        rows = jax.lax.broadcasted_iota(kind, (8, 1), 0)
        columns = jax.lax.broadcasted_iota(kind, (1, 8), 1)
        sides = (jnp.broadcast_to(one, (8, 8)) for one in (rows, columns))
        found = getattr(jax.lax, name)(*sides)
        if name == "sub":
            found = found < 3
        return x @ jnp.where(found != 0, x, 0)

    work = count(hide, array(8, 8, kind=jnp.float32))
    row, column = np.arange(8, dtype=kind)[:, None], np.arange(8, dtype=kind)
    numpy_name = {"sub": "subtract", "max": "maximum", "min": "minimum", "mul": "multiply",
                  "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
                  "gt": "greater", "ge": "greater_equal"}.get(name, name)  # fmt: skip
    dense = getattr(np, numpy_name)(row, column)
    stays = np.count_nonzero(dense < 3 if name == "sub" else dense)

    assert P * stays / 64 == pytest.approx(work.least_flops)


CONVERTED: dict[str, tuple[Callable[..., Any], float]] = {
    # function of a mask of 8 positions, share of a product that it leaves
    "negated": (lambda mask: -mask.astype(jnp.float32), 36 / 64),
    "counted": (lambda mask: mask.astype(jnp.int8) + mask.astype(jnp.int8), 36 / 64),
    "two of one": (lambda mask: ~(mask.astype(BF16) * 0.5).astype(jnp.bool_), 28 / 64),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_converted_mask_has_its_new_type(name: str) -> None:
    """NumPy's own true and false are neither negated nor added as numbers."""
    function, share = CONVERTED[name]

    def hide(x: Any) -> Any:
        mask = jnp.arange(8)[:, None] >= jnp.arange(8)
        return x @ (x * function(mask).astype(x.dtype))

    work = count(hide, array(8, 8, kind=jnp.float32))

    assert P * share == pytest.approx(work.least_flops)


def test_long_iota_takes_no_memory() -> None:
    """A range of a billion numbers is neither made nor known."""
    fact = constant_propagation.derive_fact("iota", {"dimension": 0}, [], [], [2**30])

    assert constant_propagation.NOTHING == fact


@pytest.mark.parametrize(("divisor", "stays"), [(8.0, 2 * CAUSAL), (1e6, CAUSAL + 64 * 64)])
def test_large_divisor_lifts_low_scores(divisor: float, stays: float) -> None:
    """The exponential of -1e5 / 1e6 isn't zero, so the second product needs all shares."""

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bthd,bshd->bhts", q, k)
        scores = jnp.where(jnp.tril(jnp.ones((64, 64), bool)), scores, -1e5) / divisor
        return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)

    x = array(2, 64, 4, 16, kind=jnp.float32)

    assert 2 * 2 * 4 * 16 * stays == pytest.approx(count(attention, x, x, x).least_flops)


def test_forgotten_masks_are_derived_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace with many masks must not keep them all in memory."""
    monkeypatch.setattr(jaxpr, "MOST_KEPT", 10)
    x = array(2, 64, 4, 16, kind=jnp.float32)

    assert 2 * 2 * 2 * 4 * 16 * CAUSAL == pytest.approx(count(masked, x, x, x).least_flops)


def test_mask_of_data_leaves_every_score() -> None:
    """A mask that depends on data is assumed to hide no score."""

    def attention(q: Any, mask: Any) -> Any:
        return jax.nn.dot_product_attention(q, q, q, mask=mask)

    work = count(attention, array(2, 64, 4, 16), array(2, 1, 64, 64, kind=jnp.bool_))

    assert work.flops == work.least_flops


def test_transformer_needs_six_flops_per_parameter() -> None:
    """A training step is 6 N D, and attention comes on top."""
    model, batch, length = llama.MODELS["tiny"], 4, 32
    width = model.layers * model.heads * model.head

    work = count(llama.make_gradient(model), *llama.arguments(model, batch, length))

    products = 6 * model.matrix_parameters * batch * length
    attention = 3 * 2 * 2 * batch * width
    assert products + attention * length**2 == work.flops
    assert products + attention * length * (length + 1) / 2 == work.least_flops


def convolve(
    x: Any, kernel: int, channels: int, stride: int = 1, make: Callable[..., Any] = jnp.ones
) -> Any:
    """Return a convolution with weights of its own, which `make` returns for a shape and type."""
    weights = make((kernel, kernel, x.shape[-1], channels), x.dtype)
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, weights, (stride, stride), "SAME", dimension_numbers=numbers
    )


def resnet50(x: Any, make: Callable[..., Any] = jnp.ones) -> Any:
    """Return ResNet-50's result, without what its normalisation does to numbers."""

    def layer(x: Any, kernel: int, channels: int, stride: int = 1) -> Any:
        return convolve(x, kernel, channels, stride, make)

    x = layer(x, 7, 64, 2)
    least = np.array(-np.inf, x.dtype)
    x = jax.lax.reduce_window(x, least, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = layer(layer(layer(x, 1, width, stride), 3, width), 1, 4 * width)
            x = y + (x if block else layer(x, 1, 4 * width, stride))
    return x.mean((1, 2)) @ make((2048, 1000), x.dtype)


def resnet50_work(batch: int, devices: int) -> ProgramWork:
    """Return the work of the gradient of a loss of so many images."""
    shapes: list[tuple[int, ...]] = []
    images = array(batch, 224, 224, 3)

    def record(shape: tuple[int, ...], kind: Any) -> Any:
        shapes.append(shape)
        return jnp.ones(shape, kind)

    def loss(weights: Sequence[Any], x: Any) -> Any:
        given = iter(weights)
        return resnet50(x, lambda *_: next(given)).sum()

    jax.eval_shape(lambda x: resnet50(x, record), images)
    weights = [array(*shape) for shape in shapes]
    return count(jax.grad(loss), weights, images, devices=devices)


def test_resnet_has_published_flops() -> None:
    """3.8e9 multiply-adds an image, by table 1 of arxiv.org/abs/1512.03385 (read 2026-11).

    That counts the taps on the padding as well, which no compiler needs to compute.
    """
    work = count(resnet50, array(1, 224, 224, 3, kind=jnp.float32))

    assert pytest.approx(2 * 3.8e9, rel=0.03) == work.flops


def test_convolution_counts_taps_inside_image() -> None:
    """Padding is no work: of 3 x 3 taps on 4 x 4 pixels, 10 of 12 meet a pixel along an axis."""
    x = array(1, 4, 4, 8, kind=jnp.float32)

    forward = count(lambda a: convolve(a, 3, 5), x)
    backward = count(jax.grad(lambda a: (convolve(a, 3, 5) ** 2).sum()), x)

    assert 2 * 8 * 5 * 10 * 10 == forward.flops
    assert 2 * forward.flops == backward.flops


def test_only_needed_elements_are_read() -> None:
    """A row of a table, or a slice, is read alone; a donated cache is updated in place."""
    table, row = array(1000, 64), array(1, 64)
    index = array(kind=jnp.int32)

    def update(cache: Any, new: Any, at: Any) -> Any:
        return jax.lax.dynamic_update_slice(cache, new, (at, 0))

    assert 2 * 64 * 1000 == count(lambda t: t + 1, table).read_bytes
    assert 2 * 64 * 10 == count(lambda t: t[:10] * 2, table).read_bytes
    assert 2 * 64 + 4 == count(lambda t, i: t[i], table, index).read_bytes
    image = array(1, 8, 8, 4)
    assert 2 * 64 == count(lambda x: convolve(x, 1, 4, 2), image).read_bytes
    assert 4 * 2 * 64 == count(lambda x: convolve(x, 3, 4, 2), image).read_bytes
    assert 2 * 64 + 4 == count(update, table, row, index, donate_argnums=0).read_bytes
    assert 2 * 64 * 1000 + 4 == count(update, table, row, index).read_bytes


@pytest.mark.parametrize("window", [1, 2, 3])
def test_pooling_reads_no_element_between_windows(window: int) -> None:
    """A stride of four over eight elements leaves out what no window holds, also backwards."""

    def pool(x: Any) -> Any:
        sizes, strides = (window, window), (4, 4)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, sizes, strides, "VALID").sum()

    x = array(8, 8, kind=jnp.float32)

    assert 4 * (2 * window) ** 2 == count(pool, x).read_bytes
    assert 4 * (2 * window) ** 2 == count(jax.grad(pool), x).read_bytes


def test_overlapping_windows_read_whole_image() -> None:
    """A sum over windows of three with a stride of two reads every element."""

    def pool(x: Any) -> Any:
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, (3,), (2,), "SAME")

    assert 4 * 8 == count(pool, array(8, kind=jnp.float32)).read_bytes


def test_equal_products_count_once_at_least() -> None:
    """A compiler takes one result for both; as written they are two, and so are different ones."""

    def twice(x: Any, w: Any) -> Any:
        first = x.astype(jnp.float32) @ w.T
        return first + x.astype(jnp.float32) @ w.T

    def different(x: Any, w: Any) -> Any:
        return x @ w.T + x @ w

    def looped(x: Any, w: Any) -> Any:
        return jax.lax.scan(lambda c, _: (twice(c, w), None), x, length=5)[0]

    arrays = array(8, 8, kind=jnp.float32), array(8, 8, kind=jnp.float32)
    product = 2 * 8**3
    works = [count(function, *arrays) for function in (twice, different, looped)]

    assert [2 * product, 2 * product, 10 * product] == [work.flops for work in works]
    assert [product, 2 * product, 5 * product] == [work.least_flops for work in works]


def test_donated_result_is_written_where_it_changed() -> None:
    """One row of a thousand, also in a loop or by a scatter; without donation it is a copy."""
    table, row, index = array(1000, 64), array(64), array(kind=jnp.int32)

    def update(cache: Any, new: Any, at: Any) -> Any:
        return cache.at[at].set(new)

    def turns(cache: Any, new: Any, at: Any) -> Any:
        return jax.lax.scan(lambda c, _: (update(c, new, at), None), cache, length=3)[0]

    for function in (update, turns):
        donated = count(function, table, row, index, donate_argnums=0)
        copied = count(function, table, row, index)

        assert ({"0": 0.001}, {"0": 1.0}) == (donated.written_shares, copied.written_shares)
        assert donated.read_bytes < 1000 < copied.read_bytes


MOVED: dict[str, Callable[..., Any]] = {
    # an update of a donated cache of 1,000 rows
    "reshaped": lambda cache, new, at: cache.reshape(1000, 8, 8).at[at].set(new.reshape(8, 8))
                .reshape(1000, 64),
    "in a branch": lambda cache, new, at: jax.lax.cond(
        at > 0, lambda c: c.at[at].set(new), lambda c: c, cache),
    "in a while loop": lambda cache, new, at: jax.lax.while_loop(
        lambda c: c[0] < at, lambda c: (c[0] + 1, c[1].at[c[0]].set(new)), (0, cache))[1],
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_donated_result_of_unknown_update_writes_nothing(name: str) -> None:
    """Nobody follows the update through other operations, and a bound claims none then."""
    args = array(1000, 64), array(64), array(kind=jnp.int32)

    assert {"0": 0.0} == count(MOVED[name], *args, donate_argnums=0).written_shares
    assert {"0": 1.0} == count(MOVED[name], *args).written_shares


def test_donated_parameters_are_written_whole() -> None:
    """An optimizer's step computes each of them."""
    step = jax.grad(lambda w, x: ((x @ w) ** 2).sum())
    x = array(8, 8, kind=jnp.float32)

    work = count(lambda w, x: w - 0.1 * step(w, x), x, x, donate_argnums=0)

    assert {"0": 1.0} == work.written_shares


def test_replicated_argument_is_read_once_by_all() -> None:
    """Each device may need another part, and an array without a mesh may be cut, too."""
    mesh = AbstractMesh((8,), ("data",))
    everywhere = jax.sharding.NamedSharding(mesh, PartitionSpec())
    replicated = jax.ShapeDtypeStruct((1000, 64), BF16, sharding=everywhere)
    uncommitted = jnp.ones((1000, 64), BF16)

    for argument in (replicated, uncommitted):
        traced = jax.jit(lambda x: x + 1).trace(argument)
        assert 2 * 64 * 1000 / 8 == count_work(traced, [argument], 8)["read_bytes"]


def test_scatter_of_any_kind_reads_no_replaced_rows() -> None:
    """Their names differ between versions of JAX."""
    table, row, index = array(1000, 64), array(64), array(kind=jnp.int32)

    for name in ("set", "add", "multiply", "min", "max"):
        work = count(lambda t, r, i, n=name: getattr(t.at[i], n)(r), table, row, index)
        assert 2 * 64 * 1000 + 4 == work.read_bytes, name


def test_padding_reads_no_more_than_is_left() -> None:
    """The last 900 of 1,000 rows may be those of the padding."""
    work = count(lambda x: jnp.pad(x, ((0, 900), (0, 0)))[100:] + 1, array(100, 64))

    assert 0 == work.read_bytes


def test_calls_within_calls_end_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten levels, each of which calls the level below twice, are a thousand calls."""
    monkeypatch.setattr(jaxpr, "MOST_EQUATIONS", 500)
    function = jnp.sin
    for _ in range(10):
        function = jax.jit(lambda x, inner=function: inner(inner(x)))

    traced = jax.jit(function).trace(array(8))

    assert ["reason"] == list(count_work(traced, [array(8)], 1))


def test_unknown_trace_costs_only_its_work() -> None:
    """Another JAX may trace otherwise: the rehearsal goes on."""
    fields = count_work(object(), [], 1)

    assert list(fields) == ["reason"]


def bound_of(work: ProgramWork, tpu: str, written: float) -> float:
    """Return the seconds of a lower bound."""
    result = {"tpu": tpu, "status": "compiles", "collectives": [], "flops": None}
    result["written_bytes"] = written
    bound = roofline_bound.compute_bound(result, work)
    assert bound is not None
    return bound.seconds


def published() -> Iterator[tuple[str, str, float, float]]:
    """Yield each published measurement: program, TPU, its seconds, and those of the bound."""
    for row in PUBLISHED["training"]:
        model = llama.MODELS[row["model"]]
        args = llama.arguments(model, row["batch"], row["length"])
        devices = parse_type(row["tpu"]).devices or 1
        work = count(llama.make_gradient(model), *args, devices=devices)
        yield row["model"], row["tpu"], row["seconds"], bound_of(work, row["tpu"], 0)
    for row in PUBLISHED["images"]:
        devices = parse_type(row["tpu"]).devices or 1
        work = resnet50_work(row["batch"], devices)
        yield f"ResNet-50 {row['batch']}", row["tpu"], row["seconds"], bound_of(work, row["tpu"], 0)
    for row in PUBLISHED["decoding"]:
        model, batch = llama.MODELS[row["model"]], row["batch"]
        args = llama.arguments(model, batch, 1, jnp.int8)
        devices = parse_type(row["tpu"]).devices or 1
        work = count(llama.make_decoder(model), *args, devices=devices)
        name, seconds = f"decode 70b x {batch}", 1 / row["tokens_per_s"]
        yield name, row["tpu"], seconds, bound_of(work, row["tpu"], 0)
    for row in PUBLISHED["matmul"]:
        x = array(row["size"], row["size"])
        work = count(jnp.matmul, x, x)
        seconds = row.get("seconds") or work.flops / row["tflops"] / 1e12
        written = 2 * row["size"] ** 2
        yield f"matmul {row['size']}", row["tpu"], seconds, bound_of(work, row["tpu"], written)
    for row in PUBLISHED["copy"]:
        work = count(lambda x: x + 1, array(row["bytes"] // 2))
        seconds = bound_of(work, row["tpu"], row["bytes"])
        yield f"copy {row['bytes'] >> 20} MiB", row["tpu"], row["seconds"], seconds


def test_bound_is_below_published_times(request: pytest.FixtureRequest) -> None:
    """The golden file says how far below: 1 would be the peak."""
    rows = list(published())
    text = "\n".join(
        f"{name:16} {tpu:10} measured {seconds:9.4g} s, bound {bound:9.4g} s, {bound / seconds:.2f}"
        for name, tpu, seconds, bound in rows
    )
    golden = TESTS / "golden" / "bounds-of-published-times.txt"
    if request.config.getoption("--golden"):
        golden.write_text(f"{text}\n")

    assert [] == [row for row in rows if row[3] >= row[2]]
    assert golden.read_text() == f"{text}\n"


def test_work_is_document_field() -> None:
    """The trace's fields are those that the document publishes, and fit into JSON."""
    traced = jax.jit(lambda x: convolve(x, 3, 5)).trace(array(1, 4, 4, 8))
    fields = json.loads(json.dumps(count_work(traced, [array(1, 4, 4, 8)], 1)))

    assert fields.keys() <= msgspec.structs.asdict(ProgramWork()).keys()
