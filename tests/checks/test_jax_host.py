"""Tests of transfers, callbacks, the cache, traces and libtpu's metrics under faults."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from tests.checks import jax_sabotage_host as sabotage
from tests.support.jax_checks import check, failures, findings
from tests.support.real_compiler import python_with_libtpu
from tpustarter.probe.finding import Finding
from tpustarter.rehearsal.compile import compiler
from tpustarter.running import probe_archive


def only(code: str, name: str) -> Finding:
    """Return the only finding of a check with a code."""
    [finding] = findings(name, code)
    return finding


def named(name: str) -> list[tuple[str, str | None, Any]]:
    """Run a check and return code, entity and text of each part of it that failed."""
    failed = [finding for finding in findings(name) if finding.verdict == "fail"]
    return [(finding.code, finding.entity, finding.found) for finding in failed if finding.entity]


# jax.host_transfers


def test_sizes_include_known_transfer_limits() -> None:
    """The sizes include one byte, both sides of a page, untiled last axes, and some MiB."""
    sizes = [int(np.prod(shape)) * kind.itemsize for shape, kind in check("_journeys").SIZES]
    last = {shape[-1] for shape, _ in check("_journeys").SIZES}

    assert {1, 4095, 4096, 4097, 4092, 4100} < set(sizes)
    assert {127, 129} < last
    assert max(sizes) > 2**21
    assert 0 == check("_journeys").numbers(0)[-1].size


def test_every_device_has_different_numbers() -> None:
    """Every device has different numbers, so that a swapped array is noticed."""
    numbers = check("_journeys").numbers
    alike = [
        np.array_equal(x, y) for x, y in zip(numbers(0), numbers(1), strict=True) if x.size > 1
    ]

    assert not any(alike)


def test_device_and_size_that_break_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device and a size that break are named on every transfer that ends there."""
    sabotage.device_five_drops_a_byte_of_a_page(monkeypatch, check("host_transfers"))
    text = "uint8[4097]: 1 of 4097 numbers changed"

    assert named("host_transfers") == [
        ("JAX-TRANSFER-ALONE", "device:5", text),
        ("JAX-TRANSFER-MANY", "device:5", text),
        ("JAX-TRANSFER-DIRECT", "device:5", text),
        ("JAX-TRANSFER-DIRECT", "device:6", text),
    ]


def test_a_wrong_path_between_two_devices_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corrupt transfer from device 2 to device 3 is named; transfers from the host pass."""
    module = check("host_transfers")
    honest = module.to_device

    def turn(array: Any) -> Any:
        return ~np.asarray(array) if isinstance(array, jax.Array) else array

    def to_device(arrays: Any, device: Any) -> Any:
        return honest(jax.tree.map(turn, arrays) if device.id == 3 else arrays, device)

    monkeypatch.setattr(module, "to_device", to_device)
    [(code, entity, text)] = named("host_transfers")

    assert (code, entity) == ("JAX-TRANSFER-DIRECT", "device:3")
    assert text.count("changed") == len(check("_journeys").SIZES)


def test_a_device_that_holds_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that computes from wrong data is named, though its round trip is right."""

    def complement(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        flip = (jax.lax.axis_index("d") == 6).astype(jnp.uint8)
        return tuple(~array ^ flip.astype(array.dtype) for array in arrays)

    monkeypatch.setattr(check("host_transfers"), "complement", complement)
    failed = named("host_transfers")

    assert [("JAX-TRANSFER-MANY", "device:6")] == [(code, entity) for code, entity, _ in failed]


def test_copy_that_returns_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that returns before the last bytes of the largest array have arrived is caught."""
    module = check("host_transfers")
    honest = module.to_host

    def to_host(array: jax.Array) -> np.ndarray:
        result = np.array(honest(array))
        if result.size > 2**21:
            result[:, -1000:] = 0
        return result

    monkeypatch.setattr(module, "to_host", to_host)
    failed = named("host_transfers")

    assert 3 * 8 == len(failed)
    assert all(str(text).startswith("uint8[2097155]: ") for _, _, text in failed)


# jax.callbacks


def broken_call(
    patch: pytest.MonkeyPatch, name: str, function: Callable[..., Any]
) -> list[Finding]:
    """Run `callbacks` with one of its programs broken, and return what failed."""
    patch.setattr(check("_calls"), name, function)
    return [finding for finding in findings("callbacks") if finding.verdict == "fail"]


def test_mapping_method_with_wrong_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping method that returns each row the answer of another one is named."""
    honest = check("_calls").ask_by_rows

    def ask_by_rows(x: jax.Array) -> dict[str, jax.Array]:
        results = honest(x)
        return {**results, "expand_dims": jnp.roll(results["expand_dims"], 1, axis=0)}

    count, way = broken_call(monkeypatch, "ask_by_rows", ask_by_rows)

    assert (count.code, count.found, count.expected) == ("JAX-CALLBACK-VALUES", 3, 4)
    assert (way.entity, way.found) == ("way:expand_dims", "1024 of 1024 numbers wrong")


def test_the_device_that_is_answered_wrongly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is given a wrong answer is named."""
    honest = check("_calls").ask_on_each

    def ask_on_each(x: jax.Array) -> jax.Array:
        return honest(x) + (jax.lax.axis_index("d") == 3)

    _, device = broken_call(monkeypatch, "ask_on_each", ask_on_each)

    assert (device.code, device.entity) == ("JAX-CALLBACK-DEVICES", "device:3")


def test_calls_in_another_order_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordered callbacks that arrive in another order are shown."""
    sabotage.callbacks_change_places(monkeypatch, check("callbacks"))

    assert "1 0 3 2 5 4 7 6" == only("JAX-CALLBACK-ORDER", "callbacks").found


def test_swallowed_exception_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that is swallowed is caught, although the program continues."""
    failed = broken_call(monkeypatch, "ask_in_vain", lambda x: io_callback(lambda a: a, x, x))

    assert [("JAX-CALLBACK-ERROR", "not raised")] == [(f.code, f.found) for f in failed]


def test_debug_callbacks_are_judged_as_documented() -> None:
    """Lost or repeated debug callbacks are no fault, but a number that nobody sent is one."""
    debug_callback = check("callbacks").debug_callback
    cases = {"all": [1, 2], "repeated": [1, 1, 2], "dropped": [1], "other": [1, 3]}
    results = {name: debug_callback(received, [1, 2]) for name, received in cases.items()}

    assert {"all": "ok", "repeated": "info", "dropped": "info", "other": "fail"} == {
        name: finding.verdict for name, finding in results.items()
    }
    assert "2, in 3 calls" == results["repeated"].found
    assert "effects_barrier" in str(results["dropped"].hint)


def test_tpu_without_cpu_platform_gets_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """With JAX_PLATFORMS=tpu, the check runs no callback and names the setting to change."""
    monkeypatch.setattr(check("_handover"), "cpu", lambda: None)
    [finding] = findings("callbacks")

    assert (finding.code, finding.verdict, finding.found) == ("JAX-CALLBACK-CPU", "fail", 0)
    assert "JAX_PLATFORMS=tpu,cpu" in str(finding.hint)


# jax.compilation_cache


def test_a_cache_that_keeps_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that keeps nothing is caught."""
    name = "jax_persistent_cache_min_compile_time_secs"
    monkeypatch.setitem(check("_cache").SETTINGS, name, 1e9)

    assert {"JAX-CACHE-KEPT", "JAX-CACHE-TAKEN"} == {
        code for code, _ in failures("compilation_cache")
    }


def test_a_program_compiled_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is compiled again, and fills the cache each time, is caught."""
    sabotage.every_run_is_another_program(monkeypatch, check("compilation_cache"))

    assert [("JAX-CACHE-TAKEN", None)] == failures("compilation_cache")


def changed(patch: pytest.MonkeyPatch, way: str, **fields: Any) -> None:
    """Let the cache return something else on one way to a program."""
    honest = check("compilation_cache").trial

    def trial(program: Any, x: jax.Array) -> Any:
        outcome = honest(program, x)
        return outcome._replace(ways={**outcome.ways, way: outcome.ways[way]._replace(**fields)})

    patch.setattr(check("compilation_cache"), "trial", trial)


def test_a_cached_program_with_other_numbers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached program that computes other numbers is named."""
    changed(monkeypatch, "from the folder", result=np.zeros((8, 128), np.int32))

    assert [("JAX-CACHE-BITS", "way:from the folder", "other numbers")] == named(
        "compilation_cache"
    )


def test_cache_never_read_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is never read is caught by a corrupt entry that nobody notices."""
    changed(monkeypatch, "broken entry", warned=())

    assert [("JAX-CACHE-TAKEN", None)] == failures("compilation_cache")


def test_jax_without_cache_is_reported() -> None:
    """JAX without a usable cache warns and compiles, and leaves a corrupt entry in place."""
    broken, refused = (
        only(f"JAX-CACHE-{end}", "compilation_cache") for end in ("BROKEN", "REFUSED")
    )

    assert "JAX warns and compiles, and leaves it" == broken.found
    assert "JAX warns and compiles" == refused.found


def test_only_first_process_of_slice_must_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first process of a slice must fill the cache, as documented."""
    monkeypatch.setattr(jax, "process_index", lambda: 1)

    assert ["info"] == [finding.verdict for finding in findings("compilation_cache")]


def test_later_programs_use_cache_of_user(tmp_path: Path) -> None:
    """After the check, later programs use the user's cache folder again."""
    cache = check("_cache")
    with cache.kept_in(tmp_path / "users"):
        assert [] == failures("compilation_cache")
        cache.compiled(check("compilation_cache").program(), jnp.ones((8, 128), jnp.int32))

    assert list((tmp_path / "users").iterdir())


# jax.profiler_trace


def recorded(folder: Path, process: str) -> list[tuple[str, str]]:
    """Write a trace with one event of a process, and return the content that is read back."""
    events = [
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": process}},
        {"ph": "X", "pid": 3, "tid": 1, "ts": 0, "dur": 1, "name": "jit_profiled_work(123)"},
        {},
    ]
    path = folder / "perfetto_trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return check("_trace").read(folder).events


@pytest.mark.parametrize(
    ("process", "verdict", "expected"),
    [
        ("/device:TPU:0", "ok", 1),
        ("/host:CPU", "fail", "none"),
        ("/device:CUSTOM:Megascale Trace", "fail", "none"),
    ],
)
def test_trace_without_tpu_lines_is_caught(
    process: str, verdict: str, expected: int | str, tmp_path: Path
) -> None:
    """A trace without the device's own lines is caught."""
    judged = check("_trace").on_devices("tpu", recorded(tmp_path, process))

    assert (verdict, expected) == (judged.verdict, judged.found)


def test_a_trace_without_a_file_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a trace file is missing, its kind is named, and its events count as missing."""
    module = check("profiler_trace")
    honest = module.record

    def record(work: Callable[[], None]) -> Any:
        trace = honest(work)
        return trace._replace(sizes={**trace.sizes, "xplane.pb": 0}, planes=[])

    monkeypatch.setattr(module, "record", record)

    assert [
        ("JAX-PROFILE-FILES", None),
        ("JAX-PROFILE-FILES", "file:xplane.pb"),
        ("JAX-PROFILE-SPACE", None),
    ] == failures("profiler_trace")


def test_jax_that_cannot_read_traces_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAX that can't read traces, such as 0.6, is not blamed for them."""
    monkeypatch.setattr(jax.profiler, "ProfileData", None)

    assert "info" == only("JAX-PROFILE-SPACE", "profiler_trace").verdict


def test_trace_that_ends_before_work_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that ends before the work is named, with the fix for the program."""
    module = check("profiler_trace")
    honest = module.record

    def record(work: Callable[[], None]) -> Any:
        trace = honest(work)
        return trace._replace(events=[("/host:CPU", module.MARK)])

    monkeypatch.setattr(module, "record", record)
    finding = only("JAX-PROFILE-NAME", "profiler_trace")

    assert (finding.verdict, finding.found) == ("info", "not in it")
    assert "block_until_ready" in str(finding.hint)


# jax.tpu_metrics

Told = tuple[str, Any, str | None]


def links(*texts: str) -> list[Told]:
    """Return verdict, figure and entity of each finding about texts of `ici_link_health`."""
    metrics = check("_metrics")
    return [
        (finding.verdict, finding.found, finding.entity)
        for finding in metrics.scored(metrics.LINKS, texts)
    ]


def throttling(*texts: str) -> list[Told]:
    """Return verdict, figure and entity of each finding about texts of `tpu_throttle_score`."""
    metrics = check("_metrics")
    results = metrics.scored(metrics.THROTTLING, texts)
    return [(finding.verdict, finding.found, finding.entity) for finding in results]


def memory(total: list[str] | None, used: list[str] | None) -> list[Told]:
    """Return verdict, figure and entity of each finding about texts of the memory of chips."""
    return [
        (finding.verdict, finding.found, finding.entity)
        for finding in check("_metrics").memory(total, used)
    ]


def test_healthy_links_are_counted() -> None:
    """Each text is one link."""
    assert [("ok", 2, None)] == links("tray1.chip3.ici0.int: 0", "tray1.chip3.ici1.int: 0")


@pytest.mark.parametrize(
    ("score", "verdict", "meaning"),
    [
        (1, "warn", "transient problem"),
        (5, "warn", "transient problem"),
        (6, "fail", "persistent minor problem"),
        (9, "fail", "persistent minor problem"),
        (10, "fail", "not usable"),
    ],
)
def test_a_link_that_is_not_healthy_is_named(score: int, verdict: str, meaning: str) -> None:
    """A link that isn't healthy is named, with the documented meaning of its score."""
    results = links("tray1.chip3.ici0.int: 0", f"tray1.chip3.ici1.int: {score}")

    assert [
        (verdict, 1, None),
        (verdict, f"{score}: {meaning}", "link:tray1.chip3.ici1.int"),
    ] == results


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "tray1.chip3.ici0.int",
        "tray1.chip3.ici0.int: 11",
        "healthy: yes",
        "tray1.chip3.ici0.int: 0.0",
        "\x1b[31mtray1: 0",
        "a: -1",
    ],
)
def test_text_of_unknown_form_never_passes(text: str) -> None:
    """A text of unknown form is counted as unknown, without its escape sequences."""
    (verdict, healthy, _), (also, message, _) = links("tray1.chip3.ici0.int: 0", text)

    assert (verdict, healthy, also) == ("info", 1, "info")
    assert str(message).startswith("unknown: 1 in another form")
    assert "\x1b" not in str(message)


def test_fault_outranks_unknown_text() -> None:
    """A fault and an unknown text are both reported; the fault comes first."""
    assert ["fail", "fail", "info"] == [verdict for verdict, _, _ in links("a.b: 10", "?")]


def test_a_throttled_chip_is_named() -> None:
    """A throttled chip is named; each point is ten percent."""
    assert [("ok", 2, None)] == throttling("0-0", "1-0")
    assert [("warn", 1, None), ("warn", "3: throttled by 30 %", "chip:1")] == throttling(
        "0-0", "1-3"
    )


def test_absent_data_and_metrics_are_not_healthy() -> None:
    """Missing data and missing metrics don't count as healthy."""
    assert [("info", "unknown: no data", None)] == links()
    assert [("info", "unknown: no data", None)] == memory([], [])
    missing = "unknown: this libtpu has no such metric"
    assert [("info", missing, None)] == memory(None, None)
    metrics = check("_metrics")

    assert [missing] == [finding.found for finding in metrics.scored(metrics.LINKS, None)]


def test_chip_memory_is_reported_and_compared() -> None:
    """The example of the documentation; then a chip that uses more than it has."""
    total = ["33550229504"] * 4

    assert [("info", 31.25, None), ("ok", 4, None)] == memory(total, ["1073741824", "0", "0", "0"])
    assert ("fail", 3, None) in memory(total, ["1", "33550229505", "0", "0"])
    assert "chip:1" in [entity for _, _, entity in memory(total, ["1", "33550229505", "0", "0"])]


@pytest.mark.parametrize("used", [["1"], ["0", "none"], ["0", "-1"]])
def test_memory_in_another_form_is_unknown(used: list[str]) -> None:
    """Memory in another form than documented is unknown and isn't judged."""
    [(verdict, message, _)] = memory(["100", "100"], used)

    assert verdict == "info"
    assert str(message).startswith("unknown: in another form")


def test_a_whole_healthy_machine_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A healthy TPU passes, with every metric in its documented form."""
    texts = {
        "ici_link_health": ["tray1.chip3.ici0.int: 0", "tray1.chip3.ici1.int: 0"],
        "tpu_throttle_score": ["0-0", "1-0"],
        "hbm_capacity_total": ["33550229504", "33550229504"],
        "hbm_capacity_usage": ["1073741824", "0"],
    }
    source = sabotage.Library(texts), "libtpu 0.0.50.1"
    monkeypatch.setattr(check("tpu_metrics"), "library", lambda: source)
    verdicts = {finding.code: finding.verdict for finding in findings("tpu_metrics")}

    assert verdicts == {
        "JAX-METRICS-RING": "ok",
        "JAX-METRICS-LIBRARY": "info",
        "JAX-METRICS-LINK": "ok",
        "JAX-METRICS-THROTTLE": "ok",
        "JAX-METRICS-HBM": "info",
        "JAX-METRICS-USED": "ok",
    }


def test_device_missing_from_ring_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a device is left out of the ring, the last device is named."""
    ring = check("tpu_metrics").ring
    monkeypatch.setattr(check("tpu_metrics"), "ring", lambda count: ring(count - 1))

    assert [("JAX-METRICS-RING", "device:7", "other numbers")] == named("tpu_metrics")


def libtpu(folder: Path, version: str, sdk: str | None) -> None:
    """Lay out an installed libtpu."""
    (folder / f"libtpu-{version}.dist-info").mkdir()
    (folder / f"libtpu-{version}.dist-info/METADATA").write_text(
        f"Name: libtpu\nVersion: {version}\n"
    )
    (folder / "libtpu").mkdir()
    (folder / "libtpu/__init__.py").touch()
    if sdk is not None:
        (folder / "libtpu/sdk.py").write_text(sdk)


@pytest.mark.parametrize(
    ("version", "sdk", "expected"),
    [
        ("0.0.20", "raise SystemExit", "libtpu 0.0.20, too old to report metrics"),
        ("0.0.21", None, "libtpu 0.0.21, without an sdk"),
        ("0.0.21", "", "libtpu 0.0.21, without tpumonitoring"),
        ("0.0.50.1", "tpumonitoring = 7", "libtpu 0.0.50.1"),
        ("0.0.21", "monitoring = 7", "libtpu 0.0.21"),
    ],
)
def test_libtpu_versions_are_distinguished(
    version: str, sdk: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old libtpu isn't loaded, and one without metrics isn't queried."""
    libtpu(tmp_path, version, sdk)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("libtpu", "libtpu.sdk"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    source, text = check("_metrics").library()
    for name in ("libtpu", "libtpu.sdk"):
        sys.modules.pop(name, None)

    assert (expected, 7 if " = 7" in str(sdk) else None) == (text, source)


def test_libtpu_is_not_loaded_without_tpu() -> None:
    """Without a TPU, libtpu isn't loaded, since it would search for chips for minutes."""
    assert (None, "not applicable: no TPU here") == check("tpu_metrics").library()


def test_real_library_without_tpu_has_no_data(tmp_path: Path) -> None:
    """The real library without a TPU has no data, and the check reports that."""
    program = tmp_path / "ask.py"
    program.write_text(f"""
import sys
sys.path.insert(0, {str(probe_archive.build_probe_archive(tmp_path / "probe.pyz"))!r})
from tpustarter.checks.jax import _metrics
source, text = _metrics.library()
print(text)
for finding in _metrics.scored(_metrics.LINKS, _metrics.texts(source, "ici_link_health")):
    print(finding.verdict, finding.found)
for finding in _metrics.scored(_metrics.THROTTLING, _metrics.texts(source, "tpu_throttle_score")):
    print(finding.verdict, finding.found)
names = "hbm_capacity_total", "hbm_capacity_usage"
for finding in _metrics.memory(*(_metrics.texts(source, name) for name in names)):
    print(finding.verdict, finding.found)
""")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **compiler.QUIET}
    done = subprocess.run(
        [python_with_libtpu(), str(program)], capture_output=True, text=True, env=env, check=False
    )
    version, *lines = done.stdout.splitlines()

    assert version.startswith("libtpu "), done.stderr
    assert ["info unknown: no data"] * 3 == lines
