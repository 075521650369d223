"""Block numbers on the page, in tracebacks and in messages of failure agree."""

from __future__ import annotations

from pathlib import Path

from tests.screens.test_explained import whole
from tests.support.tutor import on_screen, press, tutor

LESSON = """# Named

<details><summary>Older</summary>

```python run id=older
print("older")
```

</details>

```python run id=put-once
def halve(x):
    return 1 / x
```

```python run id=uses
halve(0)
```
"""


async def test_traceback_names_blocks_by_page_number(tmp_path: Path) -> None:
    """Each traceback frame has the block's number on the page and its own lines."""
    async with tutor(tmp_path, size=(100, 60), lessons={"named": LESSON}) as pilot:
        await press(pilot, "enter", "o")
        older, _, uses = pilot.app.screen._page.views
        assert "Block older" == older.label
        uses.focus()
        seen = await press(pilot, "r")
        assert "Block 2 of 2" in seen
        assert 'File "block 2", line 1, in <module>' in seen
        assert 'File "block 1", line 2, in halve' in seen
        assert 2 == seen.count("return 1 / x")
        seen = await press(pilot, "f")
        assert "Why it failed: block 2" in seen
        assert "where block 1, line 2: return 1 / x" in whole(pilot)


async def test_failed_earlier_block_has_its_page_number(tmp_path: Path) -> None:
    """The message names the failed block by its number, also with a folded part open."""
    lesson = LESSON.replace("def halve(x):\n    return 1 / x", "halve = 1 / 0")

    async with tutor(tmp_path, size=(100, 60), lessons={"named": lesson}) as pilot:
        await press(pilot, "enter", "o")
        pilot.app.screen._page.views[-1].focus()
        await press(pilot, "r")
        assert "NOT RUN  block 1 above has to work first" in on_screen(pilot.app)


async def test_key_returns_to_failure_section_of_lesson(tmp_path: Path) -> None:
    """The key opens the section on failures and returns, and both texts name their target."""
    lesson = LESSON.replace("halve(0)", "raise RuntimeError('the glue is dry')")
    lesson += "\nSee below, *If it fails*.\n" + "\nMuch else.\n" * 40
    lesson += "\n## If it fails\n\n* **`the glue is dry`.** Stir it.\n" + "\nThe end.\n" * 40

    async with tutor(tmp_path, size=(80, 24), lessons={"named": lesson}) as pilot:
        await press(pilot, "enter", "tab", "tab", "r")
        seen = await press(pilot, "f")
        assert "read    the section “If it fails” of this lesson (o)" in seen
        assert "o to that section" in seen
        assert "open lesson" not in seen
        seen = await press(pilot, "o")
        assert "If it fails" in "".join(seen.splitlines()[1:4])
        assert "Stir it." in seen
