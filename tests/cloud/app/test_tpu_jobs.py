"""Jobs in the app: started by a form, followed, stopped, explained, and given back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.cloud_app import add, app_of, made
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_workers import cut, end_calls, ending_jobs, lay_workers, mend
from tests.support.tutor import on_screen, press, until
from tpustarter.cloud.jobs import job_records
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.tui.explain.screen import ExplanationScreen
from tpustarter.tui.kit.confirm_name import ConfirmName
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.tpus.job_form_screen import JobFormScreen
from tpustarter.tui.tpus.job_list_screen import JobListScreen
from tpustarter.tui.tpus.job_screen import JobScreen

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="Without systemd a job needs tmux."
)
WAIT = "echo here; while [ ! -e go ]; do sleep 0.02; done; mkdir -p out; echo x >out/x; echo end"
FAIL = "case $TPUSTARTER_JOB in *w1) echo 'RESOURCE_EXHAUSTED: no room in hbm'; exit 3;; esac"
ROOMY = (100, 40)


@pytest.fixture
def project(project: None, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Create gcloud's SSH key too."""
    monkeypatch.setenv("HOME", str(home))
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").touch()


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the homes of two workers; the present folder is the one that is sent."""
    (tmp_path / "train").mkdir()
    (tmp_path / "train/train.py").touch()
    monkeypatch.chdir(tmp_path / "train")
    with ending_jobs(lay_workers(tmp_path / "workers")) as folder:
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield folder


def last_job() -> JobRecord:
    """Return the record of the latest job."""
    return job_records.read_jobs()[-1]


def job_screen(pilot: Pilot[None]) -> JobScreen:
    """Return the screen of a job, which must be on top."""
    assert isinstance(pilot.app.screen, JobScreen)
    return pilot.app.screen


def counts(pilot: Pilot[None]) -> list[int]:
    """Return the number of lines of each worker on the screen."""
    return [part.count for part in job_screen(pilot)._painted]


def is_working(pilot: Pilot[None]) -> bool:
    """Return True while the job's screen follows the job or an action is running."""
    screen = job_screen(pilot)
    return screen._run.is_busy or screen._is_calling


def let_go(workers: Path) -> None:
    """Let waiting jobs end."""
    for code in workers.glob("w*/tpustarter-jobs/*/code"):
        (code / "go").touch()


async def start(pilot: Pilot[None], command: str, *, give_back: bool = False) -> None:
    """Start a job by the form, up to its screen."""
    await press(pilot, "u", "b", "n")
    pilot.app.screen.query_one("#job-command", Input).value = command
    if give_back:
        await press(pilot, "tab", "tab", "tab", *"out/*", "tab", "space", "enter")
        assert isinstance(pilot.app.screen, ConfirmName)
        await press(pilot, *"bert")
    await pilot.press("enter")
    # An error may lie above it by now.
    await until(pilot, lambda: any(isinstance(one, JobScreen) for one in pilot.app.screen_stack))


async def test_job_goes_on_without_its_screen(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """A job continues without its screen; opening it again fetches results and keeps logs."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await start(pilot, WAIT, give_back=True)
        await until(pilot, lambda: counts(pilot) == [1, 1])
        await pilot.press("escape")
        await until(pilot, lambda: "RUNNING" in on_screen(pilot.app))
        assert isinstance(pilot.app.screen, JobListScreen)
        let_go(workers)
        await until(pilot, lambda: len([*workers.glob("w*/*/*/code/out/x")]) == 2)
        assert cloud.nodes

        await press(pilot, "enter")
        assert [2, 2] == counts(pilot)
        assert {} == cloud.nodes
        assert "g get results" not in on_screen(pilot.app)
        await press(pilot, "escape")
        assert "GIVEN BACK" in on_screen(pilot.app)
        assert "n new job" not in on_screen(pilot.app)
        await press(pilot, "enter")
        assert [2, 2] == counts(pilot)

    record = last_job()
    assert ("given-back", 0) == (record.phase, record.code)
    assert 2 == len([*Path(record.fetch_to).glob("w*/out/x")])


async def test_failed_job_names_its_first_worker(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """A failed job names its first worker, whose log is one key away."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await start(pilot, FAIL)
        for _ in range(2):
            await until(pilot, lambda: "f why it failed" in on_screen(pilot.app))
            failure = job_screen(pilot)._failure
            assert failure
            assert ("w1", last_job().logs[1]) == (failure.label, failure.log.file)
            await press(pilot, "f")
            assert isinstance(pilot.app.screen, ExplanationScreen)
            await press(pilot, "escape", "escape")
            assert "FAILED" in on_screen(pilot.app)
            await press(pilot, "enter")

    assert ("ended", 3) == (last_job().phase, last_job().code)
    assert cloud.nodes


async def test_job_is_stopped_after_a_question(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """Nothing of it runs afterwards, its TPU stays, and its results can be fetched."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await start(pilot, f"mkdir out; echo x >out/y; {WAIT}")
        await until(pilot, lambda: counts(pilot) == [1, 1])
        for key in ("s", "n"):
            await pilot.press(key)
        assert not last_job().is_stopped
        for key in ("s", "y"):
            await pilot.press(key)
        await until(pilot, lambda: not is_working(pilot))
        await press(pilot, "g", "enter")
        await press(pilot, "escape")
        assert "STOPPED" in on_screen(pilot.app)

    assert last_job().is_stopped
    assert cloud.nodes
    assert 2 == len([*Path(last_job().id).glob("w*/out/y")])


async def test_lost_connection_costs_no_line(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """A lost connection marks the worker, and its log continues without a gap."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await start(pilot, WAIT)
        await until(pilot, lambda: counts(pilot) == [1, 1])
        cut(workers, 1)
        end_calls(workers, 1)
        await until(pilot, lambda: bool(job_screen(pilot)._lost.get("w1")))
        assert "lost, connecting again" in on_screen(pilot.app)
        let_go(workers)
        mend(workers, 1)
        await until(pilot, lambda: not job_screen(pilot)._run.is_busy)
        assert [2, 2] == counts(pilot)

    assert ("ended", 0) == (last_job().phase, last_job().code)


async def test_form_starts_a_job_anew(cloud: FakeCloud, workers: Path, tmp_path: Path) -> None:
    """A job that may start anew after a pre-emption is sent only once the name is typed."""
    made(cloud, "bert", "ACTIVE")

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await press(pilot, "u", "b", "n", *WAIT)
        await press(pilot, "tab", "tab", "tab", "tab", "tab", "space")
        assert "--again=1" in on_screen(pilot.app)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, ConfirmName)
        assert [] == job_records.read_jobs()
        await press(pilot, *"bert")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, JobScreen))
        await until(pilot, lambda: counts(pilot) == [1])
        let_go(workers)
        await until(pilot, lambda: last_job().phase == "ended")

    assert (1, 0) == (last_job().again, last_job().code)


async def test_form_refuses_a_missing_folder(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """A missing folder or an empty command is refused before anything is sent."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        await press(pilot, "u", "b", "n", "enter")
        assert isinstance(pilot.app.screen, JobFormScreen)
        await press(pilot, *"true", "tab", "end", *"/nowhere", "enter")
        assert isinstance(pilot.app.screen, NoticeSheet)

    assert [] == job_records.read_jobs()
    assert [] == [*workers.glob("w*/*")]


async def test_failed_start_leads_back_to_form(
    cloud: FakeCloud, workers: Path, tmp_path: Path
) -> None:
    """A failed start leads back to the form with its fields."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=ROOMY) as pilot:
        cut(workers, 1)
        await start(pilot, WAIT)
        await until(pilot, lambda: isinstance(pilot.app.screen, NoticeSheet))
        await press(pilot, "escape", "escape")
        assert isinstance(pilot.app.screen, JobFormScreen)

    assert [] == job_records.read_jobs()
