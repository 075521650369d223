"""Stored progress: no write is lost to another program, a kill or a damaged file."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_lessons import TASK_AND_QUESTION, fence, make_lesson
from tests.support.processes import HANG_S
from tpustarter.checking.results.headline import read_summary, summarize_run
from tpustarter.checking.results.results import Result, Run, UsedDevices
from tpustarter.core import state
from tpustarter.core.problem import Problem
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.progress import lesson_progress, progress_file, progress_transfer
from tpustarter.learning.run.block_results import BlockResult

ROOT = Path(__file__).parents[2]
WHERE = UsedDevices("cpu", "cpu", 8, virtual=True)


def python(program: str) -> subprocess.Popen[str]:
    """Start a program that can import the tested package."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program], env=env, text=True)


def test_lesson_is_done_by_blocks_tasks_and_questions(tmp_path: Path) -> None:
    """Open tasks and questions are counted; a lesson that is done stays done with new tasks."""
    lesson = make_lesson(tmp_path, fence("print(1)") + TASK_AND_QUESTION)
    one, turn = list_blocks(lesson)

    def known() -> lesson_progress.LessonProgress:
        return lesson_progress.read_progress().lessons[lesson.id]

    lesson_progress.record_block(lesson, one, BlockResult("one", "fail"))
    assert (False, "begun 0 of 3") == (
        known().is_read,
        lesson_progress.format_lesson_mark(lesson, known()),
    )
    lesson_progress.record_block(lesson, one, BlockResult("one", "pass"))
    assert ("begun 1 of 3", False) == (
        lesson_progress.format_lesson_mark(lesson, known()),
        known().is_read,
    )
    lesson_progress.record_lesson_left(lesson)
    assert ("read", 2, None) == (
        lesson_progress.format_lesson_mark(lesson, known()),
        known().open_count,
        known().done,
    )
    assert {lesson.id} == lesson_progress.list_read_lessons()
    lesson_progress.record_block(lesson, turn, BlockResult("turn", "pass"))
    lesson_progress.record_quiz_answer(lesson, "why", is_right=False)
    assert (1, False) == (known().open_count, lesson_progress.is_lesson_done(lesson.id))
    lesson_progress.record_quiz_answer(lesson, "why", is_right=True)
    assert ("done", set()) == (
        lesson_progress.format_lesson_mark(lesson, known()),
        lesson_progress.list_read_lessons(),
    )

    lesson_progress.record_lesson_done("made/earlier")
    earlier = make_lesson(tmp_path, fence("print(1)") + TASK_AND_QUESTION, name="02-earlier")
    lesson_progress.record_block(earlier, list_blocks(earlier)[0], BlockResult("one", "pass"))
    assert lesson_progress.is_lesson_done("made/earlier")


def test_lesson_is_done_when_all_blocks_passed(tmp_path: Path) -> None:
    """Blocks count by their present code, and a block that was not run changes nothing."""
    lesson = make_lesson(tmp_path, fence("print(1)") + fence("print(2)", name="two"))
    one, two = list_blocks(lesson)
    lesson_progress.record_block(lesson, one, BlockResult("one", "pass", ran_on=WHERE))
    lesson_progress.record_block(lesson, two, BlockResult("two", "fail"))
    assert (True, False) == (
        lesson_progress.has_progress(lesson.id),
        lesson_progress.is_lesson_done(lesson.id),
    )
    lesson_progress.record_block(lesson, two, BlockResult("two", "notrun", "interrupted"))
    known = lesson_progress.read_progress().lessons[lesson.id]
    assert ("pass", "fail") == (known.status(one), known.status(two))
    stored = progress_file.read_stored_lessons()[lesson.id]["blocks"]["one"]
    assert msgspec.to_builtins(WHERE) == stored["ran_on"]
    lesson_progress.record_block(lesson, two, BlockResult("two", "pass"))

    assert lesson_progress.is_lesson_done(lesson.id)
    assert lesson_progress.read_progress().lessons[lesson.id].done


def test_changed_code_keeps_lesson_done(tmp_path: Path) -> None:
    """A lesson that was done stays done after its code changes."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    lesson_progress.record_block(lesson, list_blocks(lesson)[0], BlockResult("one", "pass"))
    changed = make_lesson(tmp_path, fence("print(2)") + fence("print(3)", name="new"))
    one, new = list_blocks(changed)
    known = lesson_progress.read_progress().lessons[lesson.id]

    assert ("changed", None) == (known.status(one), known.status(new))
    assert lesson_progress.is_lesson_done(lesson.id)


def test_list_counts_passed_blocks_of_lesson(tmp_path: Path) -> None:
    """Optional and failed blocks do not count; a lesson without blocks is `begun`."""
    text = fence("print(1)") + fence("print(2)", name="two") + fence("print(3)", name="three")
    text += f"<details><summary>More</summary>\n\n{fence('print(4)', name='more')}</details>\n"
    lesson = make_lesson(tmp_path, text)
    blocks = list_blocks(lesson)
    assert "" == lesson_progress.format_lesson_mark(
        lesson, lesson_progress.read_progress().lessons.get(lesson.id)
    )
    for block, status in zip(blocks, ("pass", "fail", "pass", "pass"), strict=True):
        lesson_progress.record_block(lesson, block, BlockResult(block.id, status))
    lesson_progress.record_quiz_answer(lesson, "why", is_right=True)
    known = lesson_progress.read_progress().lessons[lesson.id]
    assert (2, 3) == lesson_progress.count_done(lesson, known)
    assert "begun 2 of 3" == lesson_progress.format_lesson_mark(lesson, known)
    assert known.quizzes["why"].right
    lesson_progress.record_lesson_done(lesson.id)

    assert "done" == lesson_progress.format_lesson_mark(
        lesson, lesson_progress.read_progress().lessons[lesson.id]
    )
    only_text = make_lesson(tmp_path, "Words.\n", name="02-words")
    assert "begun" == lesson_progress.format_lesson_mark(
        only_text, lesson_progress.LessonProgress()
    )


def test_unknown_entries_are_kept() -> None:
    """Unknown lessons and keys are kept when progress is saved."""
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
    state.save_state("progress", copy.deepcopy(before))
    lesson_progress.record_lesson_done("a/new")
    after = state.load_state("progress")

    assert lesson_progress.is_lesson_done("a/renamed")
    assert not lesson_progress.is_lesson_done("a/odd")
    assert (1, 5) == (after["more"], after["lessons"]["a/renamed"]["stars"])
    assert {"a/renamed", "a/odd", "a/new"} <= set(after["lessons"])


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_kill_at_any_write_loses_only_that_change(place: str) -> None:
    """SIGKILL during a write leaves the earlier progress, and the next write works."""
    lesson_progress.record_lesson_done("a/one")
    program = (
        "import os, pathlib, signal\n"
        "from tpustarter.learning.progress import lesson_progress as progress\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{'os.fsync' if place == 'fsync' else 'pathlib.Path.replace'} = die\n"
        "progress.record_lesson_done('a/two')\n"
    )

    assert -signal.SIGKILL == python(program).wait(timeout=HANG_S)
    assert (True, False) == (
        lesson_progress.is_lesson_done("a/one"),
        lesson_progress.is_lesson_done("a/two"),
    )
    lesson_progress.record_lesson_done("a/three")
    assert lesson_progress.is_lesson_done("a/three")


def test_concurrent_writers_lose_nothing() -> None:
    """Lessons that several processes mark at once are all done afterwards."""
    writers = [
        python(
            "from tpustarter.learning.progress import lesson_progress as progress\n"
            f"for n in range(40): progress.record_lesson_done(f'{track}/{{n}}')\n"
        )
        for track in "abc"
    ]
    codes = [writer.wait(timeout=HANG_S) for writer in writers]

    assert [0, 0, 0] == codes
    assert 120 == sum(1 for one in lesson_progress.read_progress().lessons.values() if one.done)


def test_held_lock_is_waited_for_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held lock gives a problem after a bounded wait, and nothing is written."""
    monkeypatch.setattr(progress_file, "LOCK_WAIT_S", 0.2)
    lesson_progress.record_lesson_done("a/one")
    with progress_file._lock(), pytest.raises(Problem, match="another tpustarter"):
        lesson_progress.record_lesson_done("a/two")

    assert not lesson_progress.is_lesson_done("a/two")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "tpustarter.progress/2"}', "[" * 9999]
)
def test_invalid_export_is_refused(text: str) -> None:
    """An export that this version does not write is refused."""
    with pytest.raises(ValueError, match=r"expected|Expecting|nested"):
        progress_transfer.parse_progress_export(text)

    assert progress_transfer.make_progress_export() == progress_transfer.parse_progress_export(
        json.dumps(progress_transfer.make_progress_export())
    )


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
    """Return the ids of the lessons that are done in a stored progress."""
    return {
        name
        for name, fields in progress_transfer.merge_progress_exports(value, {})["lessons"].items()
        if fields["done"]
    }


@given(STORED, STORED)
def test_merging_loses_no_lesson_that_is_done(one: dict[str, Any], other: dict[str, Any]) -> None:
    """A merge is done in exactly the lessons that are done on either side."""
    assert done(one) | done(other) == done(progress_transfer.merge_progress_exports(one, other))


@given(STORED, STORED)
def test_merging_in_either_order_gives_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Merging two exports gives the same result in either order."""

    def facts(value: dict[str, Any]) -> dict[str, Any]:
        return {k: (v["done"], v["blocks"]) for k, v in value["lessons"].items()}

    assert facts(progress_transfer.merge_progress_exports(one, other)) == facts(
        progress_transfer.merge_progress_exports(other, one)
    )


def test_merging_ignores_order_of_fields() -> None:
    """Entries of equal time merge alike, whatever the order of their fields."""
    entries = [
        {"when": "2026-01-01", "hash": hash_, "status": status}
        for hash_, status in (("b", "fail"), ("a", "pass"))
    ]
    one, other = ({"lessons": {"a/one": {"blocks": {"x": entry}}}} for entry in entries)
    turned = {"lessons": {"a/one": {"blocks": {"x": dict(reversed(entries[0].items()))}}}}

    assert progress_transfer.merge_progress_exports(
        one, other
    ) == progress_transfer.merge_progress_exports(turned, other)


@given(STORED, STORED)
def test_merging_again_changes_nothing(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Merging the same export again changes nothing."""
    once = progress_transfer.merge_progress_exports(one, other)

    assert once == progress_transfer.merge_progress_exports(once, other)
    assert once == progress_transfer.merge_progress_exports(once, once)


def test_learner_code_passes_block_beside_lesson_code(tmp_path: Path) -> None:
    """Edited code can pass a block, and keeps the pass of the lesson's own code."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    (one,) = list_blocks(lesson)

    def known() -> lesson_progress.LessonProgress:
        return lesson_progress.read_progress().lessons[lesson.id]

    lesson_progress.record_block(lesson, one, BlockResult("one", "pass"), "print(2)")
    assert ("pass", None) == (known().status(one), known().status_of(one, one.code))
    assert "pass" == known().status_of(one, "print(2)")
    assert lesson_progress.is_lesson_done(lesson.id)
    lesson_progress.record_block(lesson, one, BlockResult("one", "pass"), one.code)
    lesson_progress.record_edit_failure(lesson, one, BlockResult("one", "error"), "print(")
    lesson_progress.record_edit_failure(lesson, one, BlockResult("one", "notrun"), "print(2)")
    assert ("pass", "pass") == (known().status(one), known().status_of(one, one.code))
    assert ("error", None) == tuple(known().status_of(one, code) for code in ("print(", "print(2)"))
    assert lesson_progress.is_lesson_done(lesson.id)


def test_export_can_be_merged_on_another_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An export as JSON adds one machine's finished lessons to those of another."""
    lesson_progress.record_lesson_done("a/one")
    exported = json.loads(json.dumps(progress_transfer.make_progress_export()))
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path / "other"))
    lesson_progress.record_lesson_done("a/two")
    progress_transfer.merge_progress_export(exported)

    assert (True, True) == (
        lesson_progress.is_lesson_done("a/one"),
        lesson_progress.is_lesson_done("a/two"),
    )


def test_the_last_check_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdict, place and headline of a run are stored; a full disk does not fail the check."""
    assert lesson_progress.read_last_check_run() is None
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.target = {"where": "8 virtual CPU devices", "devices": 8}
    run.results = [Result("jax.x", "x", "pass", ran_on=WHERE, framework="jax")]
    lesson_progress.record_check_run(run)
    known = lesson_progress.read_last_check_run() or {}

    assert ("quick", "healthy", "virtual-cpu", 0) == (
        known["level"],
        known["verdict"],
        known["verified_on"],
        known["exit_code"],
    )
    assert summarize_run(run) == read_summary(known["summary"])
    assert 1 == known["counts"]["pass"]
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")
    lesson_progress.record_check_run(run)


def test_run_of_named_checks_is_kept_apart() -> None:
    """A run of named checks is stored apart and does not replace the last full run."""
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick", ids=["jax.*"])
    run.results = [Result("jax.x", "x", "pass", ran_on=WHERE, framework="jax")]
    lesson_progress.record_check_run(run)

    assert lesson_progress.read_last_check_run() is None
    assert ["jax.*"] == (lesson_progress.read_last_named_check_run() or {})["ids"]


def test_check_in_another_python_keeps_last_result() -> None:
    """The last results of each other Python are kept with its name."""
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.results = [Result("jax.x", "x", "warn", framework="jax")]
    for python, day in (("", 0), ("a", 1), ("b", 2), ("b", 3)):
        run.started = f"2026-11-{day:02}T10:00:00+00:00"
        run.target = {"where": "8 virtual CPU devices", "devices": 8, "shown": python}
        lesson_progress.record_check_run(run)
        assert ((lesson_progress.read_last_check_run() or {}).get("before") is None) == (
            python in ("", "a")
        )
    known = lesson_progress.read_last_check_run() or {}

    assert ("b", "2026-11-03T10:00:00+00:00") == (known["python"], known["when"])
    assert ("a", ["jax.x"]) == (known["before"]["python"], known["before"]["wrong"]["warn"])


def test_stopped_check_replaces_no_complete_result() -> None:
    """A stopped run does not replace the stored result of a complete one."""
    run = Run("1", "2026-11-01T10:00:00+00:00", "quick")
    run.target = {"where": "8 virtual CPU devices", "devices": 8}
    run.results = [Result("jax.x", "x", "pass", ran_on=WHERE, framework="jax")]
    lesson_progress.record_check_run(run)
    known = lesson_progress.read_last_check_run()
    run.started = "2026-11-02T10:00:00+00:00"
    run.results += [Result("jax.y", "y", "notrun", "interrupted", framework="jax")]
    lesson_progress.record_check_run(run)

    assert known is not None
    assert known == lesson_progress.read_last_check_run()
