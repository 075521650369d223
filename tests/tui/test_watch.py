"""The live view in the app: metrics of a server, curves, the lesson, and no TPU."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.machines import lay_out
from tests.support.metrics_server import gauges, serve
from tests.support.tutor import on_screen, press, tutor, until
from tpustarter.core import state
from tpustarter.machine import host
from tpustarter.watch.metrics_client import PORTS_VARIABLE


def make_machine(folder: Path, port: int) -> host.Machine:
    """Return a v6e-8 whose metrics are at a port, without a Python that has libtpu."""
    folder.mkdir()
    environ = {PORTS_VARIABLE: str(port), "PATH": "", "HOME": str(folder)}
    return lay_out(folder, "v6e", chips=8, holder={"pid": 4242}, env=environ)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)])
async def test_numbers_are_shown_with_meaning(tmp_path: Path, size: tuple[int, int]) -> None:
    """The idle device is named at every size; numbers and curves need enough lines."""
    served = gauges(8, duty=[98, 98, 98, 0, 98, 98, 98, 98])
    with serve(served) as port:
        machine = make_machine(tmp_path / "machine", port)
        async with tutor(tmp_path, size=size, machine=machine) as pilot:
            seen = await press(pilot, "w", "r")

            assert "TPU v6e, 8 chips" in seen.splitlines()[0]
            assert bool(re.search(r"^ +3 12.0 of", seen, re.MULTILINE)) == (size[1] >= 24)
            assert "Device 3 is idle while 7 of 8 work." in seen
            assert ("percent in the last" in seen) == (size[1] >= 40)
            assert "held by pid 4242" in seen


async def test_enter_opens_the_lesson(tmp_path: Path) -> None:
    """Enter opens the lesson on the live view."""
    opened: list[str] = []

    with serve(gauges(8)) as port:
        machine = make_machine(tmp_path / "machine", port)
        async with tutor(tmp_path, machine=machine) as pilot:
            app: Any = pilot.app
            app.go.open_lesson = opened.append
            await press(pilot, "w", "enter")

    assert ["trouble/live-numbers"] == opened


async def test_screen_looks_again_by_itself(tmp_path: Path) -> None:
    """A program that starts later is shown without a key."""
    served = dict[str, dict[int, float]]()

    with serve(lambda: served) as port:
        machine = make_machine(tmp_path / "machine", port)
        async with tutor(tmp_path, machine=machine) as pilot:
            seen = await press(pilot, "w")
            assert "No metrics: libtpu at port" in seen

            served.update(gauges(8))
            await until(pilot, lambda: "Busy 98 %" in on_screen(pilot.app))  # type: ignore[arg-type]


async def test_laptop_is_told_why(tmp_path: Path) -> None:
    """A machine without a TPU says why it has no metrics, and what to do."""
    (tmp_path / "laptop").mkdir()
    machine = lay_out(tmp_path / "laptop", env={PORTS_VARIABLE: "1", "PATH": ""})
    async with tutor(tmp_path, machine=machine) as pilot:
        seen = await press(pilot, "w")

        assert "No metrics: this machine has no TPU chip" in seen
        assert "tpu ssh-config" in seen


async def test_numbers_need_no_python_of_the_settings(tmp_path: Path) -> None:
    """Metrics are read even if the Python in the settings was deleted."""
    with serve(gauges(8)) as port:
        machine = make_machine(tmp_path / "machine", port)
        state.save_state("settings", {"python": str(tmp_path / "gone/bin/python")})
        async with tutor(tmp_path, machine=machine) as pilot:
            assert "Busy 98 %" in await press(pilot, "w", "r")
