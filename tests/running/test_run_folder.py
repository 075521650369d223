"""A run's folder is gone with the run; the logs of one that failed stay, without secrets."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from tests.support.sessions import SAMPLES
from tpustarter.checking.selfcheck import Request, SelfCheck
from tpustarter.problem import Problem
from tpustarter.redact import Redactor
from tpustarter.running import run_folder

SECRET = "xoxb-123456789012-abcdefghijkl"


def everything_below(folder: Path) -> list[str]:
    """Return the files below a folder, by their names from there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def run_check(name: str) -> None:
    """Run one sample check to its end."""
    list(SelfCheck(Request(ids=(f"host.{name}",)), checks=SAMPLES).events())


@pytest.mark.parametrize("name", ["passes", "warns", "floods"])
def test_a_run_that_did_not_fail_leaves_nothing(name: str, home: Path) -> None:
    """No log, no probe and nothing that was compiled."""
    run_check(name)

    assert [] == [name for name in everything_below(home) if "runs" in name or "log" in name]


@pytest.mark.parametrize("name", ["raises", "segfaults"])
def test_the_log_of_a_run_that_failed_is_kept(name: str, home: Path) -> None:
    """Below `logs`, in a folder that only its user may open."""
    run_check(name)
    kept = list((home / "state/logs").iterdir())

    assert [] == everything_below(home / "state/runs")
    assert [0o700] == [path.stat().st_mode & 0o777 for path in kept]
    assert ["probe-0.log"] == [path.name for path in kept[0].iterdir()]


def test_a_run_whose_python_is_none_keeps_its_log(home: Path, tmp_path: Path) -> None:
    """What it wrote is quoted in one line alone."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no licence\necho found\n")
    python.chmod(0o755)
    with pytest.raises(Problem):
        list(SelfCheck(Request(ids=("host.passes",), python=str(python)), checks=SAMPLES).events())
    (log,) = (home / "state/logs").rglob("probe-0.log")

    assert "no licence\nfound\n" == log.read_text()


def test_what_is_kept_has_no_secret() -> None:
    """Logs of the probe and of libtpu stay, without the token; the rest goes."""
    folder = run_folder.make()
    (folder / "tpu_logs").mkdir()
    (folder / "probe-0.log").write_text(f"first\n{SECRET}\n")
    (folder / "tpu_logs" / "tpu_driver.INFO").write_text(f"--token {SECRET}\n")
    (folder / "probe-1.log").touch()
    (folder / "probe.pyz").write_text("zip")
    run_folder.keep_logs(folder, Redactor({}))
    kept = folder.parents[1] / "logs" / folder.name

    assert not folder.exists()
    assert ["probe-0.log", "tpu_driver.INFO"] == everything_below(kept)
    assert "first\n[token]\n" == (kept / "probe-0.log").read_text()
    assert SECRET not in (kept / "tpu_driver.INFO").read_text()


def test_only_the_last_logs_are_kept() -> None:
    """They do not pile up."""
    for _ in range(run_folder.KEPT + 3):
        folder = run_folder.make()
        (folder / "probe-0.log").write_text("x")
        run_folder.keep_logs(folder, Redactor({}))

    assert run_folder.KEPT == len(list((folder.parents[1] / "logs").iterdir()))


def test_what_a_killed_run_left_is_removed_by_the_next(home: Path) -> None:
    """But not the folder of a run that goes on, nor one that was made just now."""
    runs = home / "state/runs"
    for name in ("killed", "locked", "young"):
        (runs / name).mkdir(parents=True)
        (runs / name / "probe-0.log").write_text(SECRET)
        os.utime(runs / name, (0, 0))
    os.utime(runs / "young")
    locked = os.open(runs / "locked", os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    made = run_folder.make()
    os.close(locked)

    assert {made.name, "locked", "young"} == {folder.name for folder in runs.iterdir()}
