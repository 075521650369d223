"""Endurance: each fault is named by device and by round, and what was shown is never lost."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.checks.jax_sabotage_soak import Break, flip, forget
from tests.support.jax_checks import check
from tpustarter.probe.finding import Finding, Progress
from tpustarter.probe.target import Target, set_target

Patch = pytest.MonkeyPatch
ROUNDS = 9
"""What two looks have seen: one round, then eight."""

BOTH_ENDS = {"JAX-SOAK-START", "JAX-SOAK-TIME"}
KINDS = ["BFLOAT16", "FLOAT32", "INT8", "FUNCTIONS", "SUMS", "ORDER"]
EVIDENCE = BOTH_ENDS | {
    *(f"JAX-SOAK-{kind}{suffix}" for kind in [*KINDS, "MEMORY"] for suffix in ("", "-ERRORS")),
    "JAX-SOAK-MEMORY-COVERED",
    *(f"JAX-SOAK-SPEED-{which}" for which in ("FIRST", "LAST", "SLOWEST")),
}


@pytest.fixture(autouse=True)
def _for_hours(eight_cpu_devices: None) -> None:
    set_target(Target("cpu", 8, virtual=True, minutes=600))


@pytest.fixture
def endurance() -> ModuleType:
    """Return the check."""
    return check("endurance")


def soak(module: ModuleType, looks: int = 2) -> tuple[list[Finding], list[str]]:
    """Run it by hand until it has looked so often, then end it; return findings and progress."""
    run, results, texts, answer = module.run(), list[Finding](), list[str](), None
    while True:
        try:
            event = run.send(answer)
        except StopIteration:
            return results, texts
        if isinstance(event, Progress):
            texts.append(event.text)
            answer = len(texts) >= looks
        else:
            results.append(event)
            answer = None


def failed(module: ModuleType, patch: Patch, *breaks: Break) -> list[tuple[Any, ...]]:
    """Return the code, entity and text of each failure of the sabotaged check."""
    for apply in breaks:
        apply(patch, module)
    return [
        (finding.code, finding.entity, finding.found)
        for finding in soak(module)[0]
        if finding.verdict == "fail"
    ]


# faults


def test_a_bit_flipped_in_round_seven_is_named(endurance: ModuleType, monkeypatch: Patch) -> None:
    """One number of one device in one round: kind, device, round and how many."""
    broken = flip(0, lambda number, place: (number == 7) & (place == 3))

    assert [
        ("JAX-SOAK-BFLOAT16", None, 7),
        ("JAX-SOAK-BFLOAT16", "device:3", "1 wrong, first in round 7 of 9"),
    ] == failed(endurance, monkeypatch, broken)


def test_kinds_of_work_are_distinguished(endurance: ModuleType, monkeypatch: Patch) -> None:
    """Each kind is wrong on a device of its own, from another round on."""
    broken = [
        flip(kind, lambda number, place, kind=kind: (number > kind) & (place == kind))
        for kind in range(len(KINDS))
    ]

    assert [
        (
            f"JAX-SOAK-{name}",
            f"device:{kind}",
            f"{ROUNDS - kind} wrong, first in round {kind + 1} of 9",
        )
        for kind, name in enumerate(KINDS)
    ] == [fault for fault in failed(endurance, monkeypatch, *broken) if fault[1]]


def test_round_wrong_everywhere_says_how_much(endurance: ModuleType, monkeypatch: Patch) -> None:
    """A round that is wrong on every device is counted, up to the 32-bit limit of one look."""
    many = jnp.full(len(KINDS), 2**32 - 1, jnp.uint32)
    monkeypatch.setattr(check("_work"), "different", lambda *_: many)
    lost = failed(endurance, monkeypatch)

    assert ("JAX-SOAK-ORDER", "device:7", f"{2 * (2**32 - 1)} wrong, first in round 1 of 9") in lost


def test_device_that_differs_from_start_is_named(endurance: ModuleType, monkeypatch: Patch) -> None:
    """A device that agrees with itself but differs from the start is named."""
    lost = failed(endurance, monkeypatch, flip(4, lambda _, place: place == 2))

    assert [
        ("JAX-SOAK-START", None, 7),
        ("JAX-SOAK-START", "device:2", "not the bits of most devices in: sums"),
    ] == lost


def test_fault_in_reference_is_named(endurance: ModuleType, monkeypatch: Patch) -> None:
    """The device differs at the start, and from itself in every round with the same input."""
    broken = flip(1, lambda number, place: (number == -1) & (place == 6))

    assert [
        ("JAX-SOAK-START", "device:6", "not the bits of most devices in: float32 products"),
        ("JAX-SOAK-FLOAT32", "device:6", "5 wrong, first in round 1 of 9"),
    ] == [fault for fault in failed(endurance, monkeypatch, broken) if fault[1]]


def test_a_word_of_memory_that_changed_is_named(endurance: ModuleType, monkeypatch: Patch) -> None:
    """A changed word of memory is named by chunk and device, though it is overwritten later."""
    assert [
        ("JAX-SOAK-MEMORY", None, 7),
        ("JAX-SOAK-MEMORY", "device:5", "1 wrong, first 1 in chunk 1, pass 1"),
    ] == failed(endurance, monkeypatch, forget(5, 1))


def test_stuck_memory_bit_is_counted_in_every_pass(
    endurance: ModuleType, monkeypatch: Patch
) -> None:
    """A bit that is always 1 is wrong wherever the pattern or its inverse has 0."""
    honest = check("_pattern").written

    def stuck(number: Any, place: Any, rows: int) -> jax.Array:
        words = honest(number, place, rows)
        return jnp.where(jax.lax.axis_index("d") == 4, words | 1, words)

    monkeypatch.setattr(check("_pattern"), "written", stuck)
    _, (_, device, text) = failed(endurance, monkeypatch)
    rows = check("_pattern").ROWS["cpu"]

    assert (device, text.split()[0]) == ("device:4", str(2 * rows * 4096))  # 2 chunks, both halves


def test_devices_without_majority_are_all_doubtful(endurance: ModuleType) -> None:
    """Of two devices that differ neither is known to be good; one alone is not judged."""
    rounds = endurance._soak.Rounds(jax.local_devices()[:2])
    same = rounds.outsiders()
    rounds.digests = np.arange(12).reshape(2, 6)

    assert {"device:0": "", "device:1": ""} == same
    assert all(rounds.outsiders().values())


@pytest.mark.parametrize("bit", [0, 15, 30, 31])
def test_any_bit_of_a_reference_changes_its_checksum(bit: int) -> None:
    """One number wrong is always seen, and two with the same bit do not make up for each other."""
    work = check("_work")
    numbers = work.scatter(jnp.arange(24, dtype=jnp.uint32)).reshape(2, 3, 4)
    right, checksums = int(work.checksum(numbers)), list[int]()
    for place in list(np.ndindex(2, 3, 4))[1:]:
        single = numbers.at[place].set(numbers[place] ^ jnp.uint32(1 << bit))
        double = single.at[0, 0, 0].set(single[0, 0, 0] ^ jnp.uint32(1 << bit))
        checksums += [int(work.checksum(wrong)) for wrong in (single, double)]

    assert right not in checksums


# time


def test_an_early_end_keeps_the_evidence(endurance: ModuleType) -> None:
    """A run that is stopped at its first look still reports every finding."""
    results, texts = soak(endurance, looks=1)

    assert {finding.code for finding in results} == EVIDENCE
    assert {finding.verdict for finding in results} == {"ok", "info"}
    assert [text.split(", ")[:2] for text in texts] == [["0.0 of 600 min", "1 rounds"]]
    [time] = [finding for finding in results if finding.code == "JAX-SOAK-TIME"]
    assert (time.verdict, time.name, time.expected) == ("info", "time under load, 1 rounds", 600.0)


def test_progress_counts_comparisons_and_errors(endurance: ModuleType, monkeypatch: Patch) -> None:
    """A fault is seen while it runs."""
    flip(0, lambda number, place: (number == 7) & (place == 3))(monkeypatch, endurance)
    _, (first, second) = soak(endurance)

    assert "wrong" not in first
    assert second.endswith("9 rounds, 1.1e+07 comparisons, 1 wrong")


def test_run_without_time_claims_nothing(endurance: ModuleType) -> None:
    """A run without time compares only the start, claims nothing, and suggests a longer run."""
    set_target(Target("cpu", 8, virtual=True, minutes=0))
    results, texts = soak(endurance)

    assert [("JAX-SOAK-START", "ok"), ("JAX-SOAK-TIME", "warn")] == [
        (finding.code, finding.verdict) for finding in results
    ]
    assert (texts, results[-1].found, results[-1].expected) == ([], 0.0, 0.0)
    assert "--minutes 10" in str(results[-1].hint)


def test_soak_runs_for_requested_time(endurance: ModuleType) -> None:
    """Nobody ends it: it ends by itself, not before the time is up."""
    set_target(Target("cpu", 8, virtual=True, minutes=0.001))
    results, texts = soak(endurance, looks=10**6)

    assert ("JAX-SOAK-TIME", "ok") == (results[-1].code, results[-1].verdict)
    assert texts


@pytest.mark.parametrize(
    ("minutes", "seconds"), [(0.02, 0.15), (10, 1.0), (30, 1.8), (240, 14.4), (6000, 15.0)]
)
def test_interval_between_host_comparisons_is_bounded(
    minutes: float, seconds: float, endurance: ModuleType
) -> None:
    """About a thousand times, not more than once a second, and soon enough to be ended."""
    assert seconds == pytest.approx(endurance.every_s(60 * minutes))


@pytest.mark.parametrize("count", [1, 3])
def test_soak_passes_on_few_devices(count: int, endurance: ModuleType, monkeypatch: Patch) -> None:
    """One device is compared with itself over time; only several have a slowest."""
    few = jax.local_devices()[:count]
    monkeypatch.setattr(jax, "local_devices", lambda: few)
    results, _ = soak(endurance)

    assert {finding.verdict for finding in results} == {"ok", "info"}
    assert EVIDENCE - {finding.code for finding in results} == (
        {"JAX-SOAK-SPEED-SLOWEST"} if count == 1 else set()
    )


# memory


def run_out(patch: Patch, after: int, message: str = "RESOURCE_EXHAUSTED: out of memory") -> None:
    """Let memory run out once so many chunks were written; there would be room for ten."""
    honest, chunks = jax.block_until_ready, list[Any]()

    def block_until_ready(arrays: Any) -> Any:
        if getattr(arrays, "ndim", 0) == 3:
            chunks.append(None)
            if len(chunks) > after:
                raise jax.errors.JaxRuntimeError(message)
        return honest(arrays)

    patch.setattr(check("_pattern"), "fitting", lambda *_: (True, 10))
    patch.setattr(jax, "block_until_ready", block_until_ready)


@pytest.mark.parametrize(("after", "kept"), [(0, 0), (1, 0), (4, 3)])
def test_less_memory_than_expected_means_fewer_chunks(
    after: int, kept: int, endurance: ModuleType, monkeypatch: Patch
) -> None:
    """If the device has less memory than expected, fewer chunks are used and nothing fails."""
    run_out(monkeypatch, after)
    facts = {finding.code: finding for finding in soak(endurance)[0]}
    covered = facts["JAX-SOAK-MEMORY-COVERED"].found

    assert {finding.verdict for finding in facts.values()} == {"ok", "info"}
    assert f"{kept} MiB in {kept} chunks, 2 times" == covered
    assert ("JAX-SOAK-MEMORY" in facts) == (kept > 0)  # nothing was kept where nothing was written


def test_other_failure_is_not_called_memory_shortage(
    endurance: ModuleType, monkeypatch: Patch
) -> None:
    """A device error that isn't a lack of memory is raised, not reported as one."""
    run_out(monkeypatch, 1, "INTERNAL: a core halted")

    with pytest.raises(jax.errors.JaxRuntimeError, match="halted"):
        soak(endurance)


def test_work_that_does_not_fit_shrinks_memory(endurance: ModuleType) -> None:
    """Chunks are given up one by one; with none left the error is shown."""
    memory, chunks = endurance._pattern.Memory(jax.local_devices()), list[int]()

    def work() -> None:
        chunks.append(len(memory.chunks))
        if chunks[-1]:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    memory.leave_room(work)
    memory.go_on()

    assert (chunks, memory.passes, memory.words) == ([2, 1, 0], 1, 0)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ([{"bytes_limit": 1000, "bytes_in_use": 100}], (True, 8)),
        ([{"bytes_limit": 1000}, {"bytes_limit": 1000, "bytes_in_use": 500}], (True, 4)),
        ([{"bytes_limit": 100, "bytes_in_use": 99}], (True, 0)),
        ([{"bytes_limit": 10**9}], (True, 1024)),
        ([None], (False, 2)),
        ([{"bytes_limit": 1000}, {}], (False, 2)),
    ],
)
def test_chunks_fit_free_memory(stats: Any, expected: tuple[bool, int]) -> None:
    """Chunks fill nine tenths of the fullest device's free memory, or a few if it's unknown."""
    assert expected == check("_pattern").fitting(stats, 100)


def test_patterns_differ_by_word_chunk_pass_and_inversion() -> None:
    """A word in the wrong place or from another pass is always a different pattern."""
    patterns = [
        np.asarray(check("_pattern").pattern(jnp.uint32(number), jnp.uint32(place), 2))
        for number, place in ((0, 0), (1, 0), (2, 0), (0, 1))
    ]
    first, inverse, later, beside = patterns

    assert all(len(np.unique(words)) == words.size for words in patterns)
    assert np.array_equal(first, ~inverse)
    assert not (first == later).any()
    assert not (first == beside).any()
    assert 0.49 < np.unpackbits(first.view(np.uint8)).mean() < 0.51


# evidence


@pytest.mark.parametrize(
    ("wrong", "compared", "text"),
    [
        (0, 3000, "below 1.0e-03 (95 %): 0 of 3.0e+03 wrong"),
        (0, 12 * 10**11, "below 2.5e-12 (95 %): 0 of 1.2e+12 wrong"),
        (2, 1000, "2.0e-03: 2 of 1.0e+03 wrong"),
        (0, 0, "nothing compared"),
    ],
)
def test_comparisons_exclude_error_rate(wrong: int, compared: int, text: str) -> None:
    """Comparisons without an error exclude a rate above 3/n; otherwise the rate is measured."""
    assert text == check("_evidence").excluded(wrong, compared)


@pytest.mark.parametrize("compared", [30, 3000, 10**9])
def test_excluded_rate_would_show_in_95_percent(compared: int) -> None:
    """At that rate no error at all has a probability of at most 0.05."""
    assert (1 - 3 / compared) ** compared <= 0.05


def test_comparisons_are_counted(endurance: ModuleType) -> None:
    """Nine rounds of 128 x 128 numbers on 8 devices, and two passes over two chunks."""
    results = {finding.code: str(finding.found) for finding in soak(endurance)[0]}
    numbers, words = 9 * 128 * 128 * 8, 2 * 2 * 64 * 4096 * 8

    assert (
        f"below {3 / numbers:.1e} (95 %): 0 of {numbers:.1e} wrong"
        == results["JAX-SOAK-INT8-ERRORS"]
    )
    assert f"0 of {words:.1e} wrong" in results["JAX-SOAK-MEMORY-ERRORS"]
    assert "2 MiB in 2 chunks, 2 times, because these devices" in results["JAX-SOAK-MEMORY-COVERED"]


def test_speed_comes_from_long_intervals_only(endurance: ModuleType) -> None:
    """Looks with few rounds measure the start of a program; the slowest device is named."""
    speeds = [(1, [1.0, 1.0, 1.0]), (90, [90.0, 80.0, 91.0]), *[(100, [80.0, 60.0, 82.0])] * 3]
    rounds = SimpleNamespace(speeds=speeds, devices=jax.local_devices()[:3])
    results = [
        (finding.name, finding.found, finding.expected, finding.entity, finding.unit)
        for finding in endurance._evidence.of_speed(rounds)
    ]

    assert [
        ("speed at the start", 80.0, None, None, "rounds/s"),
        ("speed at the end, -25.0%", 60.0, None, None, "rounds/s"),
        ("slowest device, -25.0%", 60.0, 80.0, "device:1", "rounds/s"),
    ] == results


def test_rounds_are_compiled_despite_user_settings(
    endurance: ModuleType, monkeypatch: Patch
) -> None:
    """Rounds are compiled even with JAX_DISABLE_JIT=1, which would leave the device mostly idle."""
    work, calls = check("_work"), list[int]()
    honest = work.one_round

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return honest(*arguments)

    monkeypatch.setattr(work, "one_round", counted)
    with jax.disable_jit(), jax.numpy_rank_promotion("raise"):
        results, _ = soak(endurance)

    assert [finding for finding in results if finding.verdict == "fail"] == []
    assert len(calls) == 1


def test_type_missing_on_device_leaves_work_out(endurance: ModuleType, monkeypatch: Patch) -> None:
    """A type that a device lacks, such as int8 on a TPU v4, is left out, and that is reported."""
    v4 = SimpleNamespace(platform="tpu", device_kind="TPU v4")
    names = check("_work").done_by(v4)
    monkeypatch.setattr(check("_work"), "done_by", lambda _: names)
    results = {finding.code: finding for finding in soak(endurance)[0]}

    assert (results["JAX-SOAK-INT8"].verdict, results["JAX-SOAK-INT8"].name) == (
        "info",
        "int8 products",
    )
    assert "not applicable" in str(results["JAX-SOAK-INT8"].found)
    assert EVIDENCE - set(results) == {"JAX-SOAK-INT8-ERRORS"}


def test_inputs_are_demanding_for_matrix_unit() -> None:
    """Both signs, eight exponents, no zero, no NaN; products of them stay finite."""
    work = check("_work")
    x = np.asarray(work.floats(work.scatter(jnp.arange(2**16, dtype=jnp.uint32)).reshape(256, 256)))
    _, exponents = np.frexp(x)

    assert np.isfinite(x).all()
    assert {*range(-6, 2)} == set(exponents.ravel())
    assert 0.49 < (x < 0).mean() < 0.51


@pytest.mark.parametrize(
    ("platform", "text"), [("tpu", "do not trust"), ("gpu", "xla_gpu_deterministic_ops")]
)
def test_different_bits_have_hint(platform: str, text: str) -> None:
    """Different bits have a hint, such as the documented nondeterminism of GPUs."""
    assert text in check("_evidence").hint([SimpleNamespace(platform=platform)])
