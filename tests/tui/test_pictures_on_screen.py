"""Pictures on the screens, whose colours always have a second sign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.color import ColorSystem

from tests.support.tutor import press, tutor
from tpustarter.learning.drawings.curves import LinePlot
from tpustarter.rehearsal.text import memory_bar
from tpustarter.text import bars
from tpustarter.tui.kit import painted_drawings, text_layout
from tpustarter.tui.rehearse import memory_picture
from tpustarter.tui.rehearse.memory_picture import MemoryPicture

GIB = 2**30


def result(needed_gib: float, limit_gib: float = 16) -> dict[str, object]:
    """Return an answer about a program with two large arrays."""
    buffers = [
        {"kind": "argument", "laid_out_bytes": int(4 * GIB), "shape": "f32[1]", "source": ""},
        {"kind": "temporary", "laid_out_bytes": int(2 * GIB), "shape": "f32[1]", "source": ""},
    ]
    memory = {"arguments": 4 * GIB, "temporaries": int((needed_gib - 4) * GIB)}
    return {
        "tpu": "v5e-8",
        "hbm_bytes": int(needed_gib * GIB),
        "memory": memory,
        "hbm_limit_bytes": int(limit_gib * GIB),
        "buffers": buffers,
    }


@pytest.mark.parametrize("needed", [8, 15.9, 16, 17, 40])
@pytest.mark.parametrize("width", [30, 60, 100])
def test_memory_drawing_fits_and_matches_command_line(needed: float, width: int) -> None:
    """The drawing fits its width and has the same letters as the command line's."""
    one = result(needed)
    (line,) = MemoryPicture(one).lines(width)

    assert line.cell_length <= width
    drawn = line.plain.removeprefix("v5e-8    ").rpartition("]")[0] + "]"
    cells = len(drawn) - 2 - (needed > 16)
    assert memory_bar.draw_memory_bar(one, memory_picture.list_parts(one), cells) == drawn
    assert (memory_bar.END in drawn) == (needed > 16)
    assert f"{100 * needed / 16:.0f} %" in line.plain


def test_memory_parts_have_own_background() -> None:
    """Each part has its own background, and its letter in the screen's background colour."""
    picture = memory_picture.draw_memory(result(8), 40)
    grounds = {picture.plain[span.start]: str(span.style) for span in picture.spans}

    assert {"A", "B", "o", ".", "[", "]"} >= {*grounds}
    assert len({grounds["A"], grounds["B"], grounds["o"]}) == 3
    starts = [picture.plain.index(letter) for letter in "ABo"]
    styles = [str(span.style) for span in picture.spans if span.start in starts]
    assert all(style.startswith("$background on ") for style in styles)


def test_drawing_keeps_text_and_mutes_frames() -> None:
    """Curves have the key colour and frames are muted, with the text unchanged."""
    text = "┌──┐\n│⠉⠒│ 3\n└──┘\n a █▍ 12"
    painting = painted_drawings.paint_drawing(text)

    assert text == painting.plain
    styles = {text[span.start]: span.style for span in painting.spans}
    assert {"┌": "$muted", "│": "$muted", "└": "$muted", "⠉": "$key", "█": "$key"} == styles


STEPS = tuple(map(float, range(10)))
CURVES = LinePlot(
    "step",
    STEPS,
    {
        "changing_shape_ms": (80.0,) * 9 + (90.0,),
        "padded_ms": (75.0,) + (2.0,) * 9,
        "third_ms": (50.0,) * 10,
    },
    10,
)


def test_each_curve_has_colour_and_name() -> None:
    """Each curve has a colour, and its name at its end."""
    painting = painted_drawings.render_drawings([CURVES], 74, has_colours=True)
    lines = painting.plain.split("\n")
    end = {
        name: row
        for row, line in enumerate(lines)
        for name in ("changing shape", "third", "padded")
        if line.endswith(f" {name}")
    }

    assert "milliseconds" == lines[0]
    assert sorted(end, key=lambda name: end[name]) == ["changing shape", "third", "padded"]
    assert max(map(len, lines)) <= 74
    for curve, name in enumerate(("changing shape", "padded", "third")):
        painted_so = {
            painting.plain[span.start : span.end]
            for span in painting.spans
            if span.style == painted_drawings.CURVES[curve]
        }
        assert name in painted_so
        assert all("\u2800" <= sign <= "\u28ff" for run in painted_so - {name} for sign in run)


def test_curves_without_colours_have_named_signs() -> None:
    """Without colours each curve is drawn with its own sign."""
    text = painted_drawings.render_drawings([CURVES], 74, has_colours=False).plain

    assert "x padded" in text
    assert "o third" in text
    assert "xxxxxxxx" in text
    assert "xxxxxxxx" not in painted_drawings.render_drawings([CURVES], 74, has_colours=True).plain


PLOTTED = """# Two

```python run id=two plot=first,second
first, second = [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]
```
"""


@pytest.mark.parametrize("plain", [False, True])
async def test_block_plots_signs_only_in_plain_mode(tmp_path: Path, *, plain: bool) -> None:
    """The plot of a block draws its curves with signs only in plain mode."""
    async with tutor(tmp_path, lessons={"two": PLOTTED}, size=(80, 40)) as pilot:
        pilot.app.console._color_system = ColorSystem.TRUECOLOR
        pilot.app.choose(replace(pilot.app.choices, plain=plain))  # type: ignore[attr-defined]
        await press(pilot, "enter")
        seen = await press(pilot, "r")
        assert (" x second" in seen) == plain
        assert "second" in seen


def test_first_and_last_step_are_labelled() -> None:
    """The axes label the first and last step and begin at zero if they are near it."""
    lines = painted_drawings.render_drawings([CURVES], 74, has_colours=True).plain.split("\n")

    assert ["0", "2", "4", "6", "8", "9"] == lines[-2].split()
    assert "step" == lines[-1].strip()
    assert "0┤" in lines[-4]


def test_overlapping_curves_are_both_visible() -> None:
    """Equal curves are painted in turns, so both are visible."""
    same = LinePlot("step", STEPS, {"one": STEPS, "two": STEPS}, 10)
    painting = painted_drawings.render_drawings([same], 74, has_colours=True)
    cells = [
        sum(span.end - span.start for span in painting.spans if span.style == colour)
        for colour in painted_drawings.CURVES[:2]
    ]

    assert min(cells) > 20


@pytest.mark.parametrize("width", [50, 98, 160])
def test_curves_fill_width_up_to_names(width: int) -> None:
    """The curves take the full width, less the names, whatever size the terminal reports."""
    two = LinePlot("step", STEPS, {"up": STEPS, "down": STEPS[::-1]}, 10)
    lines = painted_drawings.render_drawings([two], width, has_colours=True).plain.split("\n")

    assert max(map(len, lines)) == width
    assert max(line.find("down") for line in lines) == width - len("down")
    assert max(line.rfind("┬") for line in lines) >= width - len("down") - 3


@pytest.mark.parametrize("names", [1, 2, 5, 40])
@pytest.mark.parametrize("width", [40, 74, 98])
def test_names_of_curves_never_break_plot(names: int, width: int) -> None:
    """Any number and length of names fits the width."""
    series = {f"a_long_name_of_{n}_{'z' * n}": (1.0, None, n / 2) for n in range(names)}
    for has_colours in (True, False):
        drawing = LinePlot("x", (0.0, 1.0, 2.0), series, 3)
        painting = painted_drawings.render_drawings([drawing], width, has_colours=has_colours)

        assert max(map(len, painting.plain.split("\n"))) <= width
        assert all(0 <= span.start < span.end <= len(painting.plain) for span in painting.spans)


def test_rate_beside_peak_is_labelled_bar() -> None:
    """The reached part of a bar differs in shape and colour."""
    text = bars.draw_peak_bar(0.83)
    painting = text_layout.colour_bar(text)

    assert text == painting.plain
    assert text.endswith("83 % of the peak")
    assert [33, 40] == [span.end for span in painting.spans]


def test_drawing_from_block_stays_plain_text() -> None:
    """Markup and control characters in a drawing are shown as text."""
    assert "a\\x07b [red]" == painted_drawings.paint_drawing("a\x07b [red]").plain
