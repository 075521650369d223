"""Tests of the user's settings: never blamed on the machine, and they hide no fault of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.sessions import make_session, run_samples, sample
from tpustarter.checking.results.results import Result
from tpustarter.checking.run import behaviour_variables
from tpustarter.checking.run.runner import CheckEnded, CheckRunner, CheckStarted, FindingReported
from tpustarter.machine import frameworks

NAME = "SAMPLE_SETTING"


def codes(result: Result) -> list[tuple[str, str]]:
    """Return code and verdict of each finding."""
    return [(finding["code"], finding["verdict"]) for finding in result.findings]


def judged(folder: Path, value: str, *names: str) -> dict[str, Result]:
    """Run samples with the setting, and return their results by name."""
    return run_samples(folder, *names, env={NAME: value}, settings=(NAME,))


SHOWS = {"fail": "sum: 3, expected 2", "raise": "TypeError: not with this setting"}


@pytest.mark.parametrize("value", SHOWS)
def test_setting_is_blamed_for_its_own_failure_alone(value: str, tmp_path: Path) -> None:
    """A claim that holds without the setting is a warning; others keep their own verdict."""
    results = judged(tmp_path, value, "heeds_a_setting", "fails", "raises", "passes")
    changed, raised = results["heeds_a_setting"], results["raises"]

    assert ("warn", None) == (changed.status, changed.reason)
    assert [("SETTINGS-CHANGED", "warn"), ("SAMPLE-SUM", "ok")] == codes(changed)
    assert f"fails with {NAME}, and holds without" == changed.findings[0]["name"]
    assert SHOWS[value] == changed.findings[0]["found"]
    assert f"`unset {NAME}`" in changed.findings[0]["hint"]
    assert "fail" == results["fails"].status
    assert [("SAMPLE-SUM", "fail"), ("SETTINGS-SAME", "info")] == codes(results["fails"])
    assert ("error", "exception") == (raised.status, raised.reason)
    assert ("SETTINGS-SAME", "info") == codes(raised)[-1]
    assert [("SAMPLE-SUM", "ok")] == codes(results["passes"])


def test_process_ended_by_setting_has_no_verdict(tmp_path: Path) -> None:
    """A check that crashes under the user's settings is an error, never a pass."""
    result = judged(tmp_path, "crash", "heeds_a_setting")["heeds_a_setting"]

    assert ("error", "crashed") == (result.status, result.reason)
    assert [("SETTINGS-CHANGED", "warn")] == codes(result)
    assert "exit code 6" in result.findings[0]["found"]


def test_a_time_out_is_not_repeated(tmp_path: Path) -> None:
    """A check that times out isn't run a second time, because that would take as long again."""
    runner = CheckRunner(make_session(tmp_path, env={NAME: "hang"}, settings=(NAME,)))
    check = replace(sample("heeds_a_setting"), timeout_s=1.0)
    [result] = [event.result for event in runner.run([check]) if isinstance(event, CheckEnded)]

    assert ("error", "timeout") == (result.status, result.reason)
    assert ["probe-0.log"] == [path.name for path in tmp_path.glob("probe-*.log")]


def test_passing_claim_is_run_once(tmp_path: Path) -> None:
    """A claim that passes is run once, so settings cost nothing."""
    result = judged(tmp_path, "harmless", "heeds_a_setting")["heeds_a_setting"]

    assert ("pass", [("SAMPLE-SUM", "ok")]) == (result.status, codes(result))


def test_run_without_settings_repeats_nothing(tmp_path: Path) -> None:
    """Without settings, a failure isn't repeated."""
    result = run_samples(tmp_path, "heeds_a_setting", env={NAME: "fail"})["heeds_a_setting"]

    assert ("fail", [("SAMPLE-SUM", "fail")]) == (result.status, codes(result))


def test_remaining_checks_run_without_settings_after_several_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After several warnings, the remaining checks run without the settings."""
    monkeypatch.setattr(behaviour_variables, "MOST", 1)
    results = judged(tmp_path, "fail", "heeds_a_setting", "passes")

    assert "warn" == results["heeds_a_setting"].status
    assert ("SETTINGS-LEFT-OUT", "info") in codes(results["passes"])


def test_only_relevant_settings_are_shown(tmp_path: Path) -> None:
    """Only relevant settings are shown, and no event reports a failure that is taken back."""
    runner = CheckRunner(make_session(tmp_path, env={NAME: "fail"}, settings=(NAME,)))
    events = list(runner.run([sample("heeds_a_setting")]))

    [ended] = [event.result for event in events if isinstance(event, CheckEnded)]
    assert 1 == sum(isinstance(event, CheckStarted) for event in events)
    assert list(ended.findings) == [
        event.finding for event in events if isinstance(event, FindingReported)
    ]
    assert "fail" not in [verdict for _, verdict in codes(ended)]


IN_FORCE = [
    # environment, the settings of JAX in it
    ({"JAX_DISABLE_JIT": "1", "HOME": "/root", "TPU_NAME": "x"}, ("JAX_DISABLE_JIT",)),
    (
        {"XLA_FLAGS": "--xla_cpu_ftz=false", "LIBTPU_INIT_ARGS": "--x"},
        ("LIBTPU_INIT_ARGS", "XLA_FLAGS"),
    ),
    ({"XLA_FLAGS": " --xla_force_host_platform_device_count=8 "}, ()),
    ({"XLA_FLAGS": ""}, ()),
    (
        {
            "JAX_PLATFORMS": "cpu",
            "JAX_COORDINATOR_ADDRESS": "a:1",
            "JAX_NUM_CPU_DEVICES": "2",
            "JAX_COMPILATION_CACHE_DIR": "/x",
            "JAX_PROCESS_ID": "0",
        },
        (),
    ),
]


@pytest.mark.parametrize(("env", "names"), IN_FORCE)
def test_settings_are_variables_that_change_results(
    env: dict[str, str], names: tuple[str, ...]
) -> None:
    """Settings are variables that change results, but not those that select devices."""
    assert names == frameworks.list_behaviour_variables("jax", env)


def test_without_its_settings_a_machine_keeps_its_devices() -> None:
    """Without its settings, a machine keeps its number of virtual devices."""
    count = "--xla_force_host_platform_device_count=4"
    env = {"XLA_FLAGS": f"{count} --xla_cpu_ftz=false", "JAX_DISABLE_JIT": "1", "HOME": "/root"}

    without = frameworks.remove_behaviour_variables(env, ("JAX_DISABLE_JIT", "XLA_FLAGS"))

    assert {"XLA_FLAGS": count, "HOME": "/root"} == without
