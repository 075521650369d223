"""The self-check in a report: the last run, the host checks now, and the changes between runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter.checking.plan.interpreters import Interpreter, read_framework_versions
from tpustarter.core import state
from tpustarter.report import make_report
from tpustarter.report.collect import check_runs
from tpustarter.report.collect.collector import ReportContext


@pytest.fixture
def context(tmp_path: Path) -> ReportContext:
    """Return a v5e machine with a stub of JAX."""
    root = tmp_path / "root"
    root.mkdir()
    machine = lay_out(root, "v5e", chips=4, thp="always [madvise] never")
    make_python(tmp_path / "v", jax="0.12.0.1", libtpu="0.0.50.1")
    python = Interpreter(
        tmp_path / "v/bin/python", "--python", read_framework_versions(tmp_path / "v")
    )
    return ReportContext(machine, tmp_path, python)


def sections(context: ReportContext) -> dict[str, Any]:
    """Return the sections of a report by name."""
    made = make_report.make_report(
        context, query_frameworks=False, only=("last_run", "checks", "changes")
    )
    return {one["name"]: one for one in made.document["sections"]}


def kept(**frameworks: str) -> dict[str, Any]:
    """Return a report of the self-check, as `--save` keeps it."""
    return {
        "schema": "tpustarter.report/1",
        "tool": {"version": "0.0.9"},
        "started": "2026-11-20T10:00:00+00:00",
        "target": {
            "python": "~/tpu/bin/python",
            "python_version": "3.12.1",
            "platform": "tpu",
            "kind": "TPU v5 lite",
            "frameworks": frameworks,
            "env": {},
            "settings": [],
        },
        "host": {"chips": 8, "generation": "v5e"},
        "selection": {"level": "quick", "ids": []},
        "results": [
            {"id": "host.chips", "status": "pass", "findings": []},
            {"id": "jax.every_device", "status": "pass", "findings": []},
        ],
        "verdict": "healthy",
        "verified_on": "tpu",
    }


def test_host_warnings_are_reported_with_hints(context: ReportContext) -> None:
    """Host warnings are reported with their hints; what passes is only counted."""
    facts = sections(context)["checks"]["facts"]

    assert "HOST-HUGE-PAGES" in [one["code"] for one in facts["findings"]]
    assert facts["counts"]["pass"] > 0
    assert {"pass"} & {one["status"] for one in facts["findings"]} == set()


def test_changes_since_last_good_run_are_reported(context: ReportContext) -> None:
    """Versions and chips that changed since the last good run are reported."""
    bad = {**kept(jax="0.1"), "verdict": "unhealthy"}
    state.save_state("saved-20261119-100000-tpu", kept(jax="0.3"))
    state.save_state("saved-20261120-100000-tpu", kept(jax="0.10.2", jaxlib="0.12.0.1"))
    state.save_state("saved-20261121-100000-tpu", bad)
    state.save_state("saved-99990101-100000-tpu", kept(jax="9.9"))  # by a wrong clock
    facts = sections(context)["changes"]["facts"]
    versions = {one["name"]: (one["before"], one["now"]) for one in facts["versions"]}

    assert ("2026-11-20T10:00:00+00:00", "healthy") == (facts["since"], facts["verdict_then"])
    assert ("0.10.2", "0.12.0.1") == versions["jax"]
    assert ("absent", "0.0.50.1") == versions["libtpu"]
    assert [{"name": "chips", "before": "8", "now": "4"}] == facts["machine"]
    assert "jax.every_device" not in [one["id"] for one in facts["results"]]


def test_missing_good_run_is_reported_with_command(context: ReportContext) -> None:
    """A report without a saved good run names the command that saves one."""
    found = sections(context)

    assert "--save" in found["changes"]["why"]
    assert "has not been run here" in found["last_run"]["why"]


def test_last_run_is_reported_with_its_devices(context: ReportContext) -> None:
    """The last run's verdict is reported with the devices that it ran on."""
    state.save_state(
        "last-check",
        {
            "when": "2026-11-20T10:00:00+00:00",
            "level": "quick",
            "ids": [],
            "exit_code": 1,
            "counts": {"pass": 30, "fail": 1},
            "headline": "1 of 31 claims fails on TPU v5e",
            "verdict": "unhealthy",
            "verified_on": "tpu",
        },
    )
    facts = sections(context)["last_run"]["facts"]

    assert ("unhealthy", "tpu", 1) == (
        facts["verdict"],
        facts["verified_on"],
        facts["counts"]["fail"],
    )


def test_newer_run_of_named_checks_is_reported(context: ReportContext) -> None:
    """A run of some checks is a run, too, until a whole one is newer."""
    named = {
        "when": "2026-11-20T11:00:00+00:00",
        "ids": ["torch_xla.*"],
        "level": "quick",
        "counts": {"pass": 3},
        "verdict": "healthy",
        "verified_on": "cpu",
        "headline": "3 claims hold",
    }
    whole = {**named, "when": "2026-11-20T10:00:00+00:00", "ids": []}
    state.save_state("last-named-check", named)
    assert ["torch_xla.*"] == sections(context)["last_run"]["facts"]["ids"]
    state.save_state("last-check", whole)
    assert ["torch_xla.*"] == sections(context)["last_run"]["facts"]["ids"]
    state.save_state("last-check", {**whole, "when": "2026-11-20T12:00:00+00:00"})
    assert "ids" not in sections(context)["last_run"]["facts"]


def test_pseudonyms_of_earlier_reports_are_kept() -> None:
    """The pseudonyms of earlier reports are kept, so reports can be compared."""
    check_runs.save_pseudonyms({"host": {"a": 1}})

    assert {"host": {"a": 1}} == check_runs.read_saved_pseudonyms()
