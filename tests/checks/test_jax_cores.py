"""Tests of checks of many devices: each fault is named with its device and its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks.jax_sabotage_cores import (
    SABOTAGE,
    after,
    at,
    before,
    exchange_rows,
    swapped,
    without_three,
)
from tests.support.jax_checks import check, failures, faults, findings
from tpustarter.probe.finding import Finding


def failed(name: str, patch: pytest.MonkeyPatch, breaks: Any = None) -> list[tuple[Any, ...]]:
    """Return code, entity and text of what fails when a check is broken."""
    (breaks or SABOTAGE[name])(patch, check(name))
    return faults(name)


# what the collectives do


def test_share_missing_from_sum_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """All eight devices lack what the fourth one should have added."""
    faults = failed("all_reduce", monkeypatch)

    assert ("JAX-REDUCE-SUM", None, 0) in faults
    assert ("JAX-REDUCE-SUM", "device:7", "lacks device:3") in faults
    assert ("JAX-REDUCE-FLOAT", "device:7", "lacks device:3") in faults


def test_single_bad_copy_is_counted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single bad copy of the sum is counted and named among eight devices."""

    def own(total: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.where(at(6), x, total)

    faults = failed("all_reduce", monkeypatch, after("total", own))

    assert ("JAX-REDUCE-SUM", None, 7) in faults
    assert ("JAX-REDUCE-SUM", "device:6", "device:6") in faults


def test_wrong_maximum_is_not_called_wrong_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the largest numbers lack those of the fourth device."""

    def extremes(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.lax.pmax(without_three(x), "d"), jax.lax.pmin(x, "d")

    monkeypatch.setattr(check("all_reduce"), "extremes", extremes)

    assert {"JAX-REDUCE-LARGEST"} == {code for code, _ in failures("all_reduce")}


def test_a_gather_in_the_wrong_order_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gather with rows two and three swapped is named on every device."""
    faults = failed("all_gather", monkeypatch)

    assert ("JAX-GATHER-STACKED", "device:0", "index 2: device:3 (2 of 8)") in faults


def test_tiled_gather_in_wrong_order_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of one row have moved by one place."""
    faults = failed("all_gather", monkeypatch, after("joined", lambda row, _: jnp.roll(row, 128)))

    assert ("JAX-GATHER-TILED", None, 0) == faults[0]
    assert ("JAX-GATHER-TILED", "device:5", "index 0: device:7 (8 of 8)") in faults


def test_sum_parts_on_swapped_devices_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """If two devices swap their parts of a sum, only these two are named."""
    assert [
        ("JAX-SCATTER-STACKED", None, 6),
        ("JAX-SCATTER-STACKED", "device:2", "index 0: block 0 of device:3 (2 of 2)"),
        ("JAX-SCATTER-STACKED", "device:3", "index 0: block 0 of device:2 (2 of 2)"),
    ] == failed("reduce_scatter", monkeypatch)


@pytest.mark.parametrize(("name", "code"), [("kept_tiled", "TILED"), ("kept_columns", "COLUMNS")])
def test_every_layout_of_a_scattered_sum_is_judged(
    name: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum without the share of one device is caught in each layout."""
    faults = failed("reduce_scatter", monkeypatch, before(name, without_three))

    assert (f"JAX-SCATTER-{code}", None, 0) in faults
    assert "lacks block 0 of device:3" in str(faults[1])


def test_a_wrong_neighbour_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data from the wrong neighbour fails on that route and is named; other routes pass."""
    faults = failed("permute", monkeypatch)

    assert {"JAX-PERMUTE-NEXT"} == {code for code, _, _ in faults}
    assert ("JAX-PERMUTE-NEXT", "device:0", "device:6") in faults


def test_device_without_incoming_block_must_hold_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that keeps its own block where zeros are documented is named."""

    def keep(result: jax.Array, x: jax.Array, route: Any) -> jax.Array:
        return jnp.where(at(4), x, result) if len(route) == 1 else result

    assert [
        ("JAX-PERMUTE-ONE", None, 7),
        ("JAX-PERMUTE-ONE", "device:4", "device:4"),
    ] == failed("permute", monkeypatch, after("send", keep))


def test_two_swapped_devices_are_named_by_every_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices 2 and 3 get each other's blocks."""
    faults = failed("all_to_all", monkeypatch, after("joined", lambda row, _: swapped(row)))

    assert [
        ("JAX-EXCHANGE-TILED", None, 6),
        ("JAX-EXCHANGE-TILED", "device:2", "index 0: block 3 of device:0 (8 of 8)"),
        ("JAX-EXCHANGE-TILED", "device:3", "index 0: block 2 of device:0 (8 of 8)"),
    ] == faults


def test_blocks_in_the_wrong_order_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each device has the right blocks, from the wrong senders."""
    faults = failed("all_to_all", monkeypatch, after("stacked", exchange_rows))

    assert ("JAX-EXCHANGE-STACKED", "device:1", "index 2: block 1 of device:3 (2 of 8)") in faults


def test_result_of_wrong_shape_is_named() -> None:
    """Seven blocks where eight are documented have no order to judge."""
    module, devices = check("_collectives"), jax.local_devices()
    expected = module.blocks(8, 8)
    texts = module.wrong(expected[:, :7], expected, {}, devices)

    assert {"shape [7, 128]"} == set(texts.values())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda sheet: sheet * 0, "index 0: zeros (8 of 8)"),
        (lambda sheet: sheet + [[1]] * 8, "index 0: 128 of 128 numbers wrong (8 of 8)"),
        (lambda sheet: sheet * 2, "index 0: block 0 of device:1 twice (8 of 8)"),
        (lambda sheet: sheet, ""),
    ],
)
def test_contents_of_device_are_described(change: Callable[..., Any], text: str) -> None:
    """Zeros, a block that counts twice, and wrong numbers are told apart."""
    module, devices = check("_collectives"), jax.local_devices()
    expected = module.blocks(8, 8)
    named = module.owners(expected, devices)

    assert text == module.difference(change(expected[1]), expected[1], named)


def test_no_two_blocks_are_alike() -> None:
    """A block says whose it is, for as many devices as a pod of v6e has."""
    numbers = check("_collectives").blocks(256)

    assert 256 == len({block.tobytes() for block in numbers})
    assert np.array_equal(numbers.sum(0), numbers.astype(np.int64).sum(0))


# meshes, types of axis, uneven sizes, pmap


@pytest.mark.parametrize(
    ("count", "shapes"),
    [
        (1, "1"),
        (2, "2"),
        (3, "3"),
        (4, "4 2x2"),
        (6, "6 2x3 3x2"),
        (8, "8 2x2x2 2x4 4x2"),
        (12, "12 2x2x3 2x3x2 3x2x2 3x4 4x3 2x6 6x2"),
    ],
)
def test_every_shape_that_fits_is_there_once(count: int, shapes: str) -> None:
    """One row first, then the most even shapes."""
    assert shapes.split() == list(check("meshes").shapes(count))


@pytest.mark.parametrize(("count", "total"), [(16, 7), (64, 16), (256, 29)])
def test_at_most_eight_shapes_are_compiled(count: int, total: int) -> None:
    """Of many, those with one, two and three axes are among the first."""
    module = check("meshes")
    shapes = list(module.shapes(count))

    assert total == len(shapes) == len(set(shapes))
    assert {0, 1, 2} == {shape.count("x") for shape in shapes[: module.MOST]}


def test_wrong_mesh_and_device_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose block of the product is off is named for every mesh."""

    def off(product: jax.Array, *_: Any) -> jax.Array:
        axes = jax.sharding.get_abstract_mesh().axis_names
        last = jax.lax.axis_index(axes) == 7
        return product + jax.lax.psum(last.astype(product.dtype), "k")

    faults = failed("meshes", monkeypatch, after("product", off))

    assert ("JAX-MESH-PRODUCT", None, 0) in faults
    assert (
        "JAX-MESH-PRODUCT",
        "mesh:4x2",
        "wrong on device:1, device:3, device:5, device:7",
    ) in faults


def test_meshes_in_another_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places that are gathered from the last to the first are not row-major."""
    faults = failed("meshes", monkeypatch, after("order", lambda places, _: places[:, ::-1]))

    assert ("JAX-MESH-ORDER", None, 0) == faults[0]


def test_wrong_results_for_one_axis_type_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are wrong where the axes are explicit only."""

    def off(results: Any, x: jax.Array, _: Any) -> Any:
        explicit = "d" in str(jax.typeof(x)).partition("@")[2]
        return (results[0] + explicit, results[1])

    faults = failed("axis_types", monkeypatch, after("combine", off))

    assert ("JAX-AXIS-RESULT", None, 1) == faults[0]
    assert "axis:explicit" == faults[1][1]


def test_the_wrong_type_on_explicit_axes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result of another type than documented is no explicit sharding."""
    narrow = after("combine", lambda results, *_: (results[0].astype(jnp.int32), results[1]))
    [(code, _, text)] = failed("axis_types", monkeypatch, narrow)

    assert ("JAX-AXIS-TYPEOF", "int32[16@d,128], float32[128]") == (code, text)


@pytest.mark.parametrize(
    ("actual", "expected", "verdict"),
    [
        ("refused", "refused", "ok"),
        ("right", "right", "ok"),
        ("right", "refused", "info"),
        ("refused", "right", "info"),
        ("wrong numbers", "refused", "fail"),
        ("wrong numbers", "right", "fail"),
    ],
)
def test_only_wrong_numbers_fail_for_uneven_sizes(actual: str, expected: str, verdict: str) -> None:
    """Uneven sizes fail for wrong numbers only, because JAX may accept or refuse such sizes."""
    assert verdict == check("uneven_sizes").judge("LAST", "", actual, expected).verdict


def test_both_ways_to_call_pmap_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device without its row is named, and the call within jax.jit fails too."""
    assert [
        ("JAX-PMAP-ROWS", None, 7),
        ("JAX-PMAP-ROWS", "device:5", "zeros"),
    ] == failed("pmap", monkeypatch)[:2]
    assert {"JAX-PMAP-ROWS", "JAX-PMAP-WITHIN"} == {code for code, _ in failures("pmap")}


# gradients in shard_map


def test_a_device_without_the_mean_gradient_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of 1, 4, 9, ... 64 is 25.5."""
    assert [
        ("JAX-SHARD-MAP-GRADIENT", None, 7),
        ("JAX-SHARD-MAP-GRADIENT", "device:5", "0, not 25.5"),
    ] == failed("shard_map_gradients", monkeypatch)


def test_gradients_without_check_vma_stay_unreduced() -> None:
    """No device has the mean, and nothing failed: the lesson's trap."""
    [found] = [one for one in findings("shard_map_gradients") if one.code.endswith("UNCHECKED")]

    assert ("info", 8) == (found.verdict, found.found)


# the same on all devices


def test_one_flipped_bit_names_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of 65536 numbers on one device of eight."""
    assert [
        ("JAX-SAME-MATMUL", None, 7),
        ("JAX-SAME-MATMUL", "device:6", "1 of 65536 numbers differ"),
    ] == failed("same_everywhere", monkeypatch)


def test_devices_without_majority_are_all_doubtful() -> None:
    """Of two devices that differ, either may be wrong."""
    rows = np.arange(4, dtype=np.float32).reshape(2, 2)
    _, lost = check("same_everywhere").odd_ones(rows, jax.local_devices()[:2])

    assert ["device:0", "device:1"] == [
        name for name, text in lost.items() if "no majority" in text
    ]


def test_one_device_is_the_same_as_itself() -> None:
    """A single device passes, because there is nothing to compare."""
    rows = np.zeros((1, 4), np.float32)

    assert {"device:0": ""} == check("same_everywhere").odd_ones(rows, jax.local_devices()[:1])[1]


def test_zeros_of_both_signs_are_not_the_same() -> None:
    """Bits are compared, and a NaN equals itself."""
    rows = np.array([[0.0, np.nan], [0.0, np.nan], [-0.0, np.nan]], np.float32)
    _, lost = check("same_everywhere").odd_ones(rows, jax.local_devices()[:3])

    assert ["", "", "1 of 2 numbers differ"] == list(lost.values())


# what devices say of themselves


def device(place: int, kind: str = "TPU v6 lite", **facts: Any) -> SimpleNamespace:
    """Return a device as JAX would show it, on one process unless said otherwise."""
    return SimpleNamespace(
        **{"id": place, "device_kind": kind, "process_index": 0, "local_hardware_id": place} | facts
    )


def slice_of(kind: str, sides: tuple[int, int, int], cores: int = 1) -> list[SimpleNamespace]:
    """Return the devices of a slice, as the TPU compiler numbers them."""
    x, y, z = sides
    seats = [
        ((i, j, k), c) for k in range(z) for j in range(y) for i in range(x) for c in range(cores)
    ]
    return [device(n, kind, coords=s, core_on_chip=c) for n, (s, c) in enumerate(seats)]


def outcome(code: str, listed: Iterator[Finding]) -> tuple[Any, ...]:
    """Return verdict, found and expected of the first finding with a code."""
    first = next(finding for finding in listed if finding.code == code)
    return first.verdict, first.found, first.expected


@pytest.mark.parametrize(
    ("kind", "sides", "cores", "shape"),
    [
        ("TPU v2", (2, 2, 1), 2, "ok"),
        ("TPU v3", (2, 2, 1), 2, "ok"),
        ("TPU v4", (2, 2, 1), 1, "ok"),
        ("TPU v4", (2, 2, 4), 1, "ok"),
        ("TPU v5 lite", (2, 4, 1), 1, "ok"),
        ("TPU v5 lite", (1, 1, 1), 1, "ok"),
        ("TPU v5 lite", (8, 1, 1), 1, "info"),
        ("TPU v5", (4, 4, 4), 1, "ok"),
        ("TPU v6 lite", (16, 16, 1), 1, "ok"),
        ("TPU v6 lite", (2, 1, 1), 1, "info"),
        ("TPU7x", (2, 2, 1), 2, "ok"),
    ],
)
def test_real_slice_layouts_pass(
    kind: str, sides: tuple[int, int, int], cores: int, shape: str
) -> None:
    """The coordinates that the TPU compiler gives each type; odd shapes are no fault."""
    results = list(check("_hardware").places(slice_of(kind, sides, cores)))

    assert {"ok", "info"} >= {finding.verdict for finding in results}
    assert shape == outcome("JAX-PLACE-SHAPE", iter(results))[0]


def test_a_chip_that_is_missing_leaves_a_hole() -> None:
    """Seven chips of a box of eight."""
    devices = slice_of("TPU v6 lite", (2, 4, 1))
    del devices[3]

    assert ("fail", 7, 8) == outcome("JAX-PLACE-BOX", check("_hardware").places(devices))


def test_two_devices_at_one_place_are_named() -> None:
    """Both say that they sit where only one can."""
    devices = slice_of("TPU v6 lite", (2, 4, 1))
    devices[5].coords = devices[4].coords
    results = [
        finding for finding in check("_hardware").places(devices) if finding.code == "JAX-PLACE-OWN"
    ]

    assert [None, "device:4", "device:5"] == [finding.entity for finding in results]


def test_half_devices_of_a_v4_are_caught() -> None:
    """A v4 chip is one device; without megacore it shows two."""
    results = check("_hardware").places(slice_of("TPU v4", (2, 2, 1), cores=2))

    assert ("fail", 2, 1) == outcome("JAX-PLACE-CORES", results)


def test_an_unknown_generation_is_placed_but_not_judged() -> None:
    """A box is a box on any TPU."""
    results = check("_hardware").places(slice_of("TPU v99", (2, 2, 1), cores=2))

    assert ("info", "2, no reference", None) == outcome("JAX-PLACE-CORES", results)


def test_several_joined_slices_have_places_of_their_own() -> None:
    """The coordinates of joined slices start anew in each slice."""
    devices = [*slice_of("TPU v6 lite", (2, 4, 1)), *slice_of("TPU v6 lite", (2, 4, 1))]
    for place, member in enumerate(devices):
        member.id, member.slice_index = place, place // 8

    assert ("ok", 8, 8) == outcome("JAX-PLACE-OWN", check("_hardware").places(devices))


def test_a_slice_inside_a_larger_one_starts_anywhere() -> None:
    """The chips of the sixth host of a v6e-256."""
    devices = slice_of("TPU v6 lite", (2, 2, 1))
    for member in devices:
        member.coords = (member.coords[0] + 10, member.coords[1], 0)

    assert ("ok", 4, 4) == outcome("JAX-PLACE-BOX", check("_hardware").places(devices))


def memory(kind: str, *limits: float) -> list[Finding]:
    """Return the findings on devices that have the given GiB of memory each."""
    devices = [
        device(n, kind, memory_stats=lambda size=size: {"bytes_limit": int(size * 2**30)})
        for n, size in enumerate(limits)
    ]
    return list(check("_hardware").memory(devices))


@pytest.mark.parametrize(
    ("kind", "gib"),
    [
        ("TPU v2", 7.48),
        ("TPU v3", 15.48),
        ("TPU v4", 33014415360 / 2**30),
        ("TPU v4", 34088157184 / 2**30),
        ("TPU v5 lite", 15.75),
        ("TPU v5", 95.73),
        ("TPU v6 lite", 33550237696 / 2**30),
        ("TPU7x", 94.74),
    ],
)
def test_reported_memory_limits_of_known_devices_pass(kind: str, gib: float) -> None:
    """Limits from jax issue 1491, pytorch/xla 7086 and vllm 16211, and those of the compiler."""
    assert {"ok", "info"} == {finding.verdict for finding in memory(kind, gib, gib)}


@pytest.mark.parametrize("gib", [8.0, 17.5])
def test_a_device_with_another_memory_is_named(gib: float) -> None:
    """Half the memory, or more than the chip has."""
    count, named = [
        finding for finding in memory("TPU v5 lite", 15.75, gib, 15.75) if finding.verdict == "fail"
    ]

    assert (2, 3, None) == (count.found, count.expected, count.entity)
    assert ("device:1", f"{gib:.2f} GiB") == (named.entity, named.found)


def test_unknown_memory_must_match_on_all_devices() -> None:
    """The memory of an unknown device is a fact, and the device with another size is named."""
    assert ["info", "ok"] == [finding.verdict for finding in memory("TPU v99", 100, 100)]
    assert "device:2" == memory("TPU v99", 100, 100, 50)[-1].entity


def test_device_without_memory_statistics_is_not_judged() -> None:
    """A device without memory statistics, such as a CPU, is not judged."""
    assert ["info"] == [
        finding.verdict for finding in check("_hardware").memory(jax.local_devices())
    ]


def test_a_lost_word_names_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word of 262144 on one device of eight."""
    assert [
        ("JAX-MEMORY-PATTERN", None, 7),
        ("JAX-MEMORY-PATTERN", "device:5", "1 words wrong"),
    ] == failed("device_memory", monkeypatch)


def test_devices_that_answer_for_each_other_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two devices that answer for each other are named."""
    assert [
        ("JAX-IDENTITY-ANSWER", None, 6),
        ("JAX-IDENTITY-ANSWER", "device:2", "device:3"),
        ("JAX-IDENTITY-ANSWER", "device:3", "device:2"),
    ] == failed("device_identity", monkeypatch)


def test_an_id_that_two_devices_share_is_caught() -> None:
    """An id that two devices share is counted under the name that both have."""
    count, *_ = check("device_identity").numbered([device(0), device(1), device(1)])

    assert ("fail", 1, 2) == (count.verdict, count.found, count.expected)


def processes(devices: list[Any], local: list[Any], count: int) -> list[str]:
    """Return the codes that fail for devices of several processes."""
    results = check("device_identity").processes(devices, local, 0, count)
    return sorted({finding.code for finding in results if finding.verdict == "fail"})


def test_processes_are_compared_with_the_devices_they_have() -> None:
    """A whole slice passes; a process without devices, a foreign device and an odd count do not."""
    whole = [device(n, process_index=n // 4) for n in range(8)]

    assert [] == processes(whole, whole[:4], 2)
    assert ["JAX-IDENTITY-PROCESSES"] == processes(whole, whole[:4], 3)
    assert ["JAX-IDENTITY-LOCAL"] == processes(whole, whole[:5], 2)
    assert ["JAX-IDENTITY-EVEN"] == processes(whole[:7], whole[:4], 2)
