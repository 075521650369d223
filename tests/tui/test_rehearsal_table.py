"""The table of a rehearsal: its rows, its cells, and the columns that fit."""

from __future__ import annotations

import re

import pytest

from tests.rehearsal.test_rehearsal_text import made
from tpustarter.rehearsal.compile.compiler import CompileProgress
from tpustarter.rehearsal.result_fields import FittingSize, TriedSize
from tpustarter.rehearsal.text import fit_text
from tpustarter.tui.kit.text_layout import StackedText
from tpustarter.tui.rehearse import answer_details, status_line
from tpustarter.tui.rehearse.answer_details import (
    ProgramComparison,
    RooflinePicture,
    compare_alternatives,
)
from tpustarter.tui.rehearse.answer_table import (
    LEAST_LABEL,
    RehearsalAnswers,
    choose_columns,
    format_label,
    shorten_label,
)
from tpustarter.tui.rehearse.typed_program import FUNCTION, TypedProgram, add_dimension


def test_marked_column_always_fits() -> None:
    """The marked column is always shown, and the columns fit the width."""
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
    """A label is cut so that the program's name stays."""
    assert expected == shorten_label("matmul_precision: highest", width)


def test_worst_result_of_same_name_counts() -> None:
    """Of programs with the same name and shape the worst result is shown."""
    known = RehearsalAnswers([(None, "")], ["v5e-8"])
    for status in ("compiles", "refused", "compiles"):
        known.record_answer({"check": None, "program": "f", "tpu": "v5e-8", "status": status})

    assert [(None, "f")] == known.programs
    assert ("refused", "fail") == known.cell((None, "f"), "v5e-8")


def test_elapsed_seconds_show_in_compiling_cell() -> None:
    """A compiling cell shows its seconds until an answer or a stop."""
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
    """Events of the user's Python or of an unknown check add no row."""
    known = RehearsalAnswers([("jax.a", "")], ["v5e-8"])
    known.record_running(None, "default", "v5e-8", 1.0)
    known.record_running(None, "your code", "a TPU", 1.0)

    assert [("jax.a", "")] == known.programs


def test_check_that_cannot_list_programs_has_row() -> None:
    """An error in place of a check's programs has a row of its own."""
    known = RehearsalAnswers([("jax.a", "")], ["v5e-8"])
    known.record_running("jax.a", "one", "v5e-8", 1.0)
    known.record_answer({"check": "jax.a", "program": "jax.a", "tpu": "v5e-8", "status": "error"})

    assert ["a: one", "a"] == [format_label(one) for one in known.programs]
    assert "wait" == known.cell(("jax.a", "one"), "v5e-8")[0]
    assert ("ERROR", "error") == known.cell(("jax.a", "jax.a"), "v5e-8")


def test_torch_xla_checks_without_lowering_are_skipped() -> None:
    """Skipped torch_xla checks have `skip` in the cell of every TPU."""
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
    """A long reason is on its own line and does not widen the columns."""
    fits = FITS | {"tpu": "v5e-8"}
    broken = ANSWER | {"tpu": "v6e-8", "status": "error", "reason": "no answer, " * 20}

    head, first, second, *_ = compared(100, fits, broken)
    assert head.index("it has") + len("it has") == first.index("16.00 GiB") + len("16.00 GiB")
    assert "temporaries" in head
    assert "no answer" in second


def test_failure_of_several_tpus_is_told_once() -> None:
    """The answer names the other TPUs with the same reason, which is shown once."""
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
    """The line says whether the script runs or its programs are lowered."""
    job = CompileProgress("your code", "a TPU", 7)
    answers = RehearsalAnswers([(None, "")], ["v5e-8"])
    line = status_line.format_progress(job, answers, None, 9, 80, runs_script=runs_script)

    assert runs_script == ("script" in line)
    assert "7 s" in line


def test_bound_has_its_column_and_roofline() -> None:
    """The table has the time of the bound, and the details draw its roofline."""
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
    """Bars grow with the width, and a small program has none."""
    fits = FITS | {"tpu": "v5e-8"}

    narrow, wide = (re.search(r"\[.*\]", compared(width, fits)[1]) for width in (80, 130))
    assert narrow
    assert wide
    assert 20 <= len(narrow[0]) < 30
    assert len(wide[0]) >= 36
    small = compared(130, FITS | {"tpu": "v5e-8", "hbm_bytes": 2**10})
    assert "memory" not in small[0]
    assert "compiled in" in small[0]


SMALL, LARGE = (
    TriedSize(1000, "compiles", fits=True, hbm_bytes=9 * GIB, reason=None),
    TriedSize(1008, "does-not-fit", fits=False, hbm_bytes=17 * GIB, reason=None),
)
FITS_OF = {
    # what is known of the size, the word in the cell, and whether the sizes are listed
    "while it is searched": (
        FittingSize("step", "v5e-8", "batch", 8, 1000, None, None, (SMALL,), finished=False),
        "...3s",
        True,
    ),
    "the largest": (
        FittingSize("step", "v5e-8", "batch", 8, 1000, 1008, None, (SMALL, LARGE)),
        "1,000",
        True,
    ),
    "a program without it": (
        FittingSize("step", "v5e-8", "batch", 1, None, None, "`batch` changes nothing in it", ()),
        "skip",
        False,
    ),
}


@pytest.mark.parametrize("case", FITS_OF)
def test_cell_and_details_show_largest_size(case: str) -> None:
    """The cell has the largest size, and the details list all sizes tried."""
    fit, word, is_listed = FITS_OF[case]
    answers = RehearsalAnswers([(None, "")], ["v5e-8"])
    answers.record_running(None, "step", "v5e-8", 3.0)
    if fit.finished and fit.tried:
        answers.record_answer(made("step", "v5e-8"))
    elif fit.finished:
        answers.busy = False
    answers.record_fit(fit)
    pieces = answer_details.describe_answer_cell(answers, (None, "step"), "v5e-8")
    lines = [line.plain for line in StackedText(pieces).lines(100)]

    assert word == answers.cell((None, "step"), "v5e-8")[0]
    assert is_listed == any(fit_text.describe_fit(fit) in line for line in lines)
    for tried in fit_text.list_tried_sizes(fit):
        assert any(line.endswith(tried) for line in lines)
    assert (answers.find_skip_reason((None, "step"), "v5e-8") is None) == is_listed


def test_search_counts_sizes_in_its_line() -> None:
    """The size being compiled is in the line, and has no row."""
    job = CompileProgress("step", "v5e-8", 2, size="batch 1,008")
    answers = RehearsalAnswers([(None, "")], ["v5e-8"])
    for number in range(3):
        answers.record_running(None, "step", "v5e-8", 2.0)
        line = status_line.format_progress(job, answers, None, 9, 80, runs_script=False)
        assert ("step, batch 1,008 for v5e-8" in line, f"{number} size" in line) == (True, True)
        tried = (SMALL,) * (number + 1)
        answers.record_fit(
            FittingSize("step", "v5e-8", "batch", 8, 1, None, None, tried, finished=False)
        )

    assert [(None, "step")] == answers.programs


@pytest.mark.parametrize("width", [52, 76, 114])
def test_alternatives_are_compared_in_order_of_file(width: int) -> None:
    """Alternatives are compared in the file's order, within the width, with one mark."""
    names = ("data parallel", "fsdp", "tensor parallel, in the MLP alone")
    bound = {"limiter": "matrix unit", "limits": []}
    results = [
        FITS
        | {"tpu": "v5e-8", "program": name, "bound": bound | {"seconds": seconds}}
        | {"collectives": [{"received_bytes": 2**30}]}
        for name, seconds in zip(names, (3e-3, 1e-3, 2e-3), strict=True)
    ]
    answers = RehearsalAnswers([(None, "")], ["v5e-8"])
    for result in reversed(results):
        answers.record_answer(result)
    answers.sort_programs(results)
    pieces = list(compare_alternatives(answers, "v5e-8"))
    head, *rows = StackedText(pieces[:1]).lines(width)

    assert [(None, name) for name in names] == answers.programs
    assert [" ", ">", " "] == [row.plain[0] for row in rows]
    assert all(row.plain[2:].startswith(name[:9]) for row, name in zip(rows, names, strict=True))
    assert all(line.cell_length <= width for line in (head, *rows))
    assert all(("limited by" in head.plain) == row.plain.endswith("matrix unit") for row in rows)


TYPED = {
    # the program as it is typed, and with a dimension to search
    "step f32[64,8] f32[64,8]": "step f32[batch,8] f32[batch,8]",
    "step f32[8,8] bf16[64,8] s32[64]": "step f32[8,8] bf16[batch,8] s32[batch]",
    "step init(u32[2]) s32[4]": "step init(u32[2]) s32[batch]",
    "step f32[8] f32[]": "step f32[8] f32[]",
    "programs": "programs",
}


@pytest.mark.parametrize("typed", TYPED)
def test_first_axis_of_last_arrays_is_searched(typed: str) -> None:
    """The first axis of the last arrays is the default to search; a named one is kept."""
    program = TypedProgram(FUNCTION, tuple(typed.split()))
    sized = add_dimension(program)

    assert (*TYPED[typed].split(), "--fit", "batch") == sized.words
    assert ("", "batch") == (program.dimension, sized.dimension)
    assert len(program.arguments) == len(sized.arguments)
    assert sized == add_dimension(sized)
