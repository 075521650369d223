"""What stands in sight together in a lesson: a task, and the figure that it speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tutor import press, run, tutor, until
from tpustarter.tui.block import BlockView
from tpustarter.tui.folded import FigureView
from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.question import QuestionView

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
QUIZ = """```quiz id=why
How many devices?

( ) 8
    No.
(x) 4
    Yes.
```
"""


@pytest.mark.parametrize(("task", "kind"), [(BLOCK, BlockView), (QUIZ, QuestionView)])
@pytest.mark.parametrize(("rows", "is_seen"), [(5, True), (25, False)])
def test_a_key_goes_to_what_is_open_with_the_figure_above_it_where_both_fit(
    task: str, kind: type[BlockView | QuestionView], rows: int, *, is_seen: bool, tmp_path: Path
) -> None:
    """Also from below; of a figure that leaves no room for the task nothing is kept in sight."""
    text = "Some text.\n\n" * 20
    figure = FIGURE.format("\n".join(f"row {number}" for number in range(rows)))
    lesson = f"# Full\n\n{text}{figure}{task}\n{text * 2}"

    async def journey() -> None:
        async with tutor(tmp_path, lessons={"full": lesson}) as pilot:
            await press(pilot, "enter", "end")
            page = pilot.app.screen.query_one(LessonPage)
            [view], [drawn] = page.query(kind), page.query(FigureView)
            assert not page.region.overlaps(drawn.region)
            await pilot.press("j")
            await until(pilot, lambda: page.region.contains_region(view.region))
            assert is_seen == page.region.contains_region(drawn.region)

    run(journey)
