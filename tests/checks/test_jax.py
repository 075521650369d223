"""Every JAX check passes on 8 virtual CPU devices, and fails when one function of it is broken."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.checks.jax_sabotage_arrays import (
    device_five_answers_wrongly,
    device_five_does_nothing,
)
from tests.support.compiler_flags import AS_USERS, has_older_generators
from tests.support.jax_checks import check, findings
from tpustarter import checks
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]

FOLDER = Path(next(iter(checks.__path__))) / "jax"
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
TPU = Target("tpu", 8, "v5e")
MINUTES = 0.005
"""What a check that soaks is given: a third of a second."""


@pytest.fixture(autouse=True)
def _briefly(eight_cpu_devices: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        check("_timing").LEAST_BY_PLATFORM_S, "cpu", 0.002
    )  # no figure is judged here
    set_target(Target("cpu", 8, virtual=True, minutes=MINUTES))


SABOTAGE: dict[str, Break] = {
    name: breaks
    for path in sorted(Path(__file__).parent.glob("jax_sabotage_*.py"))
    for name, breaks in importlib.import_module(f"tests.checks.{path.stem}").SABOTAGE.items()
}


def test_every_check_has_a_sabotage() -> None:
    """Every check has a sabotage."""
    assert sorted(SABOTAGE) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_check_passes_on_eight_virtual_devices(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check finds no fault, runs exactly its programs, and restores JAX's configuration.

    Rehearsal compiles `programs()`: the functions and shapes there are the ones that run.
    """
    compile_exactly(name, monkeypatch)
    before, ran = dict(jax.config.values), set()
    compile_ = jax.jit

    def recording(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        program = compile_(function, **options)

        def call(*arguments: Any) -> Any:
            ran.add(signature(function, arguments))
            return program(*arguments)

        call.lower = program.lower  # a program may be read before it runs
        return call

    with monkeypatch.context() as patch:
        patch.setattr(jax, "jit", recording)
        results = findings(name)

    assert {finding.verdict for finding in results} <= {"ok", "info"}
    assert any(finding.verdict == "ok" for finding in results)
    assert all(isinstance(finding.found, str | int | float) for finding in results)
    assert before == dict(jax.config.values)
    assert {signature(program, shapes) for _, program, shapes in programs(name)} == ran


@pytest.mark.parametrize("name", NAMES)
def test_a_check_fails_under_its_sabotage(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check fails under its sabotage, and its failure has a hint."""
    compile_exactly(name, monkeypatch)
    SABOTAGE[name](monkeypatch, check(name))
    failed = [finding for finding in findings(name) if finding.verdict == "fail"]

    assert failed
    assert all(finding.hint for finding in failed)


def compile_exactly(name: str, patch: pytest.MonkeyPatch) -> None:
    """Compile a check that compares two programs bit by bit as users do.

    With XLA's older code generators, `exp` and its like have other last bits in another program.
    """
    if name == "endurance" and has_older_generators():
        patch.setattr(jax, "jit", functools.partial(jax.jit, compiler_options=AS_USERS))


def signature(function: Callable[..., Any], arguments: Any) -> tuple[str, str]:
    """Return the name of a function and the types of its arguments."""
    return function.__name__, str([(array.dtype.name, array.shape) for array in arguments])


def programs(name: str) -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    """Return the programs a check lists for the devices of this process."""
    return list(check(name).programs(jax.local_devices()))


# JAX before 0.8 says of a jitted pmap that it may be slow; the check never runs it so.
@pytest.mark.filterwarnings("ignore:The jitted function own_row includes a pmap:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_programs_lower_from_abstract_arguments(name: str) -> None:
    """Names are unique, and lowering needs no numbers; the first test above compiles them."""
    listed = programs(name)

    assert len({title for title, _, _ in listed}) == len(listed) > 0
    assert all(jax.jit(program).lower(*shapes) for _, program, shapes in listed)


# the settings that host.environment knows, which run without JAX


def test_jax_has_every_setting_that_host_environment_knows() -> None:
    """JAX has every setting that host.environment knows, so none is misspelt."""
    settings = importlib.import_module("tpustarter.checks.host._settings")
    names = {*settings.SWITCHES, *settings.NUMBERS, *settings.WORDS}

    assert set() == {name for name in names if name.lower() not in jax.config.values}


def test_jax_takes_the_words_that_host_environment_takes() -> None:
    """JAX accepts the words that host.environment accepts, and refuses others."""
    settings = importlib.import_module("tpustarter.checks.host._settings")

    def takes(name: str, word: str) -> bool:
        before = jax.config.values[name.lower()]
        try:
            jax.config.update(name.lower(), word)
        except ValueError:
            return False
        jax.config.update(name.lower(), before)
        return True

    newer = {"threefry4x32", "philox2x32", "philox4x32"}  # JAX 0.12 has these as well
    refused = [
        (name, word)
        for name, words in settings.WORDS.items()
        for word in words
        if word not in newer and not takes(name, word)
    ]

    assert [] == refused
    assert [] == [name for name in settings.WORDS if takes(name, "bogus")]


# jax.devices_visible


def test_silent_fallback_to_cpu_is_caught() -> None:
    """A silent fallback from TPU to CPU is caught."""
    set_target(TPU)
    [finding] = findings("devices_visible", "JAX-DEVICES-PLATFORM")

    assert (finding.verdict, finding.found, finding.expected) == ("fail", "cpu", "tpu")
    assert "JAX_PLATFORMS=tpu python -c" in str(finding.hint)


def test_a_wrong_count_of_devices_is_caught() -> None:
    """Eight devices where four were expected, and the text says that they are virtual."""
    set_target(Target("cpu", 4, virtual=True))
    [finding] = findings("devices_visible", "JAX-DEVICES-COUNT")

    assert (finding.verdict, finding.found, finding.expected) == ("fail", 8, 4)
    assert finding.unit == "virtual CPU devices"


def test_an_unknown_count_of_devices_is_not_judged() -> None:
    """If the machine states no number of devices, the count that was found is ok."""
    set_target(Target("cpu", None, virtual=True))
    [finding] = findings("devices_visible", "JAX-DEVICES-COUNT")

    assert (finding.verdict, finding.found) == ("ok", 8)


@pytest.mark.parametrize(
    ("kind", "generation", "verdict"),
    [
        ("TPU v5 lite", "v5e", "ok"),
        ("TPU v5 lite", "v6e", "fail"),
        ("TPU v99", "v5e", "info"),
        ("TPU v4", None, "info"),
    ],
)
def test_device_kinds_are_compared_with_pci_chips(
    kind: str, generation: str | None, verdict: str
) -> None:
    """JAX's device kind must match the generation on PCI; an unknown kind doesn't fail."""
    assert verdict == check("devices_visible").generation(kind, generation).verdict


def test_the_device_that_answers_wrongly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bad device of eight is counted and named, the others are not."""
    device_five_answers_wrongly(monkeypatch, check("devices_visible"))
    count, device = findings("devices_visible", "JAX-DEVICES-ANSWER")

    assert (count.found, count.expected, count.entity) == (7, 8, None)
    assert device.entity == "device:5"


# jax.every_device


def test_idle_device_is_named_and_exchange_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven of eight shares; the total of what they had is still right."""
    device_five_does_nothing(monkeypatch, check("every_device"))
    count, device = [finding for finding in findings("every_device") if finding.verdict == "fail"]

    assert (count.code, count.found, count.expected) == ("JAX-EVERY-SHARE", 7, 8)
    assert (device.entity, device.found) == ("device:5", "zeros")


def broken(patch: pytest.MonkeyPatch, name: str, function: Callable[..., Any]) -> list[Finding]:
    """Run `every_device` with one function broken, and return what failed."""
    patch.setattr(check("every_device"), name, function)
    return [finding for finding in findings("every_device") if finding.verdict == "fail"]


def test_device_computing_foreign_share_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Device 2 computes what device 3 should: its own share is missing."""
    shard = check("every_device").own_shard

    def swapped(x: jax.Array, y: jax.Array) -> jax.Array:
        honest, place = shard(x, y), jax.lax.axis_index("d")
        return jnp.where(place == 2, jax.lax.ppermute(honest, "d", [(3, 2)]), honest)

    _, device = broken(monkeypatch, "own_shard", swapped)

    assert (device.entity, device.found) == ("device:2", "the shard of device:3")


def test_a_total_without_one_share_names_whose(monkeypatch: pytest.MonkeyPatch) -> None:
    """All eight copies of the total lack the shard of device 3."""

    def without_three(shard: jax.Array) -> jax.Array:
        return jax.lax.psum(jnp.where(jax.lax.axis_index("d") == 3, 0, shard), "d")

    count, *devices = broken(monkeypatch, "total", without_three)

    assert (count.code, count.found, count.expected) == ("JAX-EVERY-TOTAL", 0, 8)
    assert [device.found for device in devices] == ["lacks the shard of device:3"] * 8


def test_one_wrong_copy_of_the_total_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven devices have the total, and device 6 is off by one in every number."""

    def one_off(shard: jax.Array) -> jax.Array:
        return jax.lax.psum(shard, "d") + (jax.lax.axis_index("d") == 6)

    count, device = broken(monkeypatch, "total", one_off)

    assert (count.found, device.entity) == (7, "device:6")
    assert device.found == "16384 of 16384 numbers wrong"


def test_the_wrong_neighbour_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data that went two devices on came from somebody else."""

    def two_on(shard: jax.Array, count: int) -> jax.Array:
        return jax.lax.ppermute(shard, "d", [(i, (i + 2) % count) for i in range(count)])

    count, first, *_ = broken(monkeypatch, "from_left", two_on)

    assert (count.code, count.found) == ("JAX-EVERY-NEIGHBOUR", 0)
    assert (first.entity, first.found) == ("device:0", "the shard of device:6")
