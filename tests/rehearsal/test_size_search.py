"""The search for the largest size that fits, on memory that grows as a compiler's does."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tpustarter.rehearsal.fit.size_search import SizeSearch, list_step_sizes

GIB = 2**30
LIMIT = 16 * GIB
MOST = 10**6

NEEDS: dict[str, tuple[Callable[[int], float], int]] = {
    # bytes by size, and compilations at most
    "in proportion": (lambda size: 3.1e6 * size, 16),
    "much that does not depend on it": (lambda size: 12e9 + 36e3 * size, 16),
    "square": (lambda size: 1e8 + 40 * size**2, 20),
    "tiles of 128": (lambda size: 1e9 + 3.1e6 * 128 * math.ceil(size / 128), 22),
    "tiles of 8": (lambda size: 3.1e6 * 8 * math.ceil(size / 8), 16),
    "few sizes": (lambda size: 3 * GIB * size, 8),
    "less from some size on": (lambda size: size * (2e6 if size < 8000 else 1.5e6), 16),
    "more where tiles are not full": (lambda size: 3.1e6 * size * (1.2 if size % 128 else 1), 16),
}


def search(need: Callable[[int], float], start: int) -> tuple[SizeSearch, list[int]]:
    """Search with a compiler that rounds what it refuses; returns the search and its sizes."""
    sizes, tried = SizeSearch(start, MOST, LIMIT), list[int]()
    while (size := sizes.find_next()) is not None:
        needed = int(need(size))
        tried.append(size)
        fits = needed <= LIMIT
        sizes.record(size, needed if fits else round(needed / GIB, 2) * GIB // 1, fits=fits)
        assert len(tried) < 100, "it goes on for ever"
    return sizes, tried


@pytest.mark.parametrize("start", [1, 64, 100_000])
@pytest.mark.parametrize("name", NEEDS)
def test_next_size_does_not_fit(name: str, start: int) -> None:
    """Both were compiled, and no size twice."""
    need, most = NEEDS[name]
    sizes, tried = search(need, start)

    assert need(sizes.largest) <= LIMIT < need(sizes.largest + 1)
    assert {sizes.largest, sizes.largest + 1} <= {*tried}
    assert len({*tried}) == len(tried)
    assert len(tried) <= most


def test_full_tiles_above_a_gap_are_tried() -> None:
    """A size that fills its tiles may fit, though many below it don't."""
    sizes, _ = search(NEEDS["more where tiles are not full"][0], 1)

    assert 0 == sizes.largest % 128


@pytest.mark.parametrize(("needed", "largest"), [(LIMIT + 1, 0), (1, MOST)])
def test_search_without_a_border_ends(needed: int, largest: int) -> None:
    """A search in which everything fits, or nothing, ends."""
    sizes, tried = search(lambda _: needed, 64)

    assert largest == sizes.largest
    assert len(tried) < 30


STEPS = [
    # devices, default; steps that must be tried before the last
    (8, 0, {1, 2, 4, 8, 16}),
    (8, 96, {1, 3, 6, 8, 24, 48, 96}),
    (1, 0, {1, 2, 64}),
    (4, 1_000_003, {1, 4, 1_000_003}),
]


@pytest.mark.parametrize(("devices", "default", "among"), STEPS)
def test_steps_divide_mesh_and_default(devices: int, default: int, among: set[int]) -> None:
    """The smallest that can be lowered is the step, so they come in order."""
    steps = list_step_sizes(devices, default)

    assert among <= {*steps}
    assert sorted({*steps}) == steps
