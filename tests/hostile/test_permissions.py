"""A file that a user may not read or write is one error that names it, and no bug of ours.

Root may do all of it, so the program runs as a user nobody else is, without root's rights.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import HANG_S

ROOT = Path(__file__).parents[2]
USER = 60000 + os.getpid() % 5000
AS_USER = (
    [
        "setpriv",
        f"--reuid={USER}",
        f"--regid={USER}",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--",
    ]
    if os.geteuid() == 0
    else []
)
PYTHON = [*AS_USER, sys.executable, "-m", "tpustarter"]


def can_run() -> bool:
    """Return whether the program can be run without the rights of root."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        return False
    words = [*PYTHON, "--version"]
    done = subprocess.run(words, cwd=ROOT, env=environment("/"), capture_output=True, check=False)
    return done.returncode == 0


def environment(home: Path | str) -> dict[str, str]:
    """Return the environment of a run with a home of its own."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "TPUSTARTER_HOME": f"{home}/state",
    }


pytestmark = pytest.mark.skipif(
    not can_run(),
    reason="Trying permissions as root needs setpriv, and a Python that every user may start.",
)

TPU = ["tpu", "create", "bert", "--type", "v6e-8", "--zone", "us-central1-b", "--dry-run"]
DENIED = [
    # command line, exit code
    (["explain", "closed.log"], 2),
    (["explain", "closed/train.log"], 2),
    (["learn", "--import", "closed.log"], 2),
    (["trc", "closed.log"], 2),
    (["report", "--log", "closed.log", "--no-ask"], 2),
    (["report", "--open", "closed/a.tar.gz"], 2),
    (["report", "--no-ask", "--yes", "--out", "read-only"], 74),
    (["check", "host.space", "--junit", "read-only/junit.xml"], 74),
    (["check", "host.space", "--junit", "closed/junit.xml"], 74),
    (["check", "--python", "closed/python", "host.space"], 2),
    (["learn", "jax/precision", "--notebook", "read-only/a.ipynb"], 74),
    (["learn", "project/the-project", "--code", "read-only"], 74),
    (["rehearse", "closed/step.py:step"], 2),
    (["setup", "--folder", "closed/tpu"], 2),
    (["run", "--", "./closed.log"], 126),
    ([*TPU, "--startup-script", "closed.log"], 2),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a folder of files that only root may use, for a program that runs as a user."""
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    (tmp_path / "closed.log").write_text("{}")
    (tmp_path / "closed.log").chmod(0o000)
    (tmp_path / "read-only").mkdir(mode=0o555)
    (tmp_path / "closed").mkdir(mode=0o000)
    return tmp_path


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as an ordinary user."""
    return subprocess.run(
        [*PYTHON, *words],
        cwd=place,
        env=environment(place / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "code"), DENIED, ids=lambda one: " ".join(one) if isinstance(one, list) else str(one)
)
def test_denied_file_is_one_error(words: list[str], code: int, place: Path) -> None:
    """A file that may not be read or written is one error without a traceback or an errno."""
    done = run(place, *words)

    assert code == done.returncode, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Errno" not in done.stderr
    assert "error: " in done.stderr


@pytest.mark.parametrize("words", [["trc"], TPU], ids=["trc", "create"])
def test_unreadable_grant_refuses_creation(words: list[str], place: Path) -> None:
    """If the grant can't be read, nothing is created, because it protects from a bill."""
    (place / "home/state").mkdir()
    (place / "home/state").chmod(0o777)
    (place / "home/state/trc.json").write_text("{}")
    (place / "home/state/trc.json").chmod(0o000)
    done = run(place, *words)

    assert 78 == done.returncode, done.stderr
    assert "trc.json" in done.stderr


CLOSED_STATE = [
    # name of a state file, command line, exit code
    ("progress", ["learn"], 78),
    ("settings", ["learn"], 78),
    ("settings", ["check", "host.space"], 78),
    ("setup", ["check", "host.space"], 78),
    ("setup-machine", ["setup", "tuning"], 78),
    ("report-names", ["report", "--no-ask"], 78),
    ("last-check", ["explain", "/dev/null"], 5),
    ("settings", ["run", "--", "true"], 0),
]


@pytest.mark.parametrize(("name", "words", "code"), CLOSED_STATE)
def test_closed_state_file_is_left_alone(
    name: str, words: list[str], code: int, place: Path
) -> None:
    """A state file that can't be read is named, and neither moved nor overwritten."""
    (place / "home/state").mkdir()
    (place / "home/state").chmod(0o777)
    file = place / f"home/state/{name}.json"
    file.write_text("{}")
    file.chmod(0o000)
    done = run(place, *words)

    assert code == done.returncode, done.stderr
    assert (file.name in done.stderr) == (code == 78)
    assert [file.name] == [one.name for one in file.parent.glob(f"{name}*.json")]
    assert "{}" == file.read_text()


@pytest.mark.parametrize(
    "words", [["learn"], ["trc"], ["check", "host.space"], [*TPU[:-1], "--yes"]], ids=" ".join
)
def test_closed_state_folder_is_named(words: list[str], place: Path) -> None:
    """An unread file is unknown, which is not the same as none."""
    (place / "home/state").mkdir(mode=0o000)
    done = run(place, *words)

    assert 78 == done.returncode, done.stderr
    assert "`~/state" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("more", "code"), [([], 0), (["--json"], 0), (["--yes"], 3)], ids=str)
def test_plan_in_read_only_folder_is_blocked(more: list[str], code: int, place: Path) -> None:
    """A plan in a read-only folder is shown as blocked and isn't carried out."""
    done = run(place, "setup", "jax", "--folder", "read-only/tpu", *more)

    assert code == done.returncode, done.stderr
    assert "blocked" in done.stdout.casefold()
