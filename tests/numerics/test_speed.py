"""Speed: numbers that stay exact, a straggler, and rates beside what is documented."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks.jax_sabotage_cores import at
from tests.checks.jax_sabotage_speed import renamed, spoilt_on
from tpustarter.machine import generations, tpus
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

hadamard, published, rates, stream, timing = (
    importlib.import_module(f"tpustarter.checks.jax.{name}")
    for name in ("_hadamard", "_published", "_rates", "_stream", "_timing")
)
matmul, hbm = (
    importlib.import_module(f"tpustarter.checks.jax.{name}") for name in ("matmul_rate", "hbm_rate")
)
TYPES = ("float32", "bfloat16", "int8", "int4", "float8_e5m2", "float8_e4m3fn")
TFLOPS = 10**12


@pytest.fixture
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure little: what these tests look at are numbers and names, not times."""
    monkeypatch.setitem(timing.LEAST_BY_PLATFORM_S, "cpu", 0.002)
    monkeypatch.setattr(hadamard, "TYPES_WITHOUT_TPU", ("bfloat16",))


def device(kind: str, place: int = 0) -> Any:
    """Return a stand-in for a device that isn't there."""
    return SimpleNamespace(device_kind=kind, platform="tpu", id=place)


def timed(kind: str, *seconds: float, together: float = 1.0) -> tuple[Any, list[Any]]:
    """Return a timing of devices that take so long for a round, and the devices."""
    result = timing.Timing(
        [[value] * timing.REPEATS_ALONE for value in seconds], [together] * timing.REPEATS_TOGETHER
    )
    return result, [device(kind, place) for place in range(len(seconds))]


def judged(kind: str, tflops: float, of: str = "bfloat16", unit: str = "TFLOP/s") -> Finding:
    """Return the peak's finding for a rate measured on a device of this kind."""
    measured = timed(kind, TFLOPS / tflops / 10**12)
    results = rates.rates("JAX-X", "x", *measured, work=TFLOPS, unit=unit, kind=of)
    [peak] = [finding for finding in results if finding.code == "JAX-X-PEAK"]
    return peak


# the numbers that are multiplied


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("width", [16, 256])
def test_products_stay_exact_in_every_type(name: str, width: int) -> None:
    """Two products give the first numbers again, and one gives numbers of the same kind."""
    dtype = np.dtype(getattr(jnp, name))
    x = hadamard.numbers(width, dtype)
    once = hadamard.product(x)

    assert np.array_equal(x, hadamard.product(once))
    for numbers in (x, once):
        assert np.array_equal(numbers, numbers.astype(dtype).astype(np.float32))
        assert {1} == set(np.unique(numbers % 2))
        assert 2 ** hadamard.bits(dtype) - 1 >= np.abs(numbers).max()


@pytest.mark.parametrize("name", TYPES)
def test_the_large_product_is_exact(name: str) -> None:
    """The large product is exact: in NumPy no sum and no number exceeds what its type can hold."""
    dtype = np.dtype(getattr(jnp, name))
    x = hadamard.numbers(matmul.LARGE[1], dtype)
    once = hadamard.product(x)

    assert 2**24 > np.abs(x).sum(axis=1).max()
    assert np.array_equal(once, once.astype(dtype).astype(np.float32))
    assert np.array_equal(x, hadamard.product(once))


def test_matrix_of_device_matches_numpy() -> None:
    """The device's matrix of -1 and 1 is symmetric, and its square is n times the identity."""
    first = np.arange(64.0 * 256, dtype=np.float32).reshape(64, 256) % 17
    x, w = map(np.asarray, jax.jit(hadamard.maker(128, np.dtype("float32")))(first))

    assert np.array_equal(np.tile(first, (2, 1)), x)
    assert np.array_equal(256 * np.eye(256), w @ w.T)
    assert np.array_equal(w, w.T)
    assert np.array_equal(first @ w, hadamard.transformed(first))


@pytest.mark.parametrize("precision", ["default", "highest"])
def test_every_type_of_a_tpu_multiplies_as_numpy(precision: str) -> None:
    """The types that JAX multiplies on a CPU, one round and its half."""
    for name in ("float32", "bfloat16", "int8", "float8_e5m2", "float8_e4m3fn"):
        dtype = np.dtype(getattr(jnp, name))
        first = hadamard.numbers(64, dtype)
        x, w = hadamard.maker(64, dtype)(first)
        once = matmul.multiply(x, w, precision)
        twice = matmul.multiply(once, w, precision)

        assert (name, "") == (name, hadamard.difference(once, hadamard.product(first)))
        assert (name, "") == (name, hadamard.difference(twice, first))


def test_wrong_elements_of_product_are_counted() -> None:
    """Wrong numbers and those that are no numbers, in an array that repeats its rows."""
    expected = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    actual = np.tile(expected, (3, 1))
    actual[4, 1] = 7
    assert "1 of 24 numbers wrong" == hadamard.difference(actual, expected)
    actual[5, 2] = np.nan

    assert "2 of 24 numbers wrong, 1 of them not finite" == hadamard.difference(actual, expected)
    assert "" == hadamard.difference(np.tile(expected, (3, 1)), expected)


# jax.matmul_rate


def sames(module: Any, code: str) -> dict[str | None, str]:
    """Run a check, and return the failures of one code, by entity."""
    return {
        finding.entity: str(finding.found)
        for finding in module.run()
        if finding.code == code and finding.verdict == "fail"
    }


@pytest.mark.usefixtures("_brief")
def test_device_with_flipped_result_bit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one number on device 5, after the loop."""
    monkeypatch.setattr(hadamard, "summary", spoilt_on(5, hadamard.summary))
    failed = sames(matmul, "JAX-MATMUL-RATE-SAME")

    assert {None, "device:5"} == set(failed)
    assert "1 of 32768 numbers wrong" == failed["device:5"]


@pytest.mark.usefixtures("_brief")
def test_wrong_row_is_found_at_any_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of the large array counts, not those alone that come back to the host."""
    honest = hadamard.summary

    def spoilt(x: jax.Array) -> jax.Array:
        return honest(x.at[77, 3].set(jnp.where(at(2), jnp.nan, x[77, 3])))

    monkeypatch.setattr(hadamard, "summary", spoilt)
    failed = sames(matmul, "JAX-MATMUL-RATE-SAME")

    assert {None, "device:2"} == set(failed)
    assert "1 of 32768 numbers wrong" == failed["device:2"]


@pytest.mark.usefixtures("_brief")
def test_a_real_straggler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Device 5 makes ten times the rounds it is told; on a TPU that warns, and nothing fails."""
    set_target(Target("tpu", 8, "v5e"))
    honest = jax.lax.fori_loop

    def slower(first: int, last: jax.Array, *others: Any) -> Any:
        return honest(first, last * jnp.where(at(5), 10, 1), *others)

    monkeypatch.setattr(jax.lax, "fori_loop", slower)
    monkeypatch.setitem(timing.LEAST_BY_PLATFORM_S, "cpu", 0.02)
    results = list(matmul.run())
    named = {
        finding.entity: finding
        for finding in results
        if finding.code == "JAX-MATMUL-RATE-STRAGGLER"
    }

    assert "warn" == named["device:5"].verdict == named[None].verdict
    assert "% of the median" in str(named["device:5"].found)
    assert "tpustarter check" in str(named["device:5"].hint)
    assert [] == [finding for finding in results if finding.verdict == "fail"]


# jax.hbm_rate


@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
def test_every_operation_is_exact_after_many_rounds(rounds: int) -> None:
    """The loops themselves, on 8 devices, against the numbers NumPy says there must be."""
    devices = jax.local_devices()
    (_, fill, most), *loops = hbm.programs(devices)
    make = jax.jit(fill)
    for name, loop, (times, *_) in loops:
        a, b = (
            make(jax.device_put(np.int32(largest), most[0].sharding)) for largest in stream.LARGEST
        )
        counts = jax.device_put(np.full(times.shape, rounds, np.int32), times.sharding)
        _, sample = jax.jit(loop)(counts, a, b, np.float32(-1))

        assert {""} == set(stream.differences(name, sample, rounds, devices).values())


def test_the_numbers_of_a_large_sum_are_exact() -> None:
    """`a + b` is exact for all rounds that a measurement can make."""
    most = timing.MOST_ROUNDS * (2 + timing.REPEATS_TOGETHER + timing.REPEATS_ALONE)

    assert 2**24 > stream.LARGEST[0] + most * stream.LARGEST[1]


@pytest.mark.usefixtures("_brief")
@pytest.mark.parametrize("name", ["copy", "scale", "add", "triad"])
def test_operation_with_flipped_bit_names_its_device(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A bit of one number that is looked at, changed in each round on device 3."""
    honest = getattr(hbm, name)

    def spoilt(a: jax.Array, *others: Any) -> jax.Array:
        result = honest(a, *others)
        return result.at[0, 16, 5].add(at(3) * 0.5)

    monkeypatch.setattr(hbm, name, renamed(name, spoilt))

    assert {None, "device:3"} == set(sames(hbm, "JAX-HBM-RATE-SAME"))


@pytest.mark.parametrize("row", tpus.TOPOLOGIES, ids=lambda row: row.name)
def test_three_large_arrays_fit_every_tpu(row: tpus.Topology) -> None:
    """Three large arrays and a filled one fit the memory of every TPU's device."""
    assert 5 * 4 * np.prod(hbm.LARGE) < row.hbm_gib_per_device * 2**30


# what is said of a rate


@pytest.mark.parametrize(
    "generation",
    [row for row in generations.GENERATIONS if row.device_kinds],
    ids=lambda row: row.name,
)
def test_device_peak_is_its_share_of_chip(generation: generations.Generation) -> None:
    """Figures are per chip; a chip of two devices gives each half, lowest first."""
    peaks = published.peak(device(generation.device_kinds[0]), "bfloat16")
    devices, figure = generation.devices_per_chip, generation.bf16_tflops

    if devices is None or figure is None:
        assert [] == peaks
    else:
        assert figure.lowest_value / devices == peaks[0]
        assert sorted(peaks) == peaks


def test_every_peak_and_published_rate_has_source() -> None:
    """A rate that somebody measured lies below the peak of its own device, and names a source."""
    for row in published.PUBLISHED:
        generation = tpus.find_generation(row.generation)
        peak = published.peak(device(generation.device_kinds[0]), row.kind)

        assert 0.5 * peak[0] < row.rate < peak[0]
        assert row.source.startswith("https://")
    assert set(published.PEAKS.values()) <= set(vars(generations.GENERATIONS[0]))


def test_a_device_without_a_figure_is_still_measured() -> None:
    """An unknown kind, a generation whose devices are not known, and a type without a peak."""
    for kind, of in [("TPU v99", "bfloat16"), ("TPU8t", "bfloat16"), ("TPU v4", "float8_e5m2")]:
        assert (judged(kind, 100, of).verdict, judged(kind, 100, of).found) == (
            "info",
            "no reference for this device",
        )
    measured, devices = timed("TPU v99", 0.5, 0.5)
    first = next(
        rates.rates("JAX-X", "x", measured, devices, work=TFLOPS, unit="TFLOP/s", kind="HBM")
    )

    assert (first.found, first.unit, first.verdict) == (2.0, "TFLOP/s", "info")


def test_lower_of_differing_sources_judges() -> None:
    """A v5p has 2765 or 2460 GB/s: a rate between them is no fault, and no more than a share."""
    between = judged("TPU v5p", 2500, "HBM", "TFLOP/s")

    assert ("info", "102 %") == (between.verdict, between.found)
    assert "2460" in str(between.expected)
    assert "others say 2765" in str(between.expected)


@pytest.mark.parametrize(("tflops", "verdict"), [(965, "info"), (968, "warn"), (4000, "warn")])
def test_a_rate_beyond_every_peak_warns(tflops: float, verdict: str) -> None:
    """A v6e of 920 TFLOP/s in float32 that nobody published a rate for."""
    finding = judged("TPU v6 lite", tflops, "float32")

    assert verdict == finding.verdict
    assert (verdict == "warn") == ("no chip exceeds its peak" in str(finding.hint))


@pytest.mark.parametrize(("tflops", "verdict"), [(160.6, "ok"), (121, "ok"), (120, "warn")])
def test_rate_is_judged_by_lowest_published_rate(tflops: float, verdict: str) -> None:
    """A v5e: 181.8 and 160.6 TFLOP/s were published, and three quarters of the lower is 120.45."""
    finding = judged("TPU v5 lite", tflops)

    assert verdict == finding.verdict
    assert "at least 61 % of 197 TFLOP/s" == finding.expected
    assert (verdict == "warn") == ("jetstream" in str(finding.hint))


def test_unpublished_rate_is_shown_with_its_share() -> None:
    """A v4 at half of its peak: no source says that this is little."""
    finding = judged("TPU v4", 137.5)

    assert ("info", "50 %", "at most 275 TFLOP/s") == (
        finding.verdict,
        finding.found,
        finding.expected,
    )


SLOWER = [1.0, 1.0, 1.0, 1.25, 1.0, 1.0, 1.1, 1.0]


@pytest.mark.parametrize(
    ("platform", "verdict"), [("tpu", "warn"), ("gpu", "warn"), ("cpu", "info")]
)
def test_stragglers_are_those_slower_than_most(platform: str, verdict: str) -> None:
    """Of eight devices one has 80 % of the median and is named; one has 91 % and is not."""
    set_target(Target(platform, 8, virtual=platform == "cpu"))
    results = list(
        rates.rates("JAX-X", "x", *timed("TPU v4", *SLOWER), work=TFLOPS, unit="TFLOP/s")
    )
    count, *named = [finding for finding in results if finding.code == "JAX-X-STRAGGLER"]

    assert (verdict, "7 of 8") == (count.verdict, count.found)
    assert [(verdict, "device:3")] == [(finding.verdict, finding.entity) for finding in named]
    assert "0.8 TFLOP/s, 80 % of the median" == named[0].found


def test_equal_devices_pass_and_each_is_listed() -> None:
    """Equal devices pass; each is listed, with the median, the best and the joint rate."""
    set_target(Target("tpu", 4, "v4"))
    results = list(
        rates.rates("JAX-X", "x", *timed("TPU v4", *[0.5] * 4), work=TFLOPS, unit="TFLOP/s")
    )

    assert [("JAX-X", 2.0), ("JAX-X-BEST", 2.0), ("JAX-X-TOGETHER", 1.0)] == [
        (finding.code, finding.found)
        for finding in results
        if finding.code in {"JAX-X", "JAX-X-BEST", "JAX-X-TOGETHER"}
    ]
    assert [f"device:{place}" for place in range(4)] == [
        finding.entity for finding in results if finding.code == "JAX-X-DEVICE"
    ]
    assert ("ok", "4 of 4") == (results[-1].verdict, results[-1].found)


@pytest.mark.usefixtures("_brief")
@pytest.mark.parametrize(
    ("module", "owner", "function"),
    [(matmul, hadamard, "summary"), (hbm, hbm, "triad")],
    ids=["matmul_rate", "hbm_rate"],
)
def test_measured_work_is_compiled_despite_user_settings(
    module: Any, owner: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured work is compiled even with JAX_DISABLE_JIT=1, which would run it in Python."""
    honest, calls = getattr(owner, function), list[int]()

    @functools.wraps(honest)
    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return honest(*arguments)

    monkeypatch.setattr(owner, function, counted)
    with jax.disable_jit(), jax.numpy_rank_promotion("raise"):
        results = list(module.run())

    assert [finding for finding in results if finding.verdict in ("fail", "warn")] == []
    assert len(calls) <= 2


def test_slow_call_does_not_end_search_for_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hiccup of the host in the first measured call would leave one round to be measured."""
    ticks = itertools.count()

    def clock() -> float:
        tick = next(ticks)
        return 1e-6 * tick + (1.0 if tick >= 3 else 0.0)  # the end of the second call is late

    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=clock))
    mesh = jax.sharding.Mesh(np.array(jax.local_devices()[:1]), ("d",))
    row = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))

    def loop(times: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = jax.lax.fori_loop(0, times[0], lambda _, x: x + 1, x)
        return x, x

    like = jax.ShapeDtypeStruct((1,), np.int32, sharding=row)
    x = jax.device_put(np.zeros(1, np.int32), row)
    result = timing.measure(loop, (like, x), platform="cpu", alone=False)

    assert result.rounds > timing.REPEATS_TOGETHER * timing.MOST_ROUNDS
    assert result.rounds == result.sample[0]


def test_collective_measurement_has_single_rate() -> None:
    """A loop in which devices work together has no devices alone, and no stragglers."""
    measured = timing.Timing([], [0.5, 0.4, 0.5])
    codes = [
        finding.code
        for finding in rates.rates(
            "JAX-X", "x", measured, [device("TPU v4")], work=TFLOPS, unit="TFLOP/s"
        )
    ]

    assert ["JAX-X", "JAX-X-BEST", "JAX-X-PEAK"] == codes


@pytest.mark.parametrize(
    ("rate", "expected"), [(0.01234, 0.0123), (99.94, 99.9), (181.8, 182), (3199.4, 3199)]
)
def test_a_rate_has_three_digits_or_is_whole(rate: float, expected: Callable[..., Any]) -> None:
    """A rate has three digits or is a whole number, such as 3199 GB/s."""
    assert expected == rates.plain(rate)
