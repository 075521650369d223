"""Tests of the slice checks with simulated hosts and devices, some of them faulty."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.support.jax_checks import check, failed, findings
from tpustarter.probe.finding import Finding, NoAnswer
from tpustarter.probe.target import Target, set_target


def chips(*sides: int) -> list[Any]:
    """Return the chips of a slice in the order in which the TPU compiler lists them.

    Hosts of 2x2 chips follow each other along x, then y and z.
    """
    x, y, z = (*sides, 1)[:3]
    corners = [(i, j, k) for k in range(z) for j in range(0, y, 2) for i in range(0, x, 2)]
    return [
        device(x * (y * k + j + dj) + i + di, host, (i + di, j + dj, k))
        for host, (i, j, k) in enumerate(corners)
        for dj, di in itertools.product((0, 1), (0, 1))
    ]


def device(number: int, process: int, coords: Iterable[int], **fields: Any) -> Any:
    """Return a simulated device of another host."""
    known = {"device_kind": "TPU v5 lite", "core_on_chip": 0, "coords": tuple(coords)}
    return SimpleNamespace(**{"id": number, "process_index": process, **known, **fields})


def told(found: Iterable[Any], code: str) -> list[tuple[str, Any, str | None]]:
    """Return verdict, value and entity of the findings with a code."""
    return [(one.verdict, one.found, one.entity) for one in found if one.code == code]


# what hosts say


@pytest.mark.parametrize(
    ("answers", "texts"),
    [
        (["a", "a", "a"], ["", "", ""]),
        (["a", "b", "b"], ["a, and most have b", "", ""]),
        (["a", "b"], ["", "b, and host:0 has a"]),
        (["a", None, "a"], ["", "no answer within 60 s", ""]),
        (["x\ny", "x\ny", "x"], ["", "", "nothing, and most have y"]),
    ],
)
def test_host_that_differs_is_named(answers: list[str | None], texts: list[str]) -> None:
    """A host that differs from most is named; of two, the first is right; silence differs too."""
    lost = check("_hosts").differences(answers)

    assert dict(zip(["host:0", "host:1", "host:2"], texts, strict=False)) == lost


class Coordinator:
    """The key-value store of a coordinator, in which other hosts have already answered."""

    def __init__(self, others: dict[str, str]) -> None:
        self.held = others

    def key_value_set(self, key: str, text: str) -> None:
        """Keep a text, once."""
        assert key not in self.held
        self.held[key] = text

    def blocking_key_value_get(self, key: str, timeout_ms: int) -> str:
        """Return a text, or raise JAX's error."""
        assert timeout_ms > 0
        if key not in self.held:
            raise RuntimeError("DEADLINE_EXCEEDED: GetKeyValue() timed out")
        return self.held[key]


def join(patch: pytest.MonkeyPatch, hosts: int, own: int, client: Any) -> Any:
    """Make this process one of several hosts, and return the module for their exchanges."""
    module = check("_hosts")
    patch.setattr(module, "_turns", module.collections.Counter())
    patch.setattr(jax, "process_count", lambda: hosts)
    patch.setattr(jax, "process_index", lambda: own)
    patch.setattr(module.distributed.global_state, "client", client)
    return module


def test_hosts_exchange_each_subject_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts can exchange a subject again; silence is None."""
    client = Coordinator({"tpustarter/said/a/1/0": "x", "tpustarter/said/a/2/0": "z"})
    module = join(monkeypatch, 3, 1, client)

    assert [["x", "y", None], ["z", "y", None]] == [module.exchange("a", "y") for _ in range(2)]


def test_hosts_that_were_not_joined_have_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts that were not joined by a coordinator get no verdict."""
    module = join(monkeypatch, 2, 0, None)

    with pytest.raises(NoAnswer, match="initialize"):
        module.exchange("a", "y")


def test_only_the_first_host_names_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first host names the others, so that shared findings are reported once."""
    found = []
    for own in (0, 1):
        module = join(monkeypatch, 2, own, None)
        found.append([*module.tally("SLICE-A", "hosts", {"host:0": "", "host:1": "late"}, "wait")])

    assert [[None, "host:1"], [None]] == [[one.entity for one in some] for some in found]
    assert {"wait"} == {one.hint for some in found for one in some}


@pytest.mark.parametrize(
    ("other", "failed_codes"),
    [
        ({"own": ["a", "b"], "all": ["a", "b", "c", "d"]}, []),
        ({"own": ["a", "b"], "all": ["b", "a", "c", "d"]}, ["LIST"]),
        ({"own": ["a"], "all": ["a", "b", "c", "d"]}, ["EVEN"]),
        ({"own": ["a", "b"], "all": ["a", "b"]}, ["ALL", "LIST"]),
    ],
)
def test_hosts_with_other_devices_are_named(other: Any, failed_codes: list[str]) -> None:
    """Another order, fewer own devices, and hosts that see only themselves are told apart."""
    answers = [json.dumps({"own": ["c", "d"], "all": ["a", "b", "c", "d"]}), json.dumps(other)]
    found = [*check("_lists").compared(answers)]
    wrong = [one for one in found if one.verdict == "fail" and one.entity]

    assert [f"SLICE-DEVICES-{code}" for code in failed_codes] == [one.code for one in wrong]
    assert {"host:1"} >= {one.entity for one in wrong}


def test_program_that_differs_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that differs between hosts is shown and not run."""
    module = check("slice_program")

    def exchange(subject: str, own: str) -> list[str]:
        other = own.replace("dense<3>", "dense<5>")
        return [own, own, module.digest(other) if subject == "hash" else other]

    monkeypatch.setattr(module._hosts, "exchange", exchange)
    monkeypatch.setattr(module._slices, "execute", lambda *_: pytest.fail("it ran"))
    (line,) = [one for one in findings("slice_program", "SLICE-PROGRAM-LINE") if one.entity]

    assert "host:2" == line.entity
    assert "dense<5>" in str(line.found)
    assert "and most have" in str(line.found)
    assert "dense<3>" in str(line.found)


def test_host_with_other_number_of_steps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """If hosts differ in their number of steps, the loop isn't started."""
    module = check("slice_input")
    monkeypatch.setattr(module._hosts, "exchange", lambda _, own: [own, "9 steps", own])
    found = findings("slice_input")

    assert ("fail", "9 steps, and most have 4 steps", "host:1") in told(found, "SLICE-INPUT-STEPS")
    assert [] == told(found, "SLICE-INPUT-SUMS")


def test_only_unplanned_short_inputs_fail() -> None:
    """A host with a batch less is told of, as the others stop with it."""
    found = [*check("_lengths").compared([4, 4, 1, 3], [4, 4, 4, 3])]

    assert [("fail", 3, None), ("fail", "1 of 4 batches", "host:2")] == told(
        found, "SLICE-INPUT-LENGTH"
    )
    assert [("info", "host:2, host:3: 1 of 4 batches", None)] == told(found, "SLICE-INPUT-SHORT")


def test_options_of_one_host_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The option that differs is in the text, with its value there and elsewhere."""
    module = check("slice_keys")

    def exchange(subject: str, own: str) -> list[str]:
        return [own, own.replace("threefry2x32", "rbg") if subject == "options" else own]

    monkeypatch.setattr(module._hosts, "exchange", exchange)
    _, (verdict, text, entity) = told(findings("slice_keys"), "SLICE-KEYS-OPTIONS")

    assert ("fail", "host:1") == (verdict, entity)
    assert str(text).startswith("jax_default_prng_impl=rbg, and host:0 has jax_default_prng_impl=")


def test_checkpoint_without_shared_folder_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a shared folder the checkpoint has no verdict, and the folder is deleted."""
    module, made = check("slice_checkpoint"), []

    def exchange(subject: str, own: str) -> list[str]:
        made.append(own) if subject == "folder" else None
        return [own, "False"] if subject == "seen" else [own, ""]

    monkeypatch.setattr(module._hosts, "exchange", exchange)
    monkeypatch.setattr(module, "saved_and_restored", lambda *_: pytest.fail("it wrote"))
    found = []
    with pytest.raises(NoAnswer, match="TMPDIR"):
        found.extend(module.run())

    assert [("info", "1 of 2", None)] == told(found, "SLICE-CHECKPOINT-FOLDER") or not found
    assert [False] == [Path(path).exists() for path in made]


def test_silent_first_host_deletes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the first host doesn't send the folder's path, no folder is deleted."""
    module = check("slice_checkpoint")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").touch()
    monkeypatch.setattr(module._hosts, "exchange", lambda _, own: [None, own])
    with module.folder() as (_, seen):
        assert [False, False] == seen

    assert (tmp_path / "kept").exists()


# the order of a slice


@pytest.mark.parametrize(
    ("sides", "kind", "hosts", "rings", "links"),
    [
        ((4, 4), "TPU v5 lite", 4, "none", 24),
        ((8, 16), "TPU v6 lite", 32, "y", 240),
        ((16, 16), "TPU v5 lite", 64, "x, y", 512),
        ((4, 4, 4), "TPU v5", 16, "x, y, z", 192),
        ((2, 2, 4), "TPU v4", 4, "none", 28),
    ],
)
def test_slice_of_real_compiler_is_in_order(
    sides: tuple[int, ...], kind: str, hosts: int, rings: str, links: int
) -> None:
    """Hosts, boxes, rings and links are those of the documents, for planes and for cubes."""
    devices = [SimpleNamespace(**{**vars(one), "device_kind": kind}) for one in chips(*sides)]
    order = check("_order")
    found = [*order.together(devices), *order.blocks(devices), *order.wraparound(devices, devices)]

    assert hosts == devices[-1].process_index + 1
    assert {"ok", "info"} >= {one.verdict for one in found}
    assert [("ok", hosts, None)] == told(found, "SLICE-ORDER-BOX")
    assert "ok" == told(found, "SLICE-ORDER-GRID")[0][0]
    assert [("info", rings, None)] == told(found, "SLICE-ORDER-WRAP")
    assert links == len(check("_torus").links(devices))


def test_hosts_out_of_order_are_found() -> None:
    """A host that was started with another's number has chips in two places of the list."""
    devices = chips(4, 4)
    devices[3].process_index, devices[4].process_index = 1, 0
    found = [*check("_order").together(devices), *check("_order").blocks(devices)]
    texts = {one.entity: one.found for one in found if one.verdict == "fail" and one.entity}

    assert {"host:0", "host:1"} == {*texts}
    assert ("fail", "0, 1, 2, 3", None) not in told(found, "SLICE-ORDER-HOSTS")
    assert [2, 2] == [one.found for one in found if one.verdict == "fail" and not one.entity]


def test_reversed_hosts_fail_and_other_grid_is_told() -> None:
    """A reversed order of hosts fails, but another order of the grid is only reported."""
    devices = chips(4, 4)[::-1]
    found = [*check("_order").together(devices), *check("_order").blocks(chips(4, 4)[4:])]

    assert [("fail", "3, 2, 1, 0", None)] == told(found, "SLICE-ORDER-HOSTS")
    swapped = chips(4, 4)
    for one in swapped:
        one.process_index = 3 - one.process_index
    assert "info" == told(check("_order").blocks(swapped), "SLICE-ORDER-GRID")[0][0]


@pytest.mark.parametrize(
    ("announced", "verdict"),
    [("true,true,true", "warn"), ("true,true,false", "ok"), ("false,false,false", "warn")],
)
def test_announced_wraparound_is_compared(
    announced: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wraparound that the machine announces is compared with the documentation."""
    monkeypatch.setenv("TPU_TOPOLOGY_WRAP", announced)
    devices = chips(16, 16)
    (found,) = told(check("_order").wraparound(devices, devices), "SLICE-ORDER-WRAP")

    assert verdict == found[0]


# axes within and between


@pytest.fixture
def two_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the 8 devices of this process as those of two hosts, or slices."""
    halves = lambda devices: np.array(devices).reshape(2, -1)  # noqa: E731
    monkeypatch.setattr(check("_slices"), "grid", halves)
    monkeypatch.setattr(check("slice_dcn"), "slice_of", lambda one: one.id // 4)


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize(("name", "prefix"), [("slice_axes", "SLICE"), ("slice_dcn", "SLICE-DCN")])
def test_fault_between_rows_is_not_blamed_within(
    name: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the axis on which a sum is wrong fails, on the devices that have it."""
    assert [] == failed(name)
    honest = check("_axes").total

    def total(x: jax.Array, axis: str) -> jax.Array:
        at = (jax.lax.axis_index("between") == 1) & (jax.lax.axis_index("within") == 2)
        return honest(jnp.where(at & (axis == "between"), 0, x), axis)

    monkeypatch.setattr(check("_axes"), "total", total)

    code = f"{prefix}-BETWEEN-SUM"
    assert [(code, f"device:{n}", "device:2") for n in (2, 6)] == failed(name)


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize(("announced", "verdict"), [("2", "ok"), ("3", "fail"), ("", "info")])
def test_slices_are_compared_with_announced(
    announced: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slices are compared with MEGASCALE_NUM_SLICES, so a missing one is found."""
    monkeypatch.setenv("MEGASCALE_NUM_SLICES", announced)

    assert [(verdict, 2, None)] == told(findings("slice_dcn"), "SLICE-DCN-COUNT")


def test_slices_of_unequal_size_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of unequal size are named, and nothing is run."""
    monkeypatch.setattr(check("slice_dcn"), "slice_of", lambda one: one.id // 5)
    found = findings("slice_dcn")

    assert ("fail", "3 of 5 devices", "slice:1") in told(found, "SLICE-DCN-EVEN")
    assert {"SLICE-DCN-COUNT", "SLICE-DCN-EVEN"} == {one.code for one in found}


# rates


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize("name", ["within", "between"])
def test_sums_along_axis_are_checked_in_load(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that loses a device is found by what the loop leaves, large and small."""
    monkeypatch.setitem(check("_timing").LEAST_BY_PLATFORM_S, "cpu", 0)
    monkeypatch.setattr(check("slice_rate"), "links", lambda _: ([], 0))
    honest = check("_slice_links").sum_loop

    def sum_loop(axis: str, count: int) -> Any:
        loop = honest(axis, count)
        three = lambda x: jnp.where(jax.lax.axis_index("within") == 3, 0, x)  # noqa: E731
        return loop if axis != name else lambda times, x: loop(times, three(x))

    monkeypatch.setattr(check("_slice_links"), "sum_loop", sum_loop)
    codes = {code for code, _, _ in failed("slice_rate")}

    upper = name.upper()
    assert {f"SLICE-RATE-{upper}-EXACT", f"SLICE-RATE-{upper}-SMALL-EXACT"} == codes


RATES = {0: 50.0, 1: 48.0, 2: 49.0, 3: 12.0}


def judged(platform: str) -> list[Finding]:
    """Return the findings on four links of a v5e; the last one, between hosts, is slow."""
    set_target(Target(platform, 8, "v5e"))
    devices = [device(4, 1, (0, 2, 0)), *(device(n, 2, (n, 0, 0)) for n in range(4))]
    pairs = [(1, 2), (2, 3), (3, 4), (0, 1)]
    pairs += [(0, 2), (0, 3)]
    rates = {**RATES, 4: 50.0, 5: 51.0}
    latencies = dict.fromkeys(rates, 5.0) | {3: 30.0}
    return [*check("_slowest").links(rates, latencies, pairs, devices)]


def test_slow_link_is_named_with_device_and_host() -> None:
    """Links between hosts are compared with each other, and one below nine tenths is named."""
    found = judged("tpu")
    entity = "host:1 device:4"
    slow = "12.0 GB/s to device:0 of host:2, 24 % of the median"

    assert [("warn", "5 of 6", None), ("warn", slow, entity)] == told(found, "SLICE-LINK-SLOW")
    assert [("info", "12.0 GB/s to device:0 of host:2", entity)] == told(
        found, "SLICE-LINK-SLOWEST"
    )
    assert ["host:2"] == [one.entity for one in found if one.code == "SLICE-LINK-HOST"]
    (peak,) = [one for one in found if one.code == "SLICE-LINK-WITHIN-PEAK"]
    assert ("98 %", "at most 50 GB/s", 0.98) == (peak.found, peak.expected, peak.share)
    assert [("info", 30.0, None)] == told(found, "SLICE-LINK-BETWEEN-LATENCY-WORST")


def test_virtual_devices_are_never_slow() -> None:
    """Virtual devices are never reported as slow, because they share one machine."""
    assert {"info"} == {one.verdict for one in judged("cpu")}


def test_rates_of_several_hosts_take_equally_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts use the time of the slowest one, so they run equally many rounds."""
    monkeypatch.setattr(check("_hosts"), "exchange", lambda _, own: [own, None, "0.25"])

    assert (0.25, 0.5) == (check("_slice_links").agreed(0.1), check("_slice_links").agreed(0.5))
