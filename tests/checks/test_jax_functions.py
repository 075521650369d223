"""Mathematical functions: an emulated TPU that is some ULP off is judged by its bounds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks.jax_sabotage_functions import change, device_five_is_one_ulp_off, moved
from tests.support.jax_checks import check, failed, findings
from tpustarter.machine import generations, tpus
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

NAME = "math_functions"
COLUMNS = ("v5e", "v5p", "v6e", "tpu7x")
"""One generation for each column of bounds."""
NEW = (0, 12, 0)
TINY, MOST = 2.0**-126, float(np.finfo(np.float32).max)

accuracy = check("_accuracy")


def documented(generation: str) -> dict[str, float]:
    """Return all bounds of a generation by function and type."""
    pairs = accuracy.tried()
    return {f"{n}, {dtype}": accuracy.bound(n, dtype, generation, NEW) for n, dtype in pairs}


def emulate(patch: pytest.MonkeyPatch, generation: str, off: dict[str, int]) -> list[Finding]:
    """Run the check on a TPU that rounds each right result, and then is some ULP off."""
    module, numbers = check(NAME), dict(zip(accuracy.DIGITS, accuracy.arguments(), strict=True))
    results = {}
    for name, dtype in accuracy.tried():
        with np.errstate(all="ignore"):
            right = accuracy.FUNCTIONS[name].right(numbers[dtype].astype(np.float64))
            rounded = jnp.asarray(right.astype(numbers[dtype].dtype))
        results[f"{name}, {dtype}"] = moved(rounded, off.get(f"{name}, {dtype}", 0))
    patch.setattr(module, "evaluate", lambda _x, _b: results)
    patch.setattr(accuracy, "SINCE", (0, 1))
    set_target(Target("tpu", 8, generation))
    return findings(NAME, "JAX-ACCURACY-FLOAT32") + findings(NAME, "JAX-ACCURACY-BFLOAT16")


@pytest.mark.parametrize("generation", COLUMNS)
def test_a_tpu_at_its_bounds_passes(generation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding adds half an ULP to what each function is off."""
    off = {name: int(bound - 0.5) for name, bound in documented(generation).items()}
    results = emulate(monkeypatch, generation, off)

    assert {"ok"} == {finding.verdict for finding in results}
    assert len(off) == len(results)


@pytest.mark.parametrize("generation", COLUMNS)
def test_each_function_beyond_its_bound_is_named(
    generation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One ULP too many, in every function and type."""
    off = {name: int(bound) + 1 for name, bound in documented(generation).items()}
    results = emulate(monkeypatch, generation, off)

    assert {"fail"} == {finding.verdict for finding in results}
    assert {f"function:{name}" for name in accuracy.FUNCTIONS} == {
        finding.entity for finding in results
    }
    assert all(finding.hint for finding in results)


def test_only_the_function_that_is_off_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure, the bound and the unit are told; 116 ULP is right on a v5e and wrong on a v6e."""
    [failure] = [
        finding
        for finding in emulate(monkeypatch, "v6e", {"exp, float32": 115})
        if finding.verdict == "fail"
    ]

    assert ("function:exp", "at most 64.5", "ULP") == (
        failure.entity,
        failure.expected,
        failure.unit,
    )
    assert 115 <= float(str(failure.found)) <= 116


def test_ignored_accuracy_request_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """`highest` that does what the default does: 64 ULP where 1.5 are documented."""
    if not hasattr(jax.lax, "AccuracyMode"):
        pytest.skip("This JAX has no public `AccuracyMode`, so nothing more exact can be asked.")
    results = emulate(monkeypatch, "v6e", {"exp, float32": 64, "exp, highest, float32": 64})

    assert ["function:exp, highest"] == [
        finding.entity for finding in results if finding.verdict == "fail"
    ]


def test_exp_hint_names_more_exact_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that surprises newcomers comes with the way out."""
    hints = {
        finding.entity: finding.hint for finding in emulate(monkeypatch, "v5e", {}) if finding.hint
    }

    assert ["function:exp"] == list(hints)
    assert "AccuracyMode.HIGHEST" in str(hints["function:exp"])


def test_the_kind_of_the_device_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device kind that JAX reports takes precedence over the machine's generation."""
    monkeypatch.setattr(
        tpus, "find_generation_by_device_kind", lambda _kind: tpus.find_generation("v6e")
    )
    expected = {finding.name: finding.expected for finding in emulate(monkeypatch, "v2", {})}

    assert "at most 64.5" == expected["error of exp in float32"]


@pytest.mark.parametrize(
    ("generation", "version", "bound"),
    [
        *((name, NEW, 116) for name in ("v2", "v3", "v4", "v5e")),
        ("v5p", NEW, 109.5),
        ("v6e", NEW, 64.5),
        ("tpu7x", NEW, 65),
        ("v6e", (0, 13), 64.5),
        ("v6e", (0, 10, 2), None),
        ("tpu8i", NEW, None),
        (None, NEW, None),
    ],
)
def test_bounds_hold_only_for_measured_devices_and_jax(
    generation: str | None, version: tuple[int, ...], bound: float | None
) -> None:
    """Bounds hold only for measured devices and JAX versions; others get a figure alone."""
    assert bound == accuracy.bound("exp", "float32", generation, version)


def test_every_generation_with_bounds_is_in_tpu_table() -> None:
    """Every generation with bounds is in the TPU table, so its name isn't misspelt."""
    assert set(accuracy.COLUMNS) <= {row.name for row in generations.GENERATIONS}
    assert set(accuracy.COLUMNS.values()) == {accuracy.COLUMNS[name] for name in COLUMNS}
    assert {4} == {len(function.float32) for function in accuracy.FUNCTIONS.values()}
    assert {0, 4} == {len(function.bfloat16) for function in accuracy.FUNCTIONS.values()}


# on any device


def test_the_device_with_other_bits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One ULP in one function on one device of eight."""
    device_five_is_one_ulp_off(monkeypatch, check(NAME))
    expected = [("JAX-ACCURACY-DEVICES", "device:5", "other bits in: tanh, float32")]

    assert expected == failed(NAME)


@pytest.mark.parametrize("name", ["log, float32", "exp, bfloat16"])
def test_a_nan_that_becomes_a_number_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A NaN that becomes a number fails without any bound."""
    change(monkeypatch, check(NAME), name, jnp.nan_to_num)
    [failure] = [finding for finding in findings(NAME) if finding.verdict == "fail"]

    assert f"error of {name.replace(', ', ' in ')}" == failure.name
    assert "inf" == str(failure.found)


def test_results_with_no_right_digit_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong sign is an error of the number's own size and more."""
    change(monkeypatch, check(NAME), "sin, float32", lambda y: -y)

    assert [("JAX-ACCURACY-FLOAT32", "function:sin")] == [pair[:2] for pair in failed(NAME)]


# the shared code


@pytest.mark.parametrize(
    ("actual", "expected", "ulps"),
    [
        (1.0, 1.0, 0),
        (1 + 2.0**-23, 1.0, 1),
        (1 - 2.0**-24, 1.0, 0.5),
        (1.0, 1 + 2.0**-24, 0.5),
        (-1.0, 1.0, 2.0**24),
        (np.nan, np.nan, 0),
        (np.nan, 1.0, np.inf),
        (1.0, np.nan, np.inf),
        (0.0, TINY / 2, 0),
        (TINY / 4, -TINY / 2, 0),
        (0.0, TINY, 1),
        (TINY, 0.0, 1),
        (np.inf, np.inf, 0),
        (np.inf, MOST, 1),
        (np.inf, 2.0**128 * (1 - 2.0**-25), 0),
        (np.inf, 2.0**128 * (1 - 2.0**-24 + 2.0**-27), 0.875),
        (MOST, 2.0**128, 1),
        (MOST, 1e300, 1),
        (-np.inf, np.inf, 2.0**25),
        (np.inf, -1e300, 2.0**25),
    ],
)
def test_errors_are_counted_as_their_source_counts_them(
    actual: float, expected: float, ulps: float
) -> None:
    """Zero and infinity are the neighbours of the smallest and the largest ordinary number."""
    pair = np.array([actual], np.float32), np.array([expected], np.float64)

    assert [ulps] == accuracy.errors(*pair, 24).tolist()


def test_bfloat16_errors_use_bfloat16_ulp() -> None:
    """Its numbers next to 1 are 2**-7 apart."""
    actual = np.array([1 + 2.0**-7], jnp.bfloat16)

    assert [1] == accuracy.errors(actual, np.array([1.0]), 8).tolist()


@pytest.mark.parametrize("place", [0, 1])
def test_arguments_cover_signs_and_sizes_without_subnormals(place: int) -> None:
    """Test arguments have all signs and sizes but no subnormals, which TPUs treat as zero."""
    numbers = accuracy.arguments()[place].astype(np.float64)
    sizes = np.abs(numbers)
    normal = numbers[np.isfinite(sizes) & (sizes > 0)]
    met = set(zip(np.frexp(normal)[1].tolist(), np.signbit(normal).tolist(), strict=True))

    assert TINY == np.abs(normal).min()
    assert {(size, sign) for size in range(-125, 129) for sign in (False, True)} == met
    assert {False, True} == set(np.signbit(numbers[sizes == 0]).tolist())
    assert [-np.inf, np.inf] == sorted(numbers[np.isinf(sizes)].tolist())
    assert 1 == np.isnan(numbers).sum()


def test_arguments_are_equal_in_every_run() -> None:
    """A figure of today can be compared with one of last week."""
    first, second = accuracy.arguments(), accuracy.arguments()

    assert [array.tobytes() for array in first] == [array.tobytes() for array in second]
    assert 128 in first[0]
    assert 128 not in first[1]


def test_jax_functions_match_numpy_functions() -> None:
    """Each pair agrees on an ordinary number, so that no error is one of mixing them up."""
    for name, function in accuracy.FUNCTIONS.items():
        x = np.float32(0.75)

        assert np.isclose(function.right(np.float64(x)), jax.jit(function.device)(x), rtol=1e-5), (
            name
        )
