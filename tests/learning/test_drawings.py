"""Drawings of variables: blocks export plain numbers, the program draws them as text."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.made_lessons import make_lesson, run_lesson
from tpustarter.learning.drawings.array_shardings import ArraySharding
from tpustarter.learning.drawings.block_drawings import (
    BarChart,
    LinePlot,
    describe_drawing,
    draw_as_text,
    parse_drawings,
)
from tpustarter.probe.lesson import plots

LINES = {
    "kind": "lines",
    "x": {"name": "step", "values": [0, 1, 2]},
    "count": 3,
    "series": {"train_loss": [3.0, 2.0, 1.0]},
}
BARS = {"kind": "bars", "name": "tflops_per_s", "bars": {"NumPy": 0.05, "8 devices": 0.1}}
LAYOUT: dict[str, Any] = {
    "kind": "layout",
    "name": "x",
    "dtype": "float32",
    "shape": [8, 8],
    "count": 4,
    "spec": "P('data', 'model')",
    "mesh": {"data": 2, "model": 2},
    "parts": [
        {
            "device": 2 * row + column,
            "index": [[4 * row, 4 * row + 4], [4 * column, 4 * column + 4]],
        }
        for row in range(2)
        for column in range(2)
    ],
}


def parsed(*fields: Any) -> Any:
    """Return drawings as they come from another process."""
    return parse_drawings(json.loads(json.dumps(fields)), str)


def test_numbers_leave_block_within_limit() -> None:
    """Long curves are thinned evenly with their ends kept; non-finite values become None."""
    loss = np.linspace(9.0, 1.0, 10_000)
    command = {"plot": ["loss", "other"], "x": "step"}
    (fields,) = plots.list_drawings(
        command, {"loss": loss, "other": [math.nan] * 10_000, "step": range(10_000)}
    )

    numbers = [*fields["x"]["values"], *fields["series"]["loss"], *fields["series"]["other"]]
    assert len(numbers) <= plots.MOST_NUMBERS
    assert (0.0, 9999.0) == (fields["x"]["values"][0], fields["x"]["values"][-1])
    assert (9.0, 1.0) == (fields["series"]["loss"][0], fields["series"]["loss"][-1])
    assert set(fields["series"]["other"]) == {None}
    assert "NaN" not in json.dumps(fields)


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({}, "made no such variable"),
    "text": ({"y": "abc"}, "no sequence of numbers"),
    "one number": ({"y": 3.0}, "no sequence of numbers"),
    "words": ({"y": ["a"]}, "holds something that is not a number"),
    "two axes": ({"y": np.ones((2, 2))}, "has 2 axes, expected one"),
    "none": ({"y": []}, "a plot needs as many numbers in each"),
    "too many bars": ({"y": {str(n): n for n in range(99)}}, "has 99 bars"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_undrawable_value_is_block_error(name: str) -> None:
    """A variable that cannot be drawn fails the block with an error that names it."""
    variables, what = UNFIT[name]

    with pytest.raises(ValueError, match=what):
        plots.list_drawings({"plot": ["y"]}, variables)


def test_sharding_is_exported_as_parts_per_device(tmp_path: Path) -> None:
    """The sharding is read from the array in the lesson's process."""
    code = (
        "import jax\nimport jax.numpy as jnp\n"
        "mesh = jax.make_mesh((2, 4), ('data', 'model'))\n"
        "spec = jax.sharding.PartitionSpec('data', 'model')\n"
        "x = jax.device_put(jnp.ones((8, 8)), jax.sharding.NamedSharding(mesh, spec))\n"
        "loss = [3.0, 2.0]\n"
    )
    text = f"```python run id=one plot=loss show=x\n{code}```\n"
    lesson = make_lesson(tmp_path, text, needs="{framework: jax}")
    result = run_lesson(lesson)["one"]

    curve, layout = result.drawings
    assert isinstance(curve, LinePlot)
    assert (3.0, 2.0) == curve.series["loss"]
    assert isinstance(layout, ArraySharding)
    assert ((8, 8), {"data": 2, "model": 4}, 8) == (layout.shape, layout.mesh, layout.count)
    assert ((4, 8), (6, 8)) == layout.parts[7]
    assert sorted(layout.parts) == sorted(layout.order)
    assert "│  4  │  5  │  6  │  7  │" in draw_as_text(layout, 74)


def test_missing_variable_breaks_block(tmp_path: Path) -> None:
    """A block that does not make the variable to plot fails with its name."""
    result = run_lesson(make_lesson(tmp_path, "```python run id=one plot=loss\nx = 1\n```\n"))[
        "one"
    ]

    assert ("error", "exception") == (result.status, result.reason)
    assert "`loss` is to be drawn, but the block made no such variable" in result.detail


def test_curves_fit_width_and_are_described() -> None:
    """A curve fits the width, and is described by its range and trend."""
    (lines,) = parsed(LINES)

    text = draw_as_text(lines, 60)
    assert "train loss" in text
    assert "step" in text
    assert max(map(len, text.split("\n"))) <= 60
    assert ["Curve of train loss over step, 3 numbers: it falls from 3 to 1."] == describe_drawing(
        lines
    )
    (thinned,) = parsed({**LINES, "count": 9000})
    assert ", 9000 numbers, 3 of them read: it falls" in describe_drawing(thinned)[0]


def test_bars_are_as_long_as_their_numbers() -> None:
    """The longest bar takes the available width."""
    (bars,) = parsed(BARS)
    _, first, second = draw_as_text(bars, 40).split("\n")

    assert isinstance(bars, BarChart)
    assert second.count("█") > 8
    assert abs(2 * first.count("█") - second.count("█")) <= 1
    assert max(map(len, (first, second))) <= 40
    assert ["Bars of TFLOP/s: NumPy 0.05, 8 devices 0.1."] == describe_drawing(bars)


def test_a_grid_says_which_device_holds_which_part() -> None:
    """The grid has the rows and columns of the array."""
    (layout,) = parsed(LAYOUT)

    assert draw_as_text(layout, 74).split("\n") == [
        "x: float32[8, 8], P('data', 'model') on a mesh of data=2, model=2",
        "the array, with the devices that hold each part:",
        "        0:4        4:8",
        "    ┌──────────┬──────────┐",
        "0:4 │    0     │    1     │",
        "    ├──────────┼──────────┤",
        "4:8 │    2     │    3     │",
        "    └──────────┴──────────┘",
        "Each of 4 devices holds a part of 4 x 4.",
    ]
    assert describe_drawing(layout)[1] == "Each of 4 devices holds a part of 4 x 4."


def mesh_of(mesh: dict[str, int], spec: str, parts: list[Any], shape: list[int]) -> Any:
    """Return a layout whose mesh has its devices in reverse order."""
    order = [*range(len(parts))][::-1]
    held = [{"device": device, "index": part} for device, part in zip(order, parts, strict=True)]
    return parsed(
        {
            **LAYOUT,
            "mesh": mesh,
            "spec": spec,
            "shape": shape,
            "parts": held,
            "count": len(parts),
            "order": order,
        }
    )[0]


def test_rows_that_are_partitioned_lie_below_each_other() -> None:
    """Rows are drawn below each other as in the array, with replicas side by side."""
    rows = [[[n, n + 1], [0, 8]] for n in range(8)]
    halves = [[[0, 4], [0, 8]], [[0, 4], [0, 8]], [[4, 8], [0, 8]], [[4, 8], [0, 8]]]
    eight = mesh_of({"data": 8}, "P('data', None)", rows, [8, 8])
    two = mesh_of({"data": 2, "model": 2}, "P('data', None)", halves, [8, 8])

    lines = draw_as_text(eight, 74).split("\n")
    assert [f"{n}:{n + 1} │      device {7 - n}      │" for n in range(8)] == lines[4:12]
    assert draw_as_text(two, 74).split("\n") == [
        "x: float32[8, 8], P('data', None) on a mesh of data=2, model=2",
        "the array, with the devices that hold each part:",
        "             0:8",
        "    ┌────────────────────┐",
        "0:4 │    devices 2 3     │",
        "    ├────────────────────┤",
        "4:8 │    devices 0 1     │",
        "    └────────────────────┘",
        "Each of 4 devices holds a part of 4 x 8; each part is replicated along",
        "model, on 2 devices.",
    ]


def test_array_of_three_axes_follows_its_mesh() -> None:
    """The parts follow the order of the mesh; replication is described in words."""
    halves = [[0, 4], [0, 4], [4, 8], [4, 8]]
    layout = mesh_of(
        {"data": 2, "model": 2},
        "P('data', None, None)",
        [[half, [0, 8], [0, 2]] for half in halves],
        [8, 8, 2],
    )

    assert draw_as_text(layout, 74).split("\n") == [
        "x: float32[8, 8, 2], P('data', None, None) on a mesh of data=2, model=2",
        "the devices of the mesh, each with the part that it holds:",
        "            model 0       model 1",
        "        ┌─────────────┬─────────────┐",
        "data 0  │   device 3  │   device 2  │",
        "        │ [0:4, :, :] │ [0:4, :, :] │",
        "        ├─────────────┼─────────────┤",
        "data 1  │   device 1  │   device 0  │",
        "        │ [4:8, :, :] │ [4:8, :, :] │",
        "        └─────────────┴─────────────┘",
        "Each of 4 devices holds a part of 4 x 8 x 2; each part is replicated along",
        "model, on 2 devices.",
    ]


def test_eight_devices_in_a_row_fit_80_columns() -> None:
    """Short parts fit in one row of 80 columns; long ones are drawn as a mesh over two rows."""
    short = mesh_of({"data": 8}, "P('data')", [[[n, n + 1]] for n in range(8)], [8])
    long = mesh_of(
        {"data": 8},
        "P(None, 'data')",
        [[[0, 4], [n * 999, n * 999 + 999]] for n in range(8)],
        [4, 8 * 999],
    )

    for layout in (short, long):
        assert max(map(len, draw_as_text(layout, 74).split("\n"))) <= 74
    assert "│  7  │  6  │  5  │  4  │  3  │  2  │  1  │  0  │" in draw_as_text(short, 74)
    assert "Each of 8 devices holds a part of 1 numbers" not in draw_as_text(short, 74)
    assert 2 == sum("device" in line and "│" in line for line in draw_as_text(long, 74).split("\n"))
    assert "[:, 6993:7992]" in draw_as_text(long, 74)


def test_two_boxes_too_wide_are_no_mesh() -> None:
    """Boxes too wide for the screen become a list of parts."""
    parts = [[[n, n + 1], [0, 2], [0, 2]] for n in range(2)]
    layout = mesh_of({"data": 2}, "P('data')", parts, [2, 2, 2])

    assert "│[0:1, :, :]│[1:2, :, :]│" in draw_as_text(layout, 25)
    assert "[0:1, 0:2, 0:2] on device 1" in draw_as_text(layout, 24)


def test_axis_named_after_devices_is_not_repeated() -> None:
    """`device 0` under the axis `devices 0` is not repeated unless the orders differ."""
    parts = [[[n, n + 1], [0, 2], [0, 2]] for n in range(4)]
    backwards = mesh_of({"devices": 4}, "P('devices')", parts, [4, 2, 2])
    forwards = replace(backwards, order=(0, 1, 2, 3))

    assert "devices 0" in draw_as_text(backwards, 74)
    assert "devices 0" not in draw_as_text(forwards, 74)
    assert "device 0" in draw_as_text(forwards, 74)
    assert "data 0" in draw_as_text(replace(forwards, mesh={"data": 4}), 74)


def test_replicated_array_is_one_box() -> None:
    """A replicated array is drawn as one box with all device numbers."""
    layout = mesh_of({"data": 4}, "P()", [[[0, 8]]] * 4, [8])

    assert "│  devices 0 1 2 3   │" in draw_as_text(layout, 74)
    assert draw_as_text(layout, 74).endswith("Replicated: each of 4 devices holds all of it.")


def test_array_of_many_axes_or_parts_is_list() -> None:
    """Arrays of more than two axes, or with many parts, are listed."""
    deep = {
        **LAYOUT,
        "shape": [8, 8, 2],
        "parts": [{**part, "index": [*part["index"], [0, 2]]} for part in LAYOUT["parts"]],
    }
    many = {
        **LAYOUT,
        "shape": [64],
        "count": 64,
        "parts": [{"device": number, "index": [[number, number + 1]]} for number in range(64)],
    }

    assert "  [0:4, 4:8, 0:2] on device 1" in draw_as_text(parsed(deep)[0], 74)
    assert "  ... 48 further parts" in draw_as_text(parsed(many)[0], 74)


STRANGE: list[Any] = [
    None,
    7,
    "lines",
    [],
    [None],
    [{}],
    [{"kind": "lines"}],
    [{**LINES, "x": 3}],
    [{**LINES, "series": {"a": [1]}}],
    [{**LINES, "series": {}}],
    [{**BARS, "bars": {"a": "b"}}],
    [{**LAYOUT, "parts": []}],
    [{**LAYOUT, "parts": [{"device": 0, "index": [[0, 1]]}]}],
    [{**LAYOUT, "mesh": 3}],
    [{**BARS, "bars": {str(n): 1 for n in range(999)}}],
    [{**LINES, "x": {"name": "", "values": [0] * 9999}, "series": {"a": [0] * 9999}}],
    [{**LAYOUT, "shape": "8"}],
    [{"kind": "gif"}],
    [{**LAYOUT, "order": 3}],
    [{**LAYOUT, "order": ["a"]}],
]


@pytest.mark.parametrize("value", STRANGE, ids=range(len(STRANGE)))
def test_forged_drawing_is_left_out(value: Any) -> None:
    """A drawing that does not have the expected structure is ignored."""
    assert parse_drawings(value, str) == ()


def test_hostile_numbers_and_names_break_no_drawing() -> None:
    """Equal, huge, missing or single numbers can be drawn, and names are redacted."""
    for values in ([0.0, 0.0], [1e308, -1e308], [None, None], [5.0], [1e-300, 2e-300]):
        place = list(range(len(values)))
        series = {"series": {"a": values}, "x": {"name": "", "values": place}}
        (lines,) = parsed({**LINES, **series})
        assert draw_as_text(lines, 50)
        assert describe_drawing(lines)
    (bars,) = parse_drawings(
        [{**BARS, "bars": {"token": -1.0}}], lambda text: text.replace("token", "[x]")
    )
    assert "[x]" in draw_as_text(bars, 50)


def test_large_number_is_printed_in_full() -> None:
    """Large numbers are printed in full, not as `1.968e+04`."""
    (bars,) = parsed({**BARS, "bars": {"loop": 19682.4, "vmap": 527979.0, "small": 0.0723}})
    (lines,) = parsed({**LINES, "series": {"calls": [1e6, 2e6, 4e6]}})

    assert ["19682", "527979", "0.0723"] == [
        row.split()[-1] for row in draw_as_text(bars, 60).split("\n")[1:]
    ]
    assert "it rises from 1000000 to 4000000" in describe_drawing(lines)[0]
    assert "e+" not in draw_as_text(lines, 60)
