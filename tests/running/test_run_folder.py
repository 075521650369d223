"""A run's folder is gone with the run; the logs of one that failed stay, without secrets."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.sessions import SAMPLES
from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.core.problem import Problem
from tpustarter.core.redact import Redactor
from tpustarter.running import run_folder

SECRET = "xoxb-123456789012-abcdefghijkl"


def everything_below(folder: Path) -> list[str]:
    """Return the files below a folder, by their names from there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def run_check(name: str) -> None:
    """Run one sample check to its end."""
    list(MachineCheck(CheckRequest(ids=(f"host.{name}",)), checks=SAMPLES).events())


@pytest.mark.parametrize("name", ["passes", "warns", "floods"])
def test_successful_run_leaves_no_file(name: str, home: Path) -> None:
    """A successful run leaves no log, no probe and no compiled file."""
    run_check(name)

    left = [name for name in everything_below(home) if not name.startswith("state/cache/")]
    assert [] == [name for name in left if "runs" in name or "log" in name]


@pytest.mark.parametrize("name", ["raises", "segfaults"])
def test_log_of_failed_run_is_kept(name: str, home: Path) -> None:
    """Below `logs`, in a folder that only its user may open."""
    run_check(name)
    kept = list((home / "state/logs").iterdir())

    assert [] == everything_below(home / "state/runs")
    assert [0o700] == [path.stat().st_mode & 0o777 for path in kept]
    assert ["probe-0.log"] == [path.name for path in kept[0].iterdir()]


def test_run_with_invalid_python_keeps_its_log(home: Path, tmp_path: Path) -> None:
    """A run with an invalid Python keeps its whole log, of which the error quotes one line."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no licence\necho found\n")
    python.chmod(0o755)
    with pytest.raises(Problem):
        list(
            MachineCheck(
                CheckRequest(ids=("host.passes",), python=str(python)), checks=SAMPLES
            ).events()
        )
    (log,) = (home / "state/logs").rglob("probe-0.log")

    assert "no licence\nfound\n" == log.read_text()


def test_kept_log_has_no_secret() -> None:
    """Logs of the probe and of libtpu stay, without the token; the rest goes."""
    folder = run_folder.make_run_folder()
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
    """Only the logs of the last failed runs are kept."""
    for _ in range(run_folder.MOST_FAILED_RUNS + 3):
        folder = run_folder.make_run_folder()
        (folder / "probe-0.log").write_text("x")
        run_folder.keep_logs(folder, Redactor({}))

    assert run_folder.MOST_FAILED_RUNS == len(list((folder.parents[1] / "logs").iterdir()))


def test_folder_of_killed_run_is_removed_by_next(home: Path) -> None:
    """The next run removes the folder of a killed run, but not that of a running one."""
    runs = home / "state/runs"
    for name in ("killed", "locked", "young"):
        (runs / name).mkdir(parents=True)
        (runs / name / "probe-0.log").write_text(SECRET)
        os.utime(runs / name, (0, 0))
    os.utime(runs / "young")
    elsewhere = Path(tempfile.mkdtemp(prefix=run_folder.PREFIX))
    (runs / "killed" / run_folder.TEMPORARY).symlink_to(elsewhere)
    locked = os.open(runs / "locked", os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    made = run_folder.make_run_folder()
    os.close(locked)

    assert {made.name, "locked"} == {folder.name for folder in runs.iterdir()}
    assert not elsewhere.exists()


def test_concurrent_runs_keep_folders_of_each_other(home: Path) -> None:
    """A folder is marked as in use before another run can see it."""
    program = (
        "from tpustarter.running import run_folder\n"
        "made = [run_folder.make_run_folder() for _ in range(20)]\n"
        "print([folder.exists() for folder in made].count(True), flush=True)\n"
        "input()\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    words = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe) for _ in range(3)]
    counts = [process.stdout.readline() for process in started]  # type: ignore[union-attr]
    left = len(list((home / "state/runs").iterdir()))
    for process in started:
        process.communicate(b"\n")

    assert [b"20\n"] * 3 == counts
    assert 60 == left


@pytest.mark.parametrize("letters", [1, 90])
def test_temporary_files_are_removed_and_have_short_paths(
    letters: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary files are removed, and their paths are short enough for sockets."""
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / ("s" * letters)))
    folder = run_folder.make_run_folder()
    place = run_folder.make_temporary_folder(folder)
    (place / "left").mkdir()
    assert place == run_folder.make_temporary_folder(folder)
    assert len(str(place / "pymp-01234567" / "listener-01234567")) <= 107
    assert place.samefile(folder / run_folder.TEMPORARY)
    run_folder.remove_run_folder(folder)

    assert not place.exists()
    assert not folder.exists()
