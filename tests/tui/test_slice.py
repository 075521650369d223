"""The screen of a slice: confirmation, rows of hosts, one verdict and stopping all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.slices.test_slice_watch import make_host as make_watched_host
from tests.support.cloud_app import add, app_of, text_of
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_remote import UNREACHED, behave, calls, lay_remote, told
from tests.support.tutor import is_alive, on_screen, press, settle, until
from tpustarter.checking.results.headline import RunSummary, format_run_summary
from tpustarter.tui.app.messages import SLICE
from tpustarter.tui.slices.screen import SliceScreen
from tpustarter.tui.slices.start_question import StartQuestion
from tpustarter.tui.tpus.screen import TpuListScreen

CHECKS = ("host.passes", "host.fails", "host.warns")


def member(host: int) -> dict[str, Any]:
    """Return the facts that a host reports."""
    return {
        "host": host,
        "hosts": 2,
        "name": f"t1v-n-{host}",
        "python_version": "3.12.1",
        "frameworks": {"jax": "0.12.0.1"},
        "platform": "tpu",
        "chips": 4,
        "devices": 4,
        "generation": "v6e",
    }


def finding(found: int, verdict: str) -> dict[str, Any]:
    """Return a finding of a host."""
    keys = ("unit", "entity", "hint", "lesson")
    one = {"code": "SAMPLE-SUM", "name": "sum", "verdict": verdict, "found": found, "expected": 2}
    return {**one, **dict.fromkeys(keys)}


def checked(check: str, found: int = 2) -> list[dict[str, Any]]:
    """Return the events of a check on two hosts; `found` is the sum on host 1."""
    sums = {0: 2, 1: found}
    findings = [
        {"event": "finding", "id": check, "host": host,
         "finding": finding(one, "ok" if one == 2 else "fail")}
        for host, one in sums.items()
    ]  # fmt: skip
    ends = [{"event": "end", "id": check, "host": host, "outcome": "done"} for host in sums]
    return [{"event": "start", "id": check}, *findings, *ends, {"event": "checked", "id": check}]


PLACES = ({"event": "placed", "hosts": 2}, {"event": "arriving", "missing": [1]})
ARRIVED = {"event": "arrived", "missing": [], "members": [member(0), member(1)]}
WHOLE = [*PLACES, ARRIVED, *(event for check in CHECKS for event in checked(check))]
OVER = {"event": "checked-all"}
OTHER = [{"event": "placed", "hosts": 2}, {"event": "arrived", "missing": []}]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: FakeCloud) -> Path:
    """Return the folder of a gcloud that reaches two workers; the project has a slice of two."""
    folder = lay_remote(tmp_path / "tools", "gcloud")
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    add(cloud, workers=2)
    followed = {"event": "followed", "code": 0, "headline": ""}
    behave(
        folder, w0={"say": told(0, *WHOLE, OVER)}, w1={"say": told(1, *OTHER, followed), "until": 2}
    )
    return folder


async def test_nothing_runs_before_the_yes(cloud: FakeCloud, tmp_path: Path, tools: Path) -> None:
    """Exact commands are shown, and nothing runs before the yes; Esc runs nothing."""
    async with app_of(cloud, tmp_path, size=(100, 60)) as pilot:
        await press(pilot, "u", "h")
        assert isinstance(pilot.app.screen, StartQuestion)
        shown = text_of(on_screen(pilot.app))
        assert "--start gcloud --on bert --set zone=us-central1-b" in shown
        assert "gcloud compute tpus tpu-vm ssh bert --zone=us-central1-b --worker=0" in shown
        assert "--worker=1" in shown
        seen = await press(pilot, "escape")
        assert "Nothing was started" in seen
        await press(pilot, "a")
        assert isinstance(pilot.app.screen, StartQuestion)
        await press(pilot, "n", "escape")
        assert isinstance(pilot.app.screen, TpuListScreen)
    assert [] == calls(tools)


@pytest.mark.parametrize("yes", ["enter", "y"])
async def test_slice_has_one_verdict(
    cloud: FakeCloud, tmp_path: Path, tools: Path, yes: str
) -> None:
    """Each check of a slice has one result, and each host a row with its facts."""
    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "u", "h", yes)
        assert "ended   host 0   worker 0  has ended" in seen
        assert "ended   host 1   worker 1  has ended" in seen
        assert format_run_summary(RunSummary(passed=3)) in text_of(seen)
        assert "t1v-n-0" in seen
        assert "4 chips, 4 devices" in seen
        seen = await press(pilot, "end")
        assert "ok    sum (host:1): 2" in seen
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, TpuListScreen)
    assert [0, 1] == [one["worker"] for one in calls(tools)]


async def test_failure_names_its_host(cloud: FakeCloud, tmp_path: Path, tools: Path) -> None:
    """The failed check comes first, and its finding names host 1."""
    events = [*PLACES, ARRIVED, *checked("host.passes", 3), *checked("host.fails")]
    events += [*checked("host.warns"), OVER]
    behave(tools, w0={"say": told(0, *events)}, w1={"say": told(1, *OTHER)})

    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        seen = await press(pilot, "u", "h", "enter", "down", "down")
        assert "FAIL    host.passes" in seen
        assert "host:1" in seen
        assert "1 fail" in seen
        assert "o open lesson" in seen


async def test_unreached_host_has_its_reason(cloud: FakeCloud, tmp_path: Path, tools: Path) -> None:
    """The row of an unreached host has the reason, while the other host waits."""
    behave(tools, w0={"say": told(0, *PLACES), "lifeline": True}, w1=UNREACHED)

    async with app_of(cloud, tmp_path, size=(80, 24)) as pilot:
        await press(pilot, "u", "h")
        await pilot.press("enter")
        await until(pilot, lambda: "MISSING" in on_screen(pilot.app))
        seen = text_of(on_screen(pilot.app))
        assert "host 1 worker 1 was not reached (exit code 255)" in seen
        assert "Connection timed out" in seen
        await until(pilot, lambda: "waits for the others" in text_of(on_screen(pilot.app)))

        await pilot.press("escape")
        await settle(pilot, beside=SLICE)
        assert isinstance(pilot.app.screen, SliceScreen)
        assert pilot.app.screen.can_stop  # it has only asked
        await pilot.press("x")
        await settle(pilot)
        assert "Stopped on every host" in text_of(on_screen(pilot.app))
    assert is_over(tools)


async def test_stop_ends_every_host(cloud: FakeCloud, tmp_path: Path, tools: Path) -> None:
    """Ctrl+C during a check ends all hosts and lists the checks that have not run."""
    begun = [*PLACES, ARRIVED, *checked("host.passes"), {"event": "start", "id": "host.fails"}]
    running = {"event": "progress", "id": "host.fails", "text": "host.fails"}
    behave(
        tools,
        w0={"say": told(0, *begun), "lifeline": True},
        w1={"say": told(1, *OTHER, running), "lifeline": True},
    )

    async with app_of(cloud, tmp_path, size=(80, 40)) as pilot:
        await press(pilot, "u", "h")
        await pilot.press("enter")
        await until(pilot, shows(pilot, "host 0 worker 0 runs host.fails"))
        await until(pilot, shows(pilot, "host 1 worker 1 runs host.fails"))
        assert "x stop" in on_screen(pilot.app)
        await pilot.press("ctrl+c")
        await settle(pilot)
        seen = text_of(on_screen(pilot.app))
        assert "NOT RUN host.fails" in seen
        assert "host 1 worker 1 was stopped" in seen
        assert "a again" in seen
    assert is_over(tools)


def shows(pilot: Any, text: str) -> Callable[[], bool]:
    """Return a function that looks for a text on the screen."""
    return lambda: text in text_of(on_screen(pilot.app))


def is_over(tools: Path) -> bool:
    """Return whether all gcloud processes of this test have ended."""
    return not any(is_alive(one["pid"]) for one in calls(tools))


async def test_single_host_has_no_slice(cloud: FakeCloud, tmp_path: Path) -> None:
    """The key to check all hosts is shown only for a TPU of several hosts."""
    add(cloud, workers=1)

    async with app_of(cloud, tmp_path, size=(160, 40)) as pilot:
        seen = await press(pilot, "u")
        assert "run a command" in seen
        assert "check all hosts" not in seen
        await press(pilot, "h")
        assert isinstance(pilot.app.screen, TpuListScreen)


def watched(host: int) -> str:
    """Return the output of a host whose chips compute."""
    document = msgspec.to_builtins(make_watched_host(host).document)
    return told(
        host, json.loads(json.dumps({"event": "watched", "document": document}, default=str))
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_hosts_are_watched_until_the_end(
    cloud: FakeCloud, tmp_path: Path, tools: Path, size: tuple[int, int]
) -> None:
    """After the yes one host has numbers and the unreached one its reason."""
    behave(tools, w0={"say": watched(0), "lifeline": True}, w1=UNREACHED)
    opened: list[str] = []

    async with app_of(cloud, tmp_path, size=size) as pilot:
        await press(pilot, "u", "m")
        assert isinstance(pilot.app.screen, StartQuestion)
        assert "watch --all-hosts --start gcloud --on bert" in text_of(on_screen(pilot.app))
        assert [] == calls(tools)
        await pilot.press("enter")
        await until(pilot, lambda: "12.8 of 32.0 GiB" in text_of(on_screen(pilot.app)))
        await until(pilot, lambda: "was not reached" in text_of(on_screen(pilot.app)))
        app: Any = pilot.app
        app.go.open_lesson = opened.append
        await pilot.press("enter", "x")
        await settle(pilot)
        assert "It has ended on every host. Press a" in text_of(on_screen(pilot.app))
        await press(pilot, "a", "escape")
        assert "Nothing was started" in text_of(on_screen(pilot.app))
    assert ["slices/run-everywhere"] == opened
    assert is_over(tools)
