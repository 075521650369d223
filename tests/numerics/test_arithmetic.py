"""Arithmetic: the findings of each check on an emulated TPU, healthy or with a fault."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks import jax_sabotage_arithmetic as sabotage
from tests.checks import mxu
from tests.support.jax_checks import check, failed, findings, verdicts
from tpustarter.machine import generations
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

TPU = Target("tpu", 8, "v5e")
Product = Callable[[jax.Array, jax.Array], Any]
PASSES = {"DEFAULT": 1, "HIGH": 3, "HIGHEST": 6, "nothing": 1}
PASSES |= {"BF16_BF16_F32": 1, "BF16_BF16_F32_X3": 3, "BF16_BF16_F32_X6": 6}
"""Passes that a TPU makes for what a program asks for."""


def in_passes(count: int, product: Product) -> Product:
    """Return any product of two arrays as an MXU makes it, in 1, 3 or 6 passes."""

    def multiply(x: jax.Array, y: jax.Array) -> Any:
        parts = 1 + max(lhs for lhs, _ in mxu.PRODUCTS[count])
        lefts, rights = mxu.split(x, parts), mxu.split(y, parts)
        return sum(product(lefts[i], rights[j]) for i, j in mxu.PRODUCTS[count])

    return multiply


# jax.matmul_dtypes


def test_every_generation_has_the_types_of_the_table() -> None:
    """A TPU's native types come from `tpus.py`; every TPU has float32 and bfloat16."""
    types = check("_matmul_types")

    def native(kind: str) -> tuple[str, ...]:
        return types.native(SimpleNamespace(platform="tpu", device_kind=kind))

    assert native("TPU v3") == ("float32", "bfloat16") == native("TPU v99")
    assert native("TPU v5 lite") == tuple(n for n in types.TYPES if n != "float8_e4m3fn")
    assert native("TPU7x") == ("float32", "bfloat16", "float8_e5m2", "float8_e4m3fn")


def test_programs_leave_out_missing_types() -> None:
    """A v3 is never given int8 programs, and the report says so."""
    [cpu] = jax.local_devices()[:1]
    listed = [name for name, _, _ in check("matmul_dtypes").programs([cpu])]
    left_out = [finding.entity for finding in findings("matmul_dtypes", "JAX-MATMUL-NATIVE")]

    assert "int4" not in listed
    assert left_out == ["dtype:int4"]


def test_single_pass_on_tpu_multiplies_whole_numbers_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operands are numbers that bfloat16 holds, so its passes lose nothing."""
    set_target(TPU)
    module = check("matmul_dtypes")
    exact = in_passes(1, module.multiply_floats)

    def multiply_floats(x: jax.Array, y: jax.Array) -> Any:
        return exact(x.astype(jnp.float32), y.astype(jnp.float32))

    monkeypatch.setattr(module, "multiply_floats", multiply_floats)

    assert verdicts("matmul_dtypes") == {"ok", "info"}


def test_float8_sums_in_bfloat16_are_caught_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each float8 type fails, both with whole numbers and with others, and no other type."""
    sabotage.float8_sums_are_kept_in_bfloat16(monkeypatch, check("matmul_dtypes"))
    exact = [failure for failure in failed("matmul_dtypes") if failure[0] == "JAX-MATMUL-EXACT"]
    sums = [entity for code, entity, _ in failed("matmul_dtypes") if code == "JAX-MATMUL-SUMS"]
    float8 = ["dtype:float8_e5m2", "dtype:float8_e4m3fn", "dtype:float8_e4m3b11fnuz"]

    assert [entity for _, entity, _ in exact] == float8
    assert all(str(text).endswith("sums kept in bfloat16") for _, _, text in exact)
    assert set(sums) <= set(float8)


def test_float8_sums_with_fourteen_bits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that lose their last bits, as on some GPUs, are no float32 sums."""
    module = check("matmul_dtypes")
    honest = module.multiply_floats

    def multiply_floats(x: jax.Array, y: jax.Array) -> jax.Array:
        exact = honest(x, y)
        few = jax.lax.reduce_precision(exact, exponent_bits=8, mantissa_bits=13)
        return few if x.dtype.itemsize == 1 else exact

    monkeypatch.setattr(module, "multiply_floats", multiply_floats)

    assert "dtype:float8_e4m3fn" in [entity for _, entity, _ in failed("matmul_dtypes")]


def test_int8_sums_in_float32_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sum is odd and above 2**24, where float32 has even numbers only."""

    def multiply_integers(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.matmul(x.astype(jnp.float32), y.astype(jnp.float32)).astype(jnp.int32)

    monkeypatch.setattr(check("matmul_dtypes"), "multiply_integers", multiply_integers)
    [(code, entity, text)] = failed("matmul_dtypes")

    assert (code, entity) == ("JAX-MATMUL-EXACT", "dtype:int8")
    assert "numbers wrong" in str(text)


def test_bfloat16_sums_of_ordinary_numbers_meet_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding 2048 products in bfloat16 one after the other is far off, and the type is named."""

    def multiply_floats(x: jax.Array, y: jax.Array) -> jax.Array:
        if x.dtype != jnp.bfloat16:
            return jnp.matmul(x, y, preferred_element_type=jnp.float32)
        terms = x.T.astype(jnp.float32)[:, :, None] * y.astype(jnp.float32)[:, None, :]
        start = jnp.zeros(terms.shape[1:])
        return jax.lax.scan(lambda s, t: (mxu.bfloat16(s + t), None), start, terms)[0]

    monkeypatch.setattr(check("matmul_dtypes"), "multiply_floats", multiply_floats)
    failures = {(code, entity) for code, entity, _ in failed("matmul_dtypes")}

    assert failures == {(f"JAX-MATMUL-{code}", "dtype:bfloat16") for code in ("EXACT", "SUMS")}


# jax.matmul_shapes


def multiply_shapes_in_passes(patch: pytest.MonkeyPatch, count: int, coarse: str = "") -> None:
    """Let every product go through so many passes, and one with operands of three bits."""
    for name, product in list(check("_products").PRODUCTS.items()):
        device = in_passes(count, product.device)
        if name == coarse:

            def device(x: jax.Array, y: jax.Array, honest: Any = product.device) -> Any:
                few = [jax.lax.reduce_precision(operand, 8, 2) for operand in (x, y)]
                return honest(*few)

        patch.setitem(check("_products").PRODUCTS, name, product._replace(device=device))
    sabotage.trace_again(patch, check("matmul_shapes"), "multiply_all")


def test_product_bound_is_reached_and_not_exceeded() -> None:
    """Two operands half way between bfloat16 numbers are as far off as rounding can be."""
    products = check("_products")
    product, pair = products.PRODUCTS["outer"], (np.full(1, 1 + 2**-8), np.full(1, 1 + 2**-8))
    allowed = products.ROUNDING["one bfloat16 pass"]

    assert products.excess(jnp.ones((1, 1)), product, pair, allowed) <= 1
    assert products.excess(jnp.ones((1, 1)), product, pair, allowed / 1.1) > 1


@pytest.mark.parametrize("count", [1, 3, 6])
def test_every_shape_passes_on_a_tpu(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """One pass is documented, and more are better."""
    set_target(TPU)
    multiply_shapes_in_passes(monkeypatch, count)

    assert verdicts("matmul_shapes") == {"ok", "info"}


def test_single_pass_instead_of_float32_fails_on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a single pass on a CPU, every shape but the empty one fails."""
    multiply_shapes_in_passes(monkeypatch, 1)
    names = [entity for code, entity, _ in failed("matmul_shapes") if code == "JAX-SHAPES-ERROR"]

    assert len(names) == len(check("_products").PRODUCTS) - 1
    assert "shape:no terms" not in names


def test_shape_too_coarse_for_tpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix times a vector with three bits fails, and the other shapes do not."""
    set_target(TPU)
    multiply_shapes_in_passes(monkeypatch, 1, coarse="matrix vector")
    names = {entity for _, entity, _ in failed("matmul_shapes")}

    assert names == {"shape:matrix vector"}


def test_a_shifted_convolution_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right arithmetic in the wrong places."""
    sabotage.one_convolution_is_shifted(monkeypatch, check("matmul_shapes"))

    assert {entity for _, entity, _ in failed("matmul_shapes")} == {"shape:convolution, strided"}


def test_a_result_of_the_wrong_shape_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shape is compared before the numbers."""
    products = check("_products").PRODUCTS
    outer = products["outer"]._replace(device=lambda x, y: jnp.outer(y, x))
    monkeypatch.setitem(products, "outer", outer)
    sabotage.trace_again(monkeypatch, check("matmul_shapes"), "multiply_all")
    [exact, _] = failed("matmul_shapes")

    assert exact == ("JAX-SHAPES-EXACT", "shape:outer", "[257, 129] instead of [129, 257]")


# jax.asked_precision


def emulate_requests(patch: pytest.MonkeyPatch, **changes: int) -> list[Finding]:
    """Run the check on a TPU that makes the passes each way asks for, but for the `changes`."""
    set_target(TPU)
    module, requests = check("asked_precision"), check("_requests")
    passes = {**PASSES, **changes}

    def multiply_all_ways(x: jax.Array, y: jax.Array) -> list[jax.Array]:
        precisions = [requests.requested(way.multiply, x, y) for way in requests.WAYS.values()]
        products = {count: mxu.passes(count)(x, y) for count in set(passes.values())}
        return [products[passes[precision]] for precision in precisions]

    patch.setattr(module, "multiply_all_ways", multiply_all_ways)
    return list(module.run())


def named(results: list[Finding], code: str) -> dict[str | None, Any]:
    """Return the found value of each failed entity with this code."""
    return {
        finding.entity: finding.found
        for finding in results
        if finding.entity and finding.verdict == "fail" and finding.code == code
    }


def test_every_precision_request_passes_on_healthy_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """One, three and six passes, as asked."""
    results = emulate_requests(monkeypatch)
    presets = [finding.found for finding in results if finding.code == "JAX-REQUEST-PRESET"]

    assert {finding.verdict for finding in results} == {"ok", "info"}
    assert presets == [
        "three bfloat16 passes",
        "one bfloat16 pass",
        "three bfloat16 passes",
        "float32",
    ]


def test_highest_with_three_passes_fails_for_every_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the device computes HIGHEST in three passes, every request for it fails."""
    results = emulate_requests(monkeypatch, HIGHEST=3)
    ways = {f"way:{name}" for name, way in check("_requests").WAYS.items() if way.asks == "HIGHEST"}

    assert named(results, "JAX-REQUEST-ASKED") == {}
    assert named(results, "JAX-REQUEST-DONE") == dict.fromkeys(
        ways, "three bfloat16 passes, not float32"
    )


def test_a_preset_with_too_few_passes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """`BF16_BF16_F32_X6` promises six."""
    results = emulate_requests(monkeypatch, BF16_BF16_F32_X6=3)

    assert named(results, "JAX-REQUEST-DONE") == {
        "way:preset BF16_BF16_F32_X6": "three bfloat16 passes, not float32"
    }


def test_an_ignored_context_manager_is_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program does not ask, so the device does one pass: both findings name the way."""
    sabotage.the_context_manager_is_ignored(monkeypatch, check("asked_precision"))
    results = emulate_requests(monkeypatch)
    way = "way:context 'highest'"

    assert named(results, "JAX-REQUEST-ASKED") == {way: "requests nothing, not HIGHEST"}
    assert named(results, "JAX-REQUEST-DONE") == {way: "one bfloat16 pass, not float32"}


def test_call_overridden_by_its_context_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call overridden by its context fails, even if the context asks for more precision."""
    requests = check("_requests")
    way = requests.WAYS["call inside a context"]._replace(multiply=requests.context("highest"))
    monkeypatch.setitem(requests.WAYS, "call inside a context", way)
    sabotage.trace_again(monkeypatch, check("asked_precision"), "multiply_all_ways")
    [(code, entity, text)] = failed("asked_precision")

    assert (code, entity) == ("JAX-REQUEST-ASKED", "way:call inside a context")
    assert text == "requests HIGHEST, not DEFAULT"


def test_precision_is_found_inside_nested_programs() -> None:
    """Products in a jitted function and in a loop, products that differ, and none at all."""
    requested, x = check("_requests").requested, np.ones((4, 4), np.float32)
    highest = jax.jit(lambda x, y: jnp.matmul(x, y, precision="highest"))

    def mixed(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 2, lambda _, z: highest(z, y), x) + x @ y

    assert requested(mixed, x, x) == "HIGHEST and nothing"
    assert requested(jnp.add, x, x) == "no product at all"


# jax.default_precision


def environment(patch: pytest.MonkeyPatch, setting: str | None, count: int) -> dict[str, Finding]:
    """Run the check as if the variable were `highest`, on a TPU that makes so many passes."""
    set_target(TPU)
    module, passes = check("default_precision"), mxu.passes(count)
    patch.setenv("JAX_DEFAULT_MATMUL_PRECISION", "highest")
    requested = module._requests.requested
    plain = module.multiply_plain
    patch.setattr(module._requests, "requested", lambda _, *pair: requested(plain, *pair))
    patch.setattr(module, "multiply_plain", passes)
    jax.config.update("jax_default_matmul_precision", setting)
    try:
        return {finding.code: finding for finding in module.run()}
    finally:
        jax.config.update("jax_default_matmul_precision", None)


def test_the_variable_reaches_a_healthy_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set, asked for, and done in six passes."""
    results = environment(monkeypatch, "highest", 6)

    assert {"ok"} == {finding.verdict for finding in results.values()}
    assert results["JAX-ENVIRONMENT-ASKED"].found == "HIGHEST"


def test_a_variable_that_is_ignored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX has no setting, the program does not ask, and the TPU makes one pass."""
    results = environment(monkeypatch, None, 1)

    assert {"fail"} == {finding.verdict for finding in results.values()}
    assert results["JAX-ENVIRONMENT-SETTING"].found == "not set"
    assert results["JAX-ENVIRONMENT-DONE"].found == "one bfloat16 pass"


def test_tpu_that_ignores_precision_variable_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program asks, and the device makes three passes."""
    results = environment(monkeypatch, "highest", 3)

    assert [finding.code for finding in results.values() if finding.verdict == "fail"] == [
        "JAX-ENVIRONMENT-DONE"
    ]


def test_table_has_every_type_that_generation_multiplies() -> None:
    """A type added to `tpus.py` is either tried by the check or one of these."""
    tried = set(check("_matmul_types").TYPES)
    native = {name for row in generations.GENERATIONS for name in row.matmul_dtypes}

    assert native - tried == {"uint8", "uint4"}
