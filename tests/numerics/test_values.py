"""Counting, overflow, NaN, reductions, sorting and factors: each fault is found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks import jax_sabotage_arithmetic as sabotage
from tests.checks import mxu
from tests.support.jax_checks import check, failed, findings, verdicts
from tpustarter.probe.target import Target, set_target

TPU = Target("tpu", 8, "v5e")

# jax.bfloat16_counting


def test_a_compiler_that_keeps_more_digits_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that counts on in float32 is worth knowing, and no fault."""
    module = check("bfloat16_counting")

    def count(small: jax.Array, *others: jax.Array) -> list[jax.Array]:
        return [small.astype(jnp.float32) + 300, *others]

    assert module.judge_loop("", module.value(count(jnp.zeros(8))[0])).verdict == "info"


def test_float32_that_counts_as_bfloat16_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count stops at 256, and 2**24 - 100 becomes 2**24 at once."""
    module = check("bfloat16_counting")

    def count(*numbers: jax.Array) -> list[jax.Array]:
        def step(_: int, state: list[jax.Array]) -> list[jax.Array]:
            return [mxu.bfloat16(x.astype(jnp.float32) + 1).astype(x.dtype) for x in state]

        return jax.lax.fori_loop(0, 300, step, list(numbers))

    monkeypatch.setattr(module, "count", count)
    [failure] = [finding for finding in findings("bfloat16_counting") if finding.verdict == "fail"]

    assert (failure.code, failure.found, failure.expected) == ("JAX-COUNT-FLOAT32", 256, 300)


def test_differing_numbers_give_no_count() -> None:
    """If devices give different numbers, there is no count."""
    value = check("bfloat16_counting").value

    assert value(np.array([3, 3, 3])) == 3
    assert value(np.array([3, 3, 4])) == "different numbers"


# jax.integer_overflow


def test_type_and_operation_without_wrapping_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saturation of one operation of one type."""
    sabotage.uint8_saturates(monkeypatch, check("integer_overflow"))

    assert failed("integer_overflow") == [("JAX-INTEGER-WRAP", "dtype:uint8", "wrong: x + y")]


def test_integers_computed_in_float32_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of 32-bit integers lose their last bits there."""
    module = check("integer_overflow")
    honest = module.compute

    def compute(x: Any, y: Any, bits: Any) -> tuple[Any, ...]:
        results = list(honest(x, y, bits))
        if isinstance(x, jax.Array):
            results[0] = (x.astype(jnp.float32) + y.astype(jnp.float32)).astype(x.dtype)
        return tuple(results)

    monkeypatch.setattr(module, "compute", compute)
    sabotage.trace_again(monkeypatch, module, "wrap")

    assert "dtype:int32" in [entity for _, entity, _ in failed("integer_overflow")]


# jax.special_values


def test_tpu_keeps_nan_and_reports_infinity_becoming_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splitting infinity in parts leaves NaN: it may not hide, and it is not blamed."""
    set_target(TPU)
    monkeypatch.setattr(check("special_values"), "multiply_default", mxu.passes(1))
    monkeypatch.setattr(check("special_values"), "multiply_highest", mxu.passes(6))
    default, highest = findings("special_values", "JAX-SPECIAL-INFINITY")

    assert verdicts("special_values") == {"ok", "info"}
    assert (default.found, default.hint) == ("inf", None)
    assert highest.found == "nan"
    assert "isfinite" in str(highest.hint)


def test_a_product_that_hides_a_nan_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that computes with zeros in place of NaN gives numbers that look right."""

    def multiply_default(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.matmul(jnp.nan_to_num(x, nan=0, posinf=jnp.inf, neginf=-jnp.inf), y)

    monkeypatch.setattr(check("special_values"), "multiply_default", multiply_default)
    [failure] = failed("special_values")

    assert failure == ("JAX-SPECIAL-MATMUL", "precision:default", "128 numbers look finite")


def test_nan_spilling_into_other_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that have nothing to do with it keep their sums."""

    def multiply_default(x: jax.Array, y: jax.Array) -> jax.Array:
        product = jnp.matmul(x, y)
        return product.at[9].set(product[1])

    monkeypatch.setattr(check("special_values"), "multiply_default", multiply_default)
    [(_, _, text)] = failed("special_values")

    assert text == "128 numbers of ordinary rows are wrong"


def test_the_operation_that_hides_a_nan_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`max` passes over NaN in one row, and the value that is there tells what it did."""
    sabotage.the_largest_number_hides_a_nan(monkeypatch, check("special_values"))
    [(_, entity, text)] = failed("special_values")

    assert entity == "operation:max"
    assert text == "1 of 128 rows wrong, such as 1.0 for nan"


# jax.reductions


def test_the_device_with_other_bits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit in one result on one device of eight, both times."""
    sabotage.device_five_adds_in_another_order(monkeypatch, check("reductions"))
    expected = "other bits in: sum of normal numbers"

    assert failed("reductions") == [
        ("JAX-REDUCE-DEVICES", "device:5", expected),
        ("JAX-REDUCE-AGAIN", "device:5", expected),
    ]


def test_the_first_device_can_be_the_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first device disagrees with most devices, the first one is reported."""
    module = check("reductions")
    honest = module.reduce_all

    def reduce_all(*arrays: jax.Array) -> dict[str, jax.Array]:
        bad = (jax.lax.axis_index("d") == 0).astype(jnp.int32)
        return {name: x + bad.astype(x.dtype) for name, x in honest(*arrays).items()}

    monkeypatch.setattr(module, "reduce_all", reduce_all)
    faults = failed("reductions")

    assert {entity for _, entity, _ in faults} == {"device:0"}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("sum of a million ones", mxu.bfloat16),
        ("cumsum", lambda x: x.at[:, 200:].add(1)),
        ("argmax", lambda x: x + 1),
        ("int32 sum, backwards", lambda x: x.astype(jnp.float32).astype(jnp.int32)),
    ],
)
def test_the_reduction_that_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[[jax.Array], jax.Array]
) -> None:
    """Sums in bfloat16, a block added twice, the second of equals, integers added in float32."""
    module = check("reductions")
    honest = module.reduce_all

    def reduce_all(*arrays: jax.Array) -> dict[str, jax.Array]:
        results = honest(*arrays)
        return {**results, name: wrong(results[name])}

    monkeypatch.setattr(module, "reduce_all", reduce_all)

    assert {entity for _, entity, _ in failed("reductions")} == {f"operation:{name}"}


def test_sum_beyond_any_order_of_addition_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the sum of sizes is more than rounding."""
    module = check("reductions")
    honest = module.reduce_all

    def reduce_all(*arrays: jax.Array) -> dict[str, jax.Array]:
        name = "sum of normal numbers"
        return {**honest(*arrays), name: 0.01 * jnp.abs(arrays[3]).sum()}

    monkeypatch.setattr(module, "reduce_all", reduce_all)
    [failure] = [finding for finding in findings("reductions") if finding.verdict == "fail"]

    assert failure.code == "JAX-REDUCE-ERROR"


# jax.sorting


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("argsort", lambda x, _: len(x) - 1 - jnp.argsort(x[::-1], stable=True)),
        ("sort", lambda x, _: jnp.roll(jnp.sort(x), 20)),
        ("argsort, descending", lambda _, number: jnp.argsort(number, stable=True)[::-1]),
        ("top_k", lambda _, number: jax.lax.top_k(number, 101)[0][1:]),
    ],
)
def test_the_order_that_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., jax.Array]
) -> None:
    """Ties backwards, NaN first, a flipped order, the largest left out."""
    module = check("sorting")
    honest = module.orders

    def orders(x: jax.Array, number: jax.Array) -> dict[str, jax.Array]:
        return {**honest(x, number), name: wrong(x, number)}

    monkeypatch.setattr(module, "orders", orders)
    sabotage.trace_again(monkeypatch, module, "order")
    texts = {entity: text for _, entity, text in failed("sorting")}

    assert texts["dtype:float32"] == f"wrong: {name}"


# jax.linear_algebra


def test_a_tpu_is_measured_and_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page states a bound for its factors, so even coarse ones are facts to know."""
    set_target(TPU)
    sabotage.factors_are_bfloat16(monkeypatch, check("linear_algebra"))
    results = findings("linear_algebra")

    assert {finding.verdict for finding in results} == {"info"}
    assert {finding.expected for finding in results} == {None}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("cholesky", lambda parts: [parts[0].at[3, 3].set(jnp.nan)]),
        ("solve", lambda parts: [parts[0] * 1.5]),
        ("svd", lambda parts: [parts[0], parts[1][::-1], parts[2]]),
    ],
)
def test_wrong_factors_fail_on_a_tpu(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Callable[..., list[jax.Array]]
) -> None:
    """NaN, another solution, singular values in the wrong order: no arithmetic explains them."""
    set_target(TPU)
    module = check("linear_algebra")
    honest = module.factor

    def factor(*matrices: jax.Array) -> dict[str, list[jax.Array]]:
        results = honest(*matrices)
        return {**results, name: wrong(results[name])}

    monkeypatch.setattr(module, "factor", factor)

    assert [entity for _, entity, _ in failed("linear_algebra")] == [f"operation:{name}"]


def test_a_wave_that_does_not_come_back_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inverse forgets its factor."""
    module = check("linear_algebra")
    honest = module.transform

    def transform(a: jax.Array) -> dict[str, list[jax.Array]]:
        results = honest(a)
        return {**results, "rfft": [results["rfft"][0] * 64]}

    monkeypatch.setattr(module, "transform", transform)

    assert [entity for _, entity, _ in failed("linear_algebra")] == ["operation:irfft of rfft"]
