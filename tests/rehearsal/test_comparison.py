"""Programs side by side: which one is marked, and how the table and the sizes that fit read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rehearsal.test_rehearsal_text import made
from tests.support.places import TESTS
from tpustarter.rehearsal.comparison import compare_programs
from tpustarter.rehearsal.result_fields import FittingSize, TriedSize
from tpustarter.rehearsal.text import comparison_text, fit_text

GIB = 2**30


def program(
    name: str,
    seconds: float | None,
    received: int | None = 0,
    gib: float = 4,
    status: str = "compiles",
) -> dict[str, Any]:
    """Return the answer for one of several alternatives, on v5e-8."""
    fields: dict[str, Any] = {
        "hbm_bytes": int(gib * GIB),
        "hbm_limit_bytes": 16 * GIB,
        "collectives": [{"received_bytes": received}],
    }
    if seconds is not None:
        fields["bound"] = {"seconds": seconds, "limiter": "matrix unit", "limits": []}
    return {**made(name, "v5e-8", status), **fields}


CASES = {
    # the programs, and the one that is marked
    "the least bound": ([program("a", 2e-3), program("b", 1e-3, 900, 9)], "b"),
    "fewest bytes of equal bounds": ([program("a", 1e-3, 9), program("b", 1.0001e-3, 5)], "b"),
    "least memory of equal ones": ([program("a", 1e-3), program("b", 1e-3, gib=3)], "b"),
    "none that does not fit": (
        [program("a", 1e-3, status="does-not-fit"), program("b", 2e-3)],
        "b",
    ),
    "none that has more than a device": ([program("a", 1e-3, gib=17), program("b", 2e-3)], "b"),
    "one without a bound last": ([program("a", None), program("b", 9.0)], "b"),
    "unknown bytes are the most": ([program("a", 1e-3, None), program("b", 1e-3, 10**12)], "b"),
    "none of one": ([program("a", 1e-3)], None),
    "none of those that don't fit": ([program("a", 1.0, status="refused")] * 2, None),
}


@pytest.mark.parametrize("case", CASES)
def test_best_program_is_marked(case: str) -> None:
    """The fastest program that fits is marked as the best, for each TPU by itself."""
    results, best = CASES[case]
    rows = compare_programs([*results, {**program("c", 1e-9), "tpu": "v6e-8"}], "v5e-8")

    assert [one["program"] for one in results] == [row.program for row in rows]
    assert ([best] if best else []) == [row.program for row in rows if row.best]


def test_comparison_matches_golden_file(request: pytest.FixtureRequest) -> None:
    """The table of alternatives and the sizes that fit, as they are read on 80 columns."""
    donation = {"arguments": ["params", "state"], "most_bytes": GIB, "hbm_bytes": None}
    results = [
        program("data parallel", None, None, 21.5, "does-not-fit"),
        program("fsdp", 13.31e-3, 3 * GIB, 5.2) | {"donation": donation},
        program("tensor parallel, with \x1b[31ma name as long as a sentence of its own", 1.2e-2)
        | {"donation": donation},
    ]
    tried = tuple(
        TriedSize(size, status, status == "compiles", bytes_, None)
        for size, status, bytes_ in (
            (8, "compiles", 3 * GIB),
            (1024, "compiles", 15 * GIB),
            (1032, "does-not-fit", 17 * GIB),
            (4096, "error", None),
        )
    )
    fits = [
        FittingSize("step", "v5e-8", "batch", 8, 1024, 1032, None, tried[:3]),
        FittingSize("step", "v6e-8", "batch", 1, 4096, None, None, tried[:1]),
        FittingSize("step", "v2-8", "batch", 1, None, None, None, tried[2:3]),
        FittingSize("init", "v5e-8", "batch", 1, None, None, "`batch` changes nothing in it", ()),
        FittingSize("step", "v4-8", "batch", 8, 1024, 1032, "no answer for 4,096: killed", tried),
        FittingSize("step", "v3-8", "batch", 8, 1024, None, None, tried[:2], finished=False),
        FittingSize("step", "v3-8", "batch", 8, None, None, None, tried[2:3], finished=False),
    ]
    lines = [
        *comparison_text.format_comparison(results, ["v5e-8"]),
        "# one",
        *comparison_text.format_comparison(results[1:2], ["v5e-8"]),
        "# sizes",
        *fit_text.format_largest_sizes(fits),
        "# all sizes",
        *fit_text.format_largest_sizes(fits[:1], verbose=True),
        "# headline",
        fit_text.format_largest_fit_headline(fits),
        fit_text.format_largest_fit_headline(fits[:2]),
    ]
    golden, text = TESTS / "golden" / "rehearsal-comparison.txt", "\n".join(lines) + "\n"
    if request.config.getoption("--golden"):
        golden.write_text(text)

    assert golden.read_text() == text
