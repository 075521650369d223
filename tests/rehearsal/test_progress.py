"""The progress of a rehearsal: its total, its percentage and its estimate."""

from __future__ import annotations

import pytest

from tpustarter.rehearsal.compile.compiler import CompileProgress, CompileTaskDone, RehearsalAnswer
from tpustarter.rehearsal.text.rehearsal_progress import (
    RehearsalProgress,
    format_rounded_time,
    sort_outermost_first,
)
from tpustarter.text import bars


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def given(*tasks: tuple[str, str]) -> tuple[RehearsalProgress, Clock]:
    """Return the progress of a rehearsal that has all its tasks, and its clock."""
    clock = Clock()
    progress = RehearsalProgress(clock=clock)
    for name, tpu in tasks:
        progress.add_task(name, tpu)
    progress.is_total_final = True
    return progress, clock


def compiled(
    progress: RehearsalProgress, clock: Clock, name: str, tpu: str, seconds: float
) -> None:
    """Let one task go through the compiler, alone."""
    progress.follow(CompileProgress("a program", tpu, 0.0, name))
    clock.now += seconds
    progress.follow(CompileTaskDone(name, tpu))


def made(total: int, done: int, passed_s: float) -> RehearsalProgress:
    """Return the progress of a rehearsal in which some tasks are done."""
    progress, clock = given(*((f"f{number}", "v6e-8") for number in range(total)))
    for number in range(done):
        compiled(progress, clock, f"f{number}", "v6e-8", passed_s / done)
    return progress


@pytest.mark.parametrize(
    ("total", "done", "passed_s", "text", "full"),
    [
        (0, 0, 0, "", 0),
        (1, 0, 9, "", 0),
        (200, 0, 0, "0 %, 0 of 200", 0),
        (200, 2, 9, "1 %, 2 of 200", 1),
        (200, 50, 60, "25 %, 50 of 200, about 3 min left", 4),
        (200, 199, 60, "99 %, 199 of 200, about 10 s left", 15),
        (200, 200, 60, "100 %, 200 of 200", 16),
    ],
)
def test_line_shows_share_done(
    total: int, done: int, passed_s: float, text: str, full: int
) -> None:
    """The estimate comes once three tasks are done, and 100 % only with the last."""
    progress = made(total, done, passed_s)

    assert text == progress.text()
    assert full == progress.draw_bar().count(bars.FULL)
    assert 16 == len(progress.draw_bar())


def test_times_are_rounded_up_to_common_values() -> None:
    """Times are rounded up to a few common values."""
    assert ["about 10 s", "about 50 s", "about 2 min"] == [
        format_rounded_time(s) for s in (0.2, 41, 95)
    ]


def test_slow_check_is_expected_slow_for_every_tpu() -> None:
    """One check of a hundred seconds comes for two more TPUs; the quick ones change nothing."""
    names = ["slow", "a", "b"]
    progress, clock = given(*((name, tpu) for tpu in ("v2-8", "v3-8", "v4-8") for name in names))
    for name in names:
        compiled(progress, clock, name, "v2-8", 100.0 if name == "slow" else 1.0)

    assert progress.left_s == pytest.approx(204)
    compiled(progress, clock, "slow", "v3-8", 140.0)
    assert progress.left_s == pytest.approx(124), "the average of both, and four quick ones"


def test_running_first_compilation_is_not_expected_quick() -> None:
    """After 50 s of it, no other TPU is expected to take less, and this one takes a while still."""
    progress, clock = given(*((name, tpu) for tpu in ("v2-8", "v3-8") for name in "abcd"))
    for name in "abc":
        compiled(progress, clock, name, "v2-8", 2.0)
    progress.follow(CompileProgress("loop", "v2-8", 0.0, "d"))
    clock.now += 50

    assert progress.left_s == pytest.approx(50 / 4 + 50 + 3 * 2)


def test_check_of_many_programs_is_estimated_by_finished() -> None:
    """A fifth of the slow check took 60 s, for two processes at once; quick ones say nothing."""
    tasks = [(name, tpu) for tpu in ("v6e-8", "v5e-8") for name in ("slow", "a", "b", "c")]
    progress, clock = given(*tasks)
    progress.follow(CompileProgress("one", "v6e-8", 0.0, "slow"))
    for name, tpu in (*tasks[1:4], *tasks[5:]):
        compiled(progress, clock, name, tpu, 5.0)
    progress.follow(CompileProgress("one", "v5e-8", 0.0, "slow"))
    clock.now += 30
    progress.follow(CompileProgress("two", "v6e-8", 0.0, "slow", 0.2))

    assert progress.left_s == pytest.approx(300 - 30), "the second began 30 s later"


def test_check_slower_than_elsewhere_is_estimated_by_programs() -> None:
    """With half of its programs done in 80 s, a check needs another 80 s, whatever v2-8 took."""
    progress, clock = given(*((name, tpu) for tpu in ("v2-8", "v6e-8") for name in ("slow", "a")))
    for name, tpu in (("slow", "v2-8"), ("a", "v2-8"), ("a", "v6e-8")):
        compiled(progress, clock, name, tpu, 20.0)
    progress.follow(CompileProgress("one", "v6e-8", 0.0, "slow"))
    clock.now += 80
    progress.follow(CompileProgress("two", "v6e-8", 0.0, "slow", 0.5))

    assert progress.left_s == pytest.approx(80)


def test_last_compilation_always_has_time_left() -> None:
    """However long the last task takes, the line goes on to name a time, and a longer one."""
    progress, clock = given(*((name, "v6e-8") for name in "abcd"))
    for name in "abc":
        compiled(progress, clock, name, "v6e-8", 2.0)
    progress.follow(CompileProgress("loop", "v6e-8", 0.0, "d"))
    texts: list[str] = []
    for _ in range(4):
        texts.append(progress.text().rpartition(", ")[2])
        clock.now += 60

    assert ["about 10 s left", "about 20 s left", "about 30 s left", "about 50 s left"] == texts


def test_second_compiler_halves_time_down_to_slowest_task() -> None:
    """The rest is shared between as many processes as were seen at once."""
    tasks = [(name, tpu) for tpu in ("v2-8", "v3-8", "v4-8") for name in ("slow", "a", "b")]
    progress, clock = given(*tasks)
    progress.follow(CompileProgress("loop", "v2-8", 0.0, "slow"))
    compiled(progress, clock, "a", "v2-8", 10.0)
    compiled(progress, clock, "b", "v2-8", 10.0)
    clock.now += 40
    progress.follow(CompileTaskDone("slow", "v2-8"))

    assert progress.left_s == pytest.approx((2 * 60 + 4 * 10) / 2)
    for name, tpu in tasks[4:6]:
        compiled(progress, clock, name, tpu, 10.0)
    compiled(progress, clock, "slow", "v3-8", 60.0)
    progress.follow(CompileProgress("loop", "v4-8", 0.0, "slow"))
    assert progress.left_s == pytest.approx(60), "the two quick ones go beside the slow one"


def test_stored_answer_gives_no_estimate() -> None:
    """Half of the answers come at once, the others take 10 s each."""
    progress, clock = given(*((name, "v6e-8") for name in "abcdefgh"))
    for name in "abcd":
        progress.follow(CompileProgress("p", "v6e-8", 0.0, name))
        stored = {"program": "p", "check": name, "tpu": "v6e-8", "cached": True}
        progress.follow(RehearsalAnswer(stored))
        progress.follow(CompileTaskDone(name, "v6e-8"))
    clock.now += 9
    assert progress.left_s is None
    for name in "efg":
        compiled(progress, clock, name, "v6e-8", 10.0)

    assert progress.left_s == pytest.approx(10)


def test_growing_rest_has_no_estimate() -> None:
    """Programs of the user's become known one after the other, as they are lowered."""
    progress = made(9, 5, 20)
    assert progress.left_s is not None
    progress.is_total_final = False

    assert progress.text() == "55 %, 5 of 9"


def test_externally_lowered_program_keeps_its_name() -> None:
    """A program lowered by torch_xla keeps its name in its task."""
    progress, clock = given(*((name, "v6e-8") for name in "abcd"))
    for name in "abc":
        progress.follow(CompileProgress(name, "v6e-8", 0.0, "torch_xla.training"))
        clock.now += 10
        progress.follow(CompileTaskDone(name, "v6e-8"))

    assert progress.left_s == pytest.approx(10)


def test_newest_tpu_does_not_count_for_middle_ones() -> None:
    """A check of 280 s for the newest TPU is near 50 s for the one that comes last."""
    took = {
        "v2-8": 10.0,
        "v3-8": 20.0,
        "v4-8": 40.0,
        "v5e-8": 50.0,
        "v5p-8": 60.0,
        "v6e-8": 100.0,
        "tpu7x-8": 280.0,
    }
    progress, clock = given(*(("slow", tpu) for tpu in sort_outermost_first(took)))
    progress.tpus = tuple(took)
    *first, last = sort_outermost_first(took)
    for tpu in first:
        compiled(progress, clock, "slow", tpu, took[tpu])

    assert "v5e-8" == last
    assert progress.left_s == pytest.approx(50)


def test_nearest_older_tpu_counts_without_newer() -> None:
    """With nothing newer compiled, the nearest older TPU gives the estimate."""
    progress, clock = given(*(("a", tpu) for tpu in ("v2-8", "v3-8", "v4-8", "v5p-8")))
    progress.tpus = ("v2-8", "v3-8", "v4-8", "v5p-8")
    for tpu, seconds in (("v2-8", 10.0), ("v3-8", 20.0), ("v4-8", 60.0)):
        compiled(progress, clock, "a", tpu, seconds)

    assert progress.left_s == pytest.approx(60)


def test_newest_and_oldest_tpus_come_first() -> None:
    """The newest and the oldest TPU come first, so their durations are known early."""
    assert [7, 1, 6, 2, 5, 3, 4] == list(sort_outermost_first(range(1, 8)))
    assert ["a"] == list(sort_outermost_first("a"))
    assert [] == list(sort_outermost_first([]))
