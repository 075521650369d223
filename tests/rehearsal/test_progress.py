"""How far a rehearsal is: the total, the percentage, and the estimate."""

from __future__ import annotations

import pytest

from tpustarter.rehearsal.compiler import Finished, Working
from tpustarter.rehearsal.progress import Progress, about


def made(total: int, done: int, passed_s: float) -> Progress:
    """Return the progress of a rehearsal in which some tasks are done."""
    now = [100.0]
    progress = Progress(clock=lambda: now[0])
    for _ in range(total):
        progress.given()
    for number in range(done):
        progress.follow(Working("f", "v6e-8", 1.0))
        progress.follow(Finished(f"f{number}", "v6e-8"))
    now[0] += passed_s
    return progress


@pytest.mark.parametrize(
    ("total", "done", "passed_s", "text", "full"),
    [
        (0, 0, 0, "", 0),
        (1, 0, 9, "", 0),
        (200, 0, 9, "0 %, 0 of 200", 0),
        (200, 2, 9, "1 %, 2 of 200", 0),
        (200, 50, 60, "25 %, 50 of 200, about 3 min left", 5),
        (200, 199, 60, "99 %, 199 of 200, about 10 s left", 19),
        (200, 200, 60, "100 %, 200 of 200", 20),
    ],
)
def test_the_line_says_how_far_it_is(
    total: int, done: int, passed_s: float, text: str, full: int
) -> None:
    """The estimate comes once three tasks are done, and 100 % only with the last."""
    progress = made(total, done, passed_s)

    assert text == progress.text()
    assert full == progress.bar().count("#")
    assert 22 == len(progress.bar())


def test_times_are_rounded_up_to_what_people_say() -> None:
    """Nobody is promised seconds."""
    assert ["about 10 s", "about 50 s", "about 2 min"] == [about(s) for s in (0.2, 41, 95)]
