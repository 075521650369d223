"""Changed blocks: they count while all of the lesson's lines are printed."""

from __future__ import annotations

from pathlib import Path

from tests.support.tutor import on_screen, press, tutor
from tpustarter.learning.progress import lesson_progress

LESSON = """# Own

```python run id=sum
total = 2 + 3
print("total", total)
```

```output of=sum on=any
total 5
```
"""


def words(text: str) -> str:
    """Return a text in one line, without its frames."""
    return " ".join(text.replace("│", " ").replace("┃", " ").split())


async def test_change_that_prints_more_counts(tmp_path: Path) -> None:
    """A change that prints more lines counts, now and after a restart."""
    async with tutor(tmp_path, size=(100, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "enter", "e", *"print(1)", "ctrl+r", "escape")
        assert "pass" in seen
        assert "Done: 1 of 1 block" in await press(pilot, "end")
        assert lesson_progress.is_lesson_done("start/own")
    async with tutor(tmp_path, size=(100, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "l", "enter")
        assert "passed the last time" in seen
        assert "Done: 1 of 1 block" in await press(pilot, "end")


async def test_change_missing_expected_line_does_not_count(tmp_path: Path) -> None:
    """Changed code that lacks an expected line does not count, now and after a restart."""
    missing = "It does not count yet, because the lesson's line total 5 is missing."

    async with tutor(tmp_path, size=(100, 40), lessons={"own": LESSON}) as pilot:
        await press(pilot, "enter", "e", "up", "home", *"total+=1;", "ctrl+r")
        seen = words(on_screen(pilot.app))
        assert "not yet" in seen
        assert f"{missing} Esc, and then u, brings the lesson's code back." in seen
        assert f"{missing} u brings" in words(await press(pilot, "escape"))
        assert "printed something else than the lesson says" in await press(pilot, "end")
        assert not lesson_progress.is_lesson_done("start/own")
    async with tutor(tmp_path, size=(100, 40), lessons={"own": LESSON}) as pilot:
        seen = await press(pilot, "enter")
        assert "ran the last time, without a line that the lesson prints" in seen
        await press(pilot, "u", "r")
        assert lesson_progress.is_lesson_done("start/own")


async def test_change_after_pass_keeps_lesson_done(tmp_path: Path) -> None:
    """After a pass, changed code may print anything, and the lesson stays done."""
    async with tutor(tmp_path, size=(100, 40), lessons={"own": LESSON}) as pilot:
        await press(pilot, "enter", "r", "e", "up", "home", *"total+=1;", "ctrl+r", "escape")
        seen = on_screen(pilot.app)
        assert "it prints something else now" in seen
        assert "It stays done, because it passed before. u brings" in words(seen)
        assert pilot.app.screen._page.views[0].is_done
        assert "passed the last time" in await press(pilot, "u")
        assert lesson_progress.is_lesson_done("start/own")
