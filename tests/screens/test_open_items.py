"""States of blocks in a lesson: running, stopped, failed and still open."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.made_lessons import fence
from tests.support.tutor import HANGS, HELLO, on_screen, press, tutor, until
from tests.tui.test_key_queue import burst
from tpustarter.learning.progress import bookmarks

QUIZ = """
```quiz id=why
How many devices?

( ) 8
    Too many.
(x) 4
    That is it.
```
"""
TASK = """
```python try id=gap
print("sum", 1 + ...)
```

```output of=gap
sum 3
```

```python answer of=gap
print("sum", 1 + 2)
```
"""
ANSWER = "<details><summary>Answer</summary>\n\n```python answer"
ANSWERED = TASK.replace("```python answer", ANSWER) + "\n</details>\n"
LONG = "\n\n".join(f"Line {number}." for number in range(20))
TALL = HANGS.replace("import os, time\n", "import os, time\n" + "x = 1\n" * 40)


def on_one_line(text: str) -> str:
    """Return the screen's text as one line, without frames and scroll bars."""
    for character in "│┃─━╭╮╰╯┏┓┗┛█↳":
        text = text.replace(character, " ")
    return " ".join(text.split())


def named(pilot: Pilot[None]) -> str:
    """Return the line of keys."""
    return on_screen(pilot.app).splitlines()[-1]  # type: ignore[arg-type]


async def test_unchanged_task_waits_for_change(tmp_path: Path) -> None:
    """An unchanged task does not run, and the end of the lesson counts it as open."""
    async with tutor(tmp_path, lessons={"hello": HELLO + TASK}, size=(80, 60)) as pilot:
        await press(pilot, "enter", "r", "r", "tab", "r")
        await press(pilot, "end")
        seen = on_one_line(on_screen(pilot.app))
        assert "Read, but not done yet: 2 of 3 blocks" in seen
        assert "Block 3 waits for your change." in seen
        await press(pilot, "e", "2", "ctrl+r", "escape")
        assert "Done: 3 of 3 blocks" in on_one_line(on_screen(pilot.app))


async def test_task_shows_its_last_result_after_restart(tmp_path: Path) -> None:
    """A task shows its last result after a restart while its code is unchanged."""
    lessons = {"hello": HELLO + TASK}

    async with tutor(tmp_path, lessons=lessons, size=(80, 60)) as pilot:
        await press(pilot, "enter", "e", *"# mine", "escape", "tab", "tab", "e", "2", "ctrl+r")
    async with tutor(tmp_path, lessons=lessons, size=(80, 60)) as pilot:
        seen = on_one_line(await press(pilot, "l", "home", "enter"))
        assert 3 == seen.count("passed the last time")
        await press(pilot, "tab", "tab", "e", "1", "escape")
        assert 1 == on_one_line(on_screen(pilot.app)).count("edited, not run yet")


async def test_changed_code_shows_last_result_after_restart(tmp_path: Path) -> None:
    """Changed code keeps its own last result; the lesson's code is not marked as run."""
    async with tutor(tmp_path, size=(80, 60)) as pilot:
        await press(pilot, "enter", "tab", "e", "up", *"print=max;", "ctrl+r", "escape")
        seen = await press(pilot, "k", "e", *"+", "ctrl+r", "escape")
        assert "not yet" in seen
        await press(pilot, "escape")
        assert "broke the last time" in await press(pilot, "enter")
    async with tutor(tmp_path, size=(80, 60)) as pilot:
        seen = await press(pilot, "enter")
        assert "broke the last time" in seen
        assert "ran the last time" in seen
        assert "passed the last time" in await press(pilot, "u")
        assert "edited, not run yet" in await press(pilot, "e", "x", "escape")


async def test_passed_block_with_changed_code_counts(tmp_path: Path) -> None:
    """A pass of changed code counts at the end, on Home and after a restart."""
    async with tutor(tmp_path, size=(80, 60)) as pilot:
        await press(pilot, "enter", "e", *"# mine", "ctrl+r", "escape", "tab", "r")
        await press(pilot, "e", *"(", "ctrl+r", "escape")  # what breaks later undoes nothing
        assert "Done: 2 of 2 blocks" in on_one_line(await press(pilot, "end"))
    async with tutor(tmp_path, size=(80, 60)) as pilot:
        assert "done" in await press(pilot, "l")
        seen = on_one_line(await press(pilot, "home", "enter", "home"))
        assert "# mine" in seen
        assert 1 == seen.count("passed the last time")
        assert 1 == seen.count("broke the last time")
        assert "edited, not run yet" not in seen


async def test_wrong_task_offers_edit_and_answer(tmp_path: Path) -> None:
    """A wrong task offers to edit and names the place of the answer until it is open."""
    lessons = {"hello": f"# Hello\n\n{LONG}\n{ANSWERED}\n{LONG}"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        seen = await press(pilot, "enter", "tab", "e", "1", "ctrl+r")
        assert "To see the answer, press Esc, and then o." in on_one_line(seen)
        assert "To see the answer" not in await press(pilot, "2")
        seen = await press(pilot, "backspace", "escape")
        assert "e edit" in named(pilot).partition("u undo edit")[0]
        assert "To see the answer, press o." in on_one_line(seen)
        await press(pilot, *["up"] * 9)  # until the answer is out of sight
        seen = await press(pilot, "o")
        assert 'print("sum", 1 + 2)' in seen
        assert "To see the answer" not in seen
        assert "To see the answer" in await press(pilot, "o")
        assert "sum 3" in await press(pilot, "e", "backspace", "2", "ctrl+r")


async def test_place_of_answer_is_below_task_output(tmp_path: Path) -> None:
    """The note on the answer is below the error or the expected and printed output."""
    async with tutor(tmp_path, lessons={"turn": f"# Turn\n{ANSWERED}"}) as pilot:
        said = on_one_line(await press(pilot, "enter", "enter", *"(", "ctrl+r"))
        parts = ["never closed", 'print("sum", 1 + ()', "^", "To see the answer, press Esc"]
        places = [said.rindex(part) for part in parts]
        assert places == sorted(places)
        said = on_one_line(await press(pilot, "backspace", *"1)", "enter", *"print(1", "ctrl+r"))
        places = [said.rindex(part) for part in ("expected sum 3", " printed sum 2", "To see the")]
        assert places == sorted(places)


async def test_keys_at_lesson_end_reach_last_block(tmp_path: Path) -> None:
    """At the end of a reopened lesson `e` edits the last block, and `u` undoes its edit."""
    lessons = {"hello": f"{HELLO}\n{LONG}\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        await press(pilot, "enter", "end", "e", *"x = 1", "escape")
        assert "x = 1" in pilot.app.screen._page.views[-1].code.text
        await press(pilot, "end", "escape")
    async with tutor(tmp_path, lessons=lessons) as pilot:
        assert "x = 1" not in await press(pilot, "enter", "end")
        assert "u undo edit" in named(pilot)
        assert "x = 1" in await press(pilot, "u")
        assert "x = 1" in await press(pilot, "end", "u")  # the one used last, out of sight
        assert "x = 1" not in await press(pilot, "u")


async def test_running_block_is_named_everywhere_and_stop_works(tmp_path: Path) -> None:
    """A running block is named wherever the page is, with the key that stops it."""
    async with tutor(tmp_path, lessons={"tall": TALL}) as pilot:
        await press(pilot, "enter")
        await pilot.press("r")
        await until(pilot, lambda: "the block is" in pilot.app.screen._page.views[0].output_tail)
        await pilot.press("home")
        await until(pilot, lambda: "A first" not in on_screen(pilot.app))
        await until(pilot, lambda: "RUN block 1 of 1, " in on_screen(pilot.app).splitlines()[0])
        await press(pilot, "ctrl+c")
        assert "RUN" not in on_screen(pilot.app).splitlines()[0]
        seen = on_one_line(on_screen(pilot.app))
        assert "STOPPED" in seen
        assert "KeyboardInterrupt" in seen
        assert "variables" not in seen
        await press(pilot, "e")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Ctrl+C stop" in named(pilot))
        await press(pilot, "ctrl+c")
        assert "Ctrl+C" not in named(pilot)


async def test_enter_leaves_unfilled_gap(tmp_path: Path) -> None:
    """Enter again leaves a gap unchanged; a letter replaces it."""
    async with tutor(tmp_path, lessons={"gap": f"# Gap\n{TASK}"}) as pilot:
        seen = await press(pilot, "enter", "enter", "enter", "tab")
        assert 'print("sum", 1 + ...)' in seen
        assert seen.count("Type what belongs in place of") == 1
        assert 'print("sum", 1 + 2)' in await press(pilot, "2")


async def test_answers_are_kept_when_lesson_reopens(tmp_path: Path) -> None:
    """Answers with their reasons are shown again when the lesson reopens."""
    async with tutor(tmp_path, lessons={"asks": f"# Asks\n{QUIZ}"}) as pilot:
        await press(pilot, "enter", "1", "escape", "enter")
        seen = on_screen(pilot.app)
        assert "no  Too many." in seen
        assert "That is it." not in seen
        await press(pilot, "2", "escape")
        pilot.app.go.open_lesson("start/asks")
        await until(pilot, lambda: "right  That is it." in on_screen(pilot.app))
        seen = on_screen(pilot.app)
        assert "Question: answered right" in seen


async def test_enter_reads_past_gap_left_open(tmp_path: Path) -> None:
    """After a gap was left open, Enter reads on and `e` opens the gap again."""
    async with tutor(tmp_path, lessons={"gap": f"# Gap\n{TASK}\n{LONG}\n"}) as pilot:
        await press(pilot, "enter", "enter", "escape")
        assert "Enter read on" in named(pilot)
        await press(pilot, "enter")
        assert "Enter fill the gap" not in named(pilot)
        await press(pilot, "home", "e")
        assert "Ctrl+R run" in named(pilot)


async def test_j_jumps_to_next_open_item(tmp_path: Path) -> None:
    """`j` goes to the next open block, question or task; at the end to the first one."""
    text = HELLO.replace("```python run id=again", f"{LONG}\n\n```python run id=again")

    async with tutor(tmp_path, lessons={"all": f"{text}\n{LONG}\n{QUIZ}\n{LONG}\n"}) as pilot:
        await press(pilot, "enter", "r")
        seen = await press(pilot, "j")
        assert "Block 2 of 2" in seen
        seen = await press(pilot, "j")
        assert "How many devices?" in seen
        await press(pilot, "j")
        await until(pilot, lambda: "Nothing is open below." in on_screen(pilot.app))
        assert "Block 2 of 2" in on_screen(pilot.app)
        await press(pilot, "r", "j", "2")
        await press(pilot, "j")
        await until(pilot, lambda: "Each block has passed, and" in on_screen(pilot.app))
        assert "The end of this lesson" in on_screen(pilot.app)


async def test_error_stays_in_sight_during_fix(tmp_path: Path) -> None:
    """The error stays in sight until the next run, syntax errors included."""
    code = "\n".join(f"x{number} = {number}" for number in range(14))
    text = f"# T\n\n```python run id=one\n{code}\n```\n\n{LONG}\n"

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        seen = await press(pilot, "enter", "e", "enter", *"foo(", "ctrl+r", "escape")
        assert "ERROR" in seen
        assert seen.count("SyntaxError: ") == 1
        assert "(start/t" not in seen
        assert "exception: " not in seen
        seen = await press(pilot, "e", *") +")
        assert "edited, not run yet" in seen
        assert "SyntaxError: " in on_one_line(seen)
        assert "Before your change:" in seen
        assert "output before" not in seen  # that is the same


async def test_long_line_wraps_while_typing(tmp_path: Path) -> None:
    """A long line wraps in the editor as it does in the page."""
    text = '# T\n\n```python run id=one\nname = "first"\n```\n'

    async with tutor(tmp_path, lessons={"t": text}, size=(60, 24)) as pilot:
        words = "  # a comment that is much longer than sixty columns are"
        seen = await press(pilot, "enter", "e", *words)
        assert f'name = "first"{" ".join(["", *words.split()])}' in on_one_line(seen).replace(
            "  ", " "
        )


async def test_keys_before_page_loads_act_at_bookmark(tmp_path: Path) -> None:
    """Keys typed while the page loads act at the bookmark."""
    text = HELLO.replace("```python run id=again", f"{LONG}\n\n```python run id=again")

    async with tutor(tmp_path, lessons={"all": f"{text}\n{LONG}\n"}) as pilot:
        bookmarks.save_bookmark("start/all", "block again")
        await burst(pilot, "\re# typed")
        await until(pilot, lambda: "# typed" in on_screen(pilot.app))
        assert "again" == pilot.app.screen._page.edited_block.block.id
    assert "block again" == bookmarks.read_bookmark("start/all")


async def test_visit_from_search_keeps_bookmark(tmp_path: Path) -> None:
    """A visit keeps the bookmark, and reading or working there moves it."""
    text = "# T\n\n" + "\n\n".join(f"## Part {n}\n\n{LONG}" for n in range(5)) + "\n"

    async with tutor(tmp_path, lessons={"t": text}) as pilot:
        bookmarks.save_bookmark("start/t", "heading Part 1")
        pilot.app.go.open_lesson("start/t", at="Part 3")
        await until(pilot, lambda: "Part 3" in on_screen(pilot.app))
        await press(pilot, "down", "down", "escape")
        assert "heading Part 1" == bookmarks.read_bookmark("start/t")
        pilot.app.go.open_lesson("start/t", at="Part 2")
        await until(pilot, lambda: "Part 2" in on_screen(pilot.app))
        await press(pilot, "space", "space", "space", "escape")
        assert bookmarks.read_bookmark("start/t") in ("heading Part 3", "heading Part 4")


async def test_unfilled_gap_never_runs(tmp_path: Path) -> None:
    """A gap is never run by `r`, `a` or Ctrl+R; once filled, missing blocks above run first."""
    async with tutor(tmp_path, lessons={"gap": HELLO + TASK}, size=(80, 60)) as pilot:
        seen = await press(pilot, "enter", "tab", "tab", "r")
        assert "waits for your code." in on_one_line(seen)
        assert "RUN" not in seen
        assert "waits for your code." not in on_one_line(await press(pilot, "up"))
        seen = await press(pilot, "e", "ctrl+r")
        assert "Type what belongs in place of" in on_one_line(seen)
        assert "Traceback" not in seen
        assert "waits for your code." in on_one_line(await press(pilot, "escape", "a"))
        seen = await press(pilot, "e", "2", "ctrl+r")
        assert seen.count("─ pass  ") == 3


async def test_key_line_omits_keys_of_completed_items(tmp_path: Path) -> None:
    """Keys for answers and open items are named only while there are any."""
    async with tutor(tmp_path, lessons={"asks": f"# Asks\n{QUIZ}\n{LONG}"}) as pilot:
        await press(pilot, "enter")
        assert "1, 2, ... answer" in named(pilot)
        assert "j next open" in named(pilot)
        await press(pilot, "2")
        assert "answer" not in named(pilot)
        assert "next open" not in named(pilot)
        assert "no  Too many." in await press(pilot, "1")
        assert "Each block has passed, and" in await press(pilot, "j")


async def test_end_process_key_displaces_no_other_key(tmp_path: Path) -> None:
    """At 80 columns the key `t` does not push out `e`."""
    async with tutor(tmp_path) as pilot:
        await press(pilot, "enter")
        assert "e edit" in named(pilot)
        await press(pilot, "r")
        assert "e edit" in named(pilot)
        assert "t end process" in named(pilot)


async def test_enter_at_end_goes_to_open_item(tmp_path: Path) -> None:
    """At the end, Enter goes to the first block that has not run, and else to the next lesson."""
    long = HELLO + "\n" + "\n\n".join(f"Line {number}." for number in range(40)) + "\n"

    async with tutor(tmp_path, lessons={"hello": long, "next": "# Next one\n"}) as pilot:
        await press(pilot, "enter", "end")
        assert named(pilot).startswith(" Enter next open")
        await press(pilot, "enter")
        assert named(pilot).startswith(" Enter run")
        await press(pilot, "end")
        assert "Next one" in await press(pilot, "n")
        await press(pilot, "escape", "enter", "home", "a", "tab", "r", "end")
        assert named(pilot).startswith(" Enter next lesson")


async def test_enter_stops_at_question_once(tmp_path: Path) -> None:
    """Enter stops once at an unanswered question, and then reads on."""
    asks = f"# Asks\n\n{LONG}\n{QUIZ}\n\n```python run id=below\nprint('ran', 7)\n```\n\n{LONG}\n"

    async with tutor(tmp_path, lessons={"asks": asks}) as pilot:
        seen = await press(pilot, "enter", "enter")
        assert "Enter goes on without it" not in on_one_line(seen)
        while "Enter goes on without it" not in on_one_line(seen):
            assert "ran 7" not in seen
            seen = await press(pilot, "enter")
        assert "Press 1 or 2 to answer. Enter goes on without it." in on_one_line(seen)
        assert "How many devices?" in seen
        assert "2  4" in seen
        for _ in range(2):  # into sight, then run
            seen = seen if "ran 7" in seen else await press(pilot, "enter")
        assert "ran 7" in seen


async def test_state_of_tall_block_is_on_key_line(tmp_path: Path) -> None:
    """The state of a block taller than the screen is on the key line."""
    tall = fence("\n".join(f"x = {n}" for n in range(60)) + "\nprint(x)", "59")

    async with tutor(tmp_path, lessons={"tall": f"# Tall\n\n{tall}"}) as pilot:
        await press(pilot, "enter", "space")
        assert "Enter read on" in named(pilot)
        assert named(pilot).endswith("block 1 goes on below")
        await press(pilot, "r")
        assert "pass" in on_screen(pilot.app)
        assert "block 1" not in named(pilot)
        await press(pilot, "pageup")
        assert named(pilot).endswith("block 1: pass")


async def test_keys_are_ordered_by_usefulness(tmp_path: Path) -> None:
    """Useful keys come first: undoing a passed edit comes late."""
    lessons = {"hello": f"# Hello\n{TASK}{QUIZ}\n{LONG}\n", "next": "# Next one\n"}

    async with tutor(tmp_path, lessons=lessons) as pilot:
        await press(pilot, "enter", "enter", "7", "escape")
        assert "u undo edit" in named(pilot).partition("j next open")[0]
        await press(pilot, "e", "backspace", "2", "ctrl+r", "escape")
        assert "u undo edit" not in named(pilot).partition("j next open")[0]
        await press(pilot, "end")
        assert "Enter next open  n next lesson" in named(pilot)
        assert "e edit" not in named(pilot).partition("Esc back")[0]
        await press(pilot, "j", "2", "end")
        assert "Enter next lesson" in named(pilot)
        assert "n next lesson" not in named(pilot)  # it is one way, and named once
        assert "Next  2 min" in (await press(pilot, "n")).splitlines()[0]


async def test_enter_shows_whole_block_before_running(tmp_path: Path) -> None:
    """Enter shows all lines of a tall block before it runs it."""
    tall = fence("\n".join(f"x = {n}" for n in range(45)) + "\nprint('ran', x)", "ran 44")

    async with tutor(tmp_path, lessons={"tall": f"# Tall\n\n{LONG}\n\n{tall}"}) as pilot:
        seen = await press(pilot, "enter")
        read = set[str]()
        for _ in range(9):
            read |= {line for n in range(45) if (line := f"x = {n} ") in seen}
            if "ran 44" in seen:
                break
            seen = await press(pilot, "enter")
        assert "ran 44" in seen
        assert 45 == len(read)


@pytest.mark.parametrize(("height", "following"), [(24, "b0"), (60, "b1")])
async def test_keys_after_run_act_on_visible_block(
    height: int, following: str, tmp_path: Path
) -> None:
    """Keys act on the block that ran until the code of the next one is in sight."""
    text = "\n\n".join(fence(f"print({n})\n" + "x = 1\n" * 6, f"{n}") for n in range(3))
    for number in range(3):
        text = text.replace("id=one", f"id=b{number}", 1).replace("of=one", f"of=b{number}", 1)

    def marked(pilot: Pilot[None]) -> list[str]:
        views = pilot.app.screen._page.views
        return [view.block.id for view in views if view.has_class("-current")]

    async with tutor(tmp_path, lessons={"t": f"# T\n\n{text}"}, size=(80, height)) as pilot:
        await press(pilot, "enter")
        assert ["b0"] == marked(pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "pass" in on_screen(pilot.app))
        await press(pilot)
        assert [following] == marked(pilot)
