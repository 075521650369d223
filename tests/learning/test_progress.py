"""What is remembered: never less than was written, whoever writes and whatever is killed."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_lessons import TASK_AND_QUESTION, fence, make_lesson
from tests.support.processes import HANG_S
from tpustarter import state
from tpustarter.checking.results import Result, Run
from tpustarter.learning import merging, progress, progress_file
from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import blocks_of
from tpustarter.problem import Problem

ROOT = Path(__file__).parents[2]
WHERE = {"platform": "cpu", "kind": "cpu", "count": 8, "virtual": True}


def python(program: str) -> subprocess.Popen[str]:
    """Start a program that can import what is tested."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program], env=env, text=True)


def test_a_lesson_is_read_by_its_blocks_and_done_by_its_tasks_and_questions(tmp_path: Path) -> None:
    """What is open is counted; one that was done before such a task was there stays done."""
    lesson = make_lesson(tmp_path, fence("print(1)") + TASK_AND_QUESTION)
    one, turn = blocks_of(lesson)

    def known() -> progress.LessonProgress:
        return progress.read().lessons[lesson.id]

    progress.block_ended(lesson, one, BlockResult("one", "fail"))
    assert (False, "begun 0 of 3") == (known().is_read, progress.mark(lesson, known()))
    progress.block_ended(lesson, one, BlockResult("one", "pass"))
    assert ("begun 1 of 3", False) == (progress.mark(lesson, known()), known().is_read)
    progress.lesson_left(lesson)
    assert ("read", 2, None) == (progress.mark(lesson, known()), known().open, known().done)
    assert {lesson.id} == progress.read_only()
    progress.block_ended(lesson, turn, BlockResult("turn", "pass"))
    progress.quiz_answered(lesson, "why", is_right=False)
    assert (1, False) == (known().open, progress.is_done(lesson.id))
    progress.quiz_answered(lesson, "why", is_right=True)
    assert ("done", set()) == (progress.mark(lesson, known()), progress.read_only())

    progress.lesson_done("made/earlier")
    earlier = make_lesson(tmp_path, fence("print(1)") + TASK_AND_QUESTION, name="02-earlier")
    progress.block_ended(earlier, blocks_of(earlier)[0], BlockResult("one", "pass"))
    assert progress.is_done("made/earlier")


def test_a_lesson_is_done_once_all_its_blocks_have_passed(tmp_path: Path) -> None:
    """Each block counts as the lesson has it now; one that was not run changes nothing."""
    lesson = make_lesson(tmp_path, fence("print(1)") + fence("print(2)", name="two"))
    one, two = blocks_of(lesson)
    progress.block_ended(lesson, one, BlockResult("one", "pass", ran_on=WHERE))
    progress.block_ended(lesson, two, BlockResult("two", "fail"))
    assert (True, False) == (progress.started(lesson.id), progress.is_done(lesson.id))
    progress.block_ended(lesson, two, BlockResult("two", "notrun", "interrupted"))
    known = progress.read().lessons[lesson.id]
    assert ("pass", "fail") == (known.status(one), known.status(two))
    assert WHERE == known.blocks["one"]["ran_on"]
    progress.block_ended(lesson, two, BlockResult("two", "pass"))

    assert progress.is_done(lesson.id)
    assert progress.read().lessons[lesson.id].done


def test_changed_code_is_shown_as_changed_and_does_not_undo_a_lesson(tmp_path: Path) -> None:
    """A block whose code is another since has no status any more; what was done stays done."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    progress.block_ended(lesson, blocks_of(lesson)[0], BlockResult("one", "pass"))
    changed = make_lesson(tmp_path, fence("print(2)") + fence("print(3)", name="new"))
    one, new = blocks_of(changed)
    known = progress.read().lessons[lesson.id]

    assert ("changed", None) == (known.status(one), known.status(new))
    assert progress.is_done(lesson.id)


def test_a_list_says_how_many_blocks_of_a_lesson_have_passed(tmp_path: Path) -> None:
    """Optional blocks do not count, nor does one that failed; a lesson without blocks is begun."""
    text = fence("print(1)") + fence("print(2)", name="two") + fence("print(3)", name="three")
    text += f"<details><summary>More</summary>\n\n{fence('print(4)', name='more')}</details>\n"
    lesson = make_lesson(tmp_path, text)
    blocks = blocks_of(lesson)
    assert "" == progress.mark(lesson, progress.read().lessons.get(lesson.id))
    for block, status in zip(blocks, ("pass", "fail", "pass", "pass"), strict=True):
        progress.block_ended(lesson, block, BlockResult(block.id, status))
    progress.quiz_answered(lesson, "why", is_right=True)
    known = progress.read().lessons[lesson.id]
    assert (2, 3) == progress.things_done(lesson, known)
    assert "begun 2 of 3" == progress.mark(lesson, known)
    assert known.quizzes["why"]["right"] is True
    progress.lesson_done(lesson.id)

    assert "done" == progress.mark(lesson, progress.read().lessons[lesson.id])
    only_text = make_lesson(tmp_path, "Words.\n", name="02-words")
    assert "begun" == progress.mark(only_text, progress.LessonProgress())


def test_what_is_not_understood_is_kept() -> None:
    """Lessons that are gone, keys of another version and nonsense do no harm and are not lost."""
    before = {
        "schema": "tpustarter.progress/9",
        "more": 1,
        "lessons": {
            "a/renamed": {
                "done": "2026-01-01T00:00:00+00:00",
                "stars": 5,
                "blocks": {"x": {"y": 1}},
            },
            "a/odd": {"done": 7, "blocks": [1]},
            "a/odder": 3,
        },
    }
    state.save("progress", copy.deepcopy(before))
    progress.lesson_done("a/new")
    after = state.load("progress")

    assert progress.is_done("a/renamed")
    assert not progress.is_done("a/odd")
    assert (1, 5) == (after["more"], after["lessons"]["a/renamed"]["stars"])
    assert {"a/renamed", "a/odd", "a/new"} <= set(after["lessons"])


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_a_kill_at_any_write_loses_that_change_alone(place: str) -> None:
    """SIGKILL in the middle of a write: what was there before is there, and the next one works."""
    progress.lesson_done("a/one")
    program = (
        "import os, pathlib, signal\n"
        "from tpustarter.learning import progress\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{'os.fsync' if place == 'fsync' else 'pathlib.Path.replace'} = die\n"
        "progress.lesson_done('a/two')\n"
    )

    assert -signal.SIGKILL == python(program).wait(timeout=HANG_S)
    assert (True, False) == (progress.is_done("a/one"), progress.is_done("a/two"))
    progress.lesson_done("a/three")
    assert progress.is_done("a/three")


def test_two_programs_that_write_at_once_lose_nothing() -> None:
    """Every lesson either of them marked is done afterwards."""
    writers = [
        python(
            "from tpustarter.learning import progress\n"
            f"for n in range(40): progress.lesson_done(f'{track}/{{n}}')\n"
        )
        for track in "abc"
    ]
    codes = [writer.wait(timeout=60) for writer in writers]

    assert [0, 0, 0] == codes
    assert 120 == sum(1 for one in progress.read().lessons.values() if one.done)


def test_a_program_that_keeps_the_lock_is_waited_for_in_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another one that stopped in the middle of a write is said, not waited for without limit."""
    monkeypatch.setattr(progress_file, "LOCK_WAIT_S", 0.2)
    progress.lesson_done("a/one")
    with progress_file._lock(), pytest.raises(Problem, match="another tpustarter"):
        progress.lesson_done("a/two")

    assert not progress.is_done("a/two")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "tpustarter.progress/2"}', "[" * 9999]
)
def test_what_is_no_export_is_refused(text: str) -> None:
    """Anything but what `export` gives in this version is no progress."""
    with pytest.raises(ValueError, match=r"expected|Expecting|nested"):
        merging.read_export(text)

    assert merging.export() == merging.read_export(json.dumps(merging.export()))


DATES = st.none() | st.dates().map(str)
BLOCKS = st.dictionaries(
    st.sampled_from("xyz"),
    st.fixed_dictionaries(
        {"status": st.sampled_from(["pass", "fail"]), "when": DATES, "hash": DATES}
    ),
)
LESSONS = st.dictionaries(
    st.sampled_from(["a/one", "a/two", "b/three"]),
    st.fixed_dictionaries({"done": DATES, "blocks": BLOCKS})
    | st.dictionaries(st.sampled_from(["done", "blocks", "other"]), st.integers() | st.text()),
)
STORED = st.fixed_dictionaries({"lessons": LESSONS}) | st.dictionaries(st.text(), st.integers())


def done(value: dict[str, Any]) -> set[str]:
    """Return the lessons that are done in a stored progress."""
    return {name for name, fields in merging.merged(value, {})["lessons"].items() if fields["done"]}


@given(STORED, STORED)
def test_merging_loses_no_lesson_that_is_done(one: dict[str, Any], other: dict[str, Any]) -> None:
    """What is done on either side is done in both together, and nothing else is."""
    assert done(one) | done(other) == done(merging.merged(one, other))


@given(STORED, STORED)
def test_merging_in_either_order_gives_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Dates of lessons, and blocks, do not depend on which side is ours."""

    def facts(value: dict[str, Any]) -> dict[str, Any]:
        return {k: (v["done"], v["blocks"]) for k, v in value["lessons"].items()}

    assert facts(merging.merged(one, other)) == facts(merging.merged(other, one))


@given(STORED, STORED)
def test_merging_again_changes_nothing(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The same export can be read any number of times."""
    once = merging.merged(one, other)

    assert once == merging.merged(once, other)
    assert once == merging.merged(once, once)


def test_code_that_was_typed_ends_beside_the_lessons_own(tmp_path: Path) -> None:
    """It passes the block as well, and takes no pass from it; what was not run is forgotten."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    (one,) = blocks_of(lesson)

    def known() -> progress.LessonProgress:
        return progress.read().lessons[lesson.id]

    progress.block_ended(lesson, one, BlockResult("one", "pass"), "print(2)")
    assert ("pass", None) == (known().status(one), known().status_of(one, one.code))
    assert "pass" == known().status_of(one, "print(2)")
    assert progress.is_done(lesson.id)
    progress.block_ended(lesson, one, BlockResult("one", "pass"), one.code)
    progress.edit_ended(lesson, one, BlockResult("one", "error"), "print(")
    progress.edit_ended(lesson, one, BlockResult("one", "notrun"), "print(2)")
    assert ("pass", "pass") == (known().status(one), known().status_of(one, one.code))
    assert ("error", None) == tuple(known().status_of(one, code) for code in ("print(", "print(2)"))
    assert progress.is_done(lesson.id)


def test_an_export_can_be_merged_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was done on one machine is done on the other as well, through JSON."""
    progress.lesson_done("a/one")
    exported = json.loads(json.dumps(merging.export()))
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "other"))
    progress.lesson_done("a/two")
    merging.merge(exported)

    assert (True, True) == (progress.is_done("a/one"), progress.is_done("a/two"))


def test_the_last_check_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdict, where it holds, and its headline; a full disk does not spoil the check."""
    assert progress.last_check() is None
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.target = {"where": "8 virtual CPU devices", "devices": 8}
    run.results = [Result("jax.x", "x", "pass", ran_on=WHERE, framework="jax")]
    progress.remember_check(run)
    known = progress.last_check() or {}

    assert ("quick", "healthy", "virtual-cpu", 0) == (
        known["level"], known["verdict"], known["verified_on"], known["exit_code"],
    )  # fmt: skip
    assert "No TPU was tested" in known["headline"]
    assert 1 == known["counts"]["pass"]
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")
    progress.remember_check(run)


def test_a_check_in_another_python_leaves_the_last_one_known() -> None:
    """With what each had to say by name."""
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.results = [Result("jax.x", "x", "warn", framework="jax")]
    for python, day in (("", 0), ("a", 1), ("b", 2), ("b", 3)):
        run.started = f"2026-11-{day:02}T10:00:00+00:00"
        run.target = {"where": "8 virtual CPU devices", "devices": 8, "shown": python}
        progress.remember_check(run)
        assert ((progress.last_check() or {}).get("before") is None) == (python in ("", "a"))
    known = progress.last_check() or {}

    assert ("b", "2026-11-03T10:00:00+00:00") == (known["python"], known["when"])
    assert ("a", ["jax.x"]) == (known["before"]["python"], known["before"]["wrong"]["warn"])


def test_a_check_that_was_stopped_replaces_no_whole_one() -> None:
    """Home keeps what was proven; what was stopped proved little, and says so where it ran."""
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.target = {"where": "8 virtual CPU devices", "devices": 8}
    run.results = [Result("jax.x", "x", "pass", ran_on=WHERE, framework="jax")]
    progress.remember_check(run)
    known = progress.last_check()
    run.started = "2026-11-02T10:00:00+00:00"
    run.results += [Result("jax.y", "y", "notrun", "interrupted", framework="jax")]
    progress.remember_check(run)

    assert known is not None
    assert known == progress.last_check()
