"""The end of a lesson in the app: its summary and the key to the next lesson."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.support.tutor import on_screen, press, settle, tutor, until
from tests.tui.test_exercise import lessons_with_exercise
from tpustarter.learning.progress import bookmarks, lesson_progress
from tpustarter.tui.lesson.page.question import QuestionView

ASKS = """# Asks

```python run id=one
print("one")
```

```output of=one on=any
one
```

```python run id=two
print("two")
```

```quiz id=why
How many devices?

( ) 8
    No.
(x) 4
    Yes.
```
"""
LONG = "# Long\n\n" + "\n\n".join(f"Paragraph {number}." for number in range(60)) + "\n"
STAGED = """\
- id: laptop
  title: Staged
  who: Somebody.
  lessons:
    - Day one: [start/asks, start/second]
    - Day two: [start/third]
- {id: other, title: Another path, who: Somebody., lessons: [start/third]}
"""
LESSONS = {"asks": ASKS, "second": "# Second\n", "third": "# Third\n"}


def _end(pilot: Pilot[None]) -> str:
    """Return the text of the panel at the end of a lesson, without its frame."""
    lines = on_screen(pilot.app).splitlines()  # type: ignore[arg-type]
    first = next(n for n, line in enumerate(lines) if "The end of this lesson" in line)
    return " ".join(word for line in lines[first:] for word in line.strip(" │╭╮╰╯─").split())


async def test_end_counts_passed_blocks_and_answers(tmp_path: Path) -> None:
    """Each pass and right answer is counted at once, and what is still open is named."""
    async with tutor(tmp_path, size=(80, 60), lessons=LESSONS) as pilot:
        await press(pilot, "enter", "end")
        assert "Not done yet: 0 of 2 blocks · No block has run yet." in _end(pilot)
        assert "j, Enter Go to what is open n Next on your path" in _end(pilot)
        await press(pilot, "r")
        assert "Not done yet: 1 of 2 blocks · Block 2 has not run." in _end(pilot)
        await press(pilot, "1")
        assert 'The question "How many devices?" is not answered right yet.' in _end(pilot)
        await press(pilot, "r", "2")
        assert "Done: 2 of 2 blocks, question right Today: 1 lesson. n, Enter Next" in _end(pilot)
        assert 'n, Enter Next on your path "I only have a laptop": Second, 2 min' in _end(pilot)


async def test_lesson_without_blocks_is_done_at_its_end(tmp_path: Path) -> None:
    """A lesson without blocks counts as read only once its end was shown."""
    async with tutor(tmp_path, lessons={"long": LONG, "second": "# Second\n"}) as pilot:
        await press(pilot, "enter", "n")
        assert not lesson_progress.is_lesson_done("start/long")
        await press(pilot, "escape", "enter", "end", "n")
        assert lesson_progress.is_lesson_done("start/long")


async def test_enter_reads_whole_lesson_then_opens_next(tmp_path: Path) -> None:
    """Enter shows every line of the lesson and then opens the next one."""
    read = set[str]()

    async with tutor(tmp_path, lessons={"long": LONG, "second": "# Second\n"}) as pilot:
        while "Second  2 min" not in (seen := await press(pilot, "enter")):
            lines = set(re.findall(r"Paragraph \d+\.|next on your path|The end of", seen))
            assert lines - read, seen  # else a press did nothing
            read.update(lines)
        assert lesson_progress.is_lesson_done("start/long")
    assert read >= {f"Paragraph {number}." for number in range(60)}


async def test_last_lesson_of_path_says_so(tmp_path: Path) -> None:
    """At the end of the path there is no key for a next lesson."""
    async with tutor(tmp_path, lessons={"second": "# Second\n"}) as pilot:
        await press(pilot, "enter", "end")
        assert "This is the last lesson of your path" in _end(pilot)
        assert "n, Enter" not in _end(pilot)


SECTIONS = "# Sections\n\n" + "\n\n".join(
    f"## Section {number}\n\n" + "\n\n".join(f"Line {number}.{line}." for line in range(9))
    for number in range(9)
)


async def test_lesson_opens_at_its_bookmark(tmp_path: Path) -> None:
    """The lesson opens at the heading of the bookmark with a note; Home goes to the beginning."""
    async with tutor(tmp_path, lessons={"sections": f"{SECTIONS}\n"}) as pilot:
        assert "You were here" not in await press(pilot, "enter")
        seen = await press(pilot, "space", "space")
        assert "Section 2" in seen
        await press(pilot, "escape", "enter")
        await until(pilot, lambda: "You were here" in on_screen(pilot.app))
        lines = [line.strip() for line in on_screen(pilot.app).splitlines() if line.strip()]
        assert "Section 2" == lines[3]
        await press(pilot, "home", "escape")
        assert "You were here" not in await press(pilot, "enter")


async def test_place_is_saved_while_reading(tmp_path: Path) -> None:
    """The bookmark is saved within half a second of reading."""
    async with tutor(tmp_path, lessons={"sections": f"{SECTIONS}\n"}) as pilot:
        await press(pilot, "enter", "space", "space")
        await until(pilot, lambda: bookmarks.read_bookmark("start/sections") is not None)
        assert (bookmarks.read_bookmark("start/sections") or "").startswith("heading Section")


async def test_requested_line_comes_before_bookmark(tmp_path: Path) -> None:
    """A line that was asked for is shown instead of the bookmark."""
    async with tutor(tmp_path, lessons={"sections": f"{SECTIONS}\n"}) as pilot:
        bookmarks.save_bookmark("start/sections", "heading Section 2")
        pilot.app.go.open_lesson("start/sections", at="Line 6.1.")
        await until(pilot, lambda: "Line 6.1." in on_screen(pilot.app))
        assert "You were here" not in on_screen(pilot.app)


LINES = "\n\n".join(f"Line {number}." for number in range(9))
FAR_ASKS = ASKS.replace("# Asks\n", f"# Asks\n\n{LINES}\n").replace("    Yes.", "    Because. " * 9)


async def test_answer_scrolls_its_reason_into_sight(tmp_path: Path) -> None:
    """Answering scrolls the reason into sight, even from the last line of the screen."""
    text = FAR_ASKS[: FAR_ASKS.index("```python")] + FAR_ASKS[FAR_ASKS.index("```quiz") :]

    async with tutor(tmp_path, lessons={"asks": f"{text}\n{LINES}\n{LINES}\n"}) as pilot:
        seen = await press(pilot, "enter")
        assert "How many devices?" not in seen
        seen = await press(pilot, "down", "down", "down", "2")
        assert "How many devices?" in seen
        assert seen.count("Because.") == 9
        seen = await press(pilot, *["down"] * 9, "1")
        assert "How many devices?" in seen
        assert "no  No." in seen


@pytest.mark.parametrize(("keys", "is_told"), [(("end", "j"), True), (("j",), False)])
async def test_last_answer_far_from_end_completes_lesson(
    keys: tuple[str, ...], is_told: bool, tmp_path: Path
) -> None:
    """Completion is announced, also when the end of the lesson is out of sight."""
    text = FAR_ASKS[: FAR_ASKS.index("```python")] + FAR_ASKS[FAR_ASKS.index("```quiz") :]
    done = "That was the last question. j goes to the end of the lesson."

    async with tutor(tmp_path, lessons={"asks": f"{text}\n{LINES}\n{LINES}\n"}) as pilot:
        await press(pilot, "enter", *keys)
        seen = await press(pilot, "2")
        assert "Because." in seen
        assert is_told == (done in " ".join(seen.split()))
        assert "The end of this lesson" in await press(pilot, "j")


async def test_enter_opens_open_exercise_and_n_skips_exercise(tmp_path: Path) -> None:
    """Enter opens the open exercise, and goes on once it is solved; the end counts open ones."""
    lessons = {"asks": LONG, "second": "# Second\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "end")
        assert "p, Enter Exercise: Return the double n Next on your path" in _end(pilot)
        assert "double must return twice its number." in await press(pilot, "enter")
        await press(pilot, "escape")
        assert "Second" in await press(pilot, "n")
        seen = await press(pilot, "escape")
        assert "0 of 1 exercise solved. Today: 1 lesson." in seen
        assert re.search(r"done +Asks +1 exercise open", seen), seen
        lesson_progress.record_verdict("start/asks", "double", is_right=True)
        pilot.app.go.open_lesson("start/asks")
        await press(pilot, "end")
        await until(pilot, lambda: "1 of 1 exercise solved." in on_screen(pilot.app))
        assert "n, Enter Next on your path" in _end(pilot)
        assert "Second  2 min" in await press(pilot, "enter")


async def test_exercise_key_opens_first_open_exercise(tmp_path: Path) -> None:
    """`p` opens the first open exercise, which the end of the lesson names."""
    async with tutor(tmp_path, lessons={"asks": ASKS}, size=(80, 50)) as pilot:
        lessons_with_exercise(tmp_path)
        await press(pilot, "enter", "end")
        assert "j, Enter Go to what is open p Exercise: Return the double" in _end(pilot)
        lesson_progress.record_verdict("start/asks", "double", is_right=True)
        await press(pilot, "p", "escape")
        assert "p Exercise, solved: Return the double" in _end(pilot)


async def test_enter_at_end_of_completed_lesson_opens_next(tmp_path: Path) -> None:
    """Enter opens the next lesson, also with a block in sight that has not run today."""
    block = ASKS[ASKS.index("```python") : ASKS.index("```python run id=two")]
    lessons = {"asks": f"{LONG}\n{block}", "second": "# Second\n"}
    async with tutor(tmp_path, size=(80, 24), lessons=lessons) as pilot:
        lesson_progress.record_lesson_done("start/asks")
        await press(pilot, "l")
        pilot.app.go.open_lesson("start/asks")  # type: ignore[attr-defined]
        await settle(pilot)
        assert "Block 1 of 1" in await press(pilot, "end")
        await until(pilot, lambda: "Enter next lesson" in on_screen(pilot.app))
        assert "Second" in (await press(pilot, "enter")).splitlines()[0]


async def test_key_line_follows_scroll_after_early_refresh(tmp_path: Path) -> None:
    """The key line is right even if Textual 8.2.8 calls back before the refresh."""
    block = ASKS[ASKS.index("```python") : ASKS.index("```python run id=two")]
    lessons = {"asks": f"{LONG}\n{block}", "second": "# Second\n"}

    async with tutor(tmp_path, size=(80, 24), lessons=lessons) as pilot:
        lesson_progress.record_lesson_done("start/asks")
        for _ in range(10):
            pilot.app.go.open_lesson("start/asks")  # type: ignore[attr-defined]
            await settle(pilot)
            pilot.app.post_message(events.Key("end", None))
            for _ in range(60):
                await asyncio.sleep(0)
                pilot.app.screen._on_timer_update()
            await settle(pilot)
            assert "Enter next lesson" in on_screen(pilot.app)
            await press(pilot, "home", "escape")


async def test_completed_stage_is_announced(tmp_path: Path) -> None:
    """The end of the last open lesson of a stage says that the stage is done."""
    async with tutor(tmp_path, size=(80, 60), lessons=LESSONS) as pilot:
        (tmp_path / "lessons/paths.yml").write_text(STAGED)
        await press(pilot, "l", "escape", "p", "1")
        await press(pilot, "enter", "r", "2", "end")
        assert "stage" not in _end(pilot)
        lesson_progress.record_lesson_done("start/second")
        await press(pilot, "tab", "r", "end")
        await until(pilot, lambda: "All 2 lessons of the stage “Day one” are done." in _end(pilot))


async def test_digit_without_visible_question_says_its_place(tmp_path: Path) -> None:
    """A digit with no question in sight says that the question is out of sight."""
    far = ASKS + "\n" + "\n\n".join(f"Line {number}." for number in range(40))

    async with tutor(tmp_path, lessons={"asks": far}) as pilot:
        await press(pilot, "enter", "end", "b")
        seen = await press(pilot, "2")
        assert "The question is out of sight; j leads to what is open." in seen


async def test_visible_question_comes_before_block_above_screen(tmp_path: Path) -> None:
    """The question in sight comes before a block of which only the last output lines show."""
    lines = "\n".join(map(str, range(12)))
    block = "```python run id=many\nfor n in range(12): print(n)\n```\n\n```output of=many on=any\n"
    quiz, text = ASKS[ASKS.index("```quiz") :], "Read. " * 300
    text = f"# Left\n\n{text}\n\n{block}{lines}\n```\n\n{quiz}\n{text}\n"

    async with tutor(tmp_path, lessons={"asks": text}) as pilot:
        await press(pilot, "enter")
        page = pilot.app.screen._page
        (view,), (question,) = page.views, page.query(QuestionView)
        page.scroll_to(y=page.scroll_y + question.region.y - page.region.y - 6, animate=False)
        await settle(pilot)
        assert page.is_in_sight(view)
        seen = await press(pilot, "enter")
        assert view.state.result is None
        assert "1, 2, ..." in seen
