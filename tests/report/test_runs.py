"""What the self-check says in a report: the last run, the host checks now, and what has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.stubs import make_python
from tpustarter import state
from tpustarter.checking.interpreters import Interpreter, installed
from tpustarter.report import making, runs
from tpustarter.report.collecting import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Return a v5e machine with a stub of JAX."""
    root = tmp_path / "root"
    root.mkdir()
    machine = lay_out(root, "v5e", chips=4, thp="always [madvise] never")
    make_python(tmp_path / "v", jax="0.12.0.1", libtpu="0.0.50.1")
    python = Interpreter(tmp_path / "v/bin/python", "--python", installed(tmp_path / "v"))
    return Context(machine, tmp_path, python)


def sections(context: Context) -> dict[str, Any]:
    """Return the sections of a report by name."""
    made = making.make(context, asks=False, only=("last_run", "checks", "changes"))
    return {one["name"]: one for one in made.document["sections"]}


def kept(**frameworks: str) -> dict[str, Any]:
    """Return a report of the self-check, as `--save` keeps it."""
    return {
        "schema": "tpustarter.report/1", "tool": {"version": "0.0.9"},
        "started": "2026-11-20T10:00:00+00:00",
        "target": {"python": "~/tpu/bin/python", "python_version": "3.12.1", "platform": "tpu",
                   "kind": "TPU v5 lite", "frameworks": frameworks, "env": {}, "settings": []},
        "host": {"chips": 8, "generation": "v5e"}, "selection": {"level": "quick", "ids": []},
        "results": [{"id": "host.chips", "status": "pass", "findings": []},
                    {"id": "jax.every_device", "status": "pass", "findings": []}],
        "verdict": "healthy", "verified_on": "tpu",
    }  # fmt: skip


def test_what_host_checks_warn_of_is_told_with_what_to_do(context: Context) -> None:
    """And what passes is only counted."""
    facts = sections(context)["checks"]["facts"]

    assert "HOST-HUGE-PAGES" in [one["code"] for one in facts["findings"]]
    assert facts["counts"]["pass"] > 0
    assert {"pass"} & {one["status"] for one in facts["findings"]} == set()


def test_what_changed_since_the_last_good_run_is_told(context: Context) -> None:
    """Versions and chips; what only the kept run had a device for is no change."""
    bad = {**kept(jax="0.1"), "verdict": "unhealthy"}
    state.save("saved-20261119-100000-tpu", kept(jax="0.3"))
    state.save("saved-20261120-100000-tpu", kept(jax="0.10.2", jaxlib="0.12.0.1"))
    state.save("saved-20261121-100000-tpu", bad)
    facts = sections(context)["changes"]["facts"]
    versions = {one["name"]: (one["before"], one["now"]) for one in facts["versions"]}

    assert ("2026-11-20T10:00:00+00:00", "healthy") == (facts["since"], facts["verdict_then"])
    assert ("0.10.2", "0.12.0.1") == versions["jax"]
    assert ("absent", "0.0.50.1") == versions["libtpu"]
    assert [{"name": "chips", "before": "8", "now": "4"}] == facts["machine"]
    assert "jax.every_device" not in [one["id"] for one in facts["results"]]


def test_where_nothing_is_kept_that_is_told(context: Context) -> None:
    """With the command that keeps a run."""
    found = sections(context)

    assert "--save" in found["changes"]["why"]
    assert "has not been run here" in found["last_run"]["why"]


def test_the_last_run_is_told(context: Context) -> None:
    """Its verdict never without what it was verified on."""
    state.save("last-check", {
        "when": "2026-11-20T10:00:00+00:00", "level": "quick", "ids": [], "exit_code": 1,
        "counts": {"pass": 30, "fail": 1}, "headline": "1 of 31 claims fails on TPU v5e",
        "verdict": "unhealthy", "verified_on": "tpu"})  # fmt: skip
    facts = sections(context)["last_run"]["facts"]

    assert ("unhealthy", "tpu", 1) == (
        facts["verdict"],
        facts["verified_on"],
        facts["counts"]["fail"],
    )


def test_the_names_of_earlier_reports_are_remembered() -> None:
    """They are what makes two reports comparable."""
    runs.remember_names({"host": {"a": 1}})

    assert {"host": {"a": 1}} == runs.remembered_names()
