"""Parts of a lesson beside text and code: figures, plots and folded answers."""

from __future__ import annotations

from pathlib import Path

from tests.support.made_lessons import fence
from tests.support.tutor import on_screen, press, tutor
from tpustarter.learning.progress import lesson_progress

LESSON = """# Hello

![Two devices side by side.](../figures/two.svg)

<!--
```figure
┌───┬───┐
│ 0 │ 1 │
└───┴───┘
```
-->

```python run id=curve plot=loss x=step
loss, step = [3, 2, 1], [0, 10, 20]
```

```output of=curve
```

```python try id=turn
print("answer", 41)
```

```output of=turn
answer 42
```

<details><summary>The answer</summary>

Everybody knows it.

```python answer of=turn
print("answer", 42)
```

```python run id=old
print("older")
```

```output of=old
older
```

</details>

[Exercise: Sum the rows](exercises/rows.py)
"""


async def test_figure_is_its_text_with_caption(tmp_path: Path) -> None:
    """A figure shows its text and caption without the comment around it."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter")
        assert "│ 0 │ 1 │" in seen
        assert "Two devices side by side." in seen
        assert "<!--" not in seen
        assert "figures/two.svg" not in seen


async def test_wide_figure_is_cut_with_mark(tmp_path: Path) -> None:
    """A figure that is too wide is cut with a mark instead of wrapped; its caption is whole."""
    wide = LESSON.replace("│ 0 │ 1 │", "│ 0 │ 1 │" + " " * 50 + "P('data', None) ends here")

    async with tutor(tmp_path, lessons={"hello": wide}, size=(60, 40)) as pilot:
        lines = (await press(pilot, "enter")).split("\n")
        row = next(n for n, line in enumerate(lines) if "│ 0 │ 1 │" in line)
        assert "…" in lines[row]
        assert "ends here" not in "\n".join(lines)
        assert "└───┴───┘" in lines[row + 1]
        assert "Two devices side by side." in lines[row + 2]


async def test_block_shows_its_plot_after_run(tmp_path: Path) -> None:
    """The axes of the plot are labelled with the names of its variables."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 60)) as pilot:
        assert "loss" not in (await press(pilot, "enter")).replace("loss, step =", "")
        lines = (await press(pilot, "r")).split("\n")
        title = next(n for n, line in enumerate(lines) if line.strip(" █│").strip() == "loss")
        assert "3┤" in lines[title + 1]
        assert any(line.strip(" █│").strip() == "step" for line in lines)


async def test_task_reports_not_yet_then_right(tmp_path: Path) -> None:
    """A task shows the first differing line, and is no failure while unchanged."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 60)) as pilot:
        seen = await press(pilot, "enter", "tab")
        assert "your turn: press e to change it, and Ctrl+R to run it" in seen
        seen = await press(pilot, "r")
        assert "not yet" in seen
        assert "change it first, with e" in seen
        assert 1 == seen.count("answer 42")
        assert "printed   answer 41" in seen
        assert "expected  answer 42" in seen
        assert "FAIL" not in seen
        await press(pilot, "e", "end", *["backspace"] * 2, "2", ")")
        seen = await press(pilot, "escape", "r")
        assert "not yet" not in seen
        assert "pass" in seen
        assert (
            lesson_progress.read_progress().lessons["start/hello"].blocks["turn"].status == "pass"
        )


async def test_failed_task_shows_expected_output(tmp_path: Path) -> None:
    """The expected output is hidden before the first run and shown after a failure."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 60)) as pilot:
        assert "┊ answer 42" not in await press(pilot, "enter", "tab", "e")
        seen = await press(pilot, *"1/0;", "ctrl+r")
        assert "ZeroDivisionError" in seen
        assert "┊ answer 42" in seen


async def test_folded_part_opens_by_key_and_tab_skips(tmp_path: Path) -> None:
    """`o` opens a folded part, and Tab skips blocks inside closed ones."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 60)) as pilot:
        seen = await press(pilot, "enter")
        assert "The answer  (o opens it)" in seen
        assert "Everybody knows it." not in seen
        views = pilot.app.screen._page.views
        assert ["curve", "turn"] == [view.block.id for view in views]
        seen = await press(pilot, "o")
        assert "Everybody knows it." in seen
        assert "The answer  (o closes it)" in seen
        seen = await press(pilot, "tab", "tab", "tab", "r")
        assert "older" in seen.split("expected when it runs:")[-1] or "pass" in seen
        seen = await press(pilot, "o")
        assert "Everybody knows it." not in seen


async def test_exercise_in_text_names_its_key(tmp_path: Path) -> None:
    """An exercise linked in the text is shown with its key instead of the link."""
    async with tutor(tmp_path, lessons={"hello": LESSON}, size=(80, 60)) as pilot:
        await press(pilot, "enter", "end")
        seen = on_screen(pilot.app)
        assert "Exercise: Sum the rows" in seen
        assert "Press p to open it" in seen
        assert "exercises/rows.py" not in seen


async def test_typing_begins_at_gap(tmp_path: Path) -> None:
    """Typing replaces the gap without moving the cursor first."""
    lesson = LESSON.replace('print("answer", 41)', 'number = ...\nprint("answer", number)')

    async with tutor(tmp_path, lessons={"hello": lesson}, size=(80, 60)) as pilot:
        await press(pilot, "enter", "tab", "e", "4", "2", "escape")
        seen = await press(pilot, "r")
        assert "number = 42" in seen
        assert "not yet" not in seen


async def test_tab_continues_from_block_scrolled_back_to(tmp_path: Path) -> None:
    """Tab continues from the block in sight, not from the last focused one."""
    text = "\n\n".join(f"Paragraph {number} of this lesson." for number in range(40))
    far = (
        "# Hello\n\n" + fence("print(1)", "1") + text + "\n\n" + fence("print(2)", "2", name="two")
    )

    async with tutor(tmp_path, lessons={"hello": far}) as pilot:
        await press(pilot, "enter", "tab", "home", "r")
        assert "print(2)" in await press(pilot, "tab")


async def test_block_pushed_down_is_in_sight_at_end(tmp_path: Path) -> None:
    """A block below a screen of other output is in sight when it ends."""
    long = fence("print('line\\n' * 60)", name="long")
    lesson = "# Hello\n\n" + long + fence("print('the end')", "the end", name="two")

    async with tutor(tmp_path, lessons={"hello": lesson}) as pilot:
        seen = await press(pilot, "enter", "tab", "r")
        assert "pass" in seen
        assert "print('the end')" in seen or "the end" in seen.split("pass")[-1]


async def test_predicted_output_is_hidden_until_run(tmp_path: Path) -> None:
    """A block below a question hides its expected output until it has run."""
    quiz = "```quiz id=q\nWhat is printed?\n( ) six\n  No.\n(x) seven\n  Yes.\n```\n\n"
    lesson = "# Hello\n\n" + quiz + fence("print(int('7'))", "7")

    async with tutor(tmp_path, lessons={"hello": lesson}, size=(80, 40)) as pilot:
        seen = await press(pilot, "enter")
        assert "print(int('7'))" in seen
        assert "expected when" not in seen
        assert "pass" in await press(pilot, "r")
