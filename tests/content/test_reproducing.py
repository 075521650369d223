"""Reproducers of failures: for every block, and for a JAX that is really broken."""

from __future__ import annotations

from pathlib import Path

from tests.report.reproduce_ten import reproduced
from tests.report.test_reproducing import ON_CPU, imported
from tpustarter.core import content
from tpustarter.learning.content import blocks
from tpustarter.reproducing import reproducer_file


def test_every_block_of_a_lesson_becomes_a_file() -> None:
    """The file is Python without tpustarter imports, and ends with the block's code."""
    for lesson in content.read_lessons():
        every = [one for one in blocks.list_blocks(lesson) if not one.is_try]
        for block in every:
            text = reproducer_file.make_block_reproducer(lesson, every, block, None, ON_CPU).text

            assert text.endswith(block.code.strip("\n") + "\n")
            assert "tpustarter" not in imported(text)


def test_a_broken_jax_is_shown_without_this_program(tmp_path: Path) -> None:
    """The reproducer of a broken JAX fails with the same codes, and holds on one device."""
    kept, row = reproduced("jax.all_reduce", tmp_path)
    outcomes = {one["variant"]: one["outcome"] for one in row["variants"]}

    assert {"JAX-REDUCE-SUM", "JAX-REDUCE-FLOAT"} == {one["code"] for one in kept.findings}
    assert "same" == row["state"], row
    assert "fails (JAX-REDUCE-FLOAT, JAX-REDUCE-SUM)" == outcomes["as it is"]
    assert "holds" == outcomes["one device"]
    assert "holds on one device" in row["conclusion"]
