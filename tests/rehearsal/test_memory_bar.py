"""The memory bar: the memory needed, the limit, and the biggest arrays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpustarter.rehearsal.text import memory_bar, rehearsal_text

GIB = 2**30


def array(kind: str, gib: float) -> dict[str, Any]:
    """Return an array of a result."""
    size = int(gib * GIB)
    return {
        "kind": kind,
        "laid_out_bytes": size,
        "name": "x",
        "shape": "f32[8]",
        "source": "",
        "op": "",
    }


def answer(needed: float, limit: float, *buffers: dict[str, Any], **memory: float) -> Any:
    """Return a result that needs so many GiB of so many."""
    return {
        "tpu": "v5e-8",
        "status": "compiles" if needed <= limit else "does-not-fit",
        "hbm_bytes": int(needed * GIB),
        "hbm_limit_bytes": int(limit * GIB),
        "memory": {name: int(gib * GIB) for name, gib in memory.items()},
        "buffers": list(buffers),
    }


@pytest.mark.parametrize(
    ("result", "bar"),
    [
        (answer(8, 16, array("argument", 8), arguments=8), "[AAAAAAAAAAAAAAA...............]"),
        (
            answer(12, 16, array("argument", 8), array("temporary", 8), arguments=8, temporaries=4),
            "[AAAAAAAAAAAAAAABBBBBBB........]",
        ),
        (answer(16, 16), "[oooooooooooooooooooooooooooooo]"),
        (answer(24, 16, array("argument", 20), arguments=20), "[AAAAAAAAAAAAAAAAAAAA|AAAAAooooo]"),
        (answer(0.1, 16), ""),
        (answer(0, 0), ""),
    ],
)
def test_the_bar_has_the_arrays_as_its_parts(result: dict[str, Any], bar: str) -> None:
    """The bar shows arrays as its parts, free memory as dots, and the excess after the end."""
    taken = memory_bar.list_memory_parts(result, result["buffers"])

    assert bar == memory_bar.draw_memory_bar(result, taken)
    assert result["hbm_bytes"] == sum(part.taken for part in taken)


def test_the_legend_names_each_letter_of_the_bar() -> None:
    """The letters say it without colour, and temporaries that share memory are counted once."""
    big, small = array("temporary", 6), array("temporary", 5)
    lines = rehearsal_text.memory_bars([answer(8, 16, big, small, temporaries=7, arguments=1)])

    assert [
        "v5e-8    [AAAAAAAAAAABBoo...............] 50 %",
        "A  6.00 GiB  temporary    f32[8]  x",
        "B  5.00 GiB  temporary    f32[8]  x",
        "o  1.00 GiB  everything else",
    ] == lines


def test_free_memory_is_shown_per_tpu_if_different() -> None:
    """An output that only one of them keeps twice is in no array of the other."""
    first = answer(32, 16, array("argument", 16), arguments=16)
    second = {**answer(48, 31, array("argument", 16), arguments=16), "tpu": "v6e-8"}
    lines = rehearsal_text.memory_bars([first, second])

    assert "o everything else: 16.00 GiB for v5e-8, 32.00 GiB for v6e-8" == lines[-1]


sizes = st.integers(0, 2**45)
buffers = st.lists(
    st.builds(
        lambda kind, size: array(kind, size / GIB),
        st.sampled_from(["argument", "output", "temporary"]),
        sizes,
    ),
    max_size=4,
)


@given(sizes, sizes, sizes, sizes, buffers)
def test_a_bar_never_lies_about_its_width(
    needed: int, limit: int, arguments: int, temporaries: int, found: list[dict[str, Any]]
) -> None:
    """Whatever the figures are, the bar has its stated width and shows all memory needed."""
    result = {
        "hbm_bytes": needed,
        "hbm_limit_bytes": limit,
        "memory": {"arguments": arguments, "temporaries": temporaries},
    }
    taken = memory_bar.list_memory_parts(result, found)
    bar = memory_bar.draw_memory_bar(result, taken)

    assert needed == sum(part.taken for part in taken)
    assert all(part.taken >= 0 for part in taken)
    assert len(bar) in (0, memory_bar.WIDTH + 2 + (needed > limit))
