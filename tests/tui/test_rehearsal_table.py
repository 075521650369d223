"""The table of a rehearsal by itself: its rows, what stands in a cell, and which columns fit."""

from __future__ import annotations

import re

import pytest

from tpustarter.rehearsal.compile.compiler import StillCompiling
from tpustarter.tui.kit.text_layout import StackedText
from tpustarter.tui.rehearse import answer_details, status_line
from tpustarter.tui.rehearse.answer_details import ProgramComparison, RooflinePicture
from tpustarter.tui.rehearse.answer_table import (
    LEAST_LABEL,
    RehearsalAnswers,
    choose_columns,
    format_label,
    shorten_label,
)


def test_marked_column_always_fits() -> None:
    """Whatever the width, the marked TPU is shown, and nothing is wider than there is room."""
    labels, widths = ["a_long_name_of_a_check: a_program", "short"], [5, 7, 5, 5, 9, 5, 7, 5, 7]
    for width in range(LEAST_LABEL + 10, 140):
        for at in range(len(widths)):
            columns = choose_columns(labels, widths, width, at)

            assert at in columns.columns_in_sight
            assert columns.find_left_edge(columns.last - 1) + widths[columns.last - 1] <= width
            assert columns.label >= min(LEAST_LABEL, max(map(len, labels)))


@pytest.mark.parametrize(
    ("width", "expected"),
    [(30, "matmul_precision: highest"), (20, "matmul_pre…: highest"), (8, "matmul_…")],
)
def test_cut_label_keeps_program_name(width: int, expected: str) -> None:
    """Programs of one check differ in their end."""
    assert expected == shorten_label("matmul_precision: highest", width)


def test_worst_result_of_same_name_counts() -> None:
    """A script may give two functions of one name and shape to `jax.jit`."""
    known = RehearsalAnswers([(None, "")], ["v5e-8"])
    for status in ("compiles", "refused", "compiles"):
        known.record_answer({"check": None, "program": "f", "tpu": "v5e-8", "status": status})

    assert [(None, "f")] == known.programs
    assert ("refused", "fail") == known.cell((None, "f"), "v5e-8")


def test_elapsed_seconds_show_in_compiling_cell() -> None:
    """They go with the answer, and once it is stopped; a program gets its row when it begins."""
    known = RehearsalAnswers([("jax.a", ""), ("jax.b", "")], ["v5e-8"])
    known.record_running("jax.b", "jax.b", "v5e-8", 2.0)

    assert ("...2s", "run") == known.cell(("jax.b", ""), "v5e-8")
    assert ("wait", "wait") == known.cell(("jax.a", ""), "v5e-8")

    known.record_running("jax.b", "one", "v5e-8", 12.0)
    assert [("jax.a", ""), ("jax.b", "one")] == known.programs
    assert ("..12s", "run") == known.cell(("jax.b", "one"), "v5e-8")

    known.record_answer({"check": "jax.b", "program": "one", "tpu": "v5e-8", "status": "compiles"})
    assert ("ok", "pass") == known.cell(("jax.b", "one"), "v5e-8")

    known.record_running("jax.a", "two", "v5e-8", 700.0)
    known.busy = False
    assert ("-", "wait") == known.cell(("jax.a", "two"), "v5e-8")


def test_unrelated_event_gets_no_row() -> None:
    """The user's Python at work is no program, and neither is one whose check is not told."""
    known = RehearsalAnswers([("jax.a", "")], ["v5e-8"])
    known.record_running(None, "default", "v5e-8", 1.0)
    known.record_running(None, "your code", "a TPU", 1.0)

    assert [("jax.a", "")] == known.programs


def test_check_that_cannot_list_programs_has_row() -> None:
    """The answer about it stands behind its name, and no seconds go on."""
    known = RehearsalAnswers([("jax.a", "")], ["v5e-8"])
    known.record_running("jax.a", "one", "v5e-8", 1.0)
    known.record_answer({"check": "jax.a", "program": "jax.a", "tpu": "v5e-8", "status": "error"})

    assert ["a: one", "a"] == [format_label(one) for one in known.programs]
    assert "wait" == known.cell(("jax.a", "one"), "v5e-8")[0]
    assert ("ERROR", "error") == known.cell(("jax.a", "jax.a"), "v5e-8")


def test_torch_xla_checks_without_lowering_are_skipped() -> None:
    """They are left out together, for all TPUs, and each of their cells says so."""
    known = RehearsalAnswers(
        [("jax.a", ""), ("torch_xla.b", ""), ("torch_xla.c", "")], ["v5e-8", "v6e-8"]
    )
    known.record_running("jax.a", "fine", "v5e-8", 1.0)
    left_out = {"name": "torch_xla.* (2 checks)", "tpu": "v5e-8, v6e-8", "reason": "no torch here"}

    known.record_skipped([left_out])

    assert [("jax.a", "fine"), ("torch_xla.b", ""), ("torch_xla.c", "")] == known.programs
    for tpu in known.tpus:
        assert ("skip", "skip") == known.cell(("torch_xla.b", ""), tpu)
        assert "no torch here" == known.find_skip_reason(("torch_xla.c", ""), tpu)
        assert known.find_skip_reason(("jax.a", "fine"), tpu) is None


GIB = 2**30
ANSWER = {
    "check": None,
    "program": "step",
    "detail": "",
    "cached": False,
    "seconds": 1.0,
    "hbm_limit_bytes": 16 * GIB,
}
FITS = ANSWER | {
    "status": "compiles",
    "reason": None,
    "hbm_bytes": 9 * GIB,
    "buffers": [],
    "memory": {"arguments": 5 * GIB, "outputs": 4 * GIB, "temporaries": 0, "code": 2**20},
    "compiler_model_seconds": None,
}


def compared(width: int, *results: dict[str, object]) -> list[str]:
    """Return the lines of a comparison of these results."""
    answers = RehearsalAnswers([(None, "step")], [str(result["tpu"]) for result in results])
    for result in results:
        answers.record_answer(result)
    lines = ProgramComparison(answers, (None, "step"), "v5e-8").lines(width)
    return [line.plain for line in lines]


def test_long_reason_keeps_heads_above_figures() -> None:
    """It has a line of its own, and no column."""
    fits = FITS | {"tpu": "v5e-8"}
    broken = ANSWER | {"tpu": "v6e-8", "status": "error", "reason": "no answer, " * 20}

    head, first, second, *_ = compared(100, fits, broken)
    assert head.index("it has") + len("it has") == first.index("16.00 GiB") + len("16.00 GiB")
    assert "temporaries" in head
    assert "no answer" in second


def test_failure_of_several_tpus_is_told_once() -> None:
    """The marked answer names the others, and the comparison repeats no reason."""
    names = ("v2-8", "v5e-8", "v6e-8", "tpu7x-8")
    reasons = ("it broke", "it broke", "it broke", "another fault")
    results = [
        ANSWER | {"tpu": name, "status": "error", "reason": reason}
        for name, reason in zip(names, reasons, strict=True)
    ]
    answers = RehearsalAnswers([(None, "step")], names)
    for result in results:
        answers.record_answer(result)
    pieces = answer_details.describe_answer_cell(answers, (None, "step"), "v5e-8")
    lines = [line.plain for line in StackedText(pieces).lines(80)]

    assert [1, 1] == [
        sum(reason in line for line in compared(100, *results)) for reason in reasons[2:]
    ]
    assert 1 == sum("v2-8 and v6e-8" in line for line in lines)
    assert 0 == sum("tpu7x-8" in line for line in lines)


@pytest.mark.parametrize("runs_script", [False, True])
def test_line_tells_script_from_lowering(*, runs_script: bool) -> None:
    """A script may run for minutes, and nothing is lowered then."""
    job = StillCompiling("your code", "a TPU", 7)
    answers = RehearsalAnswers([(None, "")], ["v5e-8"])
    line = status_line.format_progress(job, answers, None, 9, 80, runs_script=runs_script)

    assert runs_script == ("script" in line)
    assert "7 s" in line


def test_bound_has_its_column_and_roofline() -> None:
    """The table has the time alone, and the details of a cell draw where it comes from."""
    peaks = ({"name": "x", "value": 1.0, "unit": "x", "source": "x"},)
    limits = [
        {"name": name, "amount": 1e12, "seconds": seconds, "peaks": peaks}
        for name, seconds in (("matrix unit", 4e-3), ("HBM", 1e-3))
    ]
    bound = {"seconds": 4e-3, "limiter": "matrix unit", "limits": limits}
    fits = FITS | {"tpu": "v5e-8", "bound": bound}

    head, line, *_ = compared(100, fits)
    assert head.index("at best") + len("at best") == line.index("4 ms") + len("4 ms")
    for width in (60, 100):
        drawn = RooflinePicture(fits).lines(width)
        assert any("●" in row.plain for row in drawn)
        assert all(row.cell_length <= width for row in drawn)
    assert [] == RooflinePicture(FITS | {"tpu": "v5e-8"}).lines(100)


def test_bars_fill_remaining_width() -> None:
    """On a wide screen a bar is worth more than the last columns; a small program has none."""
    fits = FITS | {"tpu": "v5e-8"}

    narrow, wide = (re.search(r"\[.*\]", compared(width, fits)[1]) for width in (80, 130))
    assert narrow
    assert wide
    assert 20 <= len(narrow[0]) < 30
    assert len(wide[0]) >= 36
    small = compared(130, FITS | {"tpu": "v5e-8", "hbm_bytes": 2**10})
    assert "memory" not in small[0]
    assert "compiled in" in small[0]
