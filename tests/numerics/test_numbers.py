"""Precision, conversion, narrowing and aliasing: each check's findings for each fault."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks import mxu
from tests.checks.jax_sabotage_arrays import bfloat16_loses_a_bit
from tests.support.jax_checks import check, failures, findings
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

TPU = Target("tpu", 8, "v5e")
ONE, THREE, SIX = (mxu.passes(count) for count in (1, 3, 6))


# jax.matmul_precision, as a TPU and a GPU would see it


def emulate(
    patch: pytest.MonkeyPatch,
    default: Callable[..., Any] = ONE,
    high: Callable[..., Any] = THREE,
    highest: Callable[..., Any] = SIX,
) -> dict[str, Finding]:
    """Run the check with emulated arithmetic, and return its findings by code."""
    module = check("matmul_precision")
    for name, multiply in {"default": default, "high": high, "highest": highest}.items():
        patch.setattr(module, f"multiply_{name}", multiply)
    return {finding.code: finding for finding in module.run()}


def test_a_healthy_tpu_passes_and_teaches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One, three and six passes are what is documented, so nothing warns and nothing fails."""
    set_target(TPU)
    results = emulate(monkeypatch)

    assert {"ok", "info"} == {finding.verdict for finding in results.values()}
    assert results["JAX-PRECISION-DEFAULT"].found == "one bfloat16 pass"
    assert results["JAX-PRECISION-HIGH"].found == "three bfloat16 passes"
    assert results["JAX-PRECISION-HIGHEST"].found == "float32"
    assert results["JAX-PRECISION-DEFAULT-ERROR"].found == pytest.approx(2.35e-3, rel=0.05)
    assert "precision='highest'" in str(results["JAX-PRECISION-DEFAULT-ERROR"].hint)


def test_product_of_issue_9973_matches_reported_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check's product matches jax-ml/jax#9973: all four numbers are reproduced."""
    set_target(TPU)
    finding = emulate(monkeypatch)["JAX-PRECISION-9973"]
    product = jax.jit(ONE)(*check("_precision").issue())[:2, :2]

    assert (finding.verdict, finding.found) == ("ok", "0.17405128")
    assert str(np.asarray(product)) == "[[0.17405128 0.09669876]\n [0.21180916 0.10805416]]"


def test_tpu_that_truncates_operands_keeps_its_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classes do not hang on how a device rounds."""
    set_target(TPU)
    results = emulate(monkeypatch, *(mxu.passes(count, mxu.chopped) for count in (1, 3, 6)))

    assert "fail" not in {finding.verdict for finding in results.values()}


def test_highest_with_three_passes_fails_on_a_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hardware does not do what its documentation says, and the finding says which."""
    set_target(TPU)
    results = emulate(monkeypatch, highest=THREE)
    failed = {code for code, finding in results.items() if finding.verdict == "fail"}

    assert {"JAX-PRECISION-HIGHEST"} == failed
    assert results["JAX-PRECISION-HIGHEST"].found == "three bfloat16 passes"
    assert results["JAX-PRECISION-HIGHEST"].expected == "float32"


def test_high_with_one_pass_fails_on_a_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """`high` promises three passes."""
    set_target(TPU)

    assert emulate(monkeypatch, high=ONE)["JAX-PRECISION-HIGH"].verdict == "fail"


def test_default_too_exact_for_tpu_is_information(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody set the precision for all programs: worth knowing, and no fault."""
    set_target(TPU)
    finding = emulate(monkeypatch, default=SIX)["JAX-PRECISION-DEFAULT"]

    assert (finding.verdict, finding.found) == ("info", "float32")
    assert "JAX_DEFAULT_MATMUL" in str(finding.hint)


@pytest.mark.parametrize(
    "fault",
    [
        lambda x, y: (x @ y).at[3, 3].set(jnp.nan),
        lambda x, y: (x @ y).at[3, 3].set(jnp.inf),
        lambda x, y: y @ x,
        lambda x, y: 0 * (x @ y),
        lambda x, y: (x @ y).at[:, 7].multiply(1.01),
    ],
    ids=["NaN", "infinite", "wrong matrix", "zeros", "one bad column"],
)
def test_wrong_numbers_fail_at_any_precision(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Any]
) -> None:
    """A number that no precision explains is a failure, even at the default precision."""
    set_target(TPU)
    results = emulate(monkeypatch, default=fault, highest=fault)

    assert results["JAX-PRECISION-HIGHEST"].verdict == "fail"


def test_a_gpu_with_tensor_float_32_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """TF32 at default and high, float32 at highest: as documented for recent GPUs."""
    set_target(Target("gpu", 1))
    tf32 = mxu.tensor_float_32
    results = emulate(monkeypatch, tf32, tf32, lambda x, y: x @ y)

    assert {"ok", "info"} == {finding.verdict for finding in results.values()}
    assert results["JAX-PRECISION-DEFAULT"].found == "TensorFloat-32"


def test_bfloat16_on_cpu_fails_unless_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU computes in float32, unless the setting of the whole program says otherwise."""
    coarse = emulate(monkeypatch, default=ONE)["JAX-PRECISION-DEFAULT"]
    with jax.default_matmul_precision("BF16_BF16_F32"):
        requested = emulate(monkeypatch, default=ONE)

    assert coarse.verdict == "fail"
    assert requested["JAX-PRECISION-DEFAULT"].verdict == "info"
    assert requested["JAX-PRECISION-SETTING"].found == "BF16_BF16_F32"


def test_classes_hold_the_errors_their_table_promises() -> None:
    """Emulated operands land within a tenth of the errors in the module's table."""
    precision = check("_precision")
    pair = precision.scattered()
    arithmetic = {"one": ONE, "tf32": mxu.tensor_float_32, "three": THREE}
    arithmetic["six"] = SIX
    expected = {"one": 2.35e-3, "tf32": 2.9e-4, "three": 4.5e-6, "six": 2.5e-8}
    errors = {
        name: precision.relative_error(jax.jit(multiply)(*pair), pair)
        for name, multiply in arithmetic.items()
    }

    assert expected == pytest.approx(errors, rel=0.1)


# jax.array_conversion, jax.narrowing, jax.aliasing


def test_the_type_that_lost_a_bit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one number of one type is enough, and the other types are not blamed."""
    bfloat16_loses_a_bit(monkeypatch, check("array_conversion"))
    results = findings("array_conversion", "JAX-CONVERT-DTYPE")

    assert [finding.verdict for finding in results] == ["fail", "fail"]
    assert (results[0].entity, results[1].entity) == (None, "dtype:bfloat16")
    assert results[1].found == "1 of 65536 numbers changed"


def test_a_device_that_holds_other_bits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits are read where the device has them, not only after the way back."""
    module = check("array_conversion")
    honest = module.bits_on_device

    def last_type_flipped(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        *others, last = honest(*arrays)
        return (*others, last ^ 1)

    monkeypatch.setattr(module, "bits_on_device", last_type_flipped)

    assert failures("array_conversion") == [
        ("JAX-CONVERT-DEVICE", None),
        ("JAX-CONVERT-DEVICE", "dtype:float32"),
    ]


def test_a_memory_order_read_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays whose memory is not in C order arrive as the same numbers in the same places."""
    module = check("array_conversion")

    def as_it_lies(array: np.ndarray) -> jax.Array:
        return jnp.array(array.ravel(order="K").reshape(array.shape))

    monkeypatch.setattr(module, "to_jax", as_it_lies)
    failed = [entity for _, entity in failures("array_conversion")]

    assert failed[:3] == [None, "shape:Fortran order", "shape:transposed"]


def test_a_nan_may_come_back_as_another_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """No document promises the payload, so a device that makes all NaNs alike passes."""
    module = check("array_conversion")

    def one_nan(array: jax.Array) -> np.ndarray:
        result = np.array(array)
        if array.dtype == np.float32:
            result[np.isnan(result)] = np.float32("nan")
        return result

    monkeypatch.setattr(module, "to_numpy", one_nan)

    assert failures("array_conversion") == []


def test_optional_type_may_be_refused_core_type_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The TPU compiler refuses some int2 arrays: a fact; a JAX without float32 is an error."""
    module = check("array_conversion")
    honest = module.to_jax

    def refuse(name: str) -> Callable[[np.ndarray], jax.Array]:
        def to_jax(array: np.ndarray) -> jax.Array:
            if array.dtype.name == name:
                raise jax.errors.JaxRuntimeError("INVALID_ARGUMENT: not supported")
            return honest(array)

        return to_jax

    monkeypatch.setattr(module, "to_jax", refuse("int2"))
    [refused, _] = findings("array_conversion", "JAX-CONVERT-REFUSED")

    assert (refused.verdict, refused.entity, refused.name) == ("info", "dtype:int2", "int2")
    assert "refused: INVALID_ARGUMENT: not supported" == refused.found
    assert failures("array_conversion") == []

    monkeypatch.setattr(module, "to_jax", refuse("float32"))
    with pytest.raises(jax.errors.JaxRuntimeError):
        findings("array_conversion")


def test_findings_hide_raw_jax_messages() -> None:
    """No raw message of JAX for the array it always refuses, and no `nothing` for no setting."""
    [swapped] = findings("array_conversion", "JAX-CONVERT-REFUSED")
    [setting] = findings("matmul_precision", "JAX-PRECISION-SETTING")

    assert ("big-endian float32", "refused by JAX") == (swapped.name, swapped.found)
    assert ("default precision", "not set") == (setting.name, setting.found)


def test_patterns_hold_every_number_of_the_small_types() -> None:
    """All 65536 bfloat16 patterns, all 16 of int4, and no NaN or subnormal among the ordinary."""
    arrays = check("_arrays")
    ordinary = arrays.ordinary("bfloat16").astype(np.float32)

    assert len(set(arrays.bits(arrays.patterns("bfloat16")).tolist())) == 65536
    assert len(set(arrays.bits(arrays.patterns("int4")).tolist())) == 16
    assert (np.abs(ordinary[ordinary != 0]) >= np.finfo(np.float32).tiny).all()


def test_invented_number_fails_and_wrapped_number_teaches(monkeypatch: pytest.MonkeyPatch) -> None:
    """2**40 + 7 may arrive as itself or as its low 32 bits; nothing else can be explained."""
    [wrapped] = findings("narrowing", "JAX-NARROWING-NUMPY-INT")
    monkeypatch.setattr(check("narrowing"), "convert", lambda *_: (np.zeros(4), 0))
    [invented] = findings("narrowing", "JAX-NARROWING-NUMPY-INT")

    assert (wrapped.verdict, wrapped.found) == ("info", 7)
    assert (invented.verdict, invented.found) == ("fail", 0)
    assert "fails twice" in str(invented.hint)


def test_x64_narrows_no_type() -> None:
    """With 64-bit types enabled nothing is narrowed, and the check reports that x64 is on."""
    jax.config.update("jax_enable_x64", True)
    try:
        results = {finding.code: finding for finding in findings("narrowing")}
    finally:
        jax.config.update("jax_enable_x64", False)

    assert {"ok", "info"} == {finding.verdict for finding in results.values()}
    assert results["JAX-NARROWING-X64"].found == "on"
    assert {None} == {finding.hint for finding in results.values()}
    assert "become" not in str(check("narrowing").__doc__)
    assert results["JAX-NARROWING-NUMPY-INT"].found == 2**40 + 7


def test_a_numpy_copy_that_writes_through_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAX array must not change when a copy of it does."""

    def same_memory(array: jax.Array) -> np.ndarray:
        start = ctypes.c_float.from_address(array.unsafe_buffer_pointer())
        return np.ctypeslib.as_array(ctypes.pointer(start), (len(array),))

    monkeypatch.setattr(check("aliasing"), "copied_to_numpy", same_memory)

    assert "JAX-ALIAS-COPY" in [code for code, _ in failures("aliasing")]


def test_ineffective_update_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The updated copy holds the number."""
    monkeypatch.setattr(check("aliasing"), "set_first", lambda x: x + 0)

    assert failures("aliasing") == [("JAX-ALIAS-UPDATE", None)]
