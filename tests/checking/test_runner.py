"""Tests of the runner with real processes: one test per failure mode, each bounded."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.places import REPOSITORY
from tests.support.processes import until
from tests.support.sessions import SAMPLES, make_session, run_samples, sample
from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.results.headline import format_headline
from tpustarter.checking.results.results import Result
from tpustarter.checking.run import runner as runner_module
from tpustarter.checking.run.runner import (
    CheckEnded,
    CheckRunner,
    CheckStarted,
    CheckWaiting,
    FindingReported,
    sort_checks,
)
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import reached_limits
from tpustarter.machine.machine import Machine
from tpustarter.running import lease

OUTCOMES = {
    # name: status, reason, part of the detail
    "passes": ("pass", None, ""),
    "warns": ("warn", None, ""),
    "fails": ("fail", None, ""),
    "raises": ("error", "exception", "RuntimeError: no TPU for you"),
    "heeds_a_setting": ("pass", None, ""),
    "hangs": ("error", "timeout", "within 2 s"),
    "hangs_holding_the_gil": ("error", "timeout", "within 2 s"),
    "ignores_term": ("error", "timeout", "within 2 s"),
    "segfaults": ("error", "crashed", "SIGSEGV"),
    "runs_out_of_files": (
        "error",
        "crashed",
        reached_limits.describe_limit("files", Machine()).what,
    ),
    "exits_silently": ("error", "protocol", "without a verdict"),
    "leaves_child": ("pass", None, ""),
    "floods": ("pass", None, ""),
    "floods_findings": ("error", "protocol", "more than 10000 events"),
    "invents_a_verdict": ("error", "exception", "verdict is 'failed'"),
    "half_line": ("error", "protocol", "something that is not an event"),
    "speaks_nonsense": ("error", "protocol", "something that is not an event: 'hello'"),
    "forges": ("error", "protocol", "something that is not an event: 'hello'"),
    "writes_markup": ("fail", None, ""),
    "syntax_error": ("error", "load", "line 6: invalid syntax"),
    "imports_what_is_missing": ("error", "load", "ModuleNotFoundError"),
    "needs_memory": ("error", "exception", "MemoryError"),
    "changes_settings": ("error", "protocol", "left changed: $SAMPLE_SECRET"),
    "hears_nothing": ("skip", "no-answer", "nobody answers"),
    "hears_nothing_but_no": ("fail", None, ""),
    "says_nothing": ("error", "protocol", "without a finding"),
    "yields_text": ("error", "protocol", "yielded a str"),
    "exits_by_exception": ("error", "exception", "SystemExit: 3"),
    "with_env": ("pass", None, ""),
    "after_fails": ("pass", None, ""),
    "tells_a_secret": ("fail", None, ""),
    "soaks": ("pass", None, ""),
    "soaks_deaf": ("error", "timeout", "within 2 s"),
}

LOGGED = {
    "segfaults": ("Segmentation fault", "in run"),
    "hangs": ("hangs.py", "Timeout"),
    "hangs_holding_the_gil": ("hangs_holding_the_gil.py", "Timeout"),
    "tells_a_secret": ("[$SAMPLE_TOKEN]",),
}
"""Texts in the logs of samples, such as the stack of a hang while C code holds the GIL."""


def ours(marker: str) -> list[str]:
    """Return the processes whose command line names `marker`."""
    listing = subprocess.run(
        ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    lines = [line for line in listing.splitlines() if marker in line and " ps " not in line]
    return [line for line in lines if not line.split()[1].startswith("Z")]


def until_ended(marker: str) -> None:
    """Wait for the end of the processes that name `marker`."""
    until(lambda: not ours(marker), lambda: f"the end of {ours(marker)}")


def until_asleep(folder: Path) -> None:
    """Wait until a check that hangs has said in its log that it is about to."""
    log = folder / "probe-0.log"
    until(lambda: log.exists() and b"about to sleep" in log.read_bytes(), "the check")


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_every_pathology_has_its_outcome(name: str, tmp_path: Path) -> None:
    """Every sample ends as its name says, and leaves no process, secret or large log."""
    status, reason, detail = OUTCOMES[name]
    result = run_samples(tmp_path, name, env={"SAMPLE_TOKEN": "s3cr3t-value"})[name]
    logs = [path.read_bytes() for path in tmp_path.glob("probe-*.log")]

    assert (status, reason) == (result.status, result.reason)
    assert detail in result.detail
    assert [] == [text for text in LOGGED.get(name, ()) if text not in result.log]
    assert "s3cr3t-value" not in str(result)
    assert os.environ["HOME"] not in str(result)
    assert (name == "floods") == any(b"bytes left out]" in log for log in logs)
    assert all(len(log) < 2 * 2**20 for log in logs)
    assert ours(str(tmp_path)) == []


def test_every_sample_has_an_outcome() -> None:
    """No sample lies there unused."""
    assert {path.stem for path in (SAMPLES / "host").glob("*.py")} == set(OUTCOMES)


def test_other_checks_run_after_crash_and_hang(tmp_path: Path) -> None:
    """A check that crashes or hangs costs only itself."""
    results = run_samples(tmp_path, "passes", "segfaults", "warns", "hangs", "with_env", "fails")

    # One with an environment needs a process of its own, and those come last.
    assert {
        "passes": "pass",
        "segfaults": "error",
        "warns": "warn",
        "hangs": "error",
        "fails": "fail",
        "with_env": "pass",
    } == {name: result.status for name, result in results.items()}
    assert [*results][-1] == "with_env"
    assert ["SAMPLE-SUM"] == [finding["code"] for finding in results["segfaults"].findings]


def test_checks_of_a_framework_share_one_warm_process(tmp_path: Path) -> None:
    """Two checks are served by one process, isolated ones by two."""
    run_samples(tmp_path, "passes", "warns")
    warm = len(list(tmp_path.glob("probe-*.log")))
    run_samples(tmp_path, "passes", "warns", isolate=True)

    assert (1, 3) == (warm, len(list(tmp_path.glob("probe-*.log"))))


def test_a_check_whose_dependency_failed_is_skipped(tmp_path: Path) -> None:
    """`AFTER` skips a check and says why."""
    result = run_samples(tmp_path, "after_fails", "fails")["after_fails"]

    assert ("skip", "dependency") == (result.status, result.reason)
    assert result.detail == "after host.fails failed"


def test_order_follows_after_and_survives_a_circle() -> None:
    """Checks come after those that they name, and a cycle doesn't hang."""
    first, second = sample("fails"), sample("after_fails")

    assert [first, second] == sort_checks([second, first])


def test_stop_ends_run_and_reports_remaining_checks(tmp_path: Path) -> None:
    """Checks after a stop are `notrun`, none is lost."""
    runner = CheckRunner(make_session(tmp_path))
    results = []
    endless = replace(sample("ignores_term"), timeout_s=600)
    for event in runner.run([endless, sample("passes")]):
        if isinstance(event, CheckStarted):
            runner.stop(signal.SIGINT)
        if isinstance(event, CheckEnded):
            results.append((event.result.status, event.result.reason))

    assert results == [("notrun", "interrupted")] * 2
    assert ours(str(tmp_path)) == []


def soak(folder: Path, name: str, minutes: float, stops: int) -> tuple[list[str], list[Result]]:
    """Run a soaking check, stop it after `stops` reports, and return progress and results."""
    session = make_session(folder)
    session.target = {**session.target, "minutes": minutes}
    runner = CheckRunner(session)
    told: list[str] = []
    results: list[Result] = []
    for event in runner.run([sample(name), sample("passes")]):
        if isinstance(event, CheckWaiting) and event.progress:
            told.append(event.progress)
            if len(told) <= stops:
                runner.stop(signal.SIGINT)
        elif isinstance(event, CheckEnded):
            results.append(event.result)
    return told, results


def test_soaking_check_runs_for_minutes_beyond_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A soaking check reports its progress once a second, and the next check runs after it.

    The runner's clock goes on by a quarter of a second for each event: every fourth is told.
    """
    ticks = itertools.count()
    monkeypatch.setattr(runner_module, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 4))
    told, results = soak(tmp_path, "soaks", 2.5 / 60, stops=0)
    rounds = results[0].findings[0]["found"]

    assert [one.status for one in results] == ["pass", "pass"]
    assert rounds // 4 - 1 <= len(told) <= rounds // 4 + 1
    assert all(int(text.split()[0]) <= rounds for text in told)


def test_stopped_soaking_check_keeps_its_findings(tmp_path: Path) -> None:
    """A soaking check stopped early keeps its findings; the remaining checks are not run."""
    _, results = soak(tmp_path, "soaks", 60, stops=1)

    assert [one.status for one in results] == ["pass", "notrun"]
    assert results[0].findings[0]["code"] == "SAMPLE-ROUNDS"


def test_soaking_check_stopped_at_start_learns_of_stop(tmp_path: Path) -> None:
    """A soaking check that is stopped before it starts still receives the stop."""
    session = make_session(tmp_path)
    session.target = {**session.target, "minutes": 60}
    runner = CheckRunner(session)
    results: list[Result] = []
    for event in runner.run([sample("soaks")]):
        if isinstance(event, CheckStarted):
            runner.stop(signal.SIGINT)
        elif isinstance(event, CheckEnded):
            results.append(event.result)

    assert ["pass"] == [one.status for one in results]  # an hour later, were it not told


def test_soaking_check_ignoring_stop_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that ignores the stop is interrupted, not timed out, and keeps its findings."""
    monkeypatch.setattr(runner_module, "FINISH_S", 1.0)
    told, [first, _] = soak(tmp_path, "soaks_deaf", 60, stops=1)

    assert (first.status, first.reason) == ("notrun", "interrupted")
    assert first.detail == "still running 1 s after it was asked to end"
    assert [1, runner_module.ENDING] == [len(first.findings), told[-1]]


def test_two_stops_at_once_end_a_soaking_check(tmp_path: Path) -> None:
    """Two stops at once end a soaking check without waiting for its output."""
    session = make_session(tmp_path)
    session.target = {**session.target, "minutes": 60}
    runner = CheckRunner(session)
    results: list[Result] = []
    for event in runner.run([sample("soaks_deaf")]):
        if isinstance(event, FindingReported):
            runner.stop(signal.SIGINT)
            runner.stop(signal.SIGINT)
        elif isinstance(event, CheckEnded):
            results.append(event.result)

    assert [(one.status, one.reason) for one in results] == [("notrun", "interrupted")]


def test_stop_after_last_check_stops_nothing() -> None:
    """A stop after the last check stops nothing, and the run isn't marked as stopped."""
    check = MachineCheck(CheckRequest(ids=("host.passes",)), checks=SAMPLES)
    for event in check.events():
        if isinstance(event, CheckEnded):
            assert check.is_over
            check.stop(signal.SIGINT)

    assert check.run.stopped_by is None
    assert "stopped" not in format_headline(check.run)


def test_second_stop_ends_unresponsive_soaking_check(tmp_path: Path) -> None:
    """A second stop ends an unresponsive check without a verdict; its findings are kept."""
    _, results = soak(tmp_path, "soaks_deaf", 60, stops=2)

    assert [(one.status, one.reason) for one in results] == [("notrun", "interrupted")] * 2
    assert len(results[0].findings) == 1


def test_a_killed_supervisor_takes_the_child_with_it(tmp_path: Path) -> None:
    """Killing the supervisor from outside ends the check as lost, and leaves nothing."""
    runner = CheckRunner(make_session(tmp_path))
    result = None
    is_killed = False
    for event in runner.run([replace(sample("hangs"), timeout_s=600)]):
        if isinstance(event, CheckEnded):
            result = event.result
        elif not isinstance(event, CheckStarted) and not is_killed:
            (line,) = [line for line in ours(str(tmp_path)) if " supervise " in line]
            os.kill(int(line.split()[0]), signal.SIGKILL)
            is_killed = True

    assert result is not None
    assert ("error", "lost") == (result.status, result.reason)
    until_ended(f"{tmp_path}/probe.pyz")


def test_slow_reader_turns_no_pass_into_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that is read late still counts, so a slow reader causes no time-out."""
    late_s = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s)
    monkeypatch.setattr(runner_module, "time", clock)
    result = None
    for event in CheckRunner(make_session(tmp_path)).run([sample("passes")]):
        if isinstance(event, FindingReported):  # the reader is busy elsewhere past the limit
            until(lambda: is_done(tmp_path), "the verdict in the pipe")
            late_s = 10_000.0
        elif isinstance(event, CheckEnded):
            result = event.result

    assert result is not None
    assert "pass" == result.status


def is_done(folder: Path) -> bool:
    """Return whether a check is over: its process waits, and no timer watches it."""
    [child] = [line.split()[0] for line in ours(f"{folder}/probe.pyz child")]
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{child}/status").read_text().splitlines()
    )
    return status["State"].startswith("S") and status["Threads"] == "1"


def test_invalid_interpreter_is_one_problem(tmp_path: Path) -> None:
    """A program that is no Python, and a Python that is too old, are named."""
    session = make_session(tmp_path)
    session.python = Path("/bin/cat")
    runner = CheckRunner(session)

    with pytest.raises(Problem, match="did not answer as a Python"):
        runner.read_versions()


def test_only_one_run_may_own_accelerator() -> None:
    """The second to ask for the lease is told who holds it, and it is free again afterwards."""
    with (
        lease.hold_lease("lesson jax/precision"),
        pytest.raises(Problem, match="lesson jax/precision") as second,
    ):
        lease.hold_lease("tpustarter check").__enter__()

    assert second.value.code == ExitCode.BUSY
    with lease.hold_lease("tpustarter check"):
        pass


def test_the_lease_lasts_as_long_as_the_supervisor(tmp_path: Path) -> None:
    """A lease lasts until the probe of its dead holder has ended."""
    with lease.hold_lease("a run") as descriptor:
        runner = CheckRunner(make_session(tmp_path, lease=descriptor))
        runner.read_versions()
    with pytest.raises(Problem, match="a run"):
        lease.hold_lease("another").__enter__()
    runner.close()
    with lease.hold_lease("another"):
        pass


def test_early_process_learns_its_target_later(tmp_path: Path) -> None:
    """A process that starts early learns its target once the plan is made."""
    session = make_session(tmp_path)
    runner = CheckRunner(session)
    session.target = {"root": "/nowhere"}
    runner.start_early()
    session.target = {"root": "/", "platform": "tpu"}
    runner.read_versions()

    needy = replace(sample("passes"), needs={"platform": "gpu"})
    results = [event.result for event in runner.run([needy]) if isinstance(event, CheckEnded)]

    assert [("skip", "this run has only a TPU, and a GPU is needed")] == [
        (r.status, r.detail) for r in results
    ]


STARTS = """
import subprocess, sys
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.machine_check import MachineCheck
popen, loaded = subprocess.Popen, []
def record(*words, **options):
    loaded.append("tpustarter.checking.plan.framework_plan" in sys.modules)
    return popen(*words, **options)
subprocess.Popen = record
list(MachineCheck(CheckRequest(level="static")).events())
print(loaded, "tpustarter.checking.plan.framework_plan" in sys.modules)
"""


def test_process_starts_before_planning_modules_are_imported(tmp_path: Path) -> None:
    """The process starts before the planning modules are imported, so both run in parallel."""
    env = {**os.environ, "TPUSTARTER_HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    said = subprocess.run(
        [sys.executable, "-c", STARTS], capture_output=True, text=True, check=True, env=env
    )

    assert "[False] True\n" == said.stdout
