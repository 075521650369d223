"""The first edit position in code that a learner is to change."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.document._document import Document

from tests.support.made_lessons import fence
from tests.support.tutor import press, tutor
from tpustarter.core import content
from tpustarter.learning.content import blocks, exercises
from tpustarter.learning.run.lines_at_fault import find_differing_rows
from tpustarter.tui.kit.editor import CodeEditor, find_edit_selection, has_gap


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("    return x  # your code here", "return x"),
        ("    total = 0.0  # your code here", "total = 0.0"),
        ("    self.step += 1  # your code here", "self.step += 1"),
        ("    y = f(x, ...)", "..."),
        ("    with path.open() as file:  # your code here", ""),
        ("    )  # your code here", ""),
        ("    size = 256  # change to 512", ""),
    ],
)
def test_typing_replaces_gap_or_marked_statement(line: str, replaced: str) -> None:
    """A gap or a marked statement is selected; a line to change in part is not."""
    code = f"def clean(x):\n{line}\n"
    place = find_edit_selection(code)

    assert place is not None
    assert 1 == place.start[0]
    assert replaced == Document(code).get_text_range(place.start, place.end)
    assert replaced or 4 == place.start[1]


def test_typing_replaces_whole_announced_range() -> None:
    """The selection includes the comment that announces it and ends with the function."""
    below = "# your code here: replace the lines below\n\n    if x:\n        a()\n    b()"
    code = f"def f(x):\n    {below}\n\n\nc = 1\n"
    place = find_edit_selection(code)

    assert place is not None
    assert below == Document(code).get_text_range(place.start, place.end)


@pytest.mark.parametrize(
    ("code", "answer", "row", "column", "replaced"),
    [
        ("x = 1\ny = f(x)\nprint(y)", "x = 1\ny = g(x)\nprint(y)", 1, 0, "y = f(x)"),
        ("for x in xs:\n    x\nend()", "for x in xs:\n    print(x)\nend()", 1, 4, "x"),
        ("x = 1\nprint(y)", "x = 1\ny = 2\nprint(y)", 0, 5, ""),
        ("def f(): pass", "@jit\ndef f(): pass", 0, 0, ""),
        ("a()\n    # one is missing\nb()", "a()\n    c()\nb()", 1, 4, "# one is missing"),
        ('log = "w ... w"\nx = 1', 'log = "w ... w"\nx = 2', 1, 0, "x = 1"),
        ('x = f("...", 1)', 'x = f("ab", 1)', 0, 7, "..."),
        ('x = """\n"""  # add', 'x = """\n1\n"""', 1, 0, ""),
        ("x = 1\ny = 2  # change this", "x = 3\ny = 4", 1, 0, "y = 2"),
    ],
)
def test_answer_locates_line_without_mark(
    code: str, answer: str, row: int, column: int, replaced: str
) -> None:
    """The line is the first that the answer changes, or the one above which it adds."""
    place = find_edit_selection(code, answer)

    assert place is not None
    assert (row, column) == place.start
    assert replaced == Document(code).get_text_range(place.start, place.end)
    assert has_gap(code, answer) is (replaced == "...")


def test_every_task_and_exercise_opens_at_edit() -> None:
    """Every task and exercise opens with the cursor at the line to change."""
    lessons = content.read_lessons()
    tasks = [block for lesson in lessons for block in blocks.list_blocks(lesson) if block.is_try]
    lost = [task.id for task in tasks if find_edit_selection(task.code, task.answer or "") is None]
    gaps = [one for lesson in lessons for one in exercises.read_exercises(lesson)]
    lost += [exercise.id for exercise in gaps if find_edit_selection(exercise.gap) is None]

    assert len(tasks) > 100
    assert not lost


def test_every_task_opens_with_statement_selected() -> None:
    """Every task selects the statement to replace, except one whose answer only adds lines."""
    lessons = content.read_lessons()
    tasks = [block for lesson in lessons for block in blocks.list_blocks(lesson) if block.is_try]
    unmarked: list[str] = []
    for task in tasks:
        place = find_edit_selection(task.code, task.answer or "")
        rows = find_differing_rows(task.code, task.answer or "")[0]
        if place is not None and place.is_empty and rows:
            unmarked.append(task.code.split("\n")[rows.start])

    assert ['"""  # add lines here'] == unmarked


async def test_enter_and_tab_keep_selected_statement(tmp_path: Path) -> None:
    """Enter and Tab do not delete the selected statement; typing replaces it."""
    lesson = (
        "# T\n\n```python try id=one\nx = 1  # change this line\nprint(x)\n```\n\n"
        "```python answer of=one\nx = 2\nprint(x)\n```\n"
    )

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        seen = await press(pilot, "enter", "e", "enter")
        assert "Change this line first." in seen
        await press(pilot, "tab", *"y = 3")
        code = "y = 3  # change this line\nprint(x)"
        assert code == pilot.app.screen.query_one(CodeEditor).text


async def test_page_keys_scroll_and_keep_selected_statement(tmp_path: Path) -> None:
    """Page keys keep the selection before the first edit; after it they move the cursor."""
    below = "More to read.\n\n" * 60
    lesson = (
        "# T\n\n```python try id=one\nx = 1  # change this line\nprint(x)\n```\n\n"
        f"```python answer of=one\nx = 2\nprint(x)\n```\n\n{below}"
    )

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        await press(pilot, "enter", "e")
        editor = pilot.app.screen.query_one(CodeEditor)
        top = editor.region.y
        await press(pilot, "pagedown")
        assert ("x = 1", True) == (editor.selected_text, editor.region.y < top)
        await press(pilot, "pageup")
        assert ("x = 1", top) == (editor.selected_text, editor.region.y)
        await press(pilot, *"y = 3", "pagedown")
        assert "y = 3  # change this line\nprint(x)" == editor.text
        assert 1 == editor.cursor_location[0]


async def test_missing_line_begins_with_enter(tmp_path: Path) -> None:
    """For an answer that adds a line the cursor is at the end of the line above."""
    lesson = (
        "# T\n\n```python try id=one\nx = 1\nprint(x)\n```\n\n"
        "```python answer of=one\nx = 1\nx = 2\nprint(x)\n```\n"
    )

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        await press(pilot, "enter", "e", "enter", *"x = 2")

        assert "x = 1\nx = 2\nprint(x)" == pilot.app.screen.query_one(CodeEditor).text


async def test_keys_treat_wrapped_code_as_single_line(tmp_path: Path) -> None:
    """Home, End and deletions act on lines of the file, not on wrapped rows."""
    long = "total = " + " + ".join(map(str, range(30)))
    lesson = "# T\n\n" + fence(f"if True:\n    {long}")

    async with tutor(tmp_path, lessons={"t": lesson}) as pilot:
        await press(pilot, "enter", "e", "ctrl+end", "up", "end")
        editor = pilot.app.screen.query_one(CodeEditor)
        await press(pilot, "home")
        assert editor.cursor_location == (1, 4)
        await press(pilot, "home")
        assert editor.cursor_location == (1, 0)
        await press(pilot, "end")
        assert editor.cursor_location == (1, 4 + len(long))
        await press(pilot, "home", "ctrl+k")
        assert editor.text.splitlines() == ["if True:", "    "]
