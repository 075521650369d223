"""What blocks printed last is kept within bounds, and costs nothing where it cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson
from tpustarter import locations
from tpustarter.content import Lesson
from tpustarter.learning import printouts
from tpustarter.learning.block_results import BlockResult, Status
from tpustarter.learning.blocks import blocks_of


def _end(lesson: Lesson, text: str, code: str = "1", status: Status = "pass") -> None:
    """Let the first block of a lesson end."""
    block = blocks_of(lesson)[0]
    printouts.block_ended(lesson, block, BlockResult(block.id, status, output=text), code)


def _folder() -> Path:
    return locations.make_folder(locations.state() / printouts.FOLDER)


def test_what_is_long_is_kept_with_its_beginning_and_its_end(tmp_path: Path) -> None:
    """In whole lines; one that was stopped replaces nothing."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    _end(lesson, "".join(f"line {number}\n" for number in range(100_000)))
    _end(lesson, "half", status="notrun")
    kept = printouts.read(lesson.id)["one"]
    lines = kept.text.splitlines()

    assert kept.is_of("1\n")
    assert ("line 0", "line 99999") == (lines[0], lines[-1])
    assert all(line.startswith(("line ", "[what")) or not line for line in lines)
    assert len(kept.text) <= printouts.MOST_CHARACTERS + len(printouts.LEFT_OUT)
    _end(lesson, "x" * 100_000)
    assert len(printouts.read(lesson.id)["one"].text) > 1000


@pytest.mark.parametrize(
    "foreign",
    ["", "{", "[1]", "\0", '{"blocks": 7}', '{"blocks": {"one": 7, "two": {"text": 1}}}',
     '{"blocks": {"one": {"text": "' + "x" * 70_000 + '", "code": "a"}}}'],
)  # fmt: skip
def test_a_file_that_is_none_of_ours_costs_only_what_it_held(foreign: str, tmp_path: Path) -> None:
    """Nothing is said of it, and the next block is kept again."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    (_folder() / "made.sample.json").write_text(foreign)

    assert {} == printouts.read(lesson.id)
    _end(lesson, "new")
    assert "new" == printouts.read(lesson.id)["one"].text


def test_the_folder_has_a_bound_and_the_oldest_lesson_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that a lesson no longer has go with the next one that ends."""
    monkeypatch.setattr(printouts, "MOST_BYTES", 5000)
    lessons = [
        make_lesson(tmp_path, fence("print(1)"), name=f"0{number}-{name}")
        for number, name in enumerate(("old", "middle", "new"), 1)
    ]
    for age, lesson in zip((300, 200, 100), lessons, strict=True):
        _end(lesson, "x" * 2000)
        (file,) = _folder().glob(f"*{lesson.id.partition('/')[2]}.json")
        os.utime(file, (file.stat().st_mtime - age,) * 2)
    _end(lessons[1], "y" * 2000)

    assert [[], ["one"], ["one"]] == [[*printouts.read(lesson.id)] for lesson in lessons]
    renamed = make_lesson(tmp_path, fence("print(1)", name="other"), name="03-new")
    _end(renamed, "z")
    assert ["other"] == [*printouts.read(renamed.id)]


def test_a_folder_that_takes_no_file_stops_nobody(tmp_path: Path) -> None:
    """A file where the folder would be."""
    (locations.state() / printouts.FOLDER).write_text("")
    lesson = make_lesson(tmp_path, fence("print(1)"))
    _end(lesson, "new")

    assert {} == printouts.read(lesson.id)
