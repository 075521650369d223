"""Lessons that load programs compiled in an earlier run: same results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson, run_lesson
from tpustarter.core import locations
from tpustarter.learning.run.lesson_run_text import make_json_document
from tpustarter.learning.run.lessons_run import BlockEnded, LessonsRun

pytest.importorskip("jax")
COUNT = """
import jax, jax.numpy as jnp
hits = []
jax.monitoring.register_event_listener(
    lambda event, **_: event.endswith("/cache_hits") and hits.append(event)
)
print(jax.jit(lambda x: x * 3 + 1)(jnp.arange(4)))
"""
CODE = fence(COUNT, "[ 1  4  7 10]") + fence("print(len(hits) > 0)", "True", name="loaded")
AGAIN = "for _ in range(2):\n    print(jax.jit(lambda x: x - 2)(jnp.arange(3)))"
CODE += fence(AGAIN, "[0 1 2]", name="wrong")


def statuses(folder: Path, **options: bool) -> list[str]:
    """Run the lesson once; return the outcomes of its blocks."""
    header = "{framework: jax}" + "\nfresh: true" * options.pop("about_compiling", False)
    lesson = make_lesson(folder, CODE, needs=header)
    return [result.status for result in run_lesson(lesson, **options).values()]


def stored() -> list[Path]:
    """Return the stored programs."""
    return list((locations.make_state_folder() / "programs").glob("*/*"))


def test_second_run_loads_programs_and_judges_alike(tmp_path: Path) -> None:
    """The second run loads the programs, and a wrong output fails as before."""
    assert ["pass", "fail", "fail"] == statuses(tmp_path)
    assert ["pass", "pass", "fail"] == statuses(tmp_path)


def test_document_counts_loaded_programs(tmp_path: Path) -> None:
    """The JSON document counts programs loaded from the store; with `fresh` it counts none."""

    def count(*, fresh: bool = False) -> object:
        lesson = make_lesson(tmp_path, CODE, needs="{framework: jax}")
        run = LessonsRun([lesson], python=sys.executable, fresh=fresh)
        assert 3 == sum(isinstance(event, BlockEnded) for event in run.events())
        return make_json_document(run)["stored_programs"]

    first, again, fresh = count(), count(), count(fresh=True)

    assert (0, 0) == (first, fresh)
    assert isinstance(again, int)
    assert again >= 2


@pytest.mark.parametrize("option", ["fresh", "about_compiling"])
def test_fresh_lesson_neither_loads_nor_stores(option: str, tmp_path: Path) -> None:
    """`--fresh` or `fresh` in the header neither loads nor stores compiled programs."""
    assert ["pass", "fail", "fail"] == statuses(tmp_path, **{option: True})
    assert [] == stored()
    statuses(tmp_path)
    before = len(stored())

    assert ["pass", "fail", "fail"] == statuses(tmp_path, **{option: True})
    assert before == len(stored()) > 0
