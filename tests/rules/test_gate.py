"""The gate: every lane has its script and row, and is skipped only if nothing it uses changed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import structure
from tests.support.lanes import LANES, Lane
from tests.support.pages import CONTRIBUTING, compare_table
from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S

pytestmark = pytest.mark.skipif(
    not (REPOSITORY / ".ci").is_dir(), reason="The gate is in the checkout only."
)


def test_the_guide_has_the_table_of_lanes(request: pytest.FixtureRequest) -> None:
    """Written anew with `--golden`."""
    rows = [
        f"| `{lane.name}` | {lane.tries} | `{lane.command}` | {lane.seconds} |" for lane in LANES
    ]
    head = ["| lane | what it tries | by itself | seconds |", "|---|---|---|---|"]
    compare_table(CONTRIBUTING, [*head, *rows], golden=request.config.getoption("--golden"))


def test_every_lane_has_script_and_every_script_runs() -> None:
    """The command of the README is the one lane that needs none."""
    named = {lane.name.partition("-")[0] for lane in LANES} - {"suite"}

    assert named == {path.name for path in (REPOSITORY / ".ci" / "lanes").iterdir()}


def test_folders_skipped_by_pytest_are_lanes() -> None:
    """A folder that neither the suite nor a lane runs would never be run."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    (line,) = [one for one in text.splitlines() if one.startswith("norecursedirs")]
    names = {lane.name for lane in LANES}
    folders = [path.name for path in (REPOSITORY / "tests").iterdir() if [*path.glob("test_*.py")]]

    assert {name for name in folders if f'"{name}"' in line} == names & {*folders}


def imported_by(lane: Lane) -> set[str]:
    """Return the modules of the program that a lane's tests import, and what those import."""
    graph = structure.graph(REPOSITORY / "tpustarter")
    files = [*(REPOSITORY / "tests" / lane.name).glob("*.py"), REPOSITORY / "tests/conftest.py"]
    trees = [structure.parse(path) for path in files]
    names = {name for tree in trees for name in structure.imported_names(tree)}
    names |= {name.rpartition(".")[0] for name in names}
    reached: set[str] = set()
    ahead = {name for name in graph if f"tpustarter.{name}" in names}
    while ahead:
        reached |= ahead
        ahead = {one for name in ahead for one in graph[name]} - reached
    return reached


@pytest.mark.parametrize("lane", [lane for lane in LANES if lane.unseen], ids=lambda one: one.name)
def test_ignored_paths_of_lane_exist_and_are_unimported(lane: Lane) -> None:
    """A change of such a folder alone leaves the lane out."""
    seen = [
        name
        for name in imported_by(lane)
        if f"tpustarter/{name.replace('.', '/')}".startswith(lane.unseen)
    ]

    assert [] == [name for name in lane.unseen if not (REPOSITORY / name).exists()]
    assert [] == seen


@pytest.fixture
def gate(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the gate's program, on a repository of a test's own."""
    found = importlib.util.spec_from_file_location("gate", REPOSITORY / ".ci" / "gate.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "gate", module)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "GREEN", home / "green.json")
    monkeypatch.delenv("TPUSTARTER_GATE", raising=False)
    for name in ("seen/a.py", "unseen/b.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("1\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)
    return module


LANE = Lane(name="lane", tries="something", command="-", seconds=10, unseen=("unseen/",))


def test_lane_is_skipped_only_if_inputs_are_unchanged(
    gate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unknown, too long ago, asked for, changed, new and not yet known to git: it runs."""
    now_s = 1e9
    assert not gate.why_unchanged(LANE, {}, now_s)

    gate.keep_green([gate.Run(LANE, tmp_path / "log", code=0)], {}, now_s)
    green = json.loads(gate.GREEN.read_text())
    (tmp_path / "unseen/b.py").write_text("2\n")

    assert "nothing that it sees has changed" in gate.why_unchanged(LANE, green, now_s)
    assert not gate.why_unchanged(LANE, green, now_s + gate.WEEK_S + 1)
    assert not gate.why_unchanged(LANE, {"lane": {"commit": "0" * 40, "run": now_s}}, now_s)
    (tmp_path / "seen/new.py").write_text("")
    assert not gate.why_unchanged(LANE, green, now_s)
    (tmp_path / "seen/new.py").unlink()
    (tmp_path / "seen/a.py").write_text("2\n")
    assert not gate.why_unchanged(LANE, green, now_s)
    (tmp_path / "seen/a.py").write_text("1\n")
    monkeypatch.setenv("TPUSTARTER_GATE", "whole")
    assert not gate.why_unchanged(LANE, green, now_s)


def test_uncommitted_change_is_never_remembered_as_green(gate: ModuleType, tmp_path: Path) -> None:
    """An uncommitted change is never remembered as green, because the commit is another state."""
    (tmp_path / "seen/a.py").write_text("2\n")

    gate.keep_green([gate.Run(LANE, tmp_path / "log", code=0)], {}, 1e9)

    assert not gate.GREEN.exists()


def test_slow_machine_keeps_time_for_the_suite(
    gate: ModuleType, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes not begun or not ended in time are named, do not fail, and are not green."""
    monkeypatch.setattr(gate, "command_of", lambda _: ["sleep", "600"])
    late, cut = (gate.Run(LANE, home / name) for name in ("late", "cut"))
    monkeypatch.setattr(gate, "BEGIN_S", -1)
    gate.run(late, home)
    monkeypatch.setattr(gate, "BEGIN_S", gate.END_S)
    monkeypatch.setattr(gate, "END_S", 0)
    gate.run(cut, home)
    gate.keep_green([late, cut], {}, 1e9)

    assert ["not begun", "not ended"] == [one.row().split(": ")[1][:9] for one in (late, cut)]
    assert not any(one.has_failed for one in (late, cut))
    assert {} == json.loads(gate.GREEN.read_text())


def test_summary_names_failures_and_slow_lanes_and_tests(gate: ModuleType, tmp_path: Path) -> None:
    """The summary names failures, slow lanes and slow tests, with a failed lane's last 40 lines."""
    (tmp_path / "bad").write_text("".join(f"line {number}\n" for number in range(100)))
    bad = gate.Run(
        LANE, tmp_path / "bad", code=1, seconds=16.0, durations=[(9.0, "slow"), (1.0, "b")]
    )
    good = gate.Run(LANE, tmp_path / "good", code=0, seconds=15.0)
    lines = gate.summary([bad, good])

    assert [(True, True), (False, False)] == [
        ("FAILED" in row, "WARNING" in row) for row in lines[1:3]
    ]
    assert lines[4].split() == ["9.0", "s", "lane:", "slow"]
    assert lines[-40:] == [f"line {number}" for number in range(60, 100)]


def test_every_lane_runs_once_and_after_its_environment(
    gate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every lane runs once, after its environment, two at a time beside those that mostly wait."""
    told: list[tuple[str, str]] = []
    is_last = threading.Event()

    def run(one: Any, _: Path) -> None:
        told.append(("run", one.lane.name))
        if one.lane.name == "last":
            is_last.set()

    def prepare(one: Any, _: Path) -> None:
        is_last.wait(HANG_S)  # an environment takes longer than all lanes that need none
        told.append(("made", one.lane.name))

    monkeypatch.setattr(gate, "run", run)
    monkeypatch.setattr(gate, "prepare_lane", prepare)
    lanes = [
        replace(LANE, name=name, is_prepared="made" in name, is_beside="waits" in name)
        for name in ("first", "waits", "waits, made", "made", "last")
    ]
    runs = [gate.Run(lane, tmp_path) for lane in lanes]
    gate.run_all(runs, tmp_path)

    assert sorted(lane.name for lane in lanes) == sorted(name for did, name in told if did == "run")
    for name in ("waits, made", "made"):
        assert told.index(("made", name)) < told.index(("run", name))
    assert {3} == {one.shares for one in runs}
