"""Tests of stored programs: a second run loads them, says so, and judges the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.output.results_text import render_results
from tpustarter.checking.output.run_document import make_json_document
from tpustarter.checking.results.results import Run

PHRASE = "compiled by earlier runs"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path))


def check(check_id: str, *, fresh: bool = False) -> Run:
    """Run one check on virtual devices."""
    check = MachineCheck(CheckRequest((check_id,), python=sys.executable, devices=2, fresh=fresh))
    for _ in check.events():
        pass
    assert ["pass"] == [result.status for result in check.run.results]
    return check.run


def test_second_run_loads_and_says_so(tmp_path: Path) -> None:
    """A second run reports loaded programs in JSON and with `-v`; `fresh` compiles everything."""
    first, again = check("jax.narrowing"), check("jax.narrowing")
    fresh = check("jax.narrowing", fresh=True)

    assert first.stored_programs < again.stored_programs
    assert again.stored_programs == make_json_document(again)["stored_programs"]
    assert PHRASE in render_results(again, verbose=True)
    assert PHRASE not in render_results(again)
    assert 0 == fresh.stored_programs
    assert PHRASE not in render_results(fresh, verbose=True)


def test_checks_about_compiling_load_nothing(tmp_path: Path) -> None:
    """Checks about compiling neither load nor store programs."""
    check("jax.recompilation")

    assert not list(tmp_path.glob("programs/*/*"))


def test_setting_without_a_cache_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the user turns JAX's own cache off, the probe's cache is off too."""
    monkeypatch.setenv("JAX_ENABLE_COMPILATION_CACHE", "false")
    check("jax.narrowing")

    assert not list(tmp_path.glob("programs/*/*"))
