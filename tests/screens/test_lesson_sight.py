"""Tests of what a lesson shows together: a task and its figure, a wrong answer and its diff."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screens.test_ending import ASKS
from tests.support.tutor import on_screen, press, tutor, until
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.page.folded_parts import FigureView
from tpustarter.tui.lesson.page.lesson_page import LessonPage
from tpustarter.tui.lesson.page.question import QuestionView

FIGURE = """![Rows in a column.](../figures/rows.svg)

<!--
```figure
{}
```
-->

Look at it, and answer.

"""
BLOCK = """```python run id=shown
print("shown")
```

```output of=shown on=any
shown
```
"""
QUIZ = ASKS[ASKS.index("```quiz") :]
TASK = """```python try id=turn
print("one")
print("two")
```

```output of=turn
one
three
four
```

<details><summary>Answer</summary>

```python answer of=turn
print("one\\nthree\\nfour")
```

</details>
"""


@pytest.mark.parametrize(("task", "kind"), [(BLOCK, BlockView), (QUIZ, QuestionView)])
@pytest.mark.parametrize(("rows", "is_seen"), [(5, True), (25, False)])
async def test_key_to_open_item_shows_its_figure(
    task: str, kind: type[BlockView | QuestionView], rows: int, *, is_seen: bool, tmp_path: Path
) -> None:
    """Jumping to a task also shows its figure, unless both do not fit."""
    text = "Some text.\n\n" * 20
    figure = FIGURE.format("\n".join(f"row {number}" for number in range(rows)))
    lesson = f"# Full\n\n{text}{figure}{task}\n{text * 2}"

    async with tutor(tmp_path, lessons={"full": lesson}) as pilot:
        await press(pilot, "enter", "end")
        page = pilot.app.screen.query_one(LessonPage)
        [view], [drawn] = page.query(kind), page.query(FigureView)
        assert not page.region.overlaps(drawn.region)
        await pilot.press("j")
        await until(pilot, lambda: page.region.contains_region(view.region))
        assert is_seen == page.region.contains_region(drawn.region)


async def test_wrong_answer_shows_only_first_differing_line(tmp_path: Path) -> None:
    """Only the first differing line is shown; `o` shows the answer."""
    lesson = f"# Full\n\n{TASK}"
    async with tutor(tmp_path, lessons={"full": lesson}, size=(80, 50)) as pilot:
        await press(pilot, "enter", "tab", "r")
        await until(pilot, lambda: "not yet" in on_screen(pilot.app))  # type: ignore[arg-type]
        seen = await press(pilot)
        assert "Line 2 of the output is the first that differs:" in seen
        assert "printed   two" in seen
        assert "expected  three" in seen
        assert "four" not in seen
        assert "To see the answer, press o." in seen
