"""Output of earlier sessions, shown again after a restart."""

from __future__ import annotations

from pathlib import Path

from tests.screens.test_own_changes import LESSON
from tests.support.tutor import press, tutor


async def test_old_output_is_dimmed_after_restart(tmp_path: Path) -> None:
    """Old output is dimmed after a restart, marked if of other code, and gone after a run."""
    async with tutor(tmp_path, size=(80, 40), lessons={"own": LESSON}) as pilot:
        await press(pilot, "enter", "r")
    async with tutor(tmp_path, size=(80, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "l", "enter")
        assert "passed the last time" in seen
        assert "│ total 5" in seen.replace("┃", "│").replace("│  ", "│ ")
        assert "expected" not in seen
        printed = pilot.app.screen._page.views[0]._printed
        assert printed.has_class("-before")
        assert "output before your change" in await press(pilot, "e", "x")
        assert "before your change" not in await press(pilot, "backspace", "escape")
        seen = await press(pilot, "r")
        assert "the last time" not in seen
        assert not printed.has_class("-before")
        assert 1 == seen.count("total 5")


async def test_output_of_other_code_is_hidden(tmp_path: Path) -> None:
    """Output or a traceback of edited code is shown only together with that code."""
    async with tutor(tmp_path, size=(80, 40), lessons={"own": LESSON}) as pilot:
        await press(pilot, "enter", "r", "e", *"1/0", "ctrl+r", "escape")
    async with tutor(tmp_path, size=(80, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "l", "enter")
        assert "broke the last time" in seen
        assert "ZeroDivisionError" in seen
        assert "output of what you had typed" in await press(pilot, "u")
    async with tutor(tmp_path, size=(80, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "l", "enter")
        assert "passed the last time" in seen
        assert "ZeroDivisionError" not in seen
        assert "expected when it runs" in seen


TASK = """# Task

```python try id=turn
print(40 + 1)
```

```output of=turn on=any
42
```

```python answer of=turn
print(40 + 2)
```
"""


async def test_output_of_unchanged_task_is_hidden(tmp_path: Path) -> None:
    """Output of the unchanged task is hidden after it was solved and reset."""
    async with tutor(tmp_path, size=(80, 40), lessons={"own": TASK}) as pilot:
        await press(pilot, "enter", "e", "end", "left", "backspace", "2", "ctrl+r", "escape")
        assert pilot.app.screen._page.views[0].state.has_passed
        assert "not yet" in await press(pilot, "u", "r")
    async with tutor(tmp_path, size=(80, 40), lessons={"own": TASK}) as pilot:
        seen = await press(pilot, "l", "enter")
        assert "done before; this is the lesson's code" in seen
        assert "41" not in seen
