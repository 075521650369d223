"""Links, transfers, calls and compilation: what is timed is correct, and faults are named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks.jax_sabotage_links import SABOTAGE, moved, without_three
from tests.support.jax_checks import check, faults, findings
from tpustarter.probe.finding import Finding


def failed(name: str, patch: pytest.MonkeyPatch, breaks: Any = None) -> list[tuple[Any, ...]]:
    """Return the code, entity and text of each failure of a sabotaged check."""
    (breaks or SABOTAGE[name])(patch, check(name))
    return faults(name)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move little and measure as few rounds as can be."""
    monkeypatch.setattr(check("_timing"), "LEAST_BY_PLATFORM_S", {"cpu": 0})
    monkeypatch.setattr(check("_timing"), "REPEATS_TOGETHER", 1)


# jax.collective_rate

NAMES = ["psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"]


def rounds(name: str, first: np.ndarray, times: int) -> np.ndarray:
    """Return the first rows `float32[d, k, h, w]` after some rounds, one after the other."""
    head, count = first.astype(np.float64), len(first)
    for _ in range(times):
        if name == "psum":
            head = np.stack([head.sum(0) / count] * count) + 1
        elif name == "psum_scatter":
            kept = head.sum(0)[::2]  # of the first of the two blocks that device i keeps
            head = np.stack([np.stack([block / count] * 2 * count) for block in kept]) + 1
        elif name == "all_gather":
            head = np.stack([head[(i + 1) % count] for i in range(count)]) + 1
        elif name == "all_to_all":
            head = np.stack([[head[j, i] for j in range(count)] for i in range(count)]) + 1
        else:
            head = np.stack([head[i - 1] for i in range(count)]) + 1
    return head


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_remaining_rows_match_rounds_run_in_turn(name: str, count: int) -> None:
    """The short way to the last rows and the long one agree, after even and odd numbers."""
    links = check("_links")
    first = links.firsts(count, links.shape(name, count, 2**20)[0])

    assert np.array_equal(rounds(name, first, 2), links.lasts(name, first, 2))
    assert np.array_equal(rounds(name, first, 11), links.lasts(name, first, 11))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.usefixtures("short")
def test_collectives_are_right_on_any_number_of_devices(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three do not divide a power of two, and one has itself for a neighbour."""
    some = jax.local_devices()[:count]
    monkeypatch.setattr(jax, "local_devices", lambda: some)
    results = findings("collective_rate", "JAX-BUS")
    right = [finding.found for finding in results if finding.code.endswith("-EXACT")]

    assert [count] * 6 == right
    assert {"info", "ok"} == {finding.verdict for finding in results}


@pytest.mark.usefixtures("short")
def test_share_missing_from_large_sum_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """All devices are wrong, in every number, and other collectives are not blamed."""
    faults = failed("collective_rate", monkeypatch)

    assert ("JAX-BUS-PSUM-EXACT", None, 0) == faults[0]
    assert {"JAX-BUS-PSUM-EXACT"} == {code for code, _, _ in faults}


@pytest.mark.parametrize("name", [*NAMES[1:], "psum_small"])
@pytest.mark.usefixtures("short")
def test_each_collective_is_judged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that sends zeros is caught in each."""
    faults = failed("collective_rate", monkeypatch, moved(name, without_three))
    code = f"JAX-BUS-{name.upper().replace('_', '-')}-EXACT"

    assert {code} == {code for code, _, _ in faults}


def one_round_more(patch: pytest.MonkeyPatch, module: Any) -> None:
    """Make one round more than asked, in each of four calls."""
    loop = module._links.loop

    def longer(name: str, count: int) -> Callable[..., Any]:
        honest = loop(name, count)
        return lambda times, x: honest(times + 1, x)

    patch.setattr(module._links, "loop", longer)


@pytest.mark.usefixtures("short")
def test_rounds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs more or fewer rounds than requested fails."""
    faults = failed("collective_rate", monkeypatch, one_round_more)

    assert ("JAX-BUS-PSUM-EXACT", "device:0", "every number off by 4") == faults[1]


def nothing_sent(patch: pytest.MonkeyPatch, module: Any) -> None:
    """Hand each device its own array in place of its neighbour's."""
    patch.setitem(module._links.MOVES, "ppermute", (lambda x, _: x, module._links.as_sent))


@pytest.mark.usefixtures("short")
def test_an_exchange_that_was_left_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds are counted right, but the rows did not go round."""
    faults = failed("collective_rate", monkeypatch, nothing_sent)

    assert ("JAX-BUS-PPERMUTE-EXACT", None, 0) == faults[0]
    assert "numbers wrong" in str(faults[1][2])


def test_unchanged_rows_are_equal_on_every_device() -> None:
    """The unchanged rows aren't zeros, and are the same on every device."""
    links, (_, _, (_, like)) = (
        check("_links"),
        next(iter(check("collective_rate").programs(jax.local_devices()))),
    )
    first = links.firsts(8, 8)
    array = np.asarray(links.placed(like, first)).reshape(8, 8, -1, 128)

    assert np.array_equal(first, array[:, :, :8])
    assert (array[:, :, 8:] == array[:1, :, 8:]).all()
    assert 1000 < len(np.unique(array[0, :, 8:]))


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("psum", 8, 1.75),
        ("psum", 2, 1.0),
        ("all_gather", 4, 0.75),
        ("psum_scatter", 4, 0.75),
        ("all_to_all", 8, 0.875),
        ("ppermute", 8, 1.0),
    ],
)
def test_factors_are_those_of_nccl_tests(name: str, count: int, expected: float) -> None:
    """See https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md (read 2026-11)."""
    assert expected == check("_bus").factor(name, count)


def test_gather_bus_bandwidth_counts_whole_array() -> None:
    """Each of 4 devices has 1 MB; gathered they are 4 MB, of which 3 came from others."""
    array = np.zeros((4, 250_000), np.float32)

    assert 3.0 == pytest.approx(check("_bus").gb_per_s("all_gather", array, 4, 1e-3))
    assert 1.5 == pytest.approx(check("_bus").gb_per_s("psum", array, 4, 1e-3))


def device(kind: str, platform: str = "tpu") -> Any:
    """Return a stand-in for a device of some kind."""
    return SimpleNamespace(device_kind=kind, platform=platform)


def test_documented_chip_links_are_shown_and_not_judged() -> None:
    """An undocumented chip rate is shown beside the documented link figure, and not judged."""
    finding = check("_bus").links(device("TPU v5 lite"))

    assert ("info", 400, "GB/s") == (finding.verdict, finding.found, finding.unit)
    assert "at most half of this" in str(finding.hint)
    assert "share" not in str(finding.hint)


def test_devices_sharing_chip_links_are_named() -> None:
    """Half of the chip's links is not half of each device's."""
    assert "2 devices share" in str(check("_bus").links(device("TPU7x")).hint)


@pytest.mark.parametrize("kind", ["TPU v3", "TPU v99", "NVIDIA H200"])
def test_chip_without_documented_figure_has_no_reference(kind: str) -> None:
    """A chip without a documented figure has no reference."""
    finding = check("_bus").links(device(kind))

    assert ("no reference for this device", None) == (finding.found, finding.hint)


def test_virtual_devices_have_no_links() -> None:
    """A figure of copies in one memory must not be taken for one of a link."""
    assert "say nothing about links" in str(check("_bus").links(device("cpu", "cpu")).hint)


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("ppermute", "TPU v6 lite", "86 GB/s"),
        ("psum_small", "TPU v5", "5 us"),
        ("psum_scatter", "TPU v3", "full psum"),
        ("psum", "TPU v3", "None"),
        ("psum_scatter", "TPU v5 lite", "None"),
        ("ppermute", "cpu", "None"),
    ],
)
def test_published_measurement_stands_beside_figure(name: str, kind: str, word: str) -> None:
    """A published measurement is shown only for the generation on which it was made."""
    assert word in str(check("_bus").hint(name, device(kind)))


def test_row_differences_are_described() -> None:
    """A constant says how many rounds or shares are missing, other faults how much is wrong."""
    difference = check("_links").difference
    right = np.arange(1024, dtype=np.float32).reshape(1, 8, 128)

    assert "" == difference(right, right)
    assert "every number off by -2" == difference(right - 2, right)
    assert "1023 of 1024 numbers wrong" == difference(right * 2, right)
    assert "shape [8, 128]" == difference(right[0], right)
    assert "every number off by nan" == difference(right * np.float32("nan"), right)


# jax.transfer_rate


def test_bit_flipped_on_way_to_device_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of looking see it: on the device, and after the way back."""
    faults = failed("transfer_rate", monkeypatch)
    names = {(code, entity) for code, entity, _ in faults}

    assert ("JAX-TRANSFER-ALL-ARRIVED", "device:7") in names
    assert ("JAX-TRANSFER-ALL-ARRIVED", "device:0") not in names
    assert ("JAX-TRANSFER-ONE-RETURNED", None, 0) in faults


def test_bit_flipped_on_way_back_is_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit that is flipped on the way back fails the returned array alone."""

    def breaks(patch: pytest.MonkeyPatch, module: Any) -> None:
        def fetch(x: jax.Array) -> np.ndarray:
            result = np.array(x)
            result[0, 0, 0] ^= 1
            return result

        patch.setattr(module._transfers, "fetch", fetch)

    assert [
        ("JAX-TRANSFER-ONE-RETURNED", None, 0),
        ("JAX-TRANSFER-ALL-RETURNED", None, 0),
    ] == failed("transfer_rate", monkeypatch, breaks)


def test_array_left_from_earlier_repeat_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each repeat sends other bits, so memory that was not written again does not pass."""

    def breaks(patch: pytest.MonkeyPatch, module: Any) -> None:
        kept: dict[Any, Any] = {}
        send = module._transfers.send
        patch.setattr(
            module._transfers,
            "send",
            lambda array, place: kept.setdefault(array.shape, send(array, place)),
        )

    faults = failed("transfer_rate", monkeypatch, breaks)

    assert ("JAX-TRANSFER-ALL-RETURNED", None, 1) in faults
    assert "other bits in repeat 2, 3, 4 of 4" == faults[1][2]


def test_the_fingerprint_changes_with_every_bit_and_place() -> None:
    """A flipped bit anywhere and two numbers in each other's place are seen."""
    transfers = check("_transfers")
    numbers = np.random.default_rng(0).integers(0, 2**32, (1, 8, 128), np.uint32)
    changed = [numbers.copy() for _ in range(33)]
    for bit in range(32):
        changed[bit][0, bit % 8, 3 * bit] ^= np.uint32(1 << bit)
    changed[32][0, [1, 2], [3, 4]] = numbers[0, [2, 1], [4, 3]]
    before = int(transfers.fingerprint(jnp.asarray(numbers))[0])

    assert all(before != int(transfers.fingerprint(jnp.asarray(array))[0]) for array in changed)


def test_memory_shared_by_numpy_and_device_is_detected() -> None:
    """A CPU device uses the memory of an array that begins where it can."""
    transfers = check("_transfers")
    array = transfers.room(8 * 128 * 4).view(np.uint32).reshape(1, 8, 128)
    array[:] = 1
    device = jax.local_devices()[0]

    assert 0 == array.ctypes.data % 64
    assert not transfers.shares_memory(array, jax.device_put(array.copy(), device) + 1)
    assert transfers.shares_memory(array, jax.device_put(array, device))


def test_shared_memory_has_no_copy_rate() -> None:
    """Sharing memory takes no time: a rate of it would be a lie."""
    [finding] = findings("transfer_rate", "JAX-TRANSFER-ONE-THERE")

    assert "no transfer, because NumPy and a CPU device use the same memory" == finding.found
    assert finding.unit is None


# jax.dispatch_time and jax.compile_time


def test_a_device_that_ignores_calls_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven devices made every call, and the one that is alone is not blamed."""
    assert [
        ("JAX-DISPATCH-ALL-MADE", None, 7),
        ("JAX-DISPATCH-ALL-MADE", "device:5", "0"),
    ] == failed("dispatch_time", monkeypatch)


def test_call_missing_from_queue_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If one call of 551 is missing from the queue, the check fails."""

    def breaks(patch: pytest.MonkeyPatch, module: Any) -> None:
        honest = module.time_calls
        patch.setattr(module, "time_calls", lambda program, x: honest(program, x - 1))

    faults = failed("dispatch_time", monkeypatch, breaks)

    assert ("JAX-DISPATCH-ONE-MADE", "device:0", "550") in faults


def test_a_program_from_a_cache_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program from a stale cache fails, because it returns the number of an earlier program."""
    assert [("JAX-COMPILE-NEW", None, 0)] == failed("compile_time", monkeypatch)


def test_program_recompiled_at_every_call_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newcomer's loop with `jax.jit` of a new function in it."""

    def breaks(patch: pytest.MonkeyPatch, module: Any) -> None:
        compile_ = jax.jit

        def compile_anew(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                return compile_(functools.partial(function))(*arguments)

            return call

        patch.setattr(jax, "jit", compile_anew)

    assert [("JAX-COMPILE-ONCE", None, 0)] == failed("compile_time", monkeypatch, breaks)


def test_no_two_programs_hold_the_same_number() -> None:
    """Programs with different numbers differ, so a new number is never in a cache."""
    network = check("_network")
    like = check("compile_time").programs(jax.local_devices())
    [(_, _, arguments)] = like
    first, second = (jax.jit(network.step(number)).lower(*arguments).as_text() for number in (5, 6))

    assert first != second


# figures, and where they are measured


def test_best_rate_is_largest_and_best_time_least() -> None:
    """The best rate is the largest and the best time the least; the median comes first."""
    figures = check("_figures").figures

    def rows(results: Iterator[Finding]) -> list[tuple[Any, ...]]:
        return [(finding.code, finding.found, finding.unit, finding.verdict) for finding in results]

    assert [
        ("JAX-A", 2.0, "GB/s", "info"),
        ("JAX-A-BEST", 30.0, "GB/s", "info"),
    ] == rows(figures("JAX-A", "a", [1, 2, 30], "GB/s", best=max))
    assert ("JAX-B-BEST", 1.0, "us", "info") == rows(figures("JAX-B", "b", [1, 2, 30], "us"))[1]


def test_single_device_is_measured_once() -> None:
    """A machine with one device has one placement."""
    placements, devices = check("_placements").placements, jax.local_devices()

    assert ["one", "all"] == [name for name, _ in placements(devices)]
    assert ["one"] == [name for name, _ in placements(devices[:1])]
