"""Counts of collectives by lessons and rehearsals, in code from the TPU compilers."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import pytest

from tests.support.places import TESTS
from tpustarter.core import locations
from tpustarter.probe.rehearse import collectives, hlo

FILE = "code/collectives.py"
TRACKS = ("jax", "project")
FOLDER = locations.content_folder("lessons")

SAMPLES = {
    "shard_map": {"all-gather": 4},
    "train_step": {"all-gather": 3, "all-reduce": 2, "reduce-scatter": 1},
}
"""Texts by libtpu 0.0.50.1 of two programs for a v5e-8: in the first, three gathers in several
steps have the same channel; the second is the step with FSDP of `jax/a-step-by-hand`."""

LINES = {
    "a pair counts once": (
        " %s = f32[8] all-gather-start(%x), channel_id=1\n %d = f32[8] all-gather-done(%s)",
        {"all-gather": 1},
    ),
    "one channel, two collectives": (
        " %a = f32[8] all-to-all(%x), channel_id=1\n %b = f32[8] all-to-all(%a), channel_id=1",
        {"all-to-all": 2},
    ),
    "a name is no collective": (" %a = f32[8] fusion(%all-reduce.1), calls=%all-reduce(", {}),
}


def count_collectives(text: str) -> dict[str, int]:
    """Call the function as JAX lessons import it."""
    return runpy.run_path(str(FOLDER / "jax" / FILE))["count_collectives"](text)


@pytest.mark.parametrize("name", SAMPLES)
def test_steps_of_one_collective_count_once(name: str) -> None:
    """The lesson's function and the program's reader count the same in compiled programs."""
    text = (TESTS / "samples" / "hlo" / f"{name}.txt").read_text()
    read: Counter[str] = Counter()
    for one in hlo.parse_program(text).collectives:
        read[one.op] += one.count

    assert (SAMPLES[name], SAMPLES[name]) == (count_collectives(text), dict(read))


@pytest.mark.parametrize("case", LINES)
def test_lines_are_counted_by_their_operation(case: str) -> None:
    """Lines that a search for names would misread are counted by their operation."""
    text, expected = LINES[case]

    assert expected == count_collectives(f"ENTRY %e () -> f32[] {{\n{text}\n}}")


def test_both_tracks_count_with_the_program_s_function() -> None:
    """Both tracks contain the same file as the program's reader."""
    reader = Path(collectives.__file__).read_text()

    assert [reader, reader] == [(FOLDER / track / FILE).read_text() for track in TRACKS]
