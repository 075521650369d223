"""Stored outputs of blocks: limited in size, and skipped if they cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson
from tpustarter.core import locations
from tpustarter.core.content import Lesson
from tpustarter.learning.content.blocks import list_blocks
from tpustarter.learning.progress import last_outputs
from tpustarter.learning.run.block_results import BlockResult, Status


def _end(lesson: Lesson, text: str, code: str = "1", status: Status = "pass") -> None:
    """Save an output for the first block of a lesson."""
    block = list_blocks(lesson)[0]
    last_outputs.save_output(lesson, block, BlockResult(block.id, status, output=text), code)


def _folder() -> Path:
    return locations.make_folder(locations.make_state_folder() / last_outputs.FOLDER)


def test_long_output_keeps_its_beginning_and_end(tmp_path: Path) -> None:
    """Whole lines of the beginning and end are kept; a stopped run replaces nothing."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    _end(lesson, "".join(f"line {number}\n" for number in range(100_000)))
    _end(lesson, "half", status="notrun")
    kept = last_outputs.read_outputs(lesson.id)["one"]
    lines = kept.text.splitlines()

    assert kept.is_of("1\n")
    assert ("line 0", "line 99999") == (lines[0], lines[-1])
    assert all(line.startswith(("line ", "[what")) or not line for line in lines)
    assert len(kept.text) <= last_outputs.MOST_CHARACTERS + len(last_outputs.LEFT_OUT)
    _end(lesson, "x" * 100_000)
    assert len(last_outputs.read_outputs(lesson.id)["one"].text) > 1000


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "{",
        "[1]",
        "\0",
        '{"blocks": 7}',
        '{"blocks": {"one": 7, "two": {"text": 1}}}',
        '{"blocks": {"one": {"text": "' + "x" * 70_000 + '", "code": "a"}}}',
    ],
)
def test_damaged_file_loses_only_its_output(foreign: str, tmp_path: Path) -> None:
    """A damaged file loads as empty without a message, and is replaced by the next output."""
    lesson = make_lesson(tmp_path, fence("print(1)"))
    (_folder() / "made.sample.json").write_text(foreign)

    assert {} == last_outputs.read_outputs(lesson.id)
    _end(lesson, "new")
    assert "new" == last_outputs.read_outputs(lesson.id)["one"].text


def test_oldest_lesson_leaves_full_folder_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest lesson is removed from a full folder, and unknown blocks with the next save."""
    monkeypatch.setattr(last_outputs, "MOST_BYTES", 5000)
    lessons = [
        make_lesson(tmp_path, fence("print(1)"), name=f"0{number}-{name}")
        for number, name in enumerate(("old", "middle", "new"), 1)
    ]
    for age, lesson in zip((300, 200, 100), lessons, strict=True):
        _end(lesson, "x" * 2000)
        (file,) = _folder().glob(f"*{lesson.id.partition('/')[2]}.json")
        os.utime(file, (file.stat().st_mtime - age,) * 2)
    _end(lessons[1], "y" * 2000)

    assert [[], ["one"], ["one"]] == [[*last_outputs.read_outputs(lesson.id)] for lesson in lessons]
    renamed = make_lesson(tmp_path, fence("print(1)", name="other"), name="03-new")
    _end(renamed, "z")
    assert ["other"] == [*last_outputs.read_outputs(renamed.id)]


def test_unwritable_folder_is_ignored(tmp_path: Path) -> None:
    """If the folder cannot be made, no output is stored and nothing fails."""
    (locations.make_state_folder() / last_outputs.FOLDER).write_text("")
    lesson = make_lesson(tmp_path, fence("print(1)"))
    _end(lesson, "new")

    assert {} == last_outputs.read_outputs(lesson.id)
