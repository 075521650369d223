"""A command on the workers of a TPU, typed in the app: output of each, ends, and the worst code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cloud_app import add, app_of, text_of
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_remote import behave, calls, lay_remote
from tests.support.tutor import is_alive, on_screen, press, until
from tpustarter.tui.kit.page import NoticeSheet
from tpustarter.tui.tpus.run_form_screen import RunCommandScreen
from tpustarter.tui.tpus.run_screen import TpuRunScreen

TYPED = ("p", "w", "d")


@pytest.fixture
def project(project: None, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Create gcloud's SSH key too."""
    monkeypatch.setenv("HOME", str(home))
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").write_text("")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake gcloud on PATH, and nothing else."""
    folder = lay_remote(tmp_path / "tools")
    monkeypatch.setenv("PATH", str(folder))
    return folder


async def test_every_worker_has_its_output_and_its_end(
    cloud: FakeCloud, tools: Path, tmp_path: Path
) -> None:
    """Each worker has its output and its end, and the worst exit code counts."""
    add(cloud, workers=4)
    behave(tools, w2={"say": "boom\n\x1b[31m[red]\n", "code": 3})

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        seen = text_of(await press(pilot, "u", "c"))
        assert isinstance(pilot.app.screen, RunCommandScreen)
        assert "which is 4 workers" in seen
        assert "Type the command that is to run." in seen
        seen = text_of(await press(pilot, *TYPED))
        assert "gcloud compute tpus tpu-vm ssh bert --zone=us-central1-b" in seen
        assert "--worker=0" in seen
        assert "--command=pwd" in seen
        assert "and the same for w1 to w3" in seen
        assert [] == calls(tools)

        seen = text_of(await press(pilot, "enter"))
        assert "3 of 4 workers ended with 0" in seen
        assert "The worst exit code is 3." in seen
        assert "Output of each worker: " in seen
        assert "w0 ended with 0" in seen
        assert "w2 ended with 3" in seen
        assert "hello from 0" in seen
        seen = await press(pilot, "down", "down")
        assert "boom" in seen
        assert "\\x1b[31m[red]" in seen
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, RunCommandScreen)

    assert [0, 1, 2, 3] == [call["worker"] for call in calls(tools)]
    assert all(call["words"][-1] == "--command=pwd" for call in calls(tools))


async def test_single_worker_run_names_its_worker(
    cloud: FakeCloud, tools: Path, tmp_path: Path
) -> None:
    """A run on a single worker names it with a caution; a wrong number is refused."""
    add(cloud, workers=4)

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        await press(pilot, "u", "c", *TYPED, "tab", *["backspace"] * 3)
        seen = text_of(await press(pilot, "9"))
        assert "! bert has no worker 9, expected 0 to 3" in seen
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, RunCommandScreen)
        seen = text_of(await press(pilot, "backspace", "2"))
        assert "bert has 4 workers, and this runs on 1 of them" in seen
        seen = text_of(await press(pilot, "enter"))
        assert "1 of 1 worker ended with 0" in seen
        assert "hello from 2" in seen

    assert [2] == [call["worker"] for call in calls(tools)]


async def test_a_run_that_is_stopped_leaves_no_process(
    cloud: FakeCloud, tools: Path, tmp_path: Path
) -> None:
    """Stopping a run leaves no process here, and warns that programs may run on workers."""
    add(cloud, workers=2)
    behave(tools, all={"say": "working\n", "sleep": 3600})

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        await press(pilot, "u", "c", *TYPED)
        await pilot.press("enter")
        await until(pilot, lambda: on_screen(pilot.app).count("running") == 2)
        assert "working" in on_screen(pilot.app)
        assert "2 of 2 workers still run it" in text_of(on_screen(pilot.app))
        await pilot.press("escape")
        await until(pilot, lambda: "The command still runs." in on_screen(pilot.app))
        assert pilot.app.screen.can_stop
        seen = text_of(await press(pilot, "escape"))
        assert isinstance(pilot.app.screen, TpuRunScreen)
        assert "0 of 2 workers ended with 0" in seen
        assert "What was started on the workers may still run there" in seen

    assert not any(is_alive(call["pid"]) for call in calls(tools))


async def test_flood_is_cut_on_screen_not_in_file(
    cloud: FakeCloud, tools: Path, tmp_path: Path
) -> None:
    """A flood of output is cut on the screen, but the file has every byte."""
    add(cloud)
    behave(tools, all={"bytes": 10_000_000})

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        seen = text_of(await press(pilot, "u", "c", *TYPED, "enter"))
        assert "1 of 1 worker ended with 0" in seen
        screen = pilot.app.screen
        assert isinstance(screen, TpuRunScreen)
        assert screen._folder
        assert 9_900_000 < (screen._folder / "w0.log").stat().st_size
        await press(pilot, "enter", "home")
        assert "lines above, which are in its file" in on_screen(pilot.app)


async def test_each_obstacle_is_one_error(
    cloud: FakeCloud, tools: Path, tmp_path: Path, home: Path
) -> None:
    """Each obstacle, such as a missing key, is one error, and nothing is run."""
    add(cloud, workers=2)

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        await press(pilot, "u", "c", *TYPED)
        (home / ".ssh/google_compute_engine").unlink()
        seen = text_of(await press(pilot, "enter"))
        assert isinstance(pilot.app.screen, NoticeSheet)
        assert "hint: connect once with" in seen
        seen = text_of(await press(pilot, "escape"))
        assert "Nothing was run." in seen
        (tools / "gcloud").unlink()
        seen = text_of(await press(pilot, "escape", "enter"))
        assert "gcloud is not installed on this machine" in seen
        lay_remote(tools / "again", "gcloud")
        (tools / "again/gcloud").rename(tools / "gcloud")
        cloud.nodes.clear()
        seen = text_of(await press(pilot, "escape", "escape", "enter"))
        assert "there is no TPU and no request called bert" in seen

    assert [] == calls(tools)


async def test_strange_address_of_only_worker_is_shown(
    cloud: FakeCloud, tools: Path, tmp_path: Path
) -> None:
    """Enter runs nothing where the only worker's address is none, and there is no other field."""
    add(cloud, workers=1)
    for node in cloud.nodes.values():
        node.network_endpoints[0].access_config.external_ip = "$(reboot)"

    async with app_of(cloud, tmp_path, size=(100, 40)) as pilot:
        seen = text_of(await press(pilot, "u", "c", *TYPED, "enter"))
        assert isinstance(pilot.app.screen, RunCommandScreen)
        assert "$(reboot)" in seen
        assert [] == calls(tools)
