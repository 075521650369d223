"""Plots that grow while their block runs: what is sent, how often, and its limits."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.made_lessons import make_lesson
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.drawings.block_drawings import LinePlot
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import BlockPlots, LessonSession
from tpustarter.probe.lesson import growing_plots
from tpustarter.probe.lesson.growing_plots import LivePlotWatcher

TRAINS = """```python run id=train plot=loss x=step
import time
from pathlib import Path

loss, step = [], []
for number in range(5):
    loss.append(1 / (1 + number))
    step.append(10 * number)
    while number and not Path({seen!r}, str(number)).exists():
        time.sleep(0.01)  # until a test has seen this point
```
"""
"""A curve has two points at the least, so nobody sees the first one alone."""


def look(command: dict[str, Any], names: dict[str, Any], **new: Any) -> dict[str, Any] | None:
    """Return the plot of a block that changes these variables."""
    looks = LivePlotWatcher(command, names, lambda _: None)
    return (names.update(new), looks.read_plot())[1]


def run(lesson_folder: Path, *, wanted: bool) -> tuple[list[BlockPlots], BlockResult]:
    """Run the training block; return the plots drawn meanwhile and its result."""
    lesson = make_lesson(lesson_folder, TRAINS.format(seen=str(lesson_folder)))
    for number in range(0 if wanted else 5):
        (lesson_folder / str(number)).touch()
    session = LessonSession(lesson, growing=wanted)
    drawn: list[BlockPlots] = []
    result = None
    try:
        for event in session.run(list_blocks(lesson)[0]):
            if isinstance(event, BlockPlots):
                drawn.append(event)
                [curve] = event.drawings
                assert isinstance(curve, LinePlot)
                (lesson_folder / str(curve.count - 1)).touch()
            elif isinstance(event, BlockResult):
                result = event
    finally:
        session.close()
    assert result
    return drawn, result


def test_a_curve_grows_while_its_block_runs(tmp_path: Path) -> None:
    """Each event has more points than the one before, and the result has all of them."""
    drawn, result = run(tmp_path, wanted=True)
    curves = [drawing for event in drawn for drawing in event.drawings]
    counts = [curve.count for curve in curves if isinstance(curve, LinePlot)]

    assert result.status == "pass"
    assert [2, 3, 4, 5] == counts
    assert isinstance(curves[0], LinePlot)
    assert (curves[0].x_name, curves[0].x[1], curves[0].series["loss"][0]) == ("step", 10.0, 1.0)
    assert isinstance(result.drawings[0], LinePlot)
    assert result.drawings[0].count == 5


def test_hidden_curve_is_not_sampled(tmp_path: Path) -> None:
    """Without a listener, as on the command line, the running block is not sampled."""
    drawn, result = run(tmp_path, wanted=False)

    assert ([], "pass") == (drawn, result.status)


def test_values_of_earlier_block_are_not_drawn() -> None:
    """A curve begins with values that this block assigns or appends."""
    old = [3.0, 2.0]
    command = {"plot": ["loss"]}

    assert look(command, {"loss": old}) is None
    assert look(command, {"loss": old}, loss=[1.0]) is None  # one number is no curve
    seen = look(command, {"loss": old}, loss=[9.0, 8.0, 7.0]) or {}
    assert [9.0, 8.0, 7.0] == seen["series"]["loss"]
    looks = LivePlotWatcher(command, {"loss": old}, lambda _: None)
    old.append(1.0)
    assert (looks.read_plot() or {})["count"] == 3


def test_curves_end_with_their_shortest() -> None:
    """Curves of different lengths are cut to the shortest; without an axis steps are counted."""
    seen = look({"plot": ["a", "b"], "x": "step"}, {}, a=[1.0, 2.0, 3.0], b=[1.0, 2.0]) or {}

    assert {"a": [1.0, 2.0], "b": [1.0, 2.0]} == seen["series"]
    assert {"name": "", "values": [0, 1]} == seen["x"]


def test_array_is_drawn_to_its_filled_end() -> None:
    """NaN values that are not filled yet are drawn as missing."""
    filled = np.full(40, np.nan)
    filled[:2] = 5.0, 4.0
    seen = look({"plot": ["loss"], "x": "step"}, {}, loss=filled, step=np.arange(40)) or {}

    assert [5.0, 4.0, None] == seen["series"]["loss"][:3]
    assert "NaN" not in json.dumps(seen)


def test_numbers_and_bytes_are_bounded() -> None:
    """An event stays within the size limit, however many numbers there are."""
    names = {name: [math.pi * 10.0**300] * 100_000 for name in ("a" * 60, "b" * 60)}
    seen = look({"plot": list(names)}, {}, **names) or {}

    assert len(json.dumps(seen)) < growing_plots.MOST_BYTES
    assert 100_000 == seen["count"]


class Device:
    """A device number, which fails the test if it is read."""

    def __float__(self) -> float:
        """Raise, because nothing may convert this object."""
        raise AssertionError


@pytest.mark.parametrize("value", [[Device(), Device()], ["1", "2"], "12", 5.0, {"a": Device()}])
def test_only_python_numbers_are_read(value: Any) -> None:
    """Other values, such as device numbers or strings, are not read while the block runs."""
    with pytest.raises((TypeError, ValueError)) if isinstance(value, list | dict) else _nothing():
        assert look({"plot": ["loss"]}, {}, loss=value) is None


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()
