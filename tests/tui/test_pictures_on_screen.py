"""Pictures on the screens: what a colour says there, a letter, a shape or a word says too."""

from __future__ import annotations

import pytest

from tpustarter.checking import bars
from tpustarter.rehearsal import memory_bar
from tpustarter.tui import memory_picture, painted
from tpustarter.tui.memory_picture import Memory

GIB = 2**30


def result(needed_gib: float, limit_gib: float = 16) -> dict[str, object]:
    """Return an answer about a program with two large arrays."""
    buffers = [
        {"kind": "argument", "laid_out_bytes": int(4 * GIB), "shape": "f32[1]", "source": ""},
        {"kind": "temporary", "laid_out_bytes": int(2 * GIB), "shape": "f32[1]", "source": ""},
    ]
    memory = {"arguments": 4 * GIB, "temporaries": int((needed_gib - 4) * GIB)}
    return {"tpu": "v5e-8", "hbm_bytes": int(needed_gib * GIB), "memory": memory,
            "hbm_limit_bytes": int(limit_gib * GIB), "buffers": buffers}  # fmt: skip


@pytest.mark.parametrize("needed", [8, 15.9, 16, 17, 40])
@pytest.mark.parametrize("width", [30, 60, 100])
def test_a_memory_fits_its_room_and_is_what_the_command_line_draws(
    needed: float, width: int
) -> None:
    """The letters are all there, so it says the same without colours."""
    one = result(needed)
    (line,) = Memory(one).lines(width)

    assert line.cell_length <= width
    drawn = line.plain.removeprefix("v5e-8    ").rpartition("]")[0] + "]"
    cells = len(drawn) - 2 - (needed > 16)
    assert memory_bar.bar(one, memory_picture.taken(one), cells) == drawn
    assert (memory_bar.END in drawn) == (needed > 16)
    assert f"{100 * needed / 16:.0f} %" in line.plain


def test_each_part_of_a_memory_has_a_ground_of_its_own() -> None:
    """With its letter at the beginning in the colour of the screen."""
    picture = memory_picture.picture(result(8), 40)
    grounds = {picture.plain[span.start]: str(span.style) for span in picture.spans}

    assert {"A", "B", "o", ".", "[", "]"} >= {*grounds}
    assert len({grounds["A"], grounds["B"], grounds["o"]}) == 3
    starts = [picture.plain.index(letter) for letter in "ABo"]
    styles = [str(span.style) for span in picture.spans if span.start in starts]
    assert all(style.startswith("$background on ") for style in styles)


def test_a_drawing_keeps_its_text_and_its_frames_step_back() -> None:
    """The curve has the colour of what is measured."""
    text = "┌──┐\n│⠉⠒│ 3\n└──┘\n a █▍ 12"
    painting = painted.drawing(text)

    assert text == painting.plain
    styles = {text[span.start]: span.style for span in painting.spans}
    assert {"┌": "$muted", "│": "$muted", "└": "$muted", "⠉": "$key", "█": "$key"} == styles


def test_each_curve_has_a_colour_beside_its_sign() -> None:
    """Letters of words are no points, and without several curves no letter is."""
    text = "│ xx loss  oo box │\n│  xxoo  ⠉⠒       │"
    coloured = {text[span.start : span.end]: str(span.style)
                for span in painted.drawing(text, has_curves=True).spans}  # fmt: skip

    assert {"x": "$keyword", "o": "$string", "│": "$muted", "⠉⠒": "$key"} == coloured
    spans = painted.drawing(text, has_curves=True).spans
    assert 8 == sum(str(span.style) in ("$keyword", "$string") for span in spans)
    assert "$keyword" not in {str(span.style) for span in painted.drawing(text).spans}


def test_a_rate_beside_its_peak_is_a_bar_with_its_words() -> None:
    """The part that was reached has the shape of its own, and a colour."""
    finding = {"code": "MATMUL-PEAK", "found": "83 %", "expected": "197 TFLOP/s"}
    text = bars.of_peak(finding)
    painting = painted.bar(text)

    assert text == painting.plain
    assert text.endswith("83 % of the peak")
    assert [33, 40] == [span.end for span in painting.spans]


def test_what_comes_from_elsewhere_stays_text() -> None:
    """A drawing of a block may hold anything."""
    assert "a\\x07b [red]" == painted.drawing("a\x07b [red]").plain
